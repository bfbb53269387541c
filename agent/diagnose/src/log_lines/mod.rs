//! Lines that kubelet, the runtime, etcd, the control plane, the kernel and others log, what each means and what to do about it.
//!
//! Each table is a text: blocks of `line`, `means`, `fix`, `check` and `from`, with an empty line between two. `line` has the
//! parts that a line must have, with ` | ` between two. `passing`, which may be left out, says how many such lines are a
//! finding although the check passes: a healthy node logs fewer. `general: yes` is for a line that any program may log for
//! reasons of its own: a check that passes does not take it over. `relayed: yes` is for a line that says only that another
//! program or step failed: the line of that one comes first. `level: information` is for a line that a program logs as no error
//! although it is one. `named` and `remedy` say the same as `means` and `fix` with names of the line: `{1}` is what
//! the line has between the first part and the second, `{2}` what it has between the second and the third.
//!
//! `usual.txt` has errors that healthy nodes log and that mean nothing: blocks of `line`, `why` and `from`; and `most`, where
//! more than so many of one kind mean something.

mod matcher;
mod named;

use crate::checks::{is_in_line, known_lines};
use flate2::read::DeflateDecoder;
use matcher::Matcher;
pub(crate) use matcher::unescaped;
pub(crate) use named::is_plain_name;
use std::io::Read;
use std::sync::LazyLock;

/// A line that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Parts that the line has, all of them.
    pub parts: Vec<&'static str>,
    /// What it means, as a clause.
    pub means: &'static str,
    /// What to do about it.
    pub fix: &'static str,
    /// The check that looks at the same thing.
    pub check: &'static str,
    /// Where the program prints it; empty for a line that the check itself knows.
    pub from: &'static str,
    /// So many such lines are a finding although the check passes.
    pub passing: usize,
    /// Whether any program may log it for reasons of its own: alone it says nothing of the check.
    pub general: bool,
    /// Whether the program logs it as information.
    pub is_information: bool,
    /// Whether it says only that another program or step failed: the line of that one comes first.
    pub is_relayed: bool,
    /// What it means, with the places of names that the line has.
    pub named: Option<&'static str>,
    /// What to do about it, with the places of names that the line has.
    pub remedy: Option<&'static str>,
}

impl LogLine {
    /// Where its parts begin in a line that it fits, without the escapes of its quotation marks.
    pub(crate) fn start(&self, line: &str) -> Option<usize> {
        let line = unescaped(line);
        self.parts.iter().filter_map(|part| line.rfind(part)).min()
    }

    /// Where its parts end in a line that it fits, without the escapes of its quotation marks.
    pub(crate) fn end(&self, line: &str) -> Option<usize> {
        let line = unescaped(line);
        let ends = self.parts.iter();
        ends.filter_map(|part| Some(line.rfind(part)? + part.len()))
            .max()
    }

    /// How exactly it says what the line is.
    pub(crate) fn length(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }
}

