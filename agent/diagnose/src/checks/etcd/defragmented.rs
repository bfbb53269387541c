//! Defragmentations of etcd that took long: a member answers nothing meanwhile, and all at once is no quorum.

use crate::checks::check::{Certainty, Finding};
use crate::checks::node::Node;
use quake_formats::duration;
use quake_formats::yaml::shorten;

/// How etcd logs the end of one (`server/storage/backend/backend.go`).
const FINISHED: &str = "finished defragmenting directory";
/// How etcdctl says it of each member (`etcdctl/ctlv3/command/defrag_command.go`).
const MEMBER: &str = "Finished defragmenting etcd member[";
/// Beyond the ten seconds after which controllers lose their leases (`--leader-elect-renew-deadline`).
const LONG_S: u64 = 10;

/// How the members and their clients say that the cluster did not answer meanwhile.
const HARM: &[&str] = &[
    "etcdserver: request timed out",
    "etcdserver: leader changed",
    "lost leader",
    "failed to renew lease",
];

/// The finding of one that took long, where it did harm or one job defragments several members.
pub(super) fn long(node: &Node<'_>) -> Option<Finding> {
    let pods = node.survey().runtime.ok()?.pods.as_ref()?;
    let lines = || pods.iter().flat_map(|pod| pod.log.iter().rev());
    let (line, took) = lines().find_map(|line| {
        let took = line.contains(FINISHED).then(|| took(line)).flatten()?;
        duration::parse(took)
            .is_some_and(|it| it.as_secs() >= LONG_S)
            .then_some((line, took))
    })?;
    let by = pods.iter().find_map(|pod| {
        let members = pod.log.iter().filter(|line| line.contains(MEMBER));
        let several = members.count() > 1;
        several.then(|| format!("{}/{}", pod.namespace, pod.name))
    });
    let did_harm = || lines().any(|line| HARM.iter().any(|words| line.contains(words)));
    if by.is_none() && !did_harm() {
        return None;
    }
    let (whose, fix) = match &by {
        Some(name) => (
            format!("; the pod {name} defragments several members in one run"),
            "let that job defragment one member after another"
                .to_owned(),
        ),
        None => (
            String::new(),
            "find what starts it (kubectl get cronjobs -A, /etc/cron.d of all control planes) and let it defragment one member after another".to_owned(),
        ),
    };
    let finding = Finding::new(
        format!("a defragmentation of etcd took {took}, in which this member answered nothing{whose}: where members do it at once the cluster has no quorum"),
        format!("{fix}: the leader last, and each only once the one before is healthy again; only where much is free (current-db-size-in-use in its line), else look for what fills etcd; faster disks and longer leases do not help"),
    )
    .by(Certainty::Likely)
    .seen("log", shorten(line, 400));
    Some(match by {
        Some(name) => finding.seen("pod", name),
        None => finding,
    })
}

/// How long one took, such as `1m22.691s`.
fn took(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("\"took\":\"")?;
    rest.split_once('"').map(|(took, _)| took)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::node_sample::Sample;

    #[test]
    fn a_long_one_counts_only_where_it_did_harm_or_a_job_makes_several() {
        let ended = |took: &str| {
            format!(
                r#"{{"level":"info","msg":"finished defragmenting directory","took":"{took}"}}"#
            )
        };
        let lost = "etcdserver: request timed out";
        let of_job = "Finished defragmenting etcd member[https://a:4001]";
        for (lines, wanted) in [
            (vec![ended("1m2.5s")], false),
            (vec![ended("4.1s"), lost.to_owned()], false),
            (vec![ended("1m2.5s"), lost.to_owned()], true),
            (
                vec![ended("12s"), of_job.to_owned(), of_job.to_owned()],
                true,
            ),
        ] {
            let mut sample = Sample::control_plane();
            sample.pod("etcd-manager-main", "running").log = lines.clone();
            let found = long(&Node::new(&sample.survey));
            assert_eq!(found.is_some(), wanted, "{lines:?}");
        }
    }
}
