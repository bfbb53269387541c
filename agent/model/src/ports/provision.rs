//! What the distribution's own programs do for the node: packages, users, and commands that follow a change.

use super::PortError;
use crate::item::{Package, User};
use std::future::Future;

/// The distribution's programs.
pub trait Provision {
    /// The names of those packages that are not there. One that is proven by paths is there where all of them are.
    ///
    /// # Errors
    ///
    /// `Io` where the package manager's own records cannot be read.
    fn missing_packages(
        &self,
        packages: &[Package],
    ) -> impl Future<Output = Result<Vec<String>, PortError>> + Send;

    /// Reads the key that signs a source of packages, over https.
    ///
    /// # Errors
    ///
    /// `Missing`, `Denied`, `Unreachable`; `Malformed` for what is no OpenPGP key.
    fn fetch_keyring(&self, url: &str) -> impl Future<Output = Result<Vec<u8>, PortError>> + Send;

    /// Installs packages together: one lock, at most one update of the index.
    ///
    /// # Errors
    ///
    /// `Conflict` while another holds the lock (`holder` says who, where it is known), `Missing` for a name that no source has, `Unreachable` for a source, else
    /// `Io`.
    fn install_packages(
        &self,
        names: &[String],
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Makes a system user, and a group of its own of the same number.
    ///
    /// # Errors
    ///
    /// `Occupied` where the name or the number is another's, `Conflict` while another holds the lists, else `Io`.
    fn make_user(&self, user: &User) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Runs a command without a shell, and waits for its end.
    ///
    /// # Errors
    ///
    /// `Missing` where there is no such program, else `Io` with its status and the end of what it said.
    fn run_command(&self, words: &[String]) -> impl Future<Output = Result<(), PortError>> + Send;
}
