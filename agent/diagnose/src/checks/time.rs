//! Checks of the clock.

mod daemon;
mod other;
mod source;

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use daemon::KEEPERS;
use quake_formats::pem::certificates;
use quake_model::facts::{ActiveState, ClockFacts, Unseen};
use quake_model::fault::Code;
use quake_model::time::Timestamp;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "time.sync",
        title: "the clock is right, and NTP keeps it right",
        severity: Severity::Critical,
        tags: &["clock"],
        sources: &[
            Source::Clock,
            Source::KernelLog,
            Source::Files,
            Source::Runtime,
        ],
        because: &["net.drops"],
        why: "AWS refuses requests whose time is more than five minutes off, and certificates seem expired or not yet valid",
        remedy: "start chrony or systemd-timesyncd with the server 169.254.169.123, then step the clock: chronyc makestep",
        judge: sync,
    },
    Check {
        id: "time.boot-clock",
        title: "no certificate or record on the node is from the future",
        severity: Severity::Critical,
        tags: &["clock", "certificates"],
        sources: &[Source::Files],
        because: &["time.sync"],
        why: "after the clock was set back, certificates are not yet valid, so kubelet and the API server refuse each other",
        remedy: "correct the clock and restart the programs that read it: chronyc makestep, then systemctl restart kubelet",
        judge: boot_clock,
    },
];

/// AWS refuses a request whose signature is older or younger than this (Signature Version 4).
const REFUSED_MS: u64 = 300_000;
/// Beyond this, leases and etcd suffer; the date of an answer has only whole seconds.
const FAR_MS: u64 = 10_000;
/// What is left to correct, beyond which the clock cannot be called in step.
const LARGE_OFFSET_US: u64 = 500_000;

fn sync(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let clock = node.survey().clock.get()?;
    if let Some(ahead) = clock.ahead_of_server_ms
        && ahead.unsigned_abs() >= FAR_MS
    {
        return far_off(node, ahead);
    }
    let offset = clock.offset_us.unwrap_or_default();
    if !clock.synchronized {
        return evidence(node, clock, daemon::unsynchronized(node)).warn();
    }
    if offset.unsigned_abs() > LARGE_OFFSET_US {
        let seconds = offset as f64 / 1e6;
        let finding = Finding::new(
            format!("the clock is {seconds:+.3}s from its time source"),
            "chronyc makestep",
        );
        return evidence(node, clock, finding).warn();
    }
    if let Some(finding) = source::slow(node) {
        return finding.warn();
    }
    let note = match clock.offset_us {
        Some(offset) => format!("in step, {:+.3} ms off", offset as f64 / 1e3),
        None => "in step with its time source".to_owned(),
    };
    Verdict::ok(note)
}

fn far_off(node: &Node<'_>, ahead: i64) -> Result<Verdict, Unseen> {
    let clock = node.survey().clock.get()?;
    let seconds = ahead.unsigned_abs() / 1000;
    let way = if ahead > 0 { "ahead of" } else { "behind" };
    let finding = Finding::new(
        format!("the clock is {seconds}s {way} the clock of the servers"),
        "let chrony use `server 169.254.169.123 prefer iburst`, then: systemctl restart chrony && chronyc makestep",
    );
    let finding = match other::reason(node, ahead) {
        Some((why, fix, said)) => {
            Finding::new(format!("{}: {why}", finding.summary), fix).seen("said", said)
        }
        None => finding,
    };
    let finding = evidence(node, clock, finding);
    match ahead.unsigned_abs() >= REFUSED_MS {
        true => finding.coded(Code::IdentityClockSkew).fail(),
        false => finding.warn(),
    }
}

/// Adds what is known of the clock and of who should keep it.
fn evidence(node: &Node<'_>, clock: &ClockFacts, finding: Finding) -> Finding {
    let finding = finding
        .seen("node's clock", node.taken())
        .seen("synchronized", clock.synchronized);
    let found: Vec<&str> = KEEPERS
        .iter()
        .copied()
        .filter(|name| {
            let unit = node.unit(name).ok().flatten();
            unit.is_some_and(|unit| unit.active == ActiveState::Active)
        })
        .collect();
    let looked = KEEPERS.iter().any(|name| node.unit(name).is_ok());
    match (looked, found.is_empty()) {
        (false, _) => finding,
        (true, true) => finding.seen("time service", daemon::NONE),
        (true, false) => finding.seen("time service", found.join(", ")),
    }
}

