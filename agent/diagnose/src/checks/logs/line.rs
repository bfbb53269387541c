//! One line of a log: what it says without its head, how bad it says that it is, and when it was written.

use quake_model::time::Timestamp;

/// How bad a line says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// It says that it is no error.
    Information,
    /// It does not say.
    Unknown,
    Warning,
    Error,
    /// The program ends with it.
    Fatal,
}

/// Words of programs that end.
const FATAL: &[&str] = &[
    "panic: ",
    "fatal error: ",
    "level=fatal",
    "level=panic",
    "\"level\":\"fatal\"",
    "\"level\":\"panic\"",
    "[FATAL]",
    "\tFATAL\t",
    "Kernel panic",
    "BUG: ",
    "Oops: ",
    "general protection fault",
    "segfault at",
    "\"command failed\" err=",
    "failed to run Kubelet",
    "Fatal error : ",
    "Traceback (most recent call last)",
];

const ERROR: &[&str] = &[
    "level=error",
    "level=\"error\"",
    "\"level\":\"error\"",
    "\"level\": \"error\"",
    "\"lvl\":\"error\"",
    "\"severity\":\"ERROR\"",
    "[ERROR]",
    "[CRITICAL]",
    // nginx, whose `[error]` and `[crit]` tell of clients, too.
    " [alert] ",
    " [emerg] ",
    "\tERROR\t",
    " ERROR ",
    " | ERROR",
    "Failed with result",
    "Bus error",
    "(core dumped)",
    "Segmentation fault",
    "Failed at step",
    "Failed to execute",
    "Failed to start ",
    "Start request repeated too quickly",
    "status=1/FAILURE",
    "Dependency failed for",
];

const WARNING: &[&str] = &[
    "level=warn",
    "level=\"warn",
    "\"level\":\"warn",
    "\"level\": \"warn",
    "[WARNING]",
    "[WARN]",
    "\tWARN\t",
    " WARNING ",
];

const INFORMATION: &[&str] = &[
    "level=info",
    "level=debug",
    "level=\"info",
    "\"level\":\"info",
    "\"level\":\"debug",
    "\"level\": \"info",
    "[INFO]",
    "[DEBUG]",
    "\tINFO\t",
    "\tDEBUG\t",
    "\"severity\":\"INFO\"",
    // Spring, Log4j and others of Java.
    "  INFO ",
    "[NOTICE]",
];

/// What a line begins with that says no more than that it is an error.
const BEGINNINGS: &[(&str, Level)] = &[
    ("INFO: ", Level::Information),
    ("fatal: ", Level::Fatal),
    ("FATAL", Level::Fatal),
    ("error: ", Level::Error),
    ("Error: ", Level::Error),
    ("ERROR", Level::Error),
    ("Failed to ", Level::Error),
];

/// Words by which the kernel's log tells of trouble; its lines have no level here.
const OF_THE_KERNEL: &[&str] = &[
    "error",
    "Error",
    "ERROR",
    "fail",
    "Fail",
    "timeout",
    "timed out",
    "blocked for more",
    "orrupt",
    "ut of memory",
    "Killed process",
    "lockup",
    "stall",
    "rejected",
    "denied",
    "DENIED",
    "table full",
    "overflow",
    "read-only",
    "offline",
    "WARNING: CPU",
    "Call Trace",
    // How NVIDIA's driver goes on behind the number of a GPU that it does not drive.
    "requires use of the NVIDIA",
    "NVRM: installed in this system is not supported",
];

/// How bad a line says that it is.
pub(super) fn level(line: &str) -> Level {
    let text = without_head(line);
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if let Some(level) = of_klog(text) {
        return match level {
            // kubelet ends with this line, and calls it an error.
            Level::Error if has(FATAL) => Level::Fatal,
            level => level,
        };
    }
    if has(INFORMATION) {
        return Level::Information;
    }
    if has(FATAL) {
        return Level::Fatal;
    }
    if has(ERROR) {
        return Level::Error;
    }
    if has(WARNING) {
        return Level::Warning;
    }
    let begun = BEGINNINGS.iter().find(|(word, _)| text.starts_with(word));
    begun.map_or_else(|| of_capnslog(text), |(_, level)| *level)
}

/// How bad a line of the kernel's log is.
pub(super) fn level_of_kernel(line: &str) -> Level {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    match (has(FATAL), has(OF_THE_KERNEL)) {
        (true, _) => Level::Fatal,
        // Of a control group that is out of memory the report itself tells.
        (false, true) if !line.contains(", failcnt ") => Level::Error,
        (false, _) => Level::Unknown,
    }
}

