//! Checkpoints of kubelet that it cannot read: it ends at each start, mostly with a panic (`pkg/kubelet/allocation`, `cm/cpumanager`,
//! `cm/memorymanager`, `cm/dra`, and `status` up to 1.32).

use crate::checks::check::{Certainty, Finding};
use crate::checks::from_journal::QUOTED;
use crate::checks::quote::quote;
use crate::log_lines::{self, is_plain_name};

/// What they are called, and what kubelet forgets without them.
const NAMES: &[(&[&str], &str)] = &[
    (
        &[
            "allocated_pods_state",
            "actuated_pods_state",
            "pod_status_manager_state",
        ],
        "what pods were given that were resized in place",
    ),
    (
        &["cpu_manager_state"],
        "which processors belong to one container alone",
    ),
    (
        &["memory_manager_state"],
        "which memory belongs to one container alone",
    ),
    (
        &[OF_CLAIMS],
        "which devices were prepared for claims of pods",
    ),
];

/// The one whose manager does not name its file.
const OF_CLAIMS: &str = "dra_manager_state";

/// Where they are.
const FOLDER: &str = "/var/lib/kubelet/";

/// How kubelet says that it cannot take over its checkpoint.
const LINES: &[&str] = &[
    "could not restore state from checkpoint: ",
    "on checkpoint state: ",
];

/// What a reader of JSON says of a file that was cut, mixed with an older one or written in another form, and kubelet of one
/// whose sum is wrong.
const TORN: &[&str] = &[
    "invalid character",
    "unexpected end of JSON input",
    "unexpected EOF",
    "cannot unmarshal",
    "checkpoint is corrupted",
];

/// How it comes to that.
const TORN_BY: &str = "a hard stop or a full disk tore it, or another version of kubelet wrote it";

/// The finding of a kubelet whose last run ended by such a checkpoint.
pub(super) fn unread(how: &str, journal: &[String]) -> Option<Finding> {
    let mut lines = journal.iter().rev();
    let (line, why) = lines.find_map(|line| {
        let (_, why) = LINES.iter().find_map(|words| line.rsplit_once(words))?;
        TORN.iter()
            .any(|words| why.contains(words))
            .then_some((line, why))
    })?;
    let (file, forgets) = named(line)?;
    let why = why.split(", please ").next().unwrap_or(why);
    let why = why.trim_end_matches(['"', '\\']);
    let row = log_lines::find(line).filter(|row| row.check == "kubelet.alive");
    let means = row.map_or(TORN_BY, |row| row.means);
    Some(
        Finding::new(
            format!(
                "{how}: it cannot read its checkpoint {file} ({why}): {means}"
            ),
            format!(
                "systemctl stop kubelet.service; mv {file} {file}.bad; systemctl start kubelet.service: kubelet writes it anew, and forgets {forgets}: drain the node first if its pods still run; leave its other files as they are (pki, the other *_state); its configuration is right"
            ),
        )
        .by(Certainty::Likely)
        .seen("journal", quote(line, QUOTED)),
    )
}

/// The file that a line names, by its path or its name alone, and what it holds.
fn named(line: &str) -> Option<(String, &'static str)> {
    let plain = line.replace('\\', "");
    let is_edge = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';' | '(' | ')');
    let mut words = plain
        .split(is_edge)
        .map(|word| word.trim_matches([':', '.']));
    let forgotten = |name: &str| {
        let (_, forgets) = NAMES.iter().find(|(names, _)| names.contains(&name))?;
        Some(*forgets)
    };
    let by_name = words.find_map(|word| {
        let name = word.rsplit('/').next()?;
        let forgets = forgotten(name)?;
        let path = match word.starts_with('/') {
            true => word.to_owned(),
            false => format!("{FOLDER}{name}"),
        };
        is_plain_name(&path).then_some((path, forgets))
    });
    let of_claims = || {
        let is_of_claims = plain.contains(LINES[1]);
        let forgets = forgotten(OF_CLAIMS).filter(|_| is_of_claims)?;
        Some((format!("{FOLDER}{OF_CLAIMS}"), forgets))
    };
    by_name.or_else(of_claims)
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    #[test]
    fn the_file_that_kubelet_cannot_read_is_named_and_moved() {
        for (line, file) in [
            (
                "panic: could not restore state from checkpoint: unexpected end of JSON input, please drain this node and delete pod resource information checkpoint file \"/srv/kubelet/actuated_pods_state\" before restarting Kubelet",
                "/srv/kubelet/actuated_pods_state",
            ),
            (
                "E1122 03:57:12.0 1 run.go:72] \"command failed\" err=\"failed to run Kubelet: start cpu manager error: could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete the CPU manager checkpoint file \\\"/var/lib/kubelet/cpu_manager_state\\\" before restarting Kubelet\"",
                "/var/lib/kubelet/cpu_manager_state",
            ),
            (
                "E1122 03:57:12.0 1 run.go:72] \"command failed\" err=\"failed to run Kubelet: GetOrCreate() on checkpoint state: failed to get checkpoint: checkpoint is corrupted\"",
                "/var/lib/kubelet/dra_manager_state",
            ),
        ] {
            let mut node = Sample::worker();
            node.crashing("kubelet.service", &[line, "goroutine 1 [running]:"]);
            node.assert(
                "kubelet.alive",
                Status::Fail,
                &format!("mv {file} {file}.bad"),
            );
            node.assert(
                "kubelet.alive",
                Status::Fail,
                "it cannot read its checkpoint",
            );
        }
    }

    #[test]
    fn a_policy_that_was_changed_is_no_torn_file() {
        let line = "could not restore state from checkpoint: configured policy \"static\" differs from state checkpoint policy \"none\", please drain this node and delete the CPU manager checkpoint file \"/var/lib/kubelet/cpu_manager_state\" before restarting Kubelet";
        assert_eq!(super::unread("x", &[line.to_owned()]), None);
    }
}
