//! Who listens on which TCP port: the kernel's tables of sockets, and the processes that have them open. Who has a
//! socket of another user's process is shown to root only.

use quake_model::facts::Listener;
use quake_model::ports::{Condition, PortError};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// The state of a socket that listens (`TCP_LISTEN`, tcp_states.h).
const LISTENS: &str = "0A";
/// How many processes are looked at; a node that has more is asked too much.
const PROCESSES: usize = 20_000;

/// Listening sockets, by port.
///
/// # Errors
///
/// `Io` when the kernel's table cannot be read.
pub fn read_listeners() -> Result<Vec<Listener>, PortError> {
    listeners_of(Path::new("/proc"))
}

fn listeners_of(proc: &Path) -> Result<Vec<Listener>, PortError> {
    let path = proc.join("net/tcp");
    let four = fs::read_to_string(&path).map_err(|error| {
        let summary = format!("read {}", path.display());
        PortError::new(Condition::Io, summary).because(&error)
    })?;
    // A machine without IPv6 has no such table.
    let six = fs::read_to_string(proc.join("net/tcp6")).unwrap_or_default();
    let sockets: Vec<Socket> = four.lines().chain(six.lines()).filter_map(socket).collect();
    let wanted = sockets.iter().map(|socket| socket.inode).collect();
    let owners = owners(proc, &wanted);
    let mut found: Vec<Listener> = sockets
        .into_iter()
        .map(|socket| {
            let owner = owners.get(&socket.inode);
            Listener {
                address: socket.address.to_string(),
                port: socket.port,
                program: owner.and_then(|(_, program)| program.clone()),
                pid: owner.map(|(pid, _)| *pid),
            }
        })
        .collect();
    found.sort_by(|a, b| (a.port, &a.address).cmp(&(b.port, &b.address)));
    Ok(found)
}

struct Socket {
    address: IpAddr,
    port: u16,
    inode: u64,
}

/// Reads a line of `/proc/net/tcp` or `tcp6` (proc(5)) of a socket that listens.
fn socket(line: &str) -> Option<Socket> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (local, state, inode) = (words.get(1)?, words.get(3)?, words.get(9)?);
    if *state != LISTENS {
        return None;
    }
    let (address, port) = local.split_once(':')?;
    Some(Socket {
        address: address_of(address)?,
        port: u16::from_str_radix(port, 16).ok()?,
        inode: inode.parse().ok()?,
    })
}

/// An address as the kernel prints it: words of 32 bits, each in the machine's own order.
fn address_of(text: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let number = u32::from_str_radix(text.get(at..at + 8)?, 16).ok()?;
        Some(number.to_ne_bytes())
    };
    match text.len() {
        8 => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            Some(IpAddr::V6(Ipv6Addr::from(bytes)))
        }
        _ => None,
    }
}

/// The processes that have these sockets open: number and program. What may not be looked at is left out.
fn owners(proc: &Path, wanted: &BTreeSet<u64>) -> BTreeMap<u64, (u32, Option<String>)> {
    let mut found = BTreeMap::new();
    let Ok(entries) = fs::read_dir(proc) else {
        return found;
    };
    let processes = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    for pid in processes.take(PROCESSES) {
        if found.len() == wanted.len() {
            break;
        }
        let folder = proc.join(pid.to_string());
        let Ok(open) = fs::read_dir(folder.join("fd")) else {
            continue;
        };
        for inode in open.flatten().filter_map(|entry| inode_of(&entry.path())) {
            if wanted.contains(&inode) {
                let program = fs::read_to_string(folder.join("comm")).ok();
                let program = program.map(|name| name.trim_end().to_owned());
                found.entry(inode).or_insert((pid, program));
            }
        }
    }
    found
}

/// The number in `socket:[4026]`, where an open file leads.
fn inode_of(path: &Path) -> Option<u64> {
    let target = fs::read_link(path).ok()?;
    let text = target.to_str()?;
    text.strip_prefix("socket:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_socket_of_this_process_is_found_with_its_owner() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let local = listener.local_addr().expect("it is bound");
            let all = read_listeners().expect("there is a table");
            let found = all
                .iter()
                .find(|one| one.port == local.port())
                .expect("it listens");
            assert_eq!(found.address, local.ip().to_string());
            assert_eq!(found.pid, Some(std::process::id()));
            assert!(found.program.as_ref().is_some_and(|name| !name.is_empty()));
        }
    }

    #[test]
    fn a_connection_is_no_listener() {
        let line =
            "1: 0100007F:9519 0100007F:B1D2 06 00000000:00000000 03:000005E7 00000000 0 0 0 3 0";
        assert!(socket(line).is_none());
    }
}
