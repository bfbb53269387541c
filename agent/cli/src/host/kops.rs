//! The ports that only nodes of the newer dialect use, routed to the machine or to the simulated region.

use super::NodeHost;
use crate::parts::Part;
use quake_host::provision::SystemPrograms;
use quake_model::item::{Package, User};
use quake_model::ports::{
    Bootstrap, BootstrapServer, Files, Keys, MadeKey, PortError, Provision, SignatureKind,
    TokenVersion,
};
use quake_model::redact::Secret;
use quake_model::step::WriteFile;

/// The largest list of users that is read.
const LIMIT: u64 = 1 << 20;

impl Bootstrap for NodeHost {
    async fn prove_instance(
        &self,
        body: &[u8],
        version: TokenVersion,
    ) -> Result<Secret<String>, PortError> {
        match self.simulates(Part::Cloud) {
            Some(simulated) => simulated.prove_instance(body, version).await,
            None => self.controller.prove_instance(body, version).await,
        }
    }

    async fn ask_bootstrap(
        &self,
        server: &BootstrapServer,
        proof: &Secret<String>,
        body: &[u8],
    ) -> Result<Vec<u8>, PortError> {
        match self.simulates(Part::Cloud) {
            Some(simulated) => simulated.ask_bootstrap(server, proof, body).await,
            None => self.controller.ask_bootstrap(server, proof, body).await,
        }
    }
}

impl Keys for NodeHost {
    async fn make_key(&self) -> Result<MadeKey, PortError> {
        quake_host::keys::make_key()
    }

    async fn public_key(&self, key: &Secret<String>) -> Result<Vec<u8>, PortError> {
        quake_host::keys::public_key(key)
    }

    async fn sign(
        &self,
        key: &Secret<String>,
        kind: SignatureKind,
        message: &[u8],
    ) -> Result<Vec<u8>, PortError> {
        quake_host::keys::sign(key, kind, message)
    }

    async fn verify(
        &self,
        public: &[u8],
        kind: SignatureKind,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), PortError> {
        quake_host::keys::verify(public, kind, message, signature)
    }
}

impl Provision for NodeHost {
    async fn missing_packages(&self, packages: &[Package]) -> Result<Vec<String>, PortError> {
        match self.simulates(Part::Units) {
            Some(simulated) => simulated.missing_packages(packages).await,
            None => SystemPrograms.missing_packages(packages).await,
        }
    }

    async fn fetch_keyring(&self, url: &str) -> Result<Vec<u8>, PortError> {
        match self.simulates(Part::Units) {
            Some(simulated) => simulated.fetch_keyring(url).await,
            None => SystemPrograms.fetch_keyring(url).await,
        }
    }

    async fn install_packages(&self, names: &[String]) -> Result<(), PortError> {
        match self.simulates(Part::Units) {
            Some(simulated) => simulated.install_packages(names).await,
            None => SystemPrograms.install_packages(names).await,
        }
    }

    async fn make_user(&self, user: &User) -> Result<(), PortError> {
        match self.simulates(Part::Units) {
            Some(_) => self.add_user(user).await,
            None => SystemPrograms.make_user(user).await,
        }
    }

    async fn run_command(&self, words: &[String]) -> Result<(), PortError> {
        match self.simulates(Part::Units) {
            Some(simulated) => simulated.run_command(words).await,
            None => SystemPrograms.run_command(words).await,
        }
    }
}

impl NodeHost {
    /// Adds a user to the lists of a scratch root, as its programs would, and leaves the lock that they leave.
    async fn add_user(&self, user: &User) -> Result<(), PortError> {
        let lock = WriteFile::plain("/etc/.pwd.lock", 0o600, String::new());
        self.files.write_file(&lock).await?;
        let (name, uid) = (&user.name, user.uid);
        let entries = [
            (
                "/etc/passwd",
                format!("{name}:x:{uid}:{uid}::{}:{}\n", user.home, user.shell),
            ),
            ("/etc/group", format!("{name}:x:{uid}:\n")),
        ];
        for (path, line) in entries {
            let found = self.files.look_file(path, LIMIT).await?;
            let bytes = found.and_then(|found| found.contents).unwrap_or_default();
            let mut text = String::from_utf8_lossy(&bytes).into_owned();
            if text
                .lines()
                .any(|there| there.starts_with(&format!("{name}:")))
            {
                continue;
            }
            text.push_str(&line);
            let file = WriteFile::plain(path, 0o644, text);
            self.files.write_file(&file).await?;
        }
        Ok(())
    }
}
