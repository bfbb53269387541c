//! Asks kops-controller, which gives a worker its configuration and signs its certificates: both in one round trip where the
//! server allows it, and none on a node that has what it needs.

use crate::context::Context;
use crate::ensure::certificates;
use crate::ensure::files::look;
use crate::meaning::{Attempted, fault_of};
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::{BootstrapServer, Condition, Host, MadeKey};
use quake_model::redact::Secret;
use quake_model::step::WriteFile;
use quake_plan::dialect::kops::{BootConfig, ConfigServer, Origin, verify_config_hash};
use quake_plan::dialect::kube_env::Document;
use quake_plan::kops::bootstrap::{
    BootstrapRequest, BootstrapResponse, CERTAIN, USUAL, public_key, read_response,
};
use quake_plan::pki::Held;
use std::collections::BTreeMap;
use std::time::Duration;

/// Secrets by name.
pub(crate) type Secrets = BTreeMap<String, Secret<Vec<u8>>>;

/// Keys that certificates are asked for, by name.
pub(crate) type NewKeys = BTreeMap<String, MadeKey>;

/// Where the configuration and the secrets are kept, so that a node that ran before needs no kops-controller to run again:
/// its hash says that it is the one the user data names.
const KEPT: &str = "/var/lib/quake-agent/bootstrap.json";

/// How long kops-controller may be away. A guess: the control plane of a new cluster takes some minutes.
const DEADLINE: Duration = Duration::from_secs(45 * 60);

/// The configuration of a worker, and the secrets that came with it. What certificates came along are held.
pub(crate) async fn configured<H: Host>(
    context: &Context<'_, H>,
    boot: &BootConfig,
    server: &ConfigServer,
) -> Result<(Document, Secrets), Fault> {
    let source = server.servers.join(", ");
    if let Some((text, secrets)) = kept(context, boot, &source).await? {
        let source = KEPT.to_owned();
        return Ok((Document { source, text }, secrets));
    }
    let response = match context.is_planning() {
        true => ask(context, Phase::Config, server, &config_only()).await?,
        false => asked_with_keys(context, server).await?,
    };
    let response = response.unwrap_or_default();
    let Some(text) = response.config.clone() else {
        let summary = format!("{source} sent no configuration");
        return Err(Fault::new(Code::ConfigObjectMalformed, summary).seen("source", source));
    };
    let document = Document { source, text };
    if let Some(wanted) = &boot.config_hash {
        // Nothing that is not as the user data says is kept.
        verify_config_hash(&document.source, document.text.as_bytes(), wanted)?;
        keep(context, &response).await?;
    }
    Ok((document, response.secrets))
}

/// Asks for the configuration and for the certificates that most servers sign; where that is one too many, for fewer.
async fn asked_with_keys<H: Host>(
    context: &Context<'_, H>,
    server: &ConfigServer,
) -> Result<Option<BootstrapResponse>, Fault> {
    let mut keys = NewKeys::new();
    for name in USUAL {
        if certificates::held(context, name).await?.is_none() {
            keys.insert((*name).to_owned(), certificates::new_key(context).await?);
        }
    }
    let request = |keys: &NewKeys| BootstrapRequest {
        wants_config: true,
        ..request(keys, BTreeMap::new())
    };
    let mut response = ask(context, Phase::Config, server, &request(&keys)).await?;
    if response.is_none() {
        keys.retain(|name, _| CERTAIN.contains(&name.as_str()));
        response = ask(context, Phase::Config, server, &request(&keys)).await?;
    }
    if let Some(response) = &response {
        take(context, &keys, response).await?;
    }
    Ok(response)
}

fn config_only() -> BootstrapRequest {
    BootstrapRequest {
        wants_config: true,
        ..BootstrapRequest::default()
    }
}

/// A request for certificates.
pub(crate) fn request(keys: &NewKeys, keypair_ids: BTreeMap<String, String>) -> BootstrapRequest {
    let keys = keys.iter();
    BootstrapRequest {
        keys: keys
            .map(|(name, made)| (name.clone(), public_key(&made.public)))
            .collect(),
        keypair_ids,
        wants_config: false,
    }
}

