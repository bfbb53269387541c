//! Reads the keypairs and secrets the node needs from the state store.

use crate::boot::facts::BootFacts;
use crate::boot::observe::objects;
use crate::context::Context;
use crate::fault_mapping::Operation;
use crate::request::CredentialSource;
use crate::stored_keys::{CredentialReader, find_keypair, find_secret};
use futures_util::StreamExt;
use futures_util::stream;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::phase::Phase;
use quake_model::ports::{Meter, Objects};
use quake_model::redact::Secret;
use quake_model::step::Need;
use quake_node::credentials::{WantedKeypair, WantedSecret};
use quake_node::plan_inputs::{Credentials, EtcdManifest, Keypair};

/// Objects read at once: enough to hide latency, few enough to stay under any rate limit.
const READ_LANES: usize = 4;

pub(crate) async fn observe_credentials<H: Objects + Meter>(
    context: &Context<'_, H>,
) -> Result<(), Fault> {
    let node = context.know(BootFacts::node)?;
    let base = &objects::config_base(context)?;
    let mut found = Credentials::default();
    let mut keypairs = stream::iter(node.keypairs())
        .map(|wanted| async move { (read_keypair(context, base, &wanted).await, wanted.name) })
        .buffered(READ_LANES);
    while let Some((keypair, name)) = keypairs.next().await {
        if let Some(keypair) = keypair? {
            found.keypairs.insert(name, keypair);
        }
    }
    let mut secrets = stream::iter(node.secrets())
        .map(|wanted| async move { (read_secret(context, base, &wanted).await, wanted.name) })
        .buffered(READ_LANES);
    while let Some((secret, name)) = secrets.next().await {
        if let Some(secret) = secret? {
            found.secrets.insert(name, secret);
        }
    }
    context.learn(|knowledge| knowledge.credentials = found);
    report_stand_ins(context);
    Ok(())
}

async fn read_keypair<H: Objects + Meter>(
    context: &Context<'_, H>,
    base: &Location,
    wanted: &WantedKeypair,
) -> Result<Option<Keypair>, Fault> {
    let found = find_keypair(&BootReader { context }, base, wanted).await?;
    match (found, wanted.need) {
        (Some(keypair), _) if !wanted.key || keypair.key.is_some() => Ok(Some(keypair)),
        (_, Need::Optional) => Ok(None),
        (_, Need::Required) => {
            let issued = base.join("pki/issued").join(&wanted.name);
            stand_in(context, &issued, wanted).map(Some)
        }
    }
}

/// Reads credentials as a boot does, trying as long as a fault may heal.
struct BootReader<'a, 'b, H> {
    context: &'a Context<'b, H>,
}

impl<H: Objects + Meter> CredentialReader for BootReader<'_, '_, H> {
    async fn text(&self, location: &Location) -> Result<Option<Secret<String>>, Fault> {
        let read = objects::read_object(
            self.context,
            Phase::Credentials,
            Operation::ReadCredential,
            location,
        );
        let Some(object) = read.await? else {
            return Ok(None);
        };
        let text = String::from_utf8(object.bytes).map_err(|_| {
            Fault::new(
                Code::CredentialsMalformed,
                format!("{location} is not text"),
            )
        })?;
        Ok(Some(Secret::new(text)))
    }

    async fn names(&self, directory: &Location) -> Result<Vec<String>, Fault> {
        let listed = objects::list_names(
            self.context,
            Phase::Credentials,
            Operation::ReadCredential,
            directory,
        );
        listed.await
    }
}

async fn read_secret<H: Objects + Meter>(
    context: &Context<'_, H>,
    base: &Location,
    wanted: &WantedSecret,
) -> Result<Option<Secret<Vec<u8>>>, Fault> {
    let found = find_secret(&BootReader { context }, base, wanted).await?;
    match (found, wanted.need) {
        (Some(secret), _) => Ok(Some(secret)),
        (None, Need::Optional) => Ok(None),
        (None, Need::Required) => {
            let location = base.join("secrets").join(&wanted.name);
            let stand_in = stand_in_text(context, &location, &wanted.name)?;
            Ok(Some(Secret::new(stand_in.into_bytes())))
        }
    }
}

fn stand_in<H>(
    context: &Context<'_, H>,
    location: &Location,
    wanted: &WantedKeypair,
) -> Result<Keypair, Fault> {
    let certificate = stand_in_text(context, location, &wanted.name)?;
    let key = wanted
        .key
        .then(|| Secret::new(format!("stand-in key of {}\n", wanted.name)));
    Ok(Keypair { certificate, key })
}

/// A text that stands for a credential in a rehearsal and can authenticate nothing.
fn stand_in_text<H>(
    context: &Context<'_, H>,
    location: &Location,
    name: &str,
) -> Result<String, Fault> {
    match context.request.credentials {
        CredentialSource::Store => {
            let summary = format!("{name} is not in the state store");
            Err(Fault::new(Code::CredentialsMissing, summary).seen("location", location))
        }
        CredentialSource::StandIn => {
            context.learn(|knowledge| knowledge.stand_ins.push(name.to_owned()));
            Ok(format!("stand-in for {name}\n"))
        }
    }
}

/// Says once which credentials a rehearsal made up; a boot of a node would have failed.
fn report_stand_ins<H>(context: &Context<'_, H>) {
    let mut names = context.know(|knowledge| knowledge.stand_ins.clone());
    names.sort();
    if !names.is_empty() {
        let summary = format!(
            "{} credentials are not in the state store; stand-ins take their place",
            names.len()
        );
        let fault = Fault::new(Code::CredentialsMissing, summary).seen("names", names.join(", "));
        context.emitter.emit(Event::Warning { fault });
    }
}

/// Reads etcd-manager's static pods, byte for byte as the state store has them.
pub(crate) async fn observe_etcd_manifests<H: Objects + Meter>(
    context: &Context<'_, H>,
) -> Result<(), Fault> {
    let node = context.know(BootFacts::node)?;
    let mut manifests = Vec::new();
    for location in node.etcd_manifests() {
        let read = objects::read_object(
            context,
            Phase::Files,
            Operation::ReadConfiguration,
            location,
        )
        .await?;
        let name = location.key().rsplit('/').next().unwrap_or_default();
        let name = name.trim_end_matches(".yaml").to_owned();
        match read {
            Some(object) => manifests.push(EtcdManifest {
                name,
                contents: object.bytes,
            }),
            // A stand-in pod would run nothing; the warning says what a real node would lack.
            None => miss_manifest(context, location)?,
        }
    }
    context.learn(|knowledge| knowledge.etcd_manifests = manifests);
    Ok(())
}

fn miss_manifest<H>(context: &Context<'_, H>, location: &Location) -> Result<(), Fault> {
    let summary = format!("there is no etcd manifest at {location}");
    let fault = Fault::new(Code::ConfigObjectMissing, summary).seen("object", location);
    match context.request.credentials {
        CredentialSource::Store => Err(fault),
        CredentialSource::StandIn => {
            context.emitter.emit(Event::Warning { fault });
            Ok(())
        }
    }
}
