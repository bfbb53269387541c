//! The ports that only nodes of kops (1.32 and newer) use, routed to the machine or to the simulated region.

use super::NodeHost;
use super::forward::forward;
use crate::simulated_parts::Part;
use quake_host::provision::SystemPrograms;
use quake_model::item::{Package, User};
use quake_model::ports::{
    Bootstrap, BootstrapServer, Condition, Files, Keys, MadeKey, PortError, Provision,
    SignatureKind, TokenVersion,
};
use quake_model::redact::Secret;
use quake_model::step::WriteFile;

/// The largest list of users that is read.
const LIMIT: u64 = 1 << 20;

impl Bootstrap for NodeHost {
    forward! { Cloud => controller;
        async fn prove_instance(
            body: &[u8], version: TokenVersion
        ) -> Result<Secret<String>, PortError>;
        async fn ask_bootstrap(
            server: &BootstrapServer, proof: &Secret<String>, body: &[u8]
        ) -> Result<Vec<u8>, PortError>;
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
    /// Adds a user to the lists of a scratch root, as its programs would, and leaves the lock that they leave. The list of
    /// users comes last, for it says that a user is there: a run that is killed before adds the rest in the next.
    pub(super) async fn add_user(&self, user: &User) -> Result<(), PortError> {
        let lock = WriteFile::plain("/etc/.pwd.lock", 0o600, String::new());
        self.files.write_file(&lock).await?;
        let User {
            name,
            uid,
            home,
            shell,
            ..
        } = user;
        let group = format!("{name}:x:{uid}:");
        self.add_line("/etc/group", &group).await?;
        let user = format!("{name}:x:{uid}:{uid}::{home}:{shell}");
        self.add_line("/etc/passwd", &user).await
    }

    /// Adds a line to a list of names, unless it has the name.
    async fn add_line(&self, path: &str, line: &str) -> Result<(), PortError> {
        let bytes = match self.files.look_file(path, LIMIT).await? {
            None => Vec::new(),
            // What cannot be read whole must not be written anew.
            Some(found) => found.contents.ok_or_else(|| {
                let summary = format!("{path} is no file of at most {LIMIT} bytes");
                PortError::new(Condition::Occupied, summary)
            })?,
        };
        let name = line.split_inclusive(':').next().unwrap_or_default();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if text.lines().any(|there| there.starts_with(name)) {
            return Ok(());
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
        let file = WriteFile::plain(path, 0o644, text);
        self.files.write_file(&file).await
    }
}
