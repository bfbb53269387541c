//! Which warning is the cause of a failure that says only that something does not work: the one that its logs, its files or
//! a program that both name speak for.
//!
//! The table says which checks may explain which (`because`). Here the evidence says it, for what the table does not foresee.

use super::check::{Certainty, Finding, Severity};
use super::order::explanations;
use super::report::{CheckReport, Status};
use std::collections::BTreeSet;

/// Checks that advise: what they warn of does not stop a node.
const ADVICE: &[&str] = &[
    "agent.drift",
    "agent.integrity",
    "boot.timeline",
    "boot.warnings",
    "certificates.dates",
    "certificates.modes",
    "config.copies",
    "config.keys",
    "etcd.backup",
    "host.machine-id",
    "images.present",
    "kubelet.max-pods",
    "kubelet.skew",
    "lifecycle.state",
    "logs.errors",
    "services.enabled",
    "services.stale",
    "shutdown.inhibitor",
    "time.sync",
];

/// Whether a check advises alone.
pub(super) fn advises(id: &str) -> bool {
    ADVICE.contains(&id)
}

/// Failures of the node as a whole: whatever its logs tell may be why.
const OF_NODE: &[&str] = &[
    "boot.conditions",
    "node.ready",
    "node.registered",
    "node.taints",
];

/// So much speaks for a cause at least.
const ENOUGH: u32 = 4;

/// A failure, and the warning that explains it; both are places in the list of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) effect: usize,
    pub(super) cause: usize,
}

/// For each failure that shows only a symptom, and that no other failure explains, the warning that most speaks for.
pub(super) fn links(checks: &[CheckReport]) -> Vec<Link> {
    let table: Vec<_> = checks.iter().map(|one| one.check).collect();
    let explained = explanations(&table);
    let failed: BTreeSet<usize> = places(checks, |one| one.status == Status::Fail);
    let warned = places(checks, |one| one.status == Status::Warn && is_cause(one));
    let mut links = told_by_warnings(checks);
    let linked: BTreeSet<usize> = links.iter().map(|link| link.effect).collect();
    links.extend(held_up(checks));
    links.extend(killed_by_lists(checks));
    links.extend(without_services(checks));
    links.extend(super::host_links::links(checks));
    for effect in &failed {
        let is_root = explained[effect].is_disjoint(&failed);
        if !is_root || linked.contains(effect) || !is_symptom(&checks[*effect]) {
            continue;
        }
        let scored = warned.iter().map(|cause| {
            let is_foreseen = explained[effect].contains(cause);
            (
                score(&checks[*effect], &checks[*cause], is_foreseen),
                *cause,
            )
        });
        // Of two for which as much speaks the one that stands first is the cause of the other.
        let best = scored.max_by_key(|(score, cause)| (*score, std::cmp::Reverse(*cause)));
        if let Some((_, cause)) = best.filter(|(score, _)| *score >= ENOUGH) {
            links.push(Link {
                effect: *effect,
                cause,
            });
        }
    }
    links
}

/// A failure whose summary has these words, and the check whose warning says why.
const TOLD: &[(&str, &str, &str)] = &[
    ("kubelet.alive", "its program cannot be run", "host.noexec"),
    ("runtime.alive", "its program cannot be run", "host.noexec"),
    ("net.api-server", "does not answer", "dns.hosts-file"),
];

/// What a warning explains that names the very thing which failed.
fn told_by_warnings(checks: &[CheckReport]) -> Vec<Link> {
    let place = |id: &str, status: Status| {
        let mut all = checks.iter();
        all.position(|one| one.check.id == id && one.status == status)
    };
    let links = TOLD.iter().filter_map(|(effect, words, cause)| {
        let (effect, cause) = (place(effect, Status::Fail)?, place(cause, Status::Warn)?);
        // A file of names is the cause only of what has a name that it gives.
        let (what, why) = (&checks[effect], &checks[cause]);
        let name = what.note.split([':', ' ']).next()?;
        let is_same = why.heard > 0 || why.note.contains(name);
        (is_same && what.note.contains(words)).then_some(Link { effect, cause })
    });
    links.collect()
}

/// The API server's hook that writes its own roles; the server ends where it cannot (`pkg/registry/rbac/rest/storage_rbac.go`).
const ROLES: &str = "rbac/bootstrap-roles";

/// What a webhook explains that refuses the roles which the API server writes as it starts: that this server ends.
fn held_up(checks: &[CheckReport]) -> Vec<Link> {
    let fails = |one: &CheckReport| one.status == Status::Fail;
    let quotes = |one: &CheckReport| {
        let mut quoted = one.finding.iter().flat_map(|finding| &finding.evidence);
        quoted.any(|piece| piece.value.contains(ROLES) && piece.value.contains("failed"))
    };
    let webhooks = places(checks, |one| {
        fails(one) && one.check.id == "apiserver.webhooks"
    });
    let servers = ["staticpods.running", "apiserver.alive"];
    let of_server = |one: &CheckReport| fails(one) && servers.contains(&one.check.id);
    let ended = checks.iter().any(|one| of_server(one) && quotes(one));
    // A webhook that lets the request pass after its whole timeout outlasts that of a lease.
    let is_late = |one: &CheckReport| one.note.contains(super::api_server::LATE_WEBHOOK);
    let late = webhooks.iter().any(|place| is_late(&checks[*place]));
    let lost = |one: &CheckReport| late && of_server(one) && one.note.contains("renew its lease");
    let effects = places(checks, |one| ended && of_server(one) || lost(one));
    let linked = webhooks.iter().flat_map(|cause| {
        let effects = effects.iter();
        effects.map(|effect| Link {
            effect: *effect,
            cause: *cause,
        })
    });
    linked.collect()
}

