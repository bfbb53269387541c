//! What the code of each crate may not even call.
//!
//! clippy reads the nearest `clippy.toml` and no other, so a crate's own file silently drops the shared
//! bans unless it repeats them. This check holds each file to the shared ones and to its crate's groups.

use crate::error::TaskError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A crate and the groups of calls that are closed to it.
struct Row {
    folder: &'static str,
    groups: &'static [&'static [&'static str]],
}

const ROWS: &[Row] = &[
    Row {
        folder: "agent/model",
        groups: &[FILES, NETWORK, PROCESSES, AMBIENT],
    },
    Row {
        folder: "agent/formats",
        groups: &[FILES, NETWORK, PROCESSES, AMBIENT],
    },
    Row {
        folder: "agent/volumes",
        groups: &[FILES, NETWORK, PROCESSES, AMBIENT],
    },
    Row {
        folder: "agent/addons",
        groups: &[FILES, NETWORK, PROCESSES, AMBIENT],
    },
    Row {
        folder: "agent/diagnose",
        groups: &[FILES, NETWORK, PROCESSES, AMBIENT],
    },
    Row {
        folder: "agent/node",
        groups: &[FILES, NETWORK, PROCESSES, AMBIENT],
    },
    Row {
        folder: "agent/engine",
        groups: &[FILES, NETWORK, PROCESSES],
    },
    Row {
        folder: "agent/apisim",
        groups: &[FILES, NETWORK, PROCESSES, AMBIENT],
    },
    Row {
        folder: "agent/testkit",
        groups: &[FILES, NETWORK, PROCESSES, AMBIENT],
    },
    Row {
        folder: "agent/http",
        groups: &[WAITING],
    },
    Row {
        folder: "agent/assets",
        groups: &[WAITING],
    },
    Row {
        folder: "agent/host",
        groups: &[WAITING],
    },
    Row {
        folder: "agent/cli",
        groups: &[],
    },
];

const FILES: &[&str] = &[
    "std::fs::File",
    "std::fs::OpenOptions",
    "std::fs::copy",
    "std::fs::create_dir",
    "std::fs::create_dir_all",
    "std::fs::metadata",
    "std::fs::read",
    "std::fs::read_dir",
    "std::fs::read_to_string",
    "std::fs::remove_dir_all",
    "std::fs::remove_file",
    "std::fs::rename",
    "std::fs::set_permissions",
    "std::fs::write",
    "tokio::fs::File",
    "tokio::fs::OpenOptions",
    "tokio::fs::read",
    "tokio::fs::read_to_string",
    "tokio::fs::write",
];

const NETWORK: &[&str] = &[
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::UdpSocket",
    "std::os::unix::net::UnixStream",
    "tokio::net::TcpListener",
    "tokio::net::TcpStream",
    "tokio::net::UdpSocket",
    "tokio::net::UnixStream",
    "tokio::net::lookup_host",
];

const PROCESSES: &[&str] = &["std::process::Command", "tokio::process::Command"];

/// Clocks and the environment: with them a decision would differ between two runs on the same facts.
const AMBIENT: &[&str] = &[
    "std::env::current_dir",
    "std::env::var",
    "std::env::var_os",
    "std::time::Instant::now",
    "std::time::SystemTime::now",
];

const WAITING: &[&str] = &[
    "tokio::time::interval",
    "tokio::time::sleep",
    "tokio::time::sleep_until",
];

/// One finding for each ban or setting that a crate's file lacks.
///
/// # Errors
///
/// Fails when a file is there and cannot be read.
pub(super) fn check(root: &Path) -> Result<Vec<String>, TaskError> {
    let shared = Bans::read(&root.join("clippy.toml"))?.unwrap_or_default();
    let mut findings = Vec::new();
    for row in ROWS {
        let name = format!("{}/clippy.toml", row.folder);
        match Bans::read(&root.join(&name))? {
            Some(own) => findings.extend(own.lacking(&name, &shared, row.groups)),
            None => findings.push(format!("{name} is missing")),
        }
    }
    Ok(findings)
}

/// What one `clippy.toml` says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Bans {
    settings: BTreeMap<String, String>,
    paths: BTreeSet<String>,
}