/// The level of `E1122 02:31:00.000000    1201 file.go:12] text` (k8s.io/klog).
fn of_klog(text: &str) -> Option<Level> {
    let bytes = text.as_bytes();
    let is_klog = bytes.len() > 6 && bytes[1..5].iter().all(u8::is_ascii_digit) && bytes[5] == b' ';
    match bytes.first() {
        Some(b'I') if is_klog => Some(Level::Information),
        Some(b'W') if is_klog => Some(Level::Warning),
        Some(b'E') if is_klog => Some(Level::Error),
        Some(b'F') if is_klog => Some(Level::Fatal),
        _ => None,
    }
}

/// The level of `2019-05-08 13:55:51.123456 E | rafthttp: text` (coreos/pkg/capnslog), which etcd wrote before 3.5.
fn of_capnslog(text: &str) -> Level {
    match text.get(..4) {
        Some("C | ") => Level::Fatal,
        Some("E | ") => Level::Error,
        Some("W | ") => Level::Warning,
        Some("I | " | "N | " | "D | ") => Level::Information,
        _ => Level::Unknown,
    }
}

/// A line without the time, host and program that a journal or syslog writes before it.
pub(super) fn without_head(line: &str) -> &str {
    let line = line.trim_start();
    if let Some((head, rest)) = line.split_once("]: ")
        && head.len() < 100
        && head.rsplit_once('[').is_some_and(|(before, pid)| {
            before.contains(' ') && pid.bytes().all(|byte| byte.is_ascii_digit())
        })
        && head.starts_with(|c: char| c.is_ascii_alphanumeric())
        && of_klog(line).is_none()
    {
        return rest;
    }
    match line.split_once(' ') {
        Some((time, rest)) if is_instant(time) => without_date(rest),
        _ => without_date(line),
    }
}

/// Whether a word is an instant such as `2026-11-22T02:31:00.000Z`.
fn is_instant(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 19
        && bytes[10] == b'T'
        && bytes[4] == b'-'
        && bytes[..4].iter().all(u8::is_ascii_digit)
}

/// Leaves a date and time in two words out: `2026-11-22 02:31:00.123 text`.
fn without_date(text: &str) -> &str {
    let mut words = text.splitn(3, ' ');
    let (Some(date), Some(time), Some(rest)) = (words.next(), words.next(), words.next()) else {
        return text;
    };
    let numbers = |word: &str, mark: char| {
        word.len() >= 8
            && word.contains(mark)
            && word
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"-:.,/".contains(&byte))
    };
    let is_date = (numbers(date, '-') || numbers(date, '/')) && numbers(time, ':');
    if is_date { rest } else { text }
}

/// When a line was written, by its own words; `taken` gives the year where it has none.
pub(super) fn time(line: &str, taken: Timestamp) -> Option<Timestamp> {
    let text = without_head(line);
    let klog = of_klog(text).and_then(|_| {
        let (month, day, clock) = (text.get(1..3)?, text.get(3..5)?, text.get(6..14)?);
        let year = taken.to_string();
        Timestamp::parse(&format!("{}-{month}-{day}T{clock}Z", year.get(..4)?))
    });
    klog.or_else(|| {
        let of_field = ["time=\"", "\"ts\":\"", "\"time\":\"", "\"timestamp\":\""];
        let mut fields = of_field.iter().filter_map(|mark| {
            let (_, rest) = text.split_once(mark)?;
            Timestamp::parse(rest.split('"').next()?)
        });
        fields.next()
    })
    .or_else(|| {
        let line = line.trim_start();
        let first = line.split(' ').next()?;
        let iso = Timestamp::parse(first);
        iso.or_else(|| {
            let (date, clock) = (line.get(..10)?, line.get(11..19)?);
            Timestamp::parse(&format!("{}T{clock}Z", date.replace('/', "-")))
        })
    })
}

/// The line with what differs from one time to the next replaced: numbers, identifiers, hashes, addresses.
pub(super) fn shape(line: &str) -> String {
    const LONGEST: usize = 200;
    let text = message(line);
    let mut shape = String::new();
    let mut word = String::new();
    let flush = |word: &mut String, shape: &mut String| {
        let is_name = word.bytes().any(|byte| byte.is_ascii_digit());
        match is_name {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push_str(word),
        }
        word.clear();
    };
    for c in text.chars() {
        if shape.len() > LONGEST {
            break;
        }
        if c.is_ascii_alphanumeric() {
            word.push(c);
            continue;
        }
        flush(&mut word, &mut shape);
        let joins = matches!(c, '.' | ':' | '-' | '+' | '_');
        if !(joins && shape.ends_with('#')) && c != '\\' {
            shape.push(c);
        }
    }
    flush(&mut word, &mut shape);
    shape.chars().take(LONGEST).collect()
}