/// What a client that lists too much explains: that the kernel killed the API server for want of memory.
fn killed_by_lists(checks: &[CheckReport]) -> Vec<Link> {
    let place = |id: &str| checks.iter().position(|one| one.check.id == id);
    let (Some(effect), Some(cause)) = (place("host.oom"), place("apiserver.clients")) else {
        return Vec::new();
    };
    let (killed, client) = (&checks[effect], &checks[cause]);
    let is_so = killed.status == Status::Fail
        && killed.note.contains("kube-apiserver")
        && client.status == Status::Warn;
    is_so
        .then_some(Link { effect, cause })
        .into_iter()
        .collect()
}

/// What kube-proxy explains where it cannot write the rules of Services: that nothing on the node reaches the API server's.
fn without_services(checks: &[CheckReport]) -> Vec<Link> {
    const SERVICE: &str = "100.64.0.1:443";
    let of_service = |one: &CheckReport| {
        let mut quoted = one.finding.iter().flat_map(|finding| &finding.evidence);
        one.note.contains(SERVICE) || quoted.any(|piece| piece.value.contains(SERVICE))
    };
    // kubelet goes to the API server without a Service.
    let is_unreached = |one: &CheckReport| {
        let says = |words: &str| one.note.contains(words);
        (says("does not reach the API server") && !says("kubelet does not"))
            || (says("the API server's address does not answer") && of_service(one))
    };
    let effects = places(checks, |one| {
        one.status == Status::Fail && is_unreached(one)
    });
    let causes = places(checks, |one| {
        one.check.id == "net.proxy" && one.heard > 0 && one.note.contains("no Service is updated")
    });
    let linked = causes.iter().flat_map(|cause| {
        let effects = effects.iter().filter(move |effect| *effect != cause);
        effects.map(|effect| Link {
            effect: *effect,
            cause: *cause,
        })
    });
    linked.collect()
}

fn places(checks: &[CheckReport], is: impl Fn(&CheckReport) -> bool) -> BTreeSet<usize> {
    let all = checks.iter().enumerate();
    all.filter(|(_, one)| is(one))
        .map(|(index, _)| index)
        .collect()
}

/// What a program says of another one that it waits for: the cause is there.
const OF_OTHERS: &[&str] = &[
    "containerd does not serve kubelet",
    "the container runtime does not speak with it",
    "does not reach etcd",
    "the API server is slow, or does not let this node read it",
    "does not reach the API server's Service from the host",
    "the authentication webhook does not answer",
];

/// Whether a finding says no more than that something does not work.
pub(super) fn is_symptom(one: &CheckReport) -> bool {
    let of_others = OF_OTHERS.iter().any(|words| one.note.contains(words));
    let finding = one.finding.as_ref();
    finding.is_some_and(|finding| of_others || finding.certainty == Certainty::Possible)
}

fn is_cause(one: &CheckReport) -> bool {
    let is_advice = one.check.severity == Severity::Info || ADVICE.contains(&one.check.id);
    !is_symptom(one) && (one.heard > 0 || !is_advice)
}

/// How much speaks for a warning as the cause of a failure: that the table foresees it, that both name the same thing, and
/// that a log repeats it.
fn score(effect: &CheckReport, cause: &CheckReport, is_foreseen: bool) -> u32 {
    const FORESEEN: u32 = 4;
    const SHARED: u32 = 3;
    const OF_ALL: u32 = 2;
    const OFTEN: usize = 3;
    let (Some(what), Some(why)) = (&effect.finding, &cause.finding) else {
        return 0;
    };
    let heard = match cause.heard {
        0 => 0,
        1..OFTEN => 1,
        OFTEN.. => 2,
    };
    let mut score = heard;
    if is_foreseen {
        score += FORESEEN;
    }
    if OF_NODE.contains(&effect.check.id) && cause.heard > 0 {
        score += OF_ALL;
    }
    if !subjects(what).is_disjoint(&subjects(why)) {
        score += SHARED;
    }
    score
}

/// What a finding names: paths, units, addresses, images and resources of AWS.
fn subjects(finding: &Finding) -> BTreeSet<String> {
    let evidence = finding.evidence.iter().map(|piece| piece.value.as_str());
    let texts = [finding.summary.as_str()].into_iter().chain(evidence);
    let is_edge = |c: char| !(c.is_ascii_alphanumeric() || "/._-:@".contains(c));
    let words = texts.flat_map(|text| text.split(is_edge));
    let words = words.map(|word| word.trim_matches(['.', ':', '-', '/']));
    words
        .filter(|word| is_subject(word))
        .map(str::to_owned)
        .collect()
}

