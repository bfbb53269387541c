//! The network's name server, which also gives instances their addresses. It knows the names that a case tells it, and
//! says of any other at once that there is none: cloud-init asks for names that do not exist, and waits for the answers.

use super::metadata::Facts;
use super::probe::program;
use super::vpc::ROUTER;
use crate::agent::{Running, clean};
use crate::namespace::Namespace;
use crate::skip::SetUpError;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// dnsmasq, ended with its value.
#[derive(Debug)]
pub(super) struct Names {
    running: Running,
    /// The names that it knows, in the form of a hosts file.
    known: PathBuf,
}

impl Names {
    /// A server on this interface, with DHCP for instances of these addresses. It knows no name yet.
    ///
    /// # Errors
    ///
    /// Says what is missing here, or what the server said.
    pub(super) fn serve(
        namespace: &Namespace,
        interface: &str,
        instances: impl Iterator<Item = Ipv4Addr>,
        scratch: &Path,
    ) -> Result<Self, SetUpError> {
        let Some(dnsmasq) = program("dnsmasq") else {
            return Err(SetUpError::Missing("missing here: dnsmasq".to_owned()));
        };
        let (known, instances_file) = (scratch.join("names"), scratch.join("dhcp-hosts"));
        write(&known, "")?;
        write(&instances_file, &leases(instances))?;
        let mut command = Command::new("setpriv");
        clean(&mut command);
        command.args(["--pdeathsig", "KILL"]).arg(dnsmasq);
        command.args([
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--log-facility=-",
            "--user=root",
            "--pid-file",
        ]);
        command.args([
            "--port=53",
            "--no-resolv",
            "--no-hosts",
            "--address=/#/",
            "--no-ping",
            "--bind-interfaces",
            "--dhcp-authoritative",
            "--dhcp-range=172.20.0.0,static,255.255.0.0,1h",
        ]);
        command.arg(format!("--interface={interface}"));
        command.arg(format!("--dhcp-option=option:router,{ROUTER}"));
        command.arg(format!("--dhcp-option=option:dns-server,{ROUTER}"));
        for (option, path) in [
            ("addn-hosts", &known),
            ("dhcp-hostsfile", &instances_file),
            ("dhcp-leasefile", &scratch.join("leases")),
        ] {
            command.arg(format!("--{option}={}", path.display()));
        }
        let mut running = Running::start(namespace.inside(&command));
        running.wait_for_error("DHCP, ")?;
        Ok(Self { running, known })
    }

    /// Has it know these names and no others.
    ///
    /// # Errors
    ///
    /// Says why they cannot be told to it.
    pub(super) fn publish(&self, names: &BTreeMap<String, Ipv4Addr>) -> Result<(), String> {
        let lines = names
            .iter()
            .map(|(name, address)| format!("{address} {name}\n"));
        write(&self.known, &lines.collect::<String>())?;
        let reported = self.running.hang_up();
        reported.map_err(|error| format!("dnsmasq cannot be told of names: {error}"))
    }
}

/// Which address each hardware address gets.
fn leases(instances: impl Iterator<Item = Ipv4Addr>) -> String {
    let mut text = String::new();
    for address in instances {
        let instance = String::new();
        let mac = Facts { instance, address }.mac();
        // A string takes everything that is written to it.
        let _ = writeln!(text, "{mac},{address}");
    }
    text
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
