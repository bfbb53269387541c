//! `cni.plugins`: the programs that the configuration names.

use super::configuration::candidates;
use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::stage;
use quake_model::facts::{EntryKind, Unseen};

/// Programs by which a tree is known to hold programs at all.
const OTHER_PROGRAMS: &[&str] = &[
    "/usr/local/bin/kubelet",
    "/usr/bin/kubelet",
    "/usr/bin/containerd",
];

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let network = &stage::kubernetes(node)?.network;
    let candidates = candidates(node)?;
    let Some(winner) = candidates.first().filter(|winner| winner.document.is_ok()) else {
        return Verdict::skip("there is no configuration that can be read");
    };
    let directory = network.plugins.trim_end_matches('/');
    let holds_programs = OTHER_PROGRAMS
        .iter()
        .any(|path| node.survey().entries.contains_key(*path));
    if node.list(directory).is_empty() && !holds_programs {
        return Err(Unseen::NotTaken(format!("{directory} was not looked at")));
    }
    let programs = winner.programs();
    for program in &programs {
        let path = format!("{directory}/{program}");
        let wrong = match node.entry(&path)? {
            None => "is not there",
            Some(entry) if entry.size == 0 && entry.kind == EntryKind::File => "is empty",
            Some(entry)
                if entry.kind == EntryKind::File && entry.mode & 0o111 == 0 && node.has_modes() =>
            {
                "may not be run"
            }
            Some(_) => continue,
        };
        return Finding::new(
            format!("{path} {wrong}, and {} has it run", winner.name),
            match network.writer.as_str() {
                "daemon-set" => "systemctl restart quake-agent.service places the common plugins; the network's own are placed by its DaemonSet: delete its pod on this node",
                _ => "systemctl restart quake-agent.service places it anew",
            },
        )
        .seen("plugins there", node.list(directory).iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
        .fail();
    }
    Verdict::ok(programs.join(", "))
}