/// Holds the certificates of a response, with the keys they were asked for.
pub(crate) async fn take<H: Host>(
    context: &Context<'_, H>,
    keys: &NewKeys,
    response: &BootstrapResponse,
) -> Result<(), Fault> {
    for (name, certificate) in &response.certificates {
        if let Some(made) = keys.get(name) {
            let held = Held {
                certificate: certificate.clone(),
                authority: String::new(),
                key: made.key.clone(),
            };
            certificates::hold(context, name, held).await?;
        }
    }
    Ok(())
}

/// Asks, trying as long as its fault may heal; `None` where the server does not sign all that is asked for.
pub(crate) async fn ask<H: Host>(
    context: &Context<'_, H>,
    phase: Phase,
    server: &ConfigServer,
    request: &BootstrapRequest,
) -> Result<Option<BootstrapResponse>, Fault> {
    let source = server.servers.join(", ");
    let asked = BootstrapServer {
        urls: server.servers.clone(),
        tls_server_name: server.tls_server_name.clone(),
        authorities: server.authorities.clone(),
    };
    let body = request.body();
    let wait = context.wait(phase, &format!("{phase}:kops-controller"), DEADLINE);
    let attempt = || async {
        match context.host.ask_bootstrap(&asked, &body).await {
            Ok(body) => Ok(Some(body)),
            Err(error) if error.condition == Condition::Malformed && !request.keys.is_empty() => {
                Ok(None)
            }
            Err(error) => Err(refusal(error).seen("server", &source)),
        }
    };
    let body = context.retry(&wait, attempt).await?;
    body.map(|body| read_response(&source, &body)).transpose()
}

fn refusal(error: quake_model::ports::PortError) -> Fault {
    let condition = error.condition;
    let fault = fault_of(Attempted::AskController, error);
    match condition {
        Condition::Denied => fault.remedied_by(
            "kops-controller does not take this instance for a node: its role must be one of the instance groups', and its tags name the group; journalctl of the kops-controller pod says which check failed",
        ),
        Condition::Conflict => fault.remedied_by(
            "a node of this name is Ready in the cluster: where it is this instance's, delete it (kubectl delete node <name>) and start the agent again",
        ),
        _ => fault.remedied_by(
            "kops-controller runs on the control plane: see whether it is up (kubectl -n kube-system get pods -l k8s-app=kops-controller), whether its name resolves here, and whether port 3988 is open",
        ),
    }
}

/// The configuration that an earlier boot kept, if it is the one that the user data names.
async fn kept<H: Host>(
    context: &Context<'_, H>,
    boot: &BootConfig,
    source: &str,
) -> Result<Option<(String, Secrets)>, Fault> {
    let (Some(wanted), Origin::Server(_)) = (&boot.config_hash, &boot.origin) else {
        return Ok(None);
    };
    let found = look(context, KEPT).await?;
    let bytes = found.and_then(|found| found.contents).unwrap_or_default();
    // What cannot be read is asked for again.
    let Some(response) = read_response(source, &bytes).ok() else {
        return Ok(None);
    };
    let fits = |text: &String| verify_config_hash(KEPT, text.as_bytes(), wanted).is_ok();
    let secrets = response.secrets;
    Ok(response.config.filter(fits).map(|config| (config, secrets)))
}

async fn keep<H: Host>(
    context: &Context<'_, H>,
    response: &BootstrapResponse,
) -> Result<(), Fault> {
    if context.is_planning() {
        return Ok(());
    }
    let kept = BootstrapResponse {
        certificates: BTreeMap::new(),
        ..response.clone()
    };
    let file = WriteFile::secret(
        KEPT,
        0o600,
        String::from_utf8_lossy(&kept.body()).into_owned(),
    );
    let written = context.host.write_file(&file).await;
    written.map_err(|error| fault_of(Attempted::UseFile, error).seen("path", KEPT))
}
