//! Files that an error names, and what names them: a flag or a key of a configuration.

use super::{Texts, kops, words};

/// Where files of the node are; other paths are those of interfaces.
const ROOTS: &[&str] = &[
    "/etc/", "/srv/", "/var/", "/run/", "/usr/", "/opt/", "/lib/", "/home/", "/root/", "/mnt/",
    "/dev/", "/tmp/",
];

/// Files that only a container sees.
const OF_PODS: &[&str] = &["/var/run/secrets/", "/run/secrets/"];

/// Files that a unit or a pod writes while it runs.
const WRITERS: &[(&str, &str)] = &[
    (
        "/run/systemd/resolve/",
        "systemd-resolved.service writes it while it runs: systemctl enable --now systemd-resolved.service, or name /etc/resolv.conf",
    ),
    ("/run/flannel/", "flannel's pod on this node writes it"),
    (
        "/var/lib/calico/",
        "calico-node's pod on this node writes it",
    ),
    (
        "/run/containerd/",
        "containerd.service makes it: systemctl status containerd.service",
    ),
];

/// Keys of kubelet's configuration file whose names in the cluster spec are the same.
const KUBELET: &str = "/var/lib/kubelet/";

/// What to do about a file that an error names.
pub(super) fn remedy(error: &str, program: &str, texts: &Texts) -> Option<String> {
    let is_file = |word: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._@+-:".contains(c);
        ROOTS.iter().any(|root| word.starts_with(root))
            && !OF_PODS.iter().any(|root| word.starts_with(root))
            && word.chars().all(is_plain)
    };
    let path = words(error).find(is_file)?.split(':').next()?;
    let says = |parts: &[&str]| parts.iter().any(|part| error.contains(part));
    let action = if says(&["no such file", "not found", "does not exist", "not exist"]) {
        "it is not there"
    } else if says(&["permission denied", "operation not permitted"]) {
        "it may not be read or written by the user that runs"
    } else if says(&["no space left"]) {
        return Some(format!("df -h {path}; df -i {path}; make room there"));
    } else {
        "correct what the line says of it"
    };
    let named = namer(path, program, texts);
    let writer = WRITERS.iter().find(|(start, _)| path.starts_with(start));
    let mut parts = vec![format!("ls -l {path}: {action}")];
    parts.extend(writer.map(|(_, who)| (*who).to_owned()));
    parts.extend(named.map(|named| format!("what names it is {named}")));
    Some(parts.join("; "))
}

/// What names a file: a flag of the program, or a key of kubelet's configuration.
fn namer(path: &str, program: &str, texts: &Texts) -> Option<String> {
    let own = texts.iter().filter(|(file, _)| {
        let name = file.rsplit('/').next().unwrap_or(file);
        name.starts_with(program)
    });
    let flag = own
        .filter_map(|(_, text)| flag_with(text.ok()?, path))
        .next();
    if let Some(flag) = flag {
        return Some(kops::place(program, flag));
    }
    let configurations = texts.iter().filter(|(file, _)| file.starts_with(KUBELET));
    let mut keys = configurations.filter_map(|(file, text)| {
        let mut lines = text.ok()?.lines();
        let line = lines.find(|line| value_of(line) == Some(path))?;
        let (key, _) = line.trim().split_once(':')?;
        let key = key.trim_matches(['"', ' ']);
        Some(format!(
            "{key} in {file}, which is spec.kubelet.{key} in kops edit cluster"
        ))
    });
    keys.next()
}

/// The value of a line such as `resolvConf: /run/x` or `"resolvConf": "/run/x",`.
fn value_of(line: &str) -> Option<&str> {
    let (_, value) = line.split_once(':')?;
    Some(value.trim().trim_matches(['"', '\'', ',', ' ']))
}

/// The flag that has a value in a text of commands: `token-auth-file` of `--token-auth-file=/srv/x`.
fn flag_with<'a>(text: &'a str, value: &str) -> Option<&'a str> {
    let mut found = text.match_indices(value);
    found.find_map(|(at, _)| {
        let after = text[at + value.len()..].chars().next();
        let is_whole = after.is_none_or(|c| c.is_whitespace() || "\"',\\".contains(c));
        let before = text[..at].trim_end_matches(['=', ' ']);
        let (_, flag) = before.rsplit_once("--")?;
        let is_flag = flag.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        (is_whole && is_flag && !flag.is_empty()).then_some(flag)
    })
}
