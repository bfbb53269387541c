//! Mounts of the host that are private: what is mounted there does not reach pods, and the other way round
//! (mount_namespaces(7)).

use crate::checks::check::Finding;
use crate::checks::from_journal::QUOTED;
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::log_lines::is_plain_name;
use quake_model::facts::Unseen;

/// Where drivers of volumes mount what pods use.
const OF_PODS: &str = "/var/lib/kubelet";

/// How a runtime refuses a container that asks for mount propagation (containerd `spec_linux_opts.go`, moby
/// `oci_linux.go`): what stands before the mount, and behind it.
const REFUSAL: [&str; 2] = ["is mounted on ", "but it is not a shared"];

/// Who says so.
const UNITS: &[&str] = &["kubelet.service", "containerd.service", "docker.service"];

/// Options of fstab(5) by which a mount does not share (mount(8)).
const UNSHARED: &[&str] = &["private", "rprivate", "slave", "rslave", "unbindable"];

/// How to find what made a mount private.
const LOOK: &str = "look who made it private: grep -rn 'make-r*private' /etc/rc.local /usr/local/bin /etc/systemd/system";

/// The finding where the root, the mount of kubelet's directory or one that a runtime refuses is private.
pub(super) fn private(node: &Node<'_>) -> Result<Option<Finding>, Unseen> {
    let table = node.need_text("/proc/self/mountinfo")?;
    if is_shared(table, "/") == Some(false) {
        return Ok(Some(Finding::new(
            "mounts of the host are private: volumes that a CSI driver mounts do not reach pods",
            format!("mount --make-rshared /; {LOOK}; then restart the runtime"),
        )));
    }
    let refused = refusals(node);
    let of_lines = refused.last().map(|(_, _, target)| target.clone());
    let of_pods = || Some(node.mount_of(OF_PODS).ok()??.facts.target);
    let is_private = |target: &String| is_shared(table, target) == Some(false);
    let Some(target) = of_lines.or_else(of_pods).filter(is_private) else {
        return Ok(None);
    };
    let mut found = finding(node, &target);
    for (unit, line, of) in &refused {
        if *of == target {
            found = found.seen(unit, quote(line, QUOTED));
        }
    }
    Ok(Some(found))
}

/// Whether the topmost mount of a place shares with others; `None` where nothing is mounted.
fn is_shared(table: &str, target: &str) -> Option<bool> {
    let line = table
        .lines()
        .rfind(|line| line.split(' ').nth(4) == Some(target))?;
    let (place, _) = line.split_once(" - ")?;
    let mut fields = place.split(' ').skip(6);
    Some(fields.any(|field| field.starts_with("shared:")))
}

/// The latest such lines of each unit, and the mount that each names.
fn refusals<'a>(node: &Node<'a>) -> Vec<(&'static str, &'a str, String)> {
    // kubelet says it twice: of the runtime's answer, and of the pod.
    const LATEST: usize = 2;
    let latest = |unit: &&'static str| {
        let unit = *unit;
        let lines = node.journal(unit).iter().rev();
        let named = lines.filter_map(move |line| {
            let (_, rest) = line.split_once(REFUSAL[0])?;
            let (target, _) = rest.split_once(REFUSAL[1])?;
            let target = target.trim_matches(['\\', '"', ' ']).to_owned();
            let counts = is_late(line, node) && is_plain_name(&target);
            counts.then_some((unit, line.as_str(), target))
        });
        named.take(LATEST)
    };
    UNITS.iter().flat_map(latest).collect()
}

/// Where a mount is told not to share: the file, and the option.
fn setting<'a>(node: &Node<'a>, target: &str) -> Option<(&'a str, &'a str)> {
    let unshared = |options: &'a str| {
        let mut options = options.split(',').map(str::trim);
        options.find(|option| UNSHARED.contains(option))
    };
    let of_table = |line: &'a str| {
        let mut words = line.split_whitespace();
        let is_own =
            !words.next()?.starts_with('#') && words.next()?.trim_end_matches('/') == target;
        let option = unshared(words.nth(1)?)?;
        is_own.then_some(option)
    };
    let mut texts = node.survey().texts.iter();
    texts.find_map(|(path, text)| {
        let text = text.ok()?;
        let option = match path.as_str() {
            "/etc/fstab" => text.lines().find_map(of_table),
            path if path.ends_with(".mount") => {
                let value = |key: &str| text.lines().find_map(|line| line.trim().strip_prefix(key));
                let is_own = value("Where=").is_some_and(|place| place.trim() == target);
                value("Options=").filter(|_| is_own).and_then(unshared)
            }
            _ => None,
        };
        Some((path.as_str(), option?))
    })
}

fn finding(node: &Node<'_>, target: &str) -> Finding {
    let place = match is_plain_name(target) {
        true => target,
        false => "the mount",
    };
    let (whence, undo) = match setting(node, target) {
        Some((path, option)) => (
            format!(", as its line in {path} asks (the option {option})"),
            format!(
                "take {option} out of the options of {place} in {path}, and of what writes that file (the image, the user data): without it the mount shares as the root does"
            ),
        ),
        None => (String::new(), LOOK.to_owned()),
    };
    Finding::new(
        format!(
            "{target} is mounted private{whence}: the runtime refuses containers that share mounts below it, such as those of CSI drivers, and their volumes do not reach pods"
        ),
        format!(
            "mount --make-rshared {place}, then delete the pods that wait for it, and they start anew; {undo}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const ROOT: &str = "28 0 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n";

    fn node(target: &str, mode: &str) -> Sample {
        let mut node = Sample::worker();
        let own = format!("29 28 259:5 / {target} rw {mode}- xfs /dev/nvme1n1 rw\n");
        node.text("/proc/self/mountinfo", &format!("{ROOT}{own}"));
        node
    }

    #[test]
    fn a_private_mount_of_kubelet_is_named_with_its_line_in_fstab() {
        let mut node = node("/var/lib/kubelet", "");
        let says = "/var/lib/kubelet is mounted private:";
        node.assert("host.mounts", Status::Warn, says);
        node.text("/etc/fstab", "UUID=7 /var/lib/kubelet xfs rprivate 0 2\n");
        let words = "take rprivate out of the options of /var/lib/kubelet in /etc/fstab";
        node.assert("host.mounts", Status::Warn, words);
        let unit = "/etc/systemd/system/var-lib-kubelet.mount";
        node.text("/etc/fstab", "");
        node.text(
            unit,
            "[Mount]\nWhere=/var/lib/kubelet\nOptions=noatime,slave\n",
        );
        node.assert("host.mounts", Status::Warn, &format!("in {unit} asks"));
    }

    #[test]
    fn another_mount_counts_where_the_runtime_refuses_it() {
        let line = "failed to generate spec: path \\\"/data/a\\\" is mounted on \\\"/data\\\" but it is not a shared mount";
        for (mode, named, status) in [
            ("", true, Status::Warn),
            ("", false, Status::Ok),
            ("shared:7 ", true, Status::Ok),
        ] {
            let mut node = node("/data", mode);
            let lines: &[&str] = if named { &[line] } else { &[] };
            node.journal("kubelet.service", lines);
            let report = node.judge("host.mounts");
            assert_eq!(report.status, status, "{mode} {named} {}", report.note);
            assert_eq!(
                report.note.contains("/data is mounted private"),
                status == Status::Warn
            );
        }
    }
}
