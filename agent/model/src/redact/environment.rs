//! Variables of units: what is not known to be harmless is masked whole, for their names tell too little.

use super::harmless::{is_plain, is_reference};
use super::quote::quoted;
use super::shape::run;
use std::ops::Range;

/// Variables that say how a node is set up, and no more.
const PLAIN: &[&str] = &[
    "PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "SHELL",
    "USER",
    "LOGNAME",
    "PWD",
    "TMPDIR",
    "EDITOR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "KUBECONFIG",
    "HOSTNAME",
    "NODE_NAME",
    "NODE_IP",
    "CLUSTER_NAME",
    "POD_NAME",
    "POD_NAMESPACE",
    "DAEMON_ARGS",
    "LD_LIBRARY_PATH",
    "NOTIFY_SOCKET",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "MAINPID",
    "OPTIONS",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "LISTEN_FDS",
    "DEBIAN_FRONTEND",
    "S3_ENDPOINT",
    "S3_REGION",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CLOUD_PROVIDER",
    "NODEUP_URL_AMD64",
    "NODEUP_URL_ARM64",
    "PULL_BINARIES",
    "EXTRA_ARGS",
    "OPTARGS",
    "ARGS",
    "FLAGS",
    "OPTS",
];

const PLAIN_STARTS: &[&str] = &[
    "LC_",
    "XDG_",
    "SYSTEMD_",
    "KUBELET_",
    "CONTAINERD_",
    "DOCKER_",
    "KOPS_",
    "QUAKE_",
    "GO",
    "ETCD_",
    "CNI_",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_CA_BUNDLE",
    "AWS_EC2_METADATA",
    "AWS_USE_",
    "AWS_SDK_LOAD_CONFIG",
    "AWS_STS_REGIONAL",
    "OSS_REGION",
    "PROTOKUBE_",
    "CRIO_",
    "RUNC_",
    "CALICO_",
    "CILIUM_",
    "IPTABLES_",
    "NODEUP_",
];

/// Values of `Environment=` in a unit's file, and in what systemd shows of one.
pub(super) fn find_in_units(text: &str) -> Vec<Range<usize>> {
    const NAME: &str = "Environment=";
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for (at, _) in text.match_indices(NAME) {
        let begins = at == 0 || !is_of_name(bytes[at - 1]) || bytes[..at].ends_with(b"\\n");
        let from = at + NAME.len();
        if begins
            && found
                .last()
                .is_none_or(|last: &Range<usize>| last.end <= from)
        {
            find_in_line(text, from, &mut found);
        }
    }
    found
}

/// Values of a file of variables, a line each.
pub(super) fn find_in_file(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let said = line.trim_start().trim_start_matches("export ");
        if !said.starts_with(['#', ';']) {
            find_assignment(
                text,
                start + line.len() - said.len(),
                start + line.trim_end().len(),
                &mut found,
            );
        }
        start += line.len();
    }
    found
}

/// The assignments of a line: bare, or each in quotes.
fn find_in_line(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at += run(&bytes[at..], |b| b == b' ');
        let rest = &bytes[at..];
        let (start, end, next) = match quoted(rest) {
            Some(inner) => (
                at + inner.start,
                at + inner.end,
                at + inner.end + inner.start,
            ),
            None => {
                let length = run(rest, |b| !b.is_ascii_whitespace() && !b"\"'\\".contains(&b));
                (at, at + length, at + length)
            }
        };
        if start >= end || !find_assignment(text, start, end, found) {
            return;
        }
        at = next.min(bytes.len());
    }
}

/// Reads `NAME=value`; whether there is one.
fn find_assignment(text: &str, start: usize, end: usize, found: &mut Vec<Range<usize>>) -> bool {
    let bytes = text.as_bytes();
    if start >= end || !text.is_char_boundary(start) || !text.is_char_boundary(end) {
        return false;
    }
    let length = run(&bytes[start..end], is_of_name);
    if length == 0 || bytes.get(start + length) != Some(&b'=') || start + length >= end {
        return false;
    }
    let name = &text[start..start + length];
    let value = start + length + 1..end;
    let words = text[value.clone()].trim_matches(['"', '\'']);
    if !is_harmless(name) && !is_plain(words) && !is_reference(words) && !is_small(words) {
        found.push(value);
    }
    true
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_harmless(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    PLAIN.contains(&name.as_str()) || PLAIN_STARTS.iter().any(|start| name.starts_with(start))
}

/// A number that is no more than a setting.
fn is_small(words: &str) -> bool {
    words.len() <= 3 && words.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::redact::{KnownSecrets, scrub, scrub_environment};

    #[test]
    fn variables_of_units_are_masked_but_for_those_that_say_nothing() {
        for (text, scrubbed) in [
            (
                "Environment=\"AGENT_DD=words here\" LANG=C\nUser=me",
                "Environment=\"AGENT_DD=***\" LANG=C\nUser=me",
            ),
            (
                "Environment=A=words B=more HTTPS_PROXY=http://p:3128",
                "Environment=A=*** B=*** HTTPS_PROXY=http://p:3128",
            ),
            (
                "[Service]\\nEnvironment=\\\"A=words\\\"\\nUser=me",
                "[Service]\\nEnvironment=\\\"A=***\\\"\\nUser=me",
            ),
            (
                "Environment=KUBELET_OPTS=--v=2",
                "Environment=KUBELET_OPTS=--v=2",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn a_file_of_variables_keeps_those_that_say_nothing() {
        let text = "# of all\nPATH=/bin\nexport MINE='some words'\nNO_PROXY=10.0.0.0/8\n";
        let (masked, counts) = scrub_environment(text, &mut KnownSecrets::default());
        assert_eq!(
            masked,
            "# of all\nPATH=/bin\nexport MINE=***\nNO_PROXY=10.0.0.0/8\n"
        );
        assert_eq!(counts.total(), 1);
    }
}