/// Whether a word names one thing and no other: those of programs that each line has do not.
fn is_subject(word: &str) -> bool {
    const LEAST: usize = 8;
    const OF_ALL: &[&str] = &["127.0.0.1", "localhost", "kube-system"];
    let is_of_all = OF_ALL.iter().any(|other| word.starts_with(other));
    let is_source = word.contains(".go:") || word.contains(".go");
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_time = digits * 2 > word.len() && word.contains(':') && !word.contains('.');
    let marks = ['/', '.', '@'].iter().any(|mark| word.contains(*mark));
    let is_resource = word.contains('-') && digits >= 4;
    word.len() >= LEAST && (marks || is_resource) && !is_of_all && !is_source && !is_time
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::find;

    fn report(id: &str, status: Status, finding: Finding, heard: usize) -> CheckReport {
        CheckReport {
            check: *find(id).expect("the check exists"),
            status,
            note: finding.summary.clone(),
            finding: Some(finding),
            because: Vec::new(),
            unseen: false,
            heard,
        }
    }

    fn symptom(summary: &str) -> Finding {
        Finding::new(summary, "look").by(Certainty::Possible)
    }

    #[test]
    fn what_a_log_repeats_explains_a_node_that_is_not_ready() {
        let cause = Finding::new("a line says why", "do").by(Certainty::Likely);
        let ready = symptom("the node is not ready");
        for (heard, wanted) in [(5, true), (0, false)] {
            let checks = [
                report("host.apparmor", Status::Warn, cause.clone(), heard),
                report("node.ready", Status::Fail, ready.clone(), 0),
            ];
            let found = links(&checks);
            let link = Link {
                effect: 1,
                cause: 0,
            };
            assert_eq!(found == [link], wanted, "{found:?}");
        }
    }

    #[test]
    fn a_warning_that_names_the_very_thing_is_why_it_fails() {
        let warned = Finding::new("/etc/hosts sends api.example to 10.0.0.7", "take it out");
        for (note, wanted) in [
            ("api.example:443 does not answer", true),
            ("other.example:443 does not answer", false),
            ("api.example:443 refuses", false),
        ] {
            let failed = Finding::new(note, "look");
            let checks = [
                report("net.api-server", Status::Fail, failed, 0),
                report("dns.hosts-file", Status::Warn, warned.clone(), 0),
            ];
            let link = Link {
                effect: 0,
                cause: 1,
            };
            assert_eq!(links(&checks) == [link], wanted, "{note}");
        }
    }

    #[test]
    fn a_webhook_that_refuses_the_roles_of_a_starting_api_server_is_why_it_ends() {
        let webhook = Finding::new("a webhook does not answer", "do");
        for (line, wanted) in [
            (
                r#"PostStartHook "rbac/bootstrap-roles" failed: unable"#,
                true,
            ),
            ("flag provided but not defined: -x", false),
        ] {
            let ended = Finding::new("it ended", "do").seen("log", line);
            let checks = [
                report("staticpods.running", Status::Fail, ended.clone(), 0),
                report("apiserver.alive", Status::Fail, ended, 0),
                report("apiserver.webhooks", Status::Fail, webhook.clone(), 0),
            ];
            let link = |effect| Link { effect, cause: 2 };
            let all = [link(0), link(1)];
            assert_eq!(links(&checks) == all, wanted, "{line}");
        }
    }

    #[test]
    fn a_failure_that_names_its_cause_or_has_one_needs_no_other() {
        let cause = Finding::new("a line says why", "do").by(Certainty::Likely);
        let certain = Finding::new("a file is bad", "do");
        let checks = [
            report("host.apparmor", Status::Warn, cause, 5),
            report("kubelet.alive", Status::Fail, certain, 0),
            report("node.ready", Status::Fail, symptom("it is not ready"), 0),
        ];
        assert_eq!(links(&checks), []);
    }

    #[test]
    fn of_two_causes_the_one_that_names_the_same_thing_counts() {
        let ready = symptom("not ready: open /var/lib/gizmo/x.db: no flux");
        let other = Finding::new("registry refuses an image", "do").by(Certainty::Likely);
        let same = Finding::new("/var/lib/gizmo/x.db is locked", "do").by(Certainty::Likely);
        let checks = [
            report("host.apparmor", Status::Warn, other, 3),
            report("runtime.mirrors", Status::Warn, same, 3),
            report("node.ready", Status::Fail, ready, 0),
        ];
        assert_eq!(links(&checks).first().map(|link| link.cause), Some(1));
    }

    #[test]
    fn a_subject_is_a_path_a_unit_an_address_or_an_id() {
        for (word, wanted) in [
            ("/var/lib/kubelet", true),
            ("gizmo.service", true),
            ("10.0.0.11:443", true),
            ("vol-0aa11bb22cc33dd44", true),
            ("kubelet", false),
            ("127.0.0.1:443", false),
            ("proxier.go:1574", false),
            ("03:58:10", false),
        ] {
            assert_eq!(is_subject(word), wanted, "{word}");
        }
    }
}
