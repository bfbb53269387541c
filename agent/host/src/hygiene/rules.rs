//! The rules, each with the command that fixes what breaks it.

use super::inside::{Image, holds};
use std::path::{Path, PathBuf};

/// Something that an image must not carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that it breaks.
    pub rule: &'static str,
    /// Where it is, on this machine.
    pub path: PathBuf,
    pub what: String,
    /// The command that fixes it.
    pub remedy: String,
}

/// The agent's own directory.
const OWN: &str = "var/lib/quake-agent";

/// Keys and kubeconfigs are small; what is larger is a program.
const MOST_KEY_BYTES: u64 = 1 << 20;

/// Directories with a node's keys and kubeconfigs.
const KEY_FOLDERS: [&str; 3] = ["etc/kubernetes", "var/lib/kubelet", "srv/kubernetes"];

/// How a log says that the agent wrote a line of it.
const LOG_MARKS: [&str; 2] = ["quake-agent[", "_SYSTEMD_UNIT=quake-agent.service"];

type Looked = std::io::Result<Vec<Finding>>;
type Look = fn(&Image<'_>) -> Looked;

const RULES: [(&str, Look); 8] = [
    ("ssh-host-key", ssh_host_keys),
    ("machine-id", machine_id),
    ("cloud-init", cloud_init),
    ("agent-state", agent_state),
    ("aws-credentials", aws_credentials),
    ("node-credentials", node_credentials),
    ("authorized-keys", authorized_keys),
    ("log", logs),
];

/// The names of all rules.
pub fn rule_names() -> [&'static str; 8] {
    RULES.map(|(name, _)| name)
}

/// Looks at the image at `root` by every rule that is not allowed to be broken. What cannot be looked at is a finding,
/// too.
pub fn look_image(root: &Path, allowed: &[String]) -> Vec<Finding> {
    let image = Image::new(root);
    let mut findings = Vec::new();
    for (name, look) in RULES {
        if allowed.iter().any(|allowed| allowed == name) {
            continue;
        }
        match look(&image) {
            Ok(found) => findings.extend(found),
            Err(error) => findings.push(Finding {
                rule: name,
                path: root.to_owned(),
                what: format!("it cannot be looked at: {error}"),
                remedy: "run this as root".to_owned(),
            }),
        }
    }
    findings
}

fn found(rule: &'static str, path: PathBuf, what: &str, remedy: &str) -> Finding {
    let quoted = quoted(&path);
    Finding {
        rule,
        what: what.to_owned(),
        remedy: format!("{remedy} {quoted}"),
        path,
    }
}

/// The path as a shell reads it.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if path.chars().all(is_plain) {
        path.into_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn length(path: &Path) -> u64 {
    path.symlink_metadata().map_or(0, |found| found.len())
}

fn ssh_host_keys(image: &Image<'_>) -> Looked {
    let mut keys = image.list("etc/ssh")?;
    keys.retain(|path| name_of(path).starts_with("ssh_host_"));
    let what = "every instance of the image would have this host key";
    let keys = keys.into_iter();
    Ok(keys
        .map(|path| found("ssh-host-key", path, what, "rm -f"))
        .collect())
}

fn machine_id(image: &Image<'_>) -> Looked {
    let what = "every instance of the image would have this machine-id";
    let mut findings = Vec::new();
    for (path, remedy) in [
        ("etc/machine-id", "truncate -s 0"),
        ("var/lib/dbus/machine-id", "rm -f"),
    ] {
        // A link leads to the other one.
        let Some(path) = image.find(path)?.filter(|path| !path.is_symlink()) else {
            continue;
        };
        let text = std::fs::read_to_string(&path)?;
        // machine-id(5): an empty file and this word have the first boot choose one.
        if !matches!(text.trim(), "" | "uninitialized") {
            findings.push(found("machine-id", path, what, remedy));
        }
    }
    Ok(findings)
}

fn cloud_init(image: &Image<'_>) -> Looked {
    let what = "cloud-init would take the instance for one that it has set up";
    let mut paths = image.list("var/lib/cloud/instances")?;
    if let Some(instance) = image.find("var/lib/cloud/instance")? {
        let is_empty = instance.is_dir()
            && !instance.is_symlink()
            && image.list("var/lib/cloud/instance")?.is_empty();
        if !is_empty {
            paths.push(instance);
        }
    }
    let paths = paths.into_iter();
    Ok(paths
        .map(|path| found("cloud-init", path, what, "rm -rf"))
        .collect())
}

/// The store is what a seed is; anything else in the agent's directory is of a boot.
fn agent_state(image: &Image<'_>) -> Looked {
    let mut findings = Vec::new();
    for path in image.list(OWN)? {
        if name_of(&path) == "store" {
            continue;
        }
        let is_empty = path.is_dir() && std::fs::read_dir(&path)?.next().is_none();
        if !is_empty {
            let what = "it is of a boot of the host that the image was made on";
            findings.push(found("agent-state", path, what, "rm -rf"));
        }
    }
    Ok(findings)
}

/// The homes of root and of users.
fn homes(image: &Image<'_>) -> std::io::Result<Vec<String>> {
    let users = image.list("home")?;
    let users = users.iter().map(|path| format!("home/{}", name_of(path)));
    Ok(std::iter::once("root".to_owned()).chain(users).collect())
}

fn aws_credentials(image: &Image<'_>) -> Looked {
    let mut findings = Vec::new();
    for home in homes(image)? {
        for path in image.list(&format!("{home}/.aws"))? {
            let what = "credentials of the user who made the image";
            findings.push(found("aws-credentials", path, what, "rm -rf"));
        }
    }
    Ok(findings)
}

fn node_credentials(image: &Image<'_>) -> Looked {
    let mut findings = Vec::new();
    for folder in KEY_FOLDERS {
        for path in image.files(folder)? {
            let name = name_of(&path);
            let is_named = name == "kubeconfig" || name.ends_with(".kubeconfig");
            let marks = ["PRIVATE KEY-----", "client-key-data:", "current-context:"];
            let is_small = length(&path) <= MOST_KEY_BYTES;
            if is_named || (is_small && holds(&path, &marks)?) {
                let what = "a key or a kubeconfig of another node";
                findings.push(found("node-credentials", path, what, "rm -f"));
            }
        }
    }
    Ok(findings)
}

fn authorized_keys(image: &Image<'_>) -> Looked {
    let mut findings = Vec::new();
    for home in homes(image)? {
        let path = image.find(&format!("{home}/.ssh/authorized_keys"))?;
        let Some(path) = path.filter(|path| path.is_file()) else {
            continue;
        };
        let text = std::fs::read(&path)?;
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines().map(str::trim);
        if lines.any(|line| !line.is_empty() && !line.starts_with('#')) {
            let what = "the user who made the image could log in to its instances";
            findings.push(found("authorized-keys", path, what, "rm -f"));
        }
    }
    Ok(findings)
}

fn logs(image: &Image<'_>) -> Looked {
    let mut findings = Vec::new();
    for path in image.files("var/log")? {
        let mut parts = image.below(&path).components();
        let is_own = parts.any(|part| {
            part.as_os_str()
                .to_string_lossy()
                .starts_with("quake-agent")
        });
        if length(&path) > 0 && (is_own || holds(&path, &LOG_MARKS)?) {
            let what = "it is of a boot of the host that the image was made on";
            findings.push(found("log", path, what, "rm -f"));
        }
    }
    Ok(findings)
}
