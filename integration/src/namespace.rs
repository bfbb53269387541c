//! A network namespace with the metadata service's address and no way out; deleted with its value.

use crate::machine::program;
use crate::skip::{SetUpError, is_root};
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// The metadata service's address on every instance.
pub const METADATA: &str = "169.254.169.254:80";

static NEXT: AtomicU32 = AtomicU32::new(0);

static SWEPT: Once = Once::new();

/// A network namespace of its own name.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes a namespace whose loopback is up and carries the metadata service's address.
    ///
    /// # Errors
    ///
    /// Says what is missing here, which is root, `ip`, or the right to make namespaces; or what `ip` says.
    pub fn make() -> Result<Self, SetUpError> {
        let made = Self::bare()?;
        made.ip(&["address", "add", "169.254.169.254/32", "dev", "lo"])?;
        Ok(made)
    }

    /// Makes a namespace with nothing but its loopback, which is up.
    ///
    /// # Errors
    ///
    /// As [`Namespace::make`].
    pub fn bare() -> Result<Self, SetUpError> {
        if !is_root() {
            let what = "network namespaces can be made by root alone";
            return Err(SetUpError::Missing(what.to_owned()));
        }
        if program("ip").is_none() {
            return Err(SetUpError::Missing("missing here: ip".to_owned()));
        }
        SWEPT.call_once(sweep);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quake-{}-{number}", std::process::id());
        ip(&["netns", "add", &name]).map_err(SetUpError::new)?;
        let made = Self { name };
        made.ip(&["link", "set", "lo", "up"])?;
        Ok(made)
    }

    /// Its name, as `ip netns` lists it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `ip` on what is in it.
    ///
    /// # Errors
    ///
    /// Returns what `ip` says.
    pub fn ip(&self, arguments: &[&str]) -> Result<(), String> {
        let mut all = vec!["-n", self.name.as_str()];
        all.extend(arguments);
        ip(&all)
    }

    /// A listener inside; whoever holds it may be outside.
    ///
    /// # Errors
    ///
    /// Returns the error of entering the namespace or of the listener.
    pub fn listen(&self, address: &str) -> io::Result<TcpListener> {
        self.open(address, TcpListener::bind)
    }

    /// A socket for datagrams inside, as of a name server.
    ///
    /// # Errors
    ///
    /// As [`Namespace::listen`].
    pub fn receive(&self, address: &str) -> io::Result<UdpSocket> {
        self.open(address, UdpSocket::bind)
    }

    fn open<S: Send + 'static>(
        &self,
        address: &str,
        open: impl FnOnce(SocketAddr) -> io::Result<S> + Send + 'static,
    ) -> io::Result<S> {
        let address: SocketAddr = address.parse().map_err(io::Error::other)?;
        let door = File::open(format!("/var/run/netns/{}", self.name))?;
        // A thread is in a namespace for as long as it lives, and a socket in the one it was made in.
        let inside = std::thread::spawn(move || {
            nix::sched::setns(door, nix::sched::CloneFlags::CLONE_NEWNET)?;
            open(address)
        });
        inside
            .join()
            .map_err(|_| io::Error::other("the thread inside panicked"))?
    }

    /// The same command, run inside.
    pub fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside
            .args(["netns", "exec", &self.name])
            .arg(command.get_program())
            .args(command.get_args());
        crate::agent::clean(&mut inside);
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                inside.env(name, value);
            }
        }
        inside
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Nothing can be done about one that stays, and the next run takes another name.
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

/// Deletes the namespaces of processes that were killed before they could.
fn sweep() {
    let names = std::fs::read_dir("/var/run/netns")
        .into_iter()
        .flatten()
        .flatten();
    for name in names.map(|entry| entry.file_name().to_string_lossy().into_owned()) {
        let process = name
            .strip_prefix("quake-")
            .and_then(|rest| rest.split('-').next());
        let is_over = |process: &str| !Path::new("/proc").join(process).exists();
        if process.is_some_and(|process| process.parse::<u32>().is_ok() && is_over(process)) {
            // Another test may have deleted it by now.
            let _ = ip(&["netns", "delete", &name]);
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let run = Command::new("ip")
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = run.map_err(|error| format!("ip cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let reported = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "ip {} says: {}",
        arguments.join(" "),
        reported.trim()
    ))
}