/// All tables as one text. The build script has packed it.
static KNOWN: LazyLock<String> =
    LazyLock::new(|| unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/known.deflate"))));

/// Errors that healthy nodes log.
static USUAL: LazyLock<String> =
    LazyLock::new(|| unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/usual.deflate"))));

/// A text of the build script. It cannot be damaged: it is a part of this program.
fn unpacked(packed: &[u8]) -> String {
    let mut text = String::new();
    let read = DeflateDecoder::new(packed).read_to_string(&mut text);
    debug_assert!(read.is_ok(), "{read:?}");
    text
}

/// The parts of such lines, and how many of one kind a healthy node logs.
static ALL_USUAL: LazyLock<Vec<(Vec<&'static str>, usize)>> = LazyLock::new(|| {
    let blocks = USUAL.split("\n\n").filter(|block| !block.starts_with('#'));
    blocks.filter_map(read_usual).collect()
});

fn read_usual(block: &'static str) -> Option<(Vec<&'static str>, usize)> {
    let most = field(block, "most").map_or(Ok(usize::MAX), str::parse);
    let parts = field(block, "line")?.split(" | ").collect();
    Some((parts, most.ok()?))
}

/// How many lines of this kind a healthy node logs, too.
pub(crate) fn usual(line: &str) -> usize {
    let all = ALL_USUAL.iter();
    let fitting = all.filter(|(parts, _)| parts.iter().all(|part| line.contains(part)));
    fitting.map(|(_, most)| *most).max().unwrap_or_default()
}

static ALL: LazyLock<Vec<LogLine>> = LazyLock::new(|| {
    let blocks = KNOWN.split("\n\n");
    let of_checks = known_lines().map(|(check, line)| LogLine {
        parts: line.parts.to_vec(),
        means: line.means,
        fix: line.fix,
        check,
        from: "",
        passing: 1,
        general: false,
        is_information: false,
        is_relayed: false,
        named: None,
        remedy: None,
    });
    blocks.filter_map(read).chain(of_checks).collect()
});

/// All rows' parts. `None` cannot be: the tests build it.
static MATCHER: LazyLock<Option<Matcher>> =
    LazyLock::new(|| Matcher::new(ALL.iter().map(|row| row.parts.as_slice())));

fn field(block: &'static str, name: &str) -> Option<&'static str> {
    let mut lines = block.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn read(block: &'static str) -> Option<LogLine> {
    let passing = field(block, "passing").map_or(Ok(1), str::parse);
    Some(LogLine {
        parts: field(block, "line")?.split(" | ").collect(),
        means: field(block, "means")?,
        fix: field(block, "fix")?,
        check: field(block, "check")?,
        from: field(block, "from")?,
        passing: passing.ok()?,
        general: field(block, "general").is_some(),
        is_information: field(block, "level") == Some("information"),
        is_relayed: field(block, "relayed").is_some(),
        named: field(block, "named"),
        remedy: field(block, "remedy"),
    })
}

/// All that are known.
pub fn all() -> &'static [LogLine] {
    &ALL
}

/// All rows that a line fits, in the order of the tables. A quotation mark of the line may be escaped.
pub(crate) fn fitting(line: &str) -> impl Iterator<Item = &'static LogLine> {
    let line = unescaped(line);
    let rows = MATCHER.as_ref().map(|it| it.fitting(&line));
    let rows = rows.into_iter().flatten().filter_map(|row| ALL.get(row));
    rows.filter(move |row| is_of_program(row, &line))
}

/// How Go begins what it says of a program that could not be started (`os/exec`).
const STARTED: &str = "fork/exec ";

/// Whether the error that a row knows of a program is the one behind the program's path: runc's own file of errors stands
/// before it in a bracket, with an error of its own (containerd `cmd/containerd-shim-runc-v2/process/utils.go`).
fn is_of_program(row: &LogLine, line: &str) -> bool {
    let is_start = |part: &&str| part.starts_with(STARTED.trim_end());
    let Some(place) = row.parts.iter().position(is_start) else {
        return true;
    };
    let Some((_, behind)) = line.rsplit_once(STARTED) else {
        return true;
    };
    row.parts[place + 1..]
        .iter()
        .all(|part| behind.contains(part))
}

/// What is known of a line that a program logged as information.
pub(crate) fn find_in_information(line: &str) -> Option<&'static LogLine> {
    let rows = fitting(line).filter(|known| known.is_information);
    rows.max_by_key(|known| known.length())
}

/// How many characters of a line a row names that tells it from others.
pub(crate) const TELLING: usize = 24;

/// The row of a line that says by itself what to do, and knows much of the line.
pub(crate) fn most_exact(line: &str) -> Option<&'static LogLine> {
    let tells = |row: &&LogLine| {
        let is_own = row.from.is_empty();
        !is_own && !row.general && !is_in_line(row.fix) && row.length() >= TELLING
    };
    fitting(line)
        .filter(tells)
        .max_by_key(|known| known.length())
}

/// What is known of a line: of rows that fit, the one that says most.
pub fn find(line: &str) -> Option<&'static LogLine> {
    fitting(line).max_by_key(|known| known.length())
}

/// What is known of a line beside what a check knows of its own program: of rows with a source the one that says most.
pub(crate) fn sourced(line: &str) -> Option<&'static LogLine> {
    let rows = fitting(line).filter(|known| !known.from.is_empty());
    rows.max_by_key(|known| known.length())
}

/// Whether a line is one that the kernel is known for.
pub fn is_of_kernel(line: &str) -> bool {
    fitting(line).any(|known| known.from.starts_with("Linux "))
}

