//! What every kops-controller must keep, as a worker may rely on it.

use super::{Broken, hold, sound};
use quake_model::ports::{Bootstrap, BootstrapServer, Condition, Keys, TokenVersion};
use quake_node::builders::bootstrap::{BootstrapRequest, public_key, read_response};
use std::collections::BTreeMap;

/// kops-controller: one request brings the configuration and certificates; a proof is good for its own body alone; what is not
/// signed is told apart from what cannot be read.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn bootstrap<H: Bootstrap + Keys>(
    host: &H,
    server: &BootstrapServer,
) -> Result<(), Broken> {
    let made = sound("a key is made", host.make_key().await)?;
    let asking_for = |name: &str| BootstrapRequest {
        keys: BTreeMap::from([(name.to_owned(), public_key(&made.public))]),
        wants_config: true,
        ..BootstrapRequest::default()
    };
    let body = asking_for("kubelet").body();
    let proof = sound(
        "a proof is made",
        host.prove_instance(&body, TokenVersion::V2).await,
    )?;
    let answer = sound(
        "it answers",
        host.ask_bootstrap(server, &proof, &body).await,
    )?;
    let older = host.prove_instance(&body, TokenVersion::V1).await;
    let older = sound("a proof of version 1 is made", older)?;
    let answered = host.ask_bootstrap(server, &older, &body).await;
    sound("it answers to version 1", answered)?;
    let answer = read_response("the contract", &answer).map_err(|fault| fault.to_string())?;
    hold("the configuration comes", answer.config.is_some(), true)?;
    let came: Vec<&str> = answer.certificates.keys().map(String::as_str).collect();
    hold("and the certificate", came, vec!["kubelet"])?;

    let requested = async |proof: &_, body: &[u8]| {
        let answer = host.ask_bootstrap(server, proof, body).await;
        answer.map(drop).map_err(|error| error.condition)
    };
    let other = asking_for("kubelet-server").body();
    let refused = requested(&proof, &other).await;
    hold("a proof of another body", refused, Err(Condition::Denied))?;
    for (promise, body, condition) in [
        (
            "a name that is not signed",
            asking_for("root").body(),
            Condition::Malformed,
        ),
        ("no request at all", b"{".to_vec(), Condition::Impossible),
    ] {
        let proof = sound(
            "a proof is made",
            host.prove_instance(&body, TokenVersion::V2).await,
        )?;
        hold(promise, requested(&proof, &body).await, Err(condition))?;
    }
    Ok(())
}
