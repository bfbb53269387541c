//! Asks kops-controller, which gives a worker its configuration and signs its certificates: both in one round trip where the
//! server allows it, and none on a node that has what it needs.

use crate::context::Context;
use crate::ensure::certificates;
use crate::ensure::files::look;
use crate::fault_mapping::{Operation, to_fault};
use crate::retry::Wait;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::{
    Bootstrap, BootstrapServer, Condition, Files, Keys, MadeKey, Meter, PortError, TokenVersion,
};
use quake_model::redact::Secret;
use quake_model::step::WriteFile;
use quake_node::builders::bootstrap::{
    BootstrapRequest, BootstrapResponse, CERTAIN, USUAL, public_key, read_response, token_versions,
};
use quake_node::config::current::{BootConfig, ConfigServer, Origin, verify_config_hash};
use quake_node::config::legacy::Document;
use quake_node::pki::{IssuedCertificate, Misfit, claims, unfit};
use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) type Secrets = BTreeMap<String, Secret<Vec<u8>>>;

/// Keys that certificates are asked for, by name.
pub(crate) type NewKeys = BTreeMap<String, MadeKey>;

/// Where the configuration and the secrets are kept, so that a node that ran before needs no kops-controller to run again:
/// its hash says that it is the one the user data names.
const KEPT: &str = "/var/lib/quake-agent/bootstrap.json";

/// How long kops-controller may be away, as long as nodeup waits: the control plane of a new cluster takes some minutes.
pub(crate) const DEADLINE: Duration = Duration::from_secs(45 * 60);

/// How many times as long as IAM's a no of kops-controller is taken for one that may turn. It knows no difference between a role
/// or a tag that is not known everywhere yet, EC2's throttles under a thousand new nodes, and a no that stays; and a node that
/// stopped a minute ago is Ready for as long.
const PATIENCE: u32 = 20;

/// The configuration of a worker, and the secrets that came with it. What certificates came along are held.
pub(crate) async fn configured<H: Bootstrap + Keys + Files + Meter>(
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
        true => {
            ask(
                context,
                &patience(context, Phase::Config),
                server,
                &config_only(),
            )
            .await?
        }
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
async fn asked_with_keys<H: Bootstrap + Keys + Files + Meter>(
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
    let wait = patience(context, Phase::Config);
    let mut response = ask(context, &wait, server, &request(&keys)).await?;
    if response.is_none() {
        keys.retain(|name, _| CERTAIN.contains(&name.as_str()));
        response = ask(context, &wait, server, &request(&keys)).await?;
    }
    if let Some(response) = &response {
        // Whom they should name is known with the configuration alone; until then nothing is written.
        let came = came(context, &keys, response, &server.ca_bundle).await?;
        context.learn(|knowledge| knowledge.pending.extend(came));
    }
    Ok(response)
}

/// How long kops-controller is waited for.
pub(crate) fn patience<H>(context: &Context<'_, H>, phase: Phase) -> Wait {
    let step = format!("{phase}:kops-controller");
    let wait = context.long_wait(phase, &step, DEADLINE);
    wait.watching().patient(PATIENCE)
}

fn config_only() -> BootstrapRequest {
    BootstrapRequest {
        wants_config: true,
        ..BootstrapRequest::default()
    }
}

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

/// The certificates of a response with the keys they were asked for, each judged as far as can be without its order: it is for
/// that key, and of a CA of `trusted`.
pub(crate) async fn came<H: Keys>(
    context: &Context<'_, H>,
    keys: &NewKeys,
    response: &BootstrapResponse,
    trusted: &str,
) -> Result<BTreeMap<String, IssuedCertificate>, Fault> {
    let mut came = BTreeMap::new();
    for (name, certificate) in &response.certificates {
        let Some(made) = keys.get(name) else {
            continue;
        };
        let mut held = IssuedCertificate {
            certificate: certificate.clone(),
            ca: String::new(),
            key: made.key.clone(),
        };
        match held.public_key() {
            None => return Err(unfit(name, Misfit::Unreadable)),
            Some(public) if public != made.public => return Err(unfit(name, Misfit::AnotherKey)),
            Some(_) => {}
        }
        let ca = signer_of(context, certificate, trusted).await;
        held.ca = ca.ok_or_else(|| unfit(name, Misfit::AnotherCa))?;
        came.insert(name.clone(), held);
    }
    Ok(came)
}

/// The CA of `trusted` that signed a certificate.
async fn signer_of<H: Keys>(
    context: &Context<'_, H>,
    certificate: &str,
    trusted: &str,
) -> Option<String> {
    for claim in claims(certificate, trusted) {
        let (message, signature) = (&claim.message, &claim.signature);
        let verified = context
            .host
            .verify(&claim.public, claim.kind, message, signature);
        if verified.await.is_ok() {
            return Some(claim.ca);
        }
    }
    None
}

/// Asks, trying as long as its fault may heal; `None` where the server does not sign all that is asked for.
pub(crate) async fn ask<H: Bootstrap + Meter>(
    context: &Context<'_, H>,
    wait: &Wait,
    server: &ConfigServer,
    request: &BootstrapRequest,
) -> Result<Option<BootstrapResponse>, Fault> {
    let source = server.servers.join(", ");
    let body = request.body();
    let has_keys = !request.keys.is_empty();
    // Nodes that are launched together begin at different servers.
    let first = (context.draw() * server.servers.len() as f64) as usize;
    let mut round = 0;
    let attempt = || {
        let question = Question {
            server,
            first: first + round + 1,
            versions: token_versions(context.know(|knowledge| knowledge.token), round),
            body: &body,
            has_keys,
        };
        round += 1;
        ask_round(context, question)
    };
    let body = context.retry(wait, attempt).await?;
    body.map(|body| read_response(&source, &body)).transpose()
}

/// What a round of questions asks, and of whom.
struct Question<'a> {
    server: &'a ConfigServer,
    /// The number of the server that is asked first.
    first: usize,
    /// Versions of the token, in the order in which they are tried.
    versions: Vec<TokenVersion>,
    body: &'a [u8],
    has_keys: bool,
}

