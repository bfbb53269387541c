//! Dumps of programs that crash, which fill a disk where nothing bounds them.

use super::kernel_log;
use super::space::is_below;
use crate::checks::node::Node;
use quake_model::facts::SpaceFacts;
use std::collections::BTreeMap;

/// Where systemd-coredump keeps dumps (systemd-coredump(8)).
const FOLDER: &str = "/var/lib/systemd/coredump";

/// What hands a dump to whom (core(5)).
const PATTERN: &str = "/proc/sys/kernel/core_pattern";

/// The settings of systemd-coredump, and the folders of files that go above them (coredump.conf(5)).
const FILE: &str = "/etc/systemd/coredump.conf";
const DROP_INS: &str = "/etc/systemd/coredump.conf.d";

/// So many crashes of one program are no accident.
const OFTEN: usize = 3;

/// A program that crashes again and again, and where its dumps are kept without bounds.
pub(super) struct CoreDumps<'a> {
    program: &'a str,
    crashes: usize,
    /// The file that takes the bounds away, and what it sets.
    unbounded: (String, String),
    /// The latest line of the kernel.
    pub(super) line: &'a str,
}

/// Dumps that fill a filesystem, as far as the kernel's log and the settings show it.
pub(super) fn of<'a>(node: &Node<'a>, space: &SpaceFacts) -> Option<CoreDumps<'a>> {
    let pattern = node.text(PATTERN).ok().flatten()?.trim();
    let (program, crashes, line) = crashing(node)?;
    // A pattern that is a path leads into the mounts of the program that crashed, which may be a container's.
    if !pattern.contains("systemd-coredump") {
        return None;
    }
    let unbounded = unbounded(node, space)?;
    let is_here = match node.mount_of(FOLDER).ok().flatten() {
        Some(mount) => mount.facts.target == space.path,
        None => is_below(FOLDER, &space.path),
    };
    is_here.then_some(CoreDumps {
        program,
        crashes,
        unbounded,
        line,
    })
}

/// The program that crashed most, how often, and the latest line (Linux, `arch/x86/mm/fault.c`, `show_signal_msg`).
fn crashing<'a>(node: &Node<'a>) -> Option<(&'a str, usize, &'a str)> {
    let signs = [
        ": segfault at ",
        " trap invalid opcode ",
        " general protection fault ",
    ];
    let lines = kernel_log::lines(node, &signs).ok()?;
    let mut programs: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for line in lines {
        // With a time of the kernel's before it, `[ 12.345678] name[pid]: segfault`.
        let text = line
            .rsplit_once("] ")
            .filter(|(before, _)| before.starts_with('['));
        let text = text.map_or(line, |(_, text)| text);
        // A program gives itself its name, which reaches a command.
        let is_of_name = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
        let name = text.split_once('[').map(|(name, _)| name.trim());
        let Some(program) = name.filter(|name| name.bytes().all(is_of_name) && !name.is_empty())
        else {
            continue;
        };
        let found = programs.entry(program).or_default();
        *found = (found.0 + 1, line);
    }
    let most = programs.into_iter().max_by_key(|(_, (count, _))| *count);
    let (program, (count, line)) = most?;
    (count >= OFTEN && !program.is_empty()).then_some((program, count, line))
}

/// The last file that lets dumps take more than this filesystem has, and what it sets. Without settings systemd-coredump keeps
/// to a tenth of the filesystem and leaves 15 % free.
fn unbounded(node: &Node<'_>, space: &SpaceFacts) -> Option<(String, String)> {
    let drop_ins = node.list(DROP_INS);
    let drop_ins = drop_ins.iter().filter(|(name, _)| name.ends_with(".conf"));
    let drop_ins = drop_ins.map(|(name, _)| format!("{DROP_INS}/{name}"));
    let (mut most, mut free, mut kept) = (None, None, true);
    for path in std::iter::once(FILE.to_owned()).chain(drop_ins) {
        let text = node.text(&path).ok().flatten().unwrap_or_default();
        for line in text.lines().map(str::trim) {
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            match (key.trim(), value.trim()) {
                ("MaxUse", value) => most = Some((bytes(value)?, path.clone(), line.to_owned())),
                ("KeepFree", value) => free = Some((bytes(value)?, line.to_owned())),
                ("Storage", value) => kept = value == "external",
                _ => {}
            }
        }
    }
    let (size, path, sets) = most?;
    let (least, leaves) = free?;
    let is_open = size > space.bytes / 2 && least < space.bytes / 20;
    (is_open && kept).then(|| (path, format!("{sets}, {leaves}")))
}

/// A size with a unit of 1024 (systemd.syntax(7)).
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].trim().chars().next() {
        None | Some('B') => 0,
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        Some('T') => 40,
        Some(_) => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

impl CoreDumps<'_> {
    /// What is so, as a clause.
    pub(super) fn what(&self) -> String {
        let CoreDumps {
            program, crashes, ..
        } = self;
        let (path, sets) = &self.unbounded;
        format!(
            "{program} crashed {crashes} times, and systemd-coredump keeps the dump of each in {FOLDER}, where {path} took the bounds away ({sets})"
        )
    }

    /// How they are bounded and how room is made.
    pub(super) fn fix(&self) -> String {
        let (program, path) = (self.program, &self.unbounded.0);
        format!(
            "du -sh {FOLDER} shows their size: copy one dump off for who repairs {program}, and delete the others (rm {FOLDER}/core.{program}.*); set MaxUse=2G and KeepFree=15% (or Storage=none) in {path}; it counts from the next dump; then repair {program}, whose container ends with 139, or limit its cores; a larger disk only delays it"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{PATTERN, of};
    use crate::checks::node::Node;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::{Seen, SpaceFacts};

    #[test]
    fn dumps_without_bounds_fill_a_disk() {
        let space = SpaceFacts {
            path: "/".to_owned(),
            bytes: 64 << 30,
            bytes_free: 4 << 30,
            inodes: 1000,
            inodes_free: 900,
            read_only: false,
        };
        let crash =
            "imgproxy[21877]: segfault at 18 ip 00007f sp 00007f error 4 in libvips.so.42[7f+2c]";
        for (settings, crashes, wanted) in [
            ("[Coredump]\nMaxUse=1T\nKeepFree=1M\n", 4, true),
            ("[Coredump]\nMaxUse=1T\nKeepFree=1M\n", 2, false),
            ("[Coredump]\nMaxUse=2G\nKeepFree=1M\n", 4, false),
            (
                "[Coredump]\nStorage=none\nMaxUse=1T\nKeepFree=1M\n",
                4,
                false,
            ),
            ("[Coredump]\nCompress=no\n", 4, false),
        ] {
            let mut node = Sample::worker();
            node.text(PATTERN, "|/lib/systemd/systemd-coredump %P %u\n");
            node.text("/etc/systemd/coredump.conf.d/50-keep.conf", settings);
            node.survey.kernel_log = Seen::Yes(vec![crash.to_owned(); crashes]);
            let hostile = crash.replace("imgproxy", "x /etc/* y");
            let mut other = Sample::worker();
            other.survey.kernel_log = Seen::Yes(vec![hostile; crashes]);
            assert!(super::crashing(&Node::new(&other.survey)).is_none());
            let found = of(&Node::new(&node.survey), &space);
            assert_eq!(found.is_some(), wanted, "{settings} {crashes}");
            if let Some(found) = found {
                let what = found.what();
                assert!(what.contains("imgproxy crashed 4 times"), "{what}");
                assert!(what.contains("50-keep.conf"), "{what}");
                assert!(found.fix().contains("MaxUse=2G"), "{}", found.fix());
            }
        }
    }
}