/// 2026-11-01: no agent that has this check was built before.
const EARLIEST: Timestamp = Timestamp(1_793_491_200_000);
/// Steps back of less than this are a clock being put in step.
const SMALL_STEP_MS: u64 = 2_000;
/// Where the node's certificates are.
const FOLDERS: &[&str] = &[
    "/srv/kubernetes/",
    "/etc/kubernetes/pki/",
    "/var/lib/kubelet/pki/",
];

fn boot_clock(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let now = node.taken();
    if now.0 == 0 {
        return Err(Unseen::NotTaken(
            "nothing says when this was seen".to_owned(),
        ));
    }
    if now < EARLIEST {
        return Finding::new(
            format!("the clock says {now}, which is before this agent was made"),
            "set the clock: chronyc makestep, or timedatectl set-time; then restart the agent",
        )
        .fail();
    }
    let certificates = beginnings(node)?;
    if let Some((path, begins)) = certificates.iter().find(|(_, begins)| *begins > now) {
        return Finding::new(
            format!("the certificate {path} is valid only from {begins}, and it is {now} here"),
            "set the clock right: chronyc makestep; if it is right, the certificate was made on a machine whose clock is ahead: make it anew there",
        )
        .seen("seconds to go", begins.millis_since(now) / 1000)
        .fail();
    }
    ledger(node, certificates.len())
}

/// Whether the record of the latest boot fits the clock.
fn ledger(node: &Node<'_>, certificates: usize) -> Result<Verdict, Unseen> {
    let now = node.taken();
    let fine = format!("{certificates} certificates are from the past");
    let Ok(record) = node.record() else {
        return Verdict::ok(fine);
    };
    let (later, earlier, what) = match record.updated.0 + SMALL_STEP_MS < record.started.0 {
        true => (record.started, record.updated, "during the latest boot"),
        false => (record.updated, now, "since the latest boot"),
    };
    let back = later.millis_since(earlier);
    if back <= SMALL_STEP_MS {
        return Verdict::ok(fine);
    }
    Finding::new(
        format!("the clock went back by {}s {what}", back / 1000),
        "chronyc tracking; certificates and leases made meanwhile have times of the future: systemctl restart kubelet",
    )
    .seen("boot started", record.started)
    .seen("last event", record.updated)
    .seen("now", now)
    .warn()
}

