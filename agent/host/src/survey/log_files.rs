//! The last lines of log files, of this machine's or of a captured tree's. A line loses what the runtime writes before it,
//! and what looks like a credential.

use quake_model::ports::{Condition, PortError};
use quake_model::redact::scrub;
use quake_tree::{Last, locate};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How much of the end of a log is read, in bytes, and the longest line that is kept, in characters.
const TAIL: u64 = 24 << 10;
const LONGEST: usize = 1000;

/// How many lines of a file in `/var/log` are kept.
const LINES: usize = 100;

/// How many names of a directory are looked at.
const MOST: usize = 200;

/// Directories of logs that no journal has.
const DIRECTORIES: &[&str] = &["/var/log", "/var/log/aws-routed-eni", "/var/log/calico/cni"];

/// Files that are read line by line for what nodes log, for they have what everybody logs.
const OF_ALL: &[&str] = &["/var/log/syslog", "/var/log/messages"];

/// Who is of interest in them.
const OF_INTEREST: &[&str] = &[
    "kubelet[",
    "containerd[",
    "dockerd[",
    "kernel:",
    "systemd[1]:",
    "quake-agent[",
    "nodeup[",
    "protokube[",
    "etcd[",
    "chronyd[",
];

/// Files that may show secrets, or logins of people.
const LEAKY: &[&str] = &[
    "cloud-init-output.log",
    "auth.log",
    "secure.log",
    "sudo.log",
];

/// A log of this machine that nobody wrote to for this long is of an earlier time.
const SILENT: Duration = Duration::from_secs(30 * 60);

/// Reads the logs in `/var/log` of a tree. Blocks.
///
/// # Errors
///
/// `Denied` or `Io` when the directories cannot be listed.
pub fn read_log_files(root: &Path) -> Result<BTreeMap<String, Vec<String>>, PortError> {
    let is_machine = root == Path::new("/");
    let mut all = BTreeMap::new();
    for directory in DIRECTORIES {
        let folder = root.join(directory.trim_start_matches('/'));
        for name in names(&folder, MOST)? {
            let is_log = name.ends_with(".log") && !LEAKY.contains(&name.as_str());
            if !is_log || (is_machine && is_silent(&folder.join(&name))) {
                continue;
            }
            let path = format!("{directory}/{name}");
            let lines = last_lines(root, &path, LINES).unwrap_or_default();
            all.insert(path, lines);
        }
    }
    // Of a running machine the journal has them.
    for path in OF_ALL.iter().filter(|_| !is_machine) {
        let lines = last_lines(root, path, usize::MAX).unwrap_or_default();
        let own = |line: &String| OF_INTEREST.iter().any(|word| line.contains(word));
        all.insert((*path).to_owned(), lines.into_iter().filter(own).collect());
    }
    all.retain(|_, lines| !lines.is_empty());
    Ok(all)
}

fn is_silent(path: &Path) -> bool {
    let written = fs::metadata(path).and_then(|facts| facts.modified());
    let ago = written.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
    !ago.is_ok_and(|ago| ago < SILENT)
}

/// The last lines of a file of a tree; `None` where it cannot be read. No link leads out of the tree.
pub(super) fn last_lines(root: &Path, path: &str, most: usize) -> Option<Vec<String>> {
    let text = read_end(&locate(root, path, Last::Followed).ok()?)?;
    // Scrubbed as one text, for a private key is masked over its lines; and before and after the runtime's part of a line is
    // taken off: it says which lines were one, and hides what is in them.
    let said: Vec<String> = scrub(&text)
        .lines()
        .map(|line| message(line).trim_end().to_owned())
        .collect();
    let text = scrub(&said.join("\n"));
    let lines = text.lines().filter(|line| !line.is_empty());
    let lines: Vec<String> = lines
        .map(|line| line.chars().take(LONGEST).collect())
        .collect();
    Some(lines[lines.len().saturating_sub(most)..].to_vec())
}

/// A line of docker's `json-file` logs.
#[derive(Deserialize)]
struct OfDocker {
    log: String,
}