/// Asks each server once, until one has answered what the others would, too; with the next version of
/// the token where one is refused.
async fn ask_round<H: Bootstrap>(
    context: &Context<'_, H>,
    question: Question<'_>,
) -> Result<Option<Vec<u8>>, Fault> {
    let mut refused = None;
    for version in &question.versions {
        match ask_with(context, &question, *version).await {
            Err(fault) if fault.code == Code::ConfigControllerDenied => refused = Some(fault),
            answered => return answered,
        }
    }
    let tried: Vec<String> = question
        .versions
        .iter()
        .map(|version| version.number().to_string())
        .collect();
    let none = || {
        Fault::new(
            Code::BootInternal,
            "there is no version of the token to try",
        )
    };
    let refused = refused.unwrap_or_else(none);
    Err(refused.seen("token-version", tried.join(" and ")))
}

async fn ask_with<H: Bootstrap>(
    context: &Context<'_, H>,
    question: &Question<'_>,
    version: TokenVersion,
) -> Result<Option<Vec<u8>>, Fault> {
    let (server, body) = (question.server, question.body);
    // A proof is good for some minutes: each round has its own.
    let proof = context.host.prove_instance(body, version).await;
    let proof = proof.map_err(|error| to_fault(Operation::ReadRole, error))?;
    let mut errors = Vec::new();
    for at in 0..server.servers.len() {
        let url = &server.servers[(question.first + at) % server.servers.len()];
        let requested = BootstrapServer {
            url: url.clone(),
            tls_server_name: server.tls_server_name.clone(),
            ca_bundle: server.ca_bundle.clone(),
        };
        let answer = context.host.ask_bootstrap(&requested, &proof, body).await;
        let is_too_much =
            |error: &PortError| error.condition == Condition::Malformed && question.has_keys;
        if answer.is_ok() || answer.as_ref().is_err_and(is_too_much) {
            note_accepted(context, url, version);
        }
        match answer {
            Ok(body) => return Ok(Some(body)),
            Err(error) if is_too_much(&error) => return Ok(None),
            Err(error) if is_of_all(error.condition) => return Err(refusal(context, error)),
            Err(error) => errors.push(error),
        }
    }
    Err(most_telling(errors))
}

/// Remembers which version of the token the servers accept, and says so when it is new.
fn note_accepted<H>(context: &Context<'_, H>, server: &str, version: TokenVersion) {
    let before = context.know_mut(|knowledge| knowledge.token.replace(version));
    if before != Some(version) {
        context.emitter.emit(Event::TokenAccepted {
            server: server.to_owned(),
            version: version.number(),
        });
    }
}

/// Whether an answer is what every server would say.
fn is_of_all(condition: Condition) -> bool {
    matches!(
        condition,
        Condition::Denied
            | Condition::Conflict
            | Condition::Malformed
            | Condition::Impossible
            | Condition::ClockSkew
    )
}

/// The fault of a round in which no server answered: the failure that came farthest, and may heal; beside it the others.
fn most_telling(mut errors: Vec<PortError>) -> Fault {
    let rank = |condition| match condition {
        Condition::NotReady | Condition::Throttled => 0,
        Condition::Unreachable => 1,
        Condition::Missing => 2,
        _ => 3,
    };
    errors.sort_by_key(|error| rank(error.condition));
    let mut errors = errors.into_iter();
    let Some(worst) = errors.next() else {
        return Fault::new(Code::BootInternal, "there is no server to ask");
    };
    let fault = to_fault(Operation::AskController, worst);
    errors.fold(fault, |fault, other| fault.seen("also", other.summary))
}

/// The fault of an answer that every server would give, with who asked.
fn refusal<H>(context: &Context<'_, H>, error: PortError) -> Fault {
    let fault = to_fault(Operation::AskController, error);
    let instance = context.know(|knowledge| knowledge.instance.clone());
    match instance {
        Some(instance) => fault
            .seen("instance", instance.instance_id)
            .seen("account", instance.account_id),
        None => fault,
    }
}

/// The configuration that an earlier boot kept, if it is the one that the user data names.
async fn kept<H: Files>(
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

async fn keep<H: Files>(
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
    written.map_err(|error| to_fault(Operation::UseFile, error).seen("path", KEPT))
}