impl Bans {
    fn read(path: &Path) -> Result<Option<Self>, TaskError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(Self::parse(&text))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(TaskError::path(path)(source)),
        }
    }

    /// Reads the layout these files are kept in: `key = value` lines, and lists with one ban per line.
    ///
    /// A ban written in another layout is not seen, and so is reported as lacking: the check fails closed.
    fn parse(text: &str) -> Self {
        let mut bans = Self::default();
        for line in text.lines().map(str::trim) {
            if line.starts_with('#') {
                continue;
            }
            if let Some(path) = line.strip_prefix("{ path = \"") {
                let path = path.split('"').next().unwrap_or_default();
                bans.paths.insert(path.to_owned());
            } else if let Some((key, value)) = line.split_once(" = ")
                && value != "["
            {
                bans.settings.insert(key.to_owned(), value.to_owned());
            }
        }
        bans
    }

    fn lacking(&self, name: &str, shared: &Self, groups: &[&[&str]]) -> Vec<String> {
        let settings = shared
            .settings
            .iter()
            .filter(|(key, value)| self.settings.get(*key) != Some(value))
            .map(|(key, value)| format!("{name} lacks the shared setting {key} = {value}"));
        let bans = shared
            .paths
            .iter()
            .filter(|path| !self.paths.contains(*path))
            .map(|path| format!("{name} lacks the shared ban of {path}"));
        let own = groups
            .iter()
            .flat_map(|group| group.iter())
            .filter(|path| !self.paths.contains(**path) && !shared.paths.contains(**path))
            .map(|path| format!("{name} lacks its own ban of {path}"));
        settings.chain(bans).chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: &str = r#"
# A comment about { path = "std::nothing", reason = "none" }
too-many-lines-threshold = 60
disallowed-methods = [
    { path = "std::process::exit", reason = "only main.rs ends the process" },
]
"#;

    #[test]
    fn a_file_that_repeats_the_shared_bans_and_adds_its_own_lacks_nothing() {
        let own = SHARED.replace(
            "]\n",
            "    { path = \"std::env::var\", reason = \"x\" },\n]\n",
        );
        let own = Bans::parse(&own);
        let lacking = own.lacking("a/clippy.toml", &Bans::parse(SHARED), &[&["std::env::var"]]);
        assert_eq!(lacking, Vec::<String>::new());
    }

    #[test]
    fn a_file_that_drops_a_shared_ban_is_found() {
        let own = Bans::parse("too-many-lines-threshold = 60\n");
        let lacking = own.lacking("a/clippy.toml", &Bans::parse(SHARED), &[]);
        let expected = "a/clippy.toml lacks the shared ban of std::process::exit";
        assert_eq!(lacking, [expected]);
    }

    #[test]
    fn a_file_with_another_threshold_is_found() {
        let own = Bans::parse(&SHARED.replace("60", "600"));
        let lacking = own.lacking("a/clippy.toml", &Bans::parse(SHARED), &[]);
        let expected = "a/clippy.toml lacks the shared setting too-many-lines-threshold = 60";
        assert_eq!(lacking, [expected]);
    }

    #[test]
    fn a_file_that_drops_a_ban_of_its_own_group_is_found() {
        let own = Bans::parse(SHARED);
        let lacking = own.lacking(
            "a/clippy.toml",
            &Bans::parse(SHARED),
            &[&["std::fs::write"]],
        );
        let expected = "a/clippy.toml lacks its own ban of std::fs::write";
        assert_eq!(lacking, [expected]);
    }

    #[test]
    fn a_ban_that_is_commented_out_does_not_count() {
        let own = SHARED.replace("    { path", "    # { path");
        assert!(Bans::parse(&own).paths.is_empty());
    }
}
