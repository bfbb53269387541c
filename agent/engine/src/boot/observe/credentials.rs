//! Reads the keypairs and secrets the node needs from the state store.

use crate::boot::facts::BootFacts;
use crate::context::Context;
use crate::fault_mapping::Operation;
use crate::request::CredentialSource;
use futures_util::StreamExt;
use futures_util::stream;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::phase::Phase;
use quake_model::ports::Host;
use quake_model::redact::Secret;
use quake_model::step::Need;
use quake_node::credentials::{WantedKeypair, WantedSecret};
use quake_node::keyset;
use quake_node::plan_inputs::{Credentials, EtcdManifest, Keypair};

/// Objects read at once: enough to hide latency, few enough to stay under any rate limit.
const READ_LANES: usize = 4;

impl<H: Host> Context<'_, H> {
    pub(crate) async fn observe_credentials(&self) -> Result<(), Fault> {
        let node = self.know(BootFacts::node)?;
        let base = &self.config_base()?;
        let mut found = Credentials::default();
        let mut keypairs = stream::iter(node.keypairs())
            .map(|wanted| async move { (self.read_keypair(base, &wanted).await, wanted.name) })
            .buffered(READ_LANES);
        while let Some((keypair, name)) = keypairs.next().await {
            if let Some(keypair) = keypair? {
                found.keypairs.insert(name, keypair);
            }
        }
        let mut secrets = stream::iter(node.secrets())
            .map(|wanted| async move { (self.read_secret(base, &wanted).await, wanted.name) })
            .buffered(READ_LANES);
        while let Some((secret, name)) = secrets.next().await {
            if let Some(secret) = secret? {
                found.secrets.insert(name, secret);
            }
        }
        self.learn(|knowledge| knowledge.credentials = found);
        self.report_stand_ins();
        Ok(())
    }

    pub(crate) fn config_base(&self) -> Result<Location, Fault> {
        let spec = self.know(BootFacts::spec)?;
        let asked = self.request.configuration.config_base.clone();
        Ok(asked.unwrap_or_else(|| spec.config_base.clone()))
    }

    async fn read_keypair(
        &self,
        base: &Location,
        wanted: &WantedKeypair,
    ) -> Result<Option<Keypair>, Fault> {
        let issued = base.join("pki/issued").join(&wanted.name);
        let private = base.join("pki/private").join(&wanted.name);
        let found = match self
            .read_text(&private.join("keyset.yaml"), wanted.key)
            .await?
        {
            Some(text) => Some(keyset::read_keyset(&private.to_string(), text.expose())?),
            None => {
                self.read_keypair_objects(&issued, &private, wanted.key)
                    .await?
            }
        };
        match (found, wanted.need) {
            (Some(keypair), _) if !wanted.key || keypair.key.is_some() => Ok(Some(keypair)),
            (_, Need::Optional) => Ok(None),
            (_, Need::Required) => self.stand_in(&issued, wanted).map(Some),
        }
    }

    /// Reads a certificate, and its key where the node needs it, from a bundle or one object per serial.
    async fn read_keypair_objects(
        &self,
        issued: &Location,
        private: &Location,
        with_key: bool,
    ) -> Result<Option<Keypair>, Fault> {
        let bundle = self.read_text(&issued.join("keyset.yaml"), true).await?;
        let mut keypair = match bundle {
            Some(text) => keyset::read_keyset(&issued.to_string(), text.expose())?,
            None => match self.read_newest(issued, ".crt").await? {
                Some(certificate) => Keypair {
                    certificate: certificate.expose().clone(),
                    key: None,
                },
                None => return Ok(None),
            },
        };
        if with_key && keypair.key.is_none() {
            keypair.key = self.read_newest(private, ".key").await?;
        }
        Ok(Some(keypair))
    }

    async fn read_newest(
        &self,
        directory: &Location,
        suffix: &str,
    ) -> Result<Option<Secret<String>>, Fault> {
        let names = self
            .list_names(Phase::Credentials, Operation::ReadCredential, directory)
            .await?;
        match keyset::newest_serial(&names, suffix) {
            Some(name) => self.read_text(&directory.join(name), true).await,
            None => Ok(None),
        }
    }

    async fn read_text(
        &self,
        location: &Location,
        wanted: bool,
    ) -> Result<Option<Secret<String>>, Fault> {
        if !wanted {
            return Ok(None);
        }
        let read = self
            .read_object(Phase::Credentials, Operation::ReadCredential, location)
            .await?;
        let Some(object) = read else { return Ok(None) };
        let text = String::from_utf8(object.bytes).map_err(|_| {
            Fault::new(
                Code::CredentialsMalformed,
                format!("{location} is not text"),
            )
        })?;
        Ok(Some(Secret::new(text)))
    }

    async fn read_secret(
        &self,
        base: &Location,
        wanted: &WantedSecret,
    ) -> Result<Option<Secret<Vec<u8>>>, Fault> {
        let location = base.join("secrets").join(&wanted.name);
        if let Some(text) = self.read_text(&location, true).await? {
            return keyset::read_secret(&location.to_string(), text.expose()).map(Some);
        }
        match wanted.need {
            Need::Optional => Ok(None),
            Need::Required => {
                let stand_in = self.stand_in_text(&location, &wanted.name)?;
                Ok(Some(Secret::new(stand_in.into_bytes())))
            }
        }
    }

    fn stand_in(&self, location: &Location, wanted: &WantedKeypair) -> Result<Keypair, Fault> {
        let certificate = self.stand_in_text(location, &wanted.name)?;
        let key = wanted
            .key
            .then(|| Secret::new(format!("stand-in key of {}\n", wanted.name)));
        Ok(Keypair { certificate, key })
    }

    /// A text that stands for a credential in a rehearsal and can authenticate nothing.
    fn stand_in_text(&self, location: &Location, name: &str) -> Result<String, Fault> {
        match self.request.credentials {
            CredentialSource::Store => {
                let summary = format!("{name} is not in the state store");
                Err(Fault::new(Code::CredentialsMissing, summary).seen("location", location))
            }
            CredentialSource::StandIn => {
                self.learn(|knowledge| knowledge.stand_ins.push(name.to_owned()));
                Ok(format!("stand-in for {name}\n"))
            }
        }
    }

    /// Says once which credentials a rehearsal made up; a boot of a node would have failed.
    fn report_stand_ins(&self) {
        let mut names = self.know(|knowledge| knowledge.stand_ins.clone());
        names.sort();
        if !names.is_empty() {
            let summary = format!(
                "{} credentials are not in the state store; stand-ins take their place",
                names.len()
            );
            let fault =
                Fault::new(Code::CredentialsMissing, summary).seen("names", names.join(", "));
            self.emitter.emit(Event::Warning { fault });
        }
    }

    /// Reads etcd-manager's static pods, byte for byte as the state store has them.
    pub(crate) async fn observe_etcd_manifests(&self) -> Result<(), Fault> {
        let node = self.know(BootFacts::node)?;
        let mut manifests = Vec::new();
        for location in node.etcd_manifests() {
            let read = self
                .read_object(Phase::Files, Operation::ReadConfiguration, location)
                .await?;
            let name = location.key().rsplit('/').next().unwrap_or_default();
            let name = name.trim_end_matches(".yaml").to_owned();
            match read {
                Some(object) => manifests.push(EtcdManifest {
                    name,
                    contents: object.bytes,
                }),
                // A stand-in pod would run nothing; the warning says what a real node would lack.
                None => self.miss_manifest(location)?,
            }
        }
        self.learn(|knowledge| knowledge.etcd_manifests = manifests);
        Ok(())
    }

    fn miss_manifest(&self, location: &Location) -> Result<(), Fault> {
        let summary = format!("there is no etcd manifest at {location}");
        let fault = Fault::new(Code::ConfigObjectMissing, summary).seen("object", location);
        match self.request.credentials {
            CredentialSource::Store => Err(fault),
            CredentialSource::StandIn => {
                self.emitter.emit(Event::Warning { fault });
                Ok(())
            }
        }
    }
}
