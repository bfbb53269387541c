//! Why a clock is wrong although a daemon keeps it: one that may not step it any more, or another program that sets it.

use super::super::node::Node;
use super::daemon;
use quake_formats::yaml::shorten;

/// Where chrony's configuration is.
const FILES: &[&str] = &["/etc/chrony/chrony.conf", "/etc/chrony.conf"];

/// How far TAI is ahead of UTC since 2017 (IERS, Bulletin C 52).
const TAI_AHEAD_MS: i64 = 37_000;

/// How programs that set a clock say that they did (ntpd `ntp_loopfilter.c`, chrony `reference.c`, OpenNTPD, busybox).
const STEPS: &[&str] = &[
    "time reset ",
    "step time server",
    "adjust time server",
    "System clock was stepped by",
    "setting time to",
    "adjusting local clock",
];

/// What else is known of the clock: a clause, the remedy, and the line or setting that says so.
pub(super) type Reason = (String, String, String);

/// A pod that sets the host's clock.
fn setter(node: &Node<'_>) -> Option<Reason> {
    node.pods().find_map(|pod| {
        let steps = |line: &&String| STEPS.iter().any(|words| line.contains(words));
        let line = pod.log.iter().rev().find(steps)?;
        let (namespace, name) = (&pod.namespace, &pod.name);
        Some((
            format!("the pod {namespace}/{name} sets it too, against the daemon of the host"),
            format!("remove the DaemonSet of {namespace}/{name} from these nodes: a host has one daemon for its clock; then: chronyc makestep"),
            shorten(line, 200),
        ))
    })
}

/// A hardware clock that is read as TAI and keeps UTC, or the other way round (chrony.conf(5), `refclock`, `tai`).
fn atomic_time(node: &Node<'_>, ahead_ms: i64) -> Option<Reason> {
    if ahead_ms.abs().abs_diff(TAI_AHEAD_MS) > 500 {
        return None;
    }
    let (file, text) = chrony_conf(node)?;
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("refclock "))?;
    let restart = restarted(node);
    Some((
        format!(
            "that is the distance of UTC from TAI, and chrony follows a hardware clock ({line}): it takes the one for the other"
        ),
        format!(
            "take tai out of that line of {file}, or add it where the clock keeps TAI, and leave trust out, then: {restart}; then restart the programs that went by the wrong time"
        ),
        format!("{file}: {line}"),
    ))
}

/// A limit of chrony's steps: once its first updates are over it only slews the clock (chrony.conf(5), `makestep`).
fn slewing(node: &Node<'_>) -> Option<Reason> {
    let (file, text) = chrony_conf(node)?;
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("makestep "))?;
    let limit: i64 = line.split_whitespace().nth(2)?.parse().ok()?;
    (limit >= 0).then(|| {
        (
            format!("chrony may step it only in its first {limit} updates ({line}), and slews it for hours: it was right at the start, and went wrong while chrony ran, as after a pause of the virtual machine"),
            format!("chronyc makestep, now; write makestep 1.0 -1 into {file}, then: systemctl restart chrony (chronyd); then restart what holds tokens and leases (the pods of the control plane); certificates and keys are right"),
            format!("{file}: {line}"),
        )
    })
}

/// Whether chrony itself stepped the clock by about what it is wrong: by what its source says (chrony, `reference.c`).
fn was_stepped(node: &Node<'_>, ahead_ms: i64) -> bool {
    const MARK: &str = "System clock was stepped by ";
    let units = ["chrony.service", "chronyd.service"];
    let lines = units.iter().flat_map(|unit| node.journal(unit));
    let mut steps = lines.filter_map(|line| {
        let (_, rest) = line.split_once(MARK)?;
        rest.split(' ').next()?.parse::<f64>().ok()
    });
    let ahead = ahead_ms as f64 / 1000.0;
    steps.any(|step| (step - ahead).abs() * 10.0 < ahead.abs())
}

/// Where EC2 gives the time (Amazon Time Sync Service), by IPv4 and IPv6.
const OF_AMAZON: [&str; 2] = ["169.254.169.123", "fd00:ec2::123"];

/// The servers of others that chrony follows, in the configuration or by its log.
fn foreign(node: &Node<'_>) -> Option<Reason> {
    let (file, text) = chrony_conf(node)?;
    let lines = text.lines().map(str::trim);
    let is_source = |line: &&str| {
        let mut words = line.split_whitespace();
        matches!(words.next(), Some("server" | "pool" | "peer"))
            && words.next().is_some_and(|host| !OF_AMAZON.contains(&host))
    };
    let named: Vec<&str> = lines.filter(is_source).collect();
    let hosts: Vec<&str> = named
        .iter()
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    // The pools that distributions set are right.
    let is_own = |host: &&str| !host.contains("pool.ntp.org") && !host.ends_with("ubuntu.com");
    let own: Vec<&str> = hosts.iter().copied().filter(is_own).collect();
    if own.is_empty() || text.contains(OF_AMAZON[0]) {
        return None;
    }
    let (own, restart) = (own.join(", "), restarted(node));
    Some((
        format!("chrony follows {own}, whose time is wrong"),
        format!(
            "take {own} out of {file} and write `server 169.254.169.123 prefer iburst minpoll 4 maxpoll 4` there, then: {restart}; chronyc sources -v shows whom it follows; have the time of {own} put right"
        ),
        format!("{file}: {}", named.join("; ")),
    ))
}