/// The latest line that is known, and what is known of it. One that only relays what another line says is the last choice.
pub fn latest(lines: &[String]) -> Option<(&str, &'static LogLine)> {
    let known = lines.iter().rev();
    let mut known = known.filter_map(|line| Some((line.as_str(), find(line)?)));
    let first = known.next()?;
    let is_own = |(_, row): &(&str, &LogLine)| !row.is_relayed;
    match is_own(&first) {
        true => Some(first),
        false => known.find(is_own).or(Some(first)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_block_is_a_row_and_names_a_check() {
        let blocks = KNOWN.split("\n\n").filter(|block| block.contains("line"));
        for block in blocks
            .map(str::trim)
            .filter(|block| !block.starts_with('#'))
        {
            let has = |name: &str| usize::from(block.contains(name));
            let may_have = ["passing", "general", "relayed", "level", "named", "remedy"];
            let more = may_have.map(|name| has(&format!("\n{name}: ")));
            let lines = 5 + more.iter().sum::<usize>();
            assert_eq!(block.lines().count(), lines, "{block}");
            assert!(read(block).is_some(), "{block}");
        }
        assert!(all().len() > 2_900, "{}", all().len());
        for line in all() {
            assert!(crate::checks::find(line.check).is_some(), "{line:?}");
            let is_own = line.from.is_empty();
            assert!(is_own || line.length() >= 9, "it fits too much: {line:?}");
        }
    }

    #[test]
    fn every_usual_line_says_why_and_where_it_was_seen() {
        let blocks = USUAL.split("\n\n").map(str::trim);
        let blocks: Vec<&str> = blocks.filter(|block| !block.starts_with('#')).collect();
        for block in &blocks {
            let lines = 3 + usize::from(block.contains("\nmost: "));
            assert_eq!(block.lines().count(), lines, "{block}");
            for name in ["line", "why", "from"] {
                assert!(
                    field(block, name).is_some_and(|text| text.len() >= 9),
                    "{block}"
                );
            }
        }
        assert_eq!(blocks.len(), ALL_USUAL.len());
    }

    #[test]
    fn no_row_is_hidden_by_another() {
        let mut seen = BTreeSet::new();
        let rows = all().iter().filter(|line| !line.from.is_empty());
        let is_hidden = |line: &&'static LogLine| {
            let is_twice = !seen.insert(&line.parts);
            is_twice || find(&line.parts.join(" ")) != Some(line)
        };
        let hidden: Vec<_> = rows.filter(is_hidden).map(|line| &line.parts).collect();
        assert!(hidden.is_empty(), "{hidden:#?}");
    }

    #[test]
    fn real_lines_are_known() {
        for (line, check) in [
            (
                "Nov 22 kubelet[812]: E1122 03:11:40.1 812 kubelet.go:2345] \"Container runtime network not ready\" networkReady=\"NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized\"",
                "cni.ready",
            ),
            (
                "[ 5055.499223] cgroup: fork rejected by pids controller in /kubepods.slice/kubepods-burstable.slice",
                "host.limits",
            ),
            (
                "E0312 03:29:19.225719 1 controller.go:152] Unable to remove old endpoints from kubernetes service: StorageError: key not found, Code: 1",
                "etcd.data",
            ),
            (
                "failed to create shim task: OCI runtime create failed: runc create failed: expected cgroupsPath to be of format \"slice:prefix:name\" for systemd cgroups, got \"/k8s.io/36\"",
                "runtime.cgroup-driver",
            ),
            (
                r#"Error: failed to create shim: OCI runtime create failed: expected cgroupsPath to be of format \\\"slice:prefix:name\\\" for systemd cgroups, got \\\"/k8s.io/36\\\""#,
                "runtime.cgroup-driver",
            ),
            (
                "plugin type=\"cilium-cni\" failed (add): unable to connect to Cilium agent: failed to create cilium agent client after 30s",
                "cni.ready",
            ),
            (
                "Error while dialing: dial tcp 127.0.0.1:2379: connect: connection refused",
                "etcd.alive",
            ),
        ] {
            assert_eq!(find(line).map(|known| known.check), Some(check), "{line}");
        }
        assert_eq!(find("kubelet: all is well"), None);
    }

    #[test]
    fn the_error_of_a_program_is_the_one_behind_its_path() {
        for (error, check) in [
            ("no such file or directory: <nil>", "runtime.config"),
            ("cannot allocate memory: <nil>", "host.memory"),
        ] {
            let line = format!(
                "OCI runtime create failed: unable to retrieve OCI runtime error (open /run/x/log.json: no such file or directory): fork/exec /usr/sbin/runc: {error}"
            );
            assert_eq!(find(&line).map(|known| known.check), Some(check), "{line}");
        }
        let line = "failed to start shim: start failed: : fork/exec /usr/bin/containerd-shim-runc-v2: cannot allocate memory";
        assert_eq!(find(line).map(|known| known.check), Some("host.memory"));
    }
}
