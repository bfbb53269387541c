//! Keys, packages, users and commands, simulated. Keys are real ones: certificates must verify.

use super::{SimFile, SimHost};
use quake_model::facts::{EntryKind, Owner};
use quake_model::item::{Package, User};
use quake_model::ports::{Condition, Keys, MadeKey, PortError, Provision, SignatureKind};
use quake_model::redact::Secret;

impl Keys for SimHost {
    async fn make_key(&self) -> Result<MadeKey, PortError> {
        self.call("make_key", |_| quake_keys::make_key()).await
    }

    async fn public_key(&self, key: &Secret<String>) -> Result<Vec<u8>, PortError> {
        self.call("public_key", |_| quake_keys::public_key(key))
            .await
    }

    async fn sign(
        &self,
        key: &Secret<String>,
        kind: SignatureKind,
        message: &[u8],
    ) -> Result<Vec<u8>, PortError> {
        self.call("sign", |_| quake_keys::sign(key, kind, message))
            .await
    }

    async fn verify(
        &self,
        public: &[u8],
        kind: SignatureKind,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), PortError> {
        let verified = quake_keys::verify(public, kind, message, signature);
        self.call("verify", |_| verified).await
    }
}

impl Provision for SimHost {
    async fn missing_packages(&self, packages: &[Package]) -> Result<Vec<String>, PortError> {
        self.call("missing_packages", |world| {
            let is_there = |package: &&Package| {
                let proven = !package.proven_by.is_empty()
                    && package
                        .proven_by
                        .iter()
                        .all(|path| world.files.contains_key(path));
                proven || world.region.packages.contains(&package.name)
            };
            let missing = packages.iter().filter(|package| !is_there(package));
            Ok(missing.map(|package| package.name.clone()).collect())
        })
        .await
    }

    async fn fetch_keyring(&self, url: &str) -> Result<Vec<u8>, PortError> {
        self.call("fetch_keyring", |world| {
            let key = world.keyrings.get(url).cloned();
            let simulated = b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nsimulated\n";
            Ok(key.unwrap_or_else(|| simulated.to_vec()))
        })
        .await
    }

    async fn install_packages(&self, names: &[String]) -> Result<(), PortError> {
        self.call("install_packages", |world| {
            if let Some((holder, tries)) = &mut world.packages_held
                && *tries > 0
            {
                *tries -= 1;
                let summary = format!("the package manager's lock is held by {holder}");
                return Err(PortError::new(Condition::Conflict, summary).seen("holder", holder));
            }
            if let Some(name) = names.iter().find(|it| world.unknown_packages.contains(*it)) {
                let summary = format!("no source has {name}");
                return Err(PortError::new(Condition::Missing, summary));
            }
            world.region.packages.extend(names.iter().cloned());
            Ok(())
        })
        .await
    }

    async fn make_user(&self, user: &User) -> Result<(), PortError> {
        let now = self.micros();
        self.call("make_user", |world| {
            let line = format!(
                "{}:x:{1}:{1}::{2}:{3}\n",
                user.name, user.uid, user.home, user.shell
            );
            let group = format!("{}:x:{}:\n", user.name, user.uid);
            for (path, line) in [("/etc/passwd", line), ("/etc/group", group)] {
                super::files::make_parents(world, path, now);
                let file = world.files.entry(path.to_owned()).or_insert(SimFile {
                    kind: EntryKind::File,
                    mode: 0o644,
                    owner: Owner::default(),
                    contents: Vec::new(),
                    modified_us: now,
                });
                let name = format!("{}:", user.name);
                let number = format!(":{}:", user.uid);
                let text = String::from_utf8_lossy(&file.contents);
                let is_taken = |line: &str| line.starts_with(&name) || line.contains(&number);
                if text.lines().any(is_taken) {
                    let summary = format!("{path} has {} or {} already", user.name, user.uid);
                    return Err(PortError::new(Condition::Occupied, summary));
                }
                file.contents.extend(line.as_bytes());
                file.modified_us = now;
            }
            Ok(())
        })
        .await
    }

    async fn run_command(&self, words: &[String]) -> Result<(), PortError> {
        self.call("run_command", |world| {
            let program = words.first().cloned().unwrap_or_default();
            if program.is_empty() || world.missing_programs.contains(&program) {
                let summary = format!("{program:?} cannot be run");
                return Err(PortError::new(Condition::Missing, summary));
            }
            if let Some(times) = world.failing_commands.get_mut(&program)
                && *times > 0
            {
                *times -= 1;
                let summary = format!("{} ended with exit status: 1", words.join(" "));
                return Err(PortError::new(Condition::Io, summary));
            }
            world.commands.push(words.to_vec());
            Ok(())
        })
        .await
    }
}
