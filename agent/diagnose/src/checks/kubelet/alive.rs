//! `kubelet.alive`: kubelet's unit, its health, and why it ended.

use super::checkpoint;
use super::reasons::{AWAY, FATAL};
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::from_journal::{QUOTED, from_journal_of};
use crate::checks::innermost::meaning;
use crate::checks::named::{Texts, completed};
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::checks::stage;
use crate::checks::unit_health::{UnitHealth, health, stopped, with_evidence};
use crate::log_lines;
use quake_formats::journal::{Reason, latest};
use quake_model::facts::{ActiveState, ProbeFacts, ProbeSeen, UnitFacts, Unseen};
use quake_model::fault::Code;
use quake_model::phase::Phase;

const UNIT: &str = "kubelet.service";

/// A kubelet that was started so lately may not answer yet.
const YOUNG_MS: u64 = 30_000;

pub(in crate::checks) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    stage::begun(node, Phase::Services)?;
    let Some(unit) = node.unit(UNIT)? else {
        return match node.has_done(Phase::Files) {
            true => Finding::new(
                "systemd knows no kubelet.service, which the agent writes",
                "systemctl restart quake-agent.service",
            )
            .coded(Code::ServicesUnitUnknown)
            .fail(),
            false => Verdict::skip("the boot has not come so far"),
        };
    };
    let is_unstarted = unit.main_started_us == 0 && unit.main_ended.is_none() && unit.restarts == 0;
    let is_idle = unit.sub_state == "dead" && unit.result == "success";
    if is_unstarted && is_idle && !node.has_done(Phase::Services) {
        return Verdict::skip("the boot has not come so far as to start it");
    }
    let journal = node.journal(UNIT);
    let texts = &node.survey().texts;
    match health(unit, node.taken()) {
        UnitHealth::Down(how) => {
            if let Some(finding) = stopped(unit, journal) {
                return finding.coded(Code::ServicesUnitFailed).fail();
            }
            // What an earlier process logged is no reason for the end of the last one; one that runs has not said its own yet.
            let journal = match unit.active {
                ActiveState::Active => journal,
                _ => last_run(journal),
            };
            let reason = latest(journal, FATAL).or_else(|| latest(journal, AWAY));
            let finding = match reason {
                Some(reason) => old_sdk(&how, &reason, journal)
                    .or_else(|| checkpoint::unread(&how, journal))
                    .unwrap_or_else(|| from_journal_of("kubelet", &reason, &how, texts)),
                None => of_any_program(&how, journal, texts).unwrap_or_else(|| {
                    Finding::new(
                        how,
                        "journalctl -b -u kubelet.service; fix what it says, then: systemctl restart kubelet.service",
                    )
                    .by(Certainty::Possible)
                }),
            };
            with_evidence(finding, unit, journal)
                .coded(Code::ServicesUnitFailed)
                .fail()
        }
        UnitHealth::Coming(how) => {
            let finding = Finding::new(how, "wait; then: systemctl status kubelet.service");
            with_evidence(finding, unit, journal).warn()
        }
        UnitHealth::Up(how) => answering(node, unit, &how),
    }
}

/// The lines since the last process began, by the process' number in klog's head: `E1122 03:59:50.330101   12881 kubelet.go:461]`.
fn last_run(journal: &[String]) -> &[String] {
    let process = |line: &String| -> Option<u32> {
        let head = line
            .split(']')
            .next()
            .filter(|head| head.len() < line.len())?;
        head.split_whitespace().nth(2)?.parse().ok()
    };
    let Some(last) = journal.iter().rev().find_map(process) else {
        return journal;
    };
    let before = journal
        .iter()
        .rposition(|line| process(line).is_some_and(|other| other != last));
    &journal[before.map_or(0, |at| at + 1)..]
}

/// The finding where kubelet's journal has a line that another program is known for.
fn of_any_program(how: &str, journal: &[String], texts: &Texts) -> Option<Finding> {
    let (line, known) = log_lines::latest(journal)?;
    let means = meaning(known.means, known.fix, line);
    let fix = completed(known.fix, line, "kubelet", texts);
    let finding = Finding::new(format!("{how}: {means}"), fix);
    Some(
        finding
            .by(Certainty::Likely)
            .seen("journal", quote(line, QUOTED)),
    )
}