/// What was said in a line of a log. The runtime writes a time, a stream and a tag before it (the CRI's form), docker an object
/// around it.
fn message(line: &str) -> String {
    if line.starts_with("{\"log\":")
        && let Ok(OfDocker { log }) = serde_json::from_str(line)
    {
        return log;
    }
    let mut parts = line.splitn(4, ' ');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(_), Some("stdout" | "stderr"), Some("F" | "P"), said) => {
            said.unwrap_or_default().to_owned()
        }
        _ => line.to_owned(),
    }
}

fn read_end(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let facts = file.metadata().ok()?;
    if !facts.is_file() {
        return None;
    }
    let length = facts.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // What begins in the middle of a line is left out.
    match length > TAIL {
        true => text.split_once('\n').map(|(_, rest)| rest.to_owned()),
        false => Some(text),
    }
}

/// The names in a directory, sorted; none where it is not there.
pub(super) fn names(folder: &Path, most: usize) -> Result<Vec<String>, PortError> {
    let unread = |error: std::io::Error| {
        let condition = match error.kind() {
            ErrorKind::PermissionDenied => Condition::Denied,
            _ => Condition::Io,
        };
        PortError::new(condition, format!("{} cannot be listed", folder.display())).because(&error)
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unread)?,
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .take(most)
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("the root is ours");
        fs::write(path, text).expect("the root is ours");
    }

    #[test]
    fn each_form_of_a_log_says_what_its_program_said() {
        for line in [
            "2026-11-22T09:00:00Z stderr F no flux",
            "{\"log\":\"no flux\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-22T09:00:00Z\"}",
            "no flux",
        ] {
            assert_eq!(message(line).trim_end(), "no flux");
        }
    }

    #[test]
    fn the_logs_of_a_tree_are_read_but_not_those_that_show_secrets() {
        let root = tempfile::tempdir().expect("a scratch root");
        write(
            root.path(),
            "var/log/etcd.log",
            "no flux\npassword=hunter2\n",
        );
        write(root.path(), "var/log/cloud-init-output.log", "a token\n");
        write(
            root.path(),
            "var/log/aws-routed-eni/ipamd.log",
            "no addresses\n",
        );
        let syslog = "Nov 22 02:31:00 n sshd[7]: a login\nNov 22 02:31:00 n kubelet[8]: no flux\n";
        write(root.path(), "var/log/syslog", syslog);
        symlink("/proc/version", root.path().join("var/log/out.log")).expect("a link");
        let read = read_log_files(root.path()).expect("it can be read");
        let names: Vec<&str> = read.keys().map(String::as_str).collect();
        let wanted = [
            "/var/log/aws-routed-eni/ipamd.log",
            "/var/log/etcd.log",
            "/var/log/syslog",
        ];
        assert_eq!(names, wanted);
        assert_eq!(read["/var/log/etcd.log"], ["no flux", "password=***"]);
        assert_eq!(
            read["/var/log/syslog"],
            ["Nov 22 02:31:00 n kubelet[8]: no flux"]
        );
    }

    #[test]
    fn a_secret_that_the_runtime_wrote_in_two_parts_is_masked_in_both() {
        let root = tempfile::tempdir().expect("a scratch root");
        let time = "2026-11-22T02:31:00.123456789Z";
        let text = format!("{time} stdout P a password=hunter2abcd\n{time} stdout F efghijkl b\n");
        write(root.path(), "var/log/x.log", &text);
        let lines = last_lines(root.path(), "/var/log/x.log", 9).expect("it is there");
        assert_eq!(lines, ["a password=***", "*** b"]);
    }

    #[test]
    fn of_a_long_log_the_end_is_read() {
        let root = tempfile::tempdir().expect("a scratch root");
        let text: String = (0..20_000)
            .map(|number| format!("line {number}\n"))
            .collect();
        write(root.path(), "var/log/x.log", &text);
        let lines = last_lines(root.path(), "/var/log/x.log", 2).expect("it is there");
        assert_eq!(lines, ["line 19998", "line 19999"]);
    }
}