/// The node's own certificates, and when each begins to be valid. What cannot be parsed is another check's business.
fn beginnings(node: &Node<'_>) -> Result<Vec<(String, Timestamp)>, Unseen> {
    let mut found = Vec::new();
    for (path, text) in &node.survey().texts {
        if !FOLDERS.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        for certificate in certificates(text.get()?) {
            let begins = certificate.tbs_certificate.validity.not_before;
            let millis = begins.to_unix_duration().as_millis() as u64;
            found.push((path.clone(), Timestamp(millis)));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::report::Status;
    use crate::checks::surveyed::{NOW, proves, record, survey_with, tree};
    use quake_model::facts::Seen;

    /// Valid from 2026-11-22 for ten years.
    const CERTIFICATE: &str = include_str!("testdata/valid-from-2026.crt");

    fn clock(synchronized: bool, offset_us: i64, ahead_of_server_ms: Option<i64>) -> ClockFacts {
        ClockFacts {
            synchronized,
            offset_us: Some(offset_us),
            max_error_us: Some(1000),
            ahead_of_server_ms,
        }
    }

    #[test]
    fn a_clock_that_is_far_off_says_who_else_sets_it_or_why_it_is_not_stepped() {
        let mut survey = tree(&[("/etc/chrony/chrony.conf", "makestep 1.0 3\n")]);
        survey.clock = Seen::Yes(clock(true, 0, Some(-1_432_000)));
        proves("time.sync", &survey, Status::Fail, "first 3 updates");
        let survey = survey_with(survey, "/etc/chrony/chrony.conf", "makestep 1.0 -1\n");
        proves("time.sync", &survey, Status::Fail, "let chrony use");
        let hardware = "makestep 1.0 -1\nrefclock PHC /dev/ptp0 poll 0 trust tai\n";
        for (ahead, expected) in [
            (-37_120, "distance of UTC from TAI"),
            (-39_000, "let chrony use"),
        ] {
            let mut survey = tree(&[("/etc/chrony/chrony.conf", hardware)]);
            survey.clock = Seen::Yes(clock(true, 0, Some(ahead)));
            proves("time.sync", &survey, Status::Warn, expected);
        }
    }

    #[test]
    fn a_wrong_source_that_chrony_trusts_is_named_with_its_line() {
        let file =
            "server dc01.example iburst prefer trust\nserver 169.254.169.123\nmakestep 1.0 3\n";
        let mut survey = tree(&[("/etc/chrony/chrony.conf", file)]);
        survey.clock = Seen::Yes(clock(true, 0, Some(-552_306)));
        let lines = [
            "Selected source 10.20.4.10 (dc01.example)",
            "Detected falseticker 169.254.169.123",
        ];
        let lines = lines.map(str::to_owned).to_vec();
        survey.journals = Seen::Yes([("chrony.service".to_owned(), lines)].into());
        let words = "take `server dc01.example iburst prefer trust` out";
        proves("time.sync", &survey, Status::Fail, words);
        let lines = vec!["Selected source 169.254.169.123".to_owned()];
        survey.journals = Seen::Yes([("chrony.service".to_owned(), lines)].into());
        proves("time.sync", &survey, Status::Fail, "first 3 updates");
    }

    #[test]
    fn a_clock_is_judged_by_the_servers_and_by_who_keeps_it() {
        let cases = [
            (clock(true, 120, Some(800)), Status::Ok, "in step"),
            (clock(true, 120, None), Status::Ok, "in step"),
            (
                clock(false, 0, None),
                Status::Warn,
                "nothing keeps the clock",
            ),
            (clock(true, 2_500_000, None), Status::Warn, "+2.500s"),
            (clock(true, 0, Some(-45_000)), Status::Warn, "45s behind"),
            (clock(true, 0, Some(420_000)), Status::Fail, "420s ahead of"),
        ];
        for (facts, status, words) in cases {
            let mut survey = tree(&[]);
            survey.clock = Seen::Yes(facts);
            proves("time.sync", &survey, status, words);
        }
        proves("time.sync", &tree(&[]), Status::Skip, "nothing recorded it");
    }

    #[test]
    fn a_certificate_of_the_future_fails_and_one_of_the_past_does_not() {
        let survey = tree(&[("/srv/kubernetes/ca.crt", CERTIFICATE)]);
        proves("time.boot-clock", &survey, Status::Ok, "1 certificates");
        let mut survey = survey;
        survey.taken = Timestamp(EARLIEST.0 + 1000);
        proves(
            "time.boot-clock",
            &survey,
            Status::Fail,
            "/srv/kubernetes/ca.crt is valid only from",
        );
    }

    #[test]
    fn a_clock_before_the_agent_was_made_fails() {
        let mut survey = tree(&[]);
        survey.taken = Timestamp(1_000);
        proves(
            "time.boot-clock",
            &survey,
            Status::Fail,
            "1970-01-01T00:00:01.000Z",
        );
        survey.taken = Timestamp(0);
        proves(
            "time.boot-clock",
            &survey,
            Status::Skip,
            "nothing says when",
        );
    }

    #[test]
    fn a_clock_that_went_back_since_the_boot_is_told_of() {
        let mut survey = survey_with(tree(&[]), "/etc/hostname", "a\n");
        let mut boot = record("node", "1.27.3");
        boot.updated = Timestamp(NOW.0 + 90_000);
        survey.record = Some(boot.clone());
        proves(
            "time.boot-clock",
            &survey,
            Status::Warn,
            "went back by 90s since the latest boot",
        );
        boot.updated = Timestamp(boot.started.0 - 60_000);
        survey.record = Some(boot);
        proves(
            "time.boot-clock",
            &survey,
            Status::Warn,
            "60s during the latest boot",
        );
    }

    #[test]
    fn who_does_not_keep_the_clock_is_told_apart() {
        use crate::checks::surveyed::unit;
        let seen = |active: ActiveState, line: &str, file: &str| {
            let mut survey = tree(&[("/etc/chrony/chrony.conf", file)]);
            survey.clock = Seen::Yes(clock(false, 0, None));
            survey.units = Seen::Yes(vec![unit("chrony.service", active)]);
            let lines = [("chrony.service".to_owned(), vec![line.to_owned()])];
            survey.journals = Seen::Yes(lines.into_iter().collect());
            survey
        };
        let own = "server 169.254.169.123 prefer iburst\n";
        let (runs, dead) = (ActiveState::Active, ActiveState::Inactive);
        for (active, line, file, words) in [
            (
                runs,
                "Can't synchronise: no selectable sources",
                own,
                "it reaches no time source",
            ),
            (
                runs,
                "chronyd starting",
                "driftfile /x\n",
                "names no time source",
            ),
            (
                runs,
                "chronyd starting",
                own,
                "has not brought the clock in step",
            ),
            (dead, "chronyd exiting", own, "no time service runs"),
            (
                ActiveState::Failed,
                "Fatal error : Another chronyd may already be running",
                own,
                "another chronyd runs",
            ),
        ] {
            proves("time.sync", &seen(active, line, file), Status::Warn, words);
        }
    }
}