/// The finding where the metadata service answers a kubelet with 401: it wants tokens, of which an old SDK knows nothing.
/// The answer stands in the lines after the error.
fn old_sdk(how: &str, reason: &Reason<'_>, journal: &[String]) -> Option<Finding> {
    const ANSWER: usize = 14;
    if !["EC2Metadata", "EC2RoleRequest"]
        .iter()
        .any(|words| reason.line.contains(words))
    {
        return None;
    }
    let at = journal.iter().rposition(|line| line == reason.line)?;
    let mut answer = journal[at..].iter().take(ANSWER);
    let refusal = answer.find(|line| {
        ["401 - Unauthorized", "status code: 401", "401 Unauthorized"]
            .iter()
            .any(|words| line.contains(words))
    })?;
    Some(
        Finding::new(
            format!(
                "{how}: {}: the metadata service answers 401: it wants tokens (HttpTokens=required, IMDSv2), and the AWS SDK of this kubelet asks without one",
                reason.known.means
            ),
            "aws ec2 modify-instance-metadata-options --instance-id <id> --http-tokens optional --http-endpoint enabled, and instanceMetadata.httpTokens: optional in kops edit instancegroup (look for an account-wide default: aws ec2 get-instance-metadata-defaults); or a kubelet whose SDK knows tokens (Kubernetes 1.18 and newer)",
        )
        .by(Certainty::Likely)
        .seen("journal", quote(reason.line, QUOTED))
        .seen("journal", quote(refusal.trim(), QUOTED)),
    )
}

/// A kubelet that is up: what it says of its health.
fn answering(node: &Node<'_>, unit: &UnitFacts, up: &str) -> Result<Verdict, Unseen> {
    let probes = node.survey().probes.ok();
    let probe = probes.and_then(|probes| probes.iter().find(|probe| probe.component == "kubelet"));
    let Some(ProbeSeen { url, answer, .. }) = probe else {
        return Verdict::ok(format!("{up}; its health was not asked"));
    };
    if answer.is_healthy() {
        return Verdict::ok(format!("{up} and says that it is well"));
    }
    let journal = node.journal(UNIT);
    let said = match answer {
        ProbeFacts::Answered { status, body } => format!("answered {status} {body}"),
        ProbeFacts::Silent { reason } => format!("did not answer: {reason}"),
    };
    let how = format!("kubelet runs and {url} {}", said.trim_end());
    let finding = match latest(journal, FATAL) {
        Some(reason) => from_journal_of("kubelet", &reason, &how, &node.survey().texts),
        None => Finding::new(
            how,
            "journalctl -b -u kubelet.service; a kubelet that hangs often waits for the runtime: systemctl status containerd docker",
        )
        .by(Certainty::Possible),
    };
    let finding = with_evidence(finding, unit, journal);
    let lived = node.taken().0.saturating_sub(unit.main_started_us / 1000);
    match unit.main_started_us > 0 && lived < YOUNG_MS {
        true => finding.warn(),
        false => finding.coded(Code::ReadyProbeFailing).fail(),
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    #[test]
    fn a_line_that_is_known_in_general_is_told_with_its_end() {
        let mut node = Sample::worker();
        let line = "E1122 03:57:12.0 1 kubelet.go:1649] \"Failed to start ContainerManager\" err=\"start gizmo manager error: no flux\"";
        node.crashing("kubelet.service", &[line]);
        let summary = node.judge("kubelet.alive").note;
        assert!(
            summary.ends_with("start gizmo manager error: no flux"),
            "{summary}"
        );
        let line = line.replace(
        "no flux",
        "configured policy \\\"static\\\" differs from \\\"none\\\", delete \\\"/var/lib/kubelet/cpu_manager_state\\\"",
    );
        node.crashing("kubelet.service", &[line.as_str()]);
        node.assert(
            "kubelet.alive",
            Status::Fail,
            "rm /var/lib/kubelet/cpu_manager_state",
        );
    }
}