/// A line without its time, host and program, and without the level that klog writes.
pub(super) fn message(line: &str) -> &str {
    let text = without_head(line);
    match of_klog(text) {
        Some(_) => after_klog_head(text),
        None => text,
    }
}

/// What klog writes behind the level, the time and the number of the process.
fn after_klog_head(text: &str) -> &str {
    let mut rest = text;
    for _ in 0..3 {
        match rest.split_once(' ') {
            Some((_, after)) => rest = after.trim_start(),
            None => return text,
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_log_says_how_bad_a_line_is() {
        for (line, wanted) in [
            ("E1122 02:31:00.0 1201 kubelet.go:1] x", Level::Error),
            (
                "I1122 02:31:00.0 1201 log.go:1] an error",
                Level::Information,
            ),
            ("F1122 02:31:00.0 1 x.go:1] y", Level::Fatal),
            (
                "E1122 02:31:00.0 1201 run.go:72] \"command failed\" err=\"x\"",
                Level::Fatal,
            ),
            (
                "Nov 22 02:31:00 ip-10-0-0-1 kubelet[812]: E1122 02:31:00.0 812 x.go:1] y",
                Level::Error,
            ),
            (
                "time=\"2026-11-22T02:31:00Z\" level=error msg=\"x\"",
                Level::Error,
            ),
            (
                "time=\"2026-11-22T02:31:00Z\" level=info msg=\"shim disconnected\"",
                Level::Information,
            ),
            (
                "{\"level\":\"warn\",\"ts\":\"2026-11-22T02:31:00Z\",\"msg\":\"x\"}",
                Level::Warning,
            ),
            ("{\"level\":\"fatal\",\"msg\":\"x\"}", Level::Fatal),
            ("panic: freepages", Level::Fatal),
            (
                "2026-11-22 02:31:00.123 [ERROR][67] felix/x.go 1: y",
                Level::Error,
            ),
            ("2019-05-08 13:55:51.123456 E | rafthttp: x", Level::Error),
            (
                "2026-11-22T02:31:00.1Z kubelet.service: Failed with result 'exit-code'.",
                Level::Error,
            ),
            ("Reached target multi-user", Level::Unknown),
        ] {
            assert_eq!(level(line), wanted, "{line}");
        }
    }

    #[test]
    fn lines_that_differ_in_numbers_and_identifiers_have_one_shape() {
        let one = "E1122 02:31:00.000000    1201 pod_workers.go:1301] \"Error syncing pod\" pod=\"kube-system/dns-7d5f9c-x7k2p\" podUID=\"2f1c-77\" err=\"dial tcp 10.0.0.5:443: i/o timeout\"";
        let other = "E1123 14:01:10.123456   99 pod_workers.go:1301] \"Error syncing pod\" pod=\"kube-system/dns-8899aa-q9r4t\" podUID=\"a01b-12\" err=\"dial tcp 10.1.2.3:6443: i/o timeout\"";
        assert_eq!(shape(one), shape(other));
        assert!(shape(one).contains("Error syncing pod"), "{}", shape(one));
        assert_ne!(shape(one), shape("E1122 02:31:00.0 1 x.go:1] \"Another\""));
    }

    #[test]
    fn a_line_says_when_it_was_written() {
        let taken = Timestamp::parse("2026-11-22T04:00:00Z").expect("an instant");
        let wanted = Timestamp::parse("2026-11-22T02:31:00Z");
        for line in [
            "E1122 02:31:00.000000    1201 x.go:1] y",
            "time=\"2026-11-22T02:31:00Z\" level=error msg=\"x\"",
            "{\"level\":\"warn\",\"ts\":\"2026-11-22T02:31:00Z\"}",
            "2026-11-22T02:31:00Z kubelet.service: Failed with result 'exit-code'.",
            "2026-11-22 02:31:00.000 [ERROR][67] felix/x.go 1: y",
        ] {
            assert_eq!(
                time(line, taken).map(|at| at.0 / 1000),
                wanted.map(|at| at.0 / 1000),
                "{line}"
            );
        }
        assert_eq!(time("no time here at all", taken), None);
    }
}