/// A source of others that chrony follows by its log, although it knows the time of Amazon or was set wrong by that source
/// (chrony, `sources.c`; `prefer` and `trust` of chrony.conf(5) make one source win over the others).
fn outvoted(node: &Node<'_>, ahead_ms: i64) -> Option<Reason> {
    const SELECTED: &str = "Selected source ";
    let units = ["chrony.service", "chronyd.service"];
    let lines: Vec<&String> = units.iter().flat_map(|unit| node.journal(unit)).collect();
    let of_amazon = |line: &str| OF_AMAZON.iter().any(|address| line.contains(address));
    let line = lines.iter().rfind(|line| line.contains(SELECTED))?;
    let (_, source) = line.split_once(SELECTED).filter(|_| !of_amazon(line))?;
    let refused = lines
        .iter()
        .rfind(|line| line.contains("Detected falseticker") && of_amazon(line));
    if refused.is_none() && !was_stepped(node, ahead_ms) {
        return None;
    }
    let named = source_line(node, source);
    let (file, line) = named.unwrap_or((chrony_conf(node).map_or(FILES[0], |it| it.0), ""));
    let set = match line {
        "" => format!("take the source {source} out of {file} (or of the files that it includes)"),
        line => format!("take `{line}` out of {file}, or at least its prefer and trust"),
    };
    let wanted = match source_line(node, OF_AMAZON[0]) {
        Some((own, _)) => {
            let place = match own == file {
                true => "there".to_owned(),
                false => format!("in {own}"),
            };
            format!(
                "have `server 169.254.169.123 prefer iburst` {place} once, in place of its present line"
            )
        }
        None => "write `server 169.254.169.123 prefer iburst minpoll 4 maxpoll 4` there".to_owned(),
    };
    let restart = restarted(node);
    let why = match refused {
        Some(_) => "and takes the right 169.254.169.123 for a falseticker",
        None => "and stepped the clock by it",
    };
    let said = match line {
        "" => format!("{SELECTED}{source}"),
        line => format!("{SELECTED}{source}; {file}: {line}"),
    };
    Some((
        format!("chrony follows {source}, whose time is wrong, {why}"),
        format!(
            "{set}, and {wanted}, then: {restart}; keep what writes {file} from doing it again, and have the time of {source} put right"
        ),
        said,
    ))
}

/// How chrony reads its configuration anew and steps the clock, by the name that its unit has here.
fn restarted(node: &Node<'_>) -> String {
    let mut units = ["chrony", "chronyd"].into_iter();
    let has = |unit: &&str| matches!(node.unit(&format!("{unit}.service")), Ok(Some(_)));
    match units.find(has) {
        Some(unit) => format!("systemctl restart {unit} && chronyc makestep"),
        None => "systemctl restart chrony (chronyd on Red Hat); chronyc makestep".to_owned(),
    }
}

/// The line that names a source of chrony, and its file: `10.20.4.10 (dc01.example.net)` is named by its address or its name.
fn source_line<'a>(node: &Node<'a>, source: &str) -> Option<(&'a str, &'a str)> {
    let names: Vec<&str> = source
        .split([' ', '(', ')'])
        .filter(|name| !name.is_empty())
        .collect();
    let texts = node.survey().texts.iter();
    let mut texts = texts.filter(|(path, _)| path.starts_with("/etc/chrony"));
    texts.find_map(|(path, text)| {
        let mut lines = text.ok()?.lines().map(str::trim);
        let is_named = |line: &&str| {
            let mut words = line.split_whitespace();
            matches!(words.next(), Some("server" | "pool" | "peer"))
                && words.next().is_some_and(|host| names.contains(&host))
        };
        Some((path.as_str(), lines.find(is_named)?))
    })
}

/// chrony's configuration, and the file that it is in.
fn chrony_conf<'a>(node: &Node<'a>) -> Option<(&'static str, &'a str)> {
    let mut files = FILES.iter();
    files.find_map(|file| Some((*file, node.text(file).ok()??)))
}

/// Why a clock is so many milliseconds ahead of the clock of the servers, or behind it where that is below zero.
pub(super) fn reason(node: &Node<'_>, ahead_ms: i64) -> Option<Reason> {
    let mut reason = setter(node);
    reason = reason.or_else(|| atomic_time(node, ahead_ms));
    let names_amazon = || chrony_conf(node).is_some_and(|(_, text)| text.contains(OF_AMAZON[0]));
    reason = reason.or_else(|| outvoted(node, ahead_ms).filter(|_| names_amazon()));
    reason.or_else(|| match daemon::stopped(node) {
        Some(finding) => {
            let source = match finding.summary.contains("chrony") {
                true => "; let chrony use `server 169.254.169.123 prefer iburst`",
                false => "",
            };
            let fix = format!("{}{source}", finding.fix);
            Some((finding.summary, fix, daemon::NONE.to_owned()))
        }
        None if was_stepped(node, ahead_ms) => foreign(node).or_else(|| slewing(node)),
        None => slewing(node).or_else(|| foreign(node)),
    })
}
