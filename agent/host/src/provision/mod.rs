//! The distribution's own programs: dpkg and apt, or rpm and dnf; useradd; and commands that follow a change.

mod keyring;
mod packages;
mod programs;
mod users;

pub use programs::Programs;

use quake_model::item::{Package, User};
use quake_model::ports::{PortError, Provision};

/// This machine's programs.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemPrograms;

impl Provision for SystemPrograms {
    async fn missing_packages(&self, packages: &[Package]) -> Result<Vec<String>, PortError> {
        Programs::of_this_machine().missing_packages(packages).await
    }

    async fn fetch_keyring(&self, url: &str) -> Result<Vec<u8>, PortError> {
        Programs::of_this_machine().fetch_keyring(url).await
    }

    async fn install_packages(&self, names: &[String]) -> Result<(), PortError> {
        Programs::of_this_machine().install_packages(names).await
    }

    async fn make_user(&self, user: &User) -> Result<(), PortError> {
        Programs::of_this_machine().make_user(user).await
    }

    async fn run_command(&self, words: &[String]) -> Result<(), PortError> {
        Programs::of_this_machine().run_command(words).await
    }
}

impl Provision for Programs {
    async fn missing_packages(&self, packages: &[Package]) -> Result<Vec<String>, PortError> {
        packages::missing(self, packages).await
    }

    async fn fetch_keyring(&self, url: &str) -> Result<Vec<u8>, PortError> {
        keyring::fetch(url).await
    }

    async fn install_packages(&self, names: &[String]) -> Result<(), PortError> {
        packages::install(self, names).await
    }

    async fn make_user(&self, user: &User) -> Result<(), PortError> {
        users::make(self, user).await
    }

    async fn run_command(&self, words: &[String]) -> Result<(), PortError> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = self.run(&words, programs::DEADLINE).await?;
        if ran.status.success() {
            Ok(())
        } else {
            Err(programs::complaint(&words, &ran))
        }
    }
}
