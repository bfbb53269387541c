//! Who sets a key of sysctl beside the files of sysctl.d: a unit, a script or a pod.

use crate::checks::node::Node;

/// Scripts and tables that run commands of their own.
const SCRIPTS: &[&str] = &[
    "/etc/cron",
    "/etc/rc.d/rc.local",
    "/etc/rc.local",
    "/usr/local/bin/",
    "/usr/local/sbin/",
    "/var/spool/cron/",
];

/// Units that the node needs, and that are not turned off for a line of theirs.
const OURS: &[&str] = &["containerd", "docker", "kubelet", "quake-agent"];

/// Where units of others are.
const UNITS: &str = "/etc/systemd/system/";

/// Somebody who sets it.
pub(super) struct Setter {
    /// What it is called: `harden-late.service`, `the pod databases/tuning-6kq2x`.
    pub(super) name: String,
    /// How it is kept from doing so, as a command or a clause.
    pub(super) undo: String,
}

/// Who sets a key to a value, as a file, the log of a pod or a journal shows.
pub(super) fn setter(node: &Node<'_>, key: &str, value: &str) -> Option<Setter> {
    of_file(node, key, value)
        .or_else(|| of_pod(node, key, value))
        .or_else(|| of_journal(node, key, value))
}

fn of_file(node: &Node<'_>, key: &str, value: &str) -> Option<Setter> {
    let texts = node.survey().texts.iter();
    let is_place = |path: &str| {
        let is_unit = path.starts_with(UNITS) && path.contains(".service");
        is_unit || SCRIPTS.iter().any(|place| path.starts_with(place))
    };
    let read = texts.filter_map(|(path, text)| Some((path, text.ok()?)));
    let mut found = read.filter(|(path, _)| is_place(path));
    let (path, text) = found.find(|(_, text)| text.lines().any(|line| sets(line, key, value)))?;
    let out = format!("take {key} out of {path}");
    let Some(rest) = path.strip_prefix(UNITS) else {
        return Some(Setter {
            name: path.clone(),
            undo: out,
        });
    };
    // `x.service`, `x.service.d/y.conf`, `multi-user.target.wants/x.service`.
    let mut parts = rest.split('/').map(|part| part.trim_end_matches(".d"));
    let unit = parts.find(|part| part.ends_with(".service"))?;
    let is_own = rest == unit && !OURS.iter().any(|name| unit.starts_with(name));
    let undo = match is_own && does_no_more(text, key, value) {
        true => format!("systemctl disable --now {} (or {out})", started(node, unit)),
        false => out,
    };
    Some(Setter {
        name: unit.to_owned(),
        undo,
    })
}

/// What starts a unit: its timer, where it has one.
fn started(node: &Node<'_>, unit: &str) -> String {
    let timer = unit.replace(".service", ".timer");
    let entries = &node.survey().entries;
    match entries.contains_key(&format!("{UNITS}{timer}")) {
        true => timer,
        false => unit.to_owned(),
    }
}

/// Whether a unit has one command alone, which sets the key.
fn does_no_more(text: &str, key: &str, value: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let commands: Vec<&str> = lines.filter(|line| line.starts_with("ExecStart")).collect();
    let [command] = commands.as_slice() else {
        return false;
    };
    let goes_on = |line: &str| line.contains([';', '&', '|']) || line.ends_with('\\');
    let is_sysctl = command.starts_with("ExecStart=") && command.contains("sysctl ");
    is_sysctl && !goes_on(command) && sets(command, key, value)
}

/// Whether a line of a script or unit sets a key to this value.
fn sets(line: &str, key: &str, value: &str) -> bool {
    let (line, value) = (plain(line), plain(value));
    if line.starts_with(['#', ';']) {
        return false;
    }
    let path = key.replace('.', "/");
    let by_sysctl = [key, &path].iter().any(|name| {
        let mut rests = assigned(&line, name);
        rests.any(|rest| ends(rest, &value))
    });
    by_sysctl || by_echo(&line, &format!("/proc/sys/{path}"), &value)
}

/// A line without quotation marks, and with one space between words.
fn plain(line: &str) -> String {
    let line = line.replace(['"', '\''], "");
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ")
}

/// What a line has behind each `NAME =`.
fn assigned<'a>(line: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    line.match_indices(name).filter_map(move |(at, _)| {
        let rest = line[at + name.len()..].trim_start().strip_prefix('=')?;
        (!line[..at].ends_with(is_of_name)).then(|| rest.trim_start())
    })
}

/// Whether a text begins with a value that ends there.
fn ends(text: &str, value: &str) -> bool {
    let is_of_value = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    text.strip_prefix(value).is_some_and(|rest| {
        let next = rest.split_whitespace().next().unwrap_or_default();
        let is_number = !next.is_empty() && next.chars().all(|c| c.is_ascii_digit());
        !rest.starts_with(is_of_value) && !is_number
    })
}

/// Whether a line is `echo VALUE >PATH` or `echo VALUE | tee PATH`.
fn by_echo(line: &str, path: &str, value: &str) -> bool {
    let Some((before, _)) = line.split_once(path) else {
        return false;
    };
    let Some((_, said)) = before.rsplit_once("echo ") else {
        return false;
    };
    let said = said.split(['>', '|']).next().unwrap_or_default().trim();
    said.strip_prefix("-n ").unwrap_or(said) == value
}

/// What sysctl prints of a key that it set.
fn prints(line: &str, key: &str, value: &str) -> bool {
    let (line, value) = (plain(line), plain(value));
    assigned(&line, key).any(|rest| rest == value)
}

fn of_pod(node: &Node<'_>, key: &str, value: &str) -> Option<Setter> {
    let mut pods = node.pods();
    let pod = pods.find(|pod| pod.log.iter().any(|line| prints(line, key, value)))?;
    let (namespace, name) = (&pod.namespace, &pod.name);
    Some(Setter {
        name: format!("the pod {namespace}/{name}"),
        undo: format!(
            "take {key} out of what makes the pod {namespace}/{name} (kubectl -n {namespace} get pod {name} -o jsonpath='{{.metadata.ownerReferences[*].name}}' names it), or it sets it again"
        ),
    })
}

fn of_journal(node: &Node<'_>, key: &str, value: &str) -> Option<Setter> {
    let mut journals = node.survey().journals.ok()?.iter();
    let says = |lines: &[String]| lines.iter().any(|line| prints(line, key, value));
    let (unit, _) = journals.find(|(_, lines)| says(lines))?;
    Some(Setter {
        name: unit.clone(),
        undo: format!("systemctl cat {unit} shows where it sets {key}: take that out"),
    })
}

#[cfg(test)]
mod tests {
    use super::{does_no_more, prints, sets};

    const KEY: &str = "vm.overcommit_memory";

    #[test]
    fn a_line_sets_a_key_to_the_value_that_it_names() {
        for line in [
            "sysctl -w vm.overcommit_memory=2",
            "ExecStart=/sbin/sysctl -qw 'vm.overcommit_memory = 2' a.b=1",
            "sysctl vm/overcommit_memory=2 2>/dev/null",
            "echo 2 >/proc/sys/vm/overcommit_memory",
            "echo -n 2 | tee /proc/sys/vm/overcommit_memory",
        ] {
            assert!(sets(line, KEY, "2"), "{line}");
            assert!(!sets(line, KEY, "1"), "{line}");
        }
        for line in [
            "# sysctl -w vm.overcommit_memory=2",
            "sysctl vm.overcommit_memory",
            "sysctl -w vm.overcommit_memory=20",
            "sysctl -w not.vm.overcommit_memory=2",
            "cat /proc/sys/vm/overcommit_memory",
        ] {
            assert!(!sets(line, KEY, "2"), "{line}");
        }
        assert!(sets("sysctl -w a.b='1 2'", "a.b", "1\t2"));
        assert!(!sets("sysctl -w a.b='1 2'", "a.b", "1"));
        assert!(prints("vm.overcommit_memory = 2\n", KEY, "2"));
        assert!(!prints("vm.overcommit_memory = 1", KEY, "2"));
    }

    #[test]
    fn a_unit_is_turned_off_only_where_it_does_no_more() {
        let sets = "[Service]\nExecStart=/sbin/sysctl -w vm.overcommit_memory=2\n";
        assert!(does_no_more(sets, KEY, "2"));
        for more in [
            format!("{sets}ExecStart=/usr/bin/db\n"),
            sets.replace("ExecStart", "ExecStartPre"),
            "ExecStart=sh -c 'sysctl -w vm.overcommit_memory=2; db'\n".to_owned(),
        ] {
            assert!(!does_no_more(&more, KEY, "2"), "{more}");
        }
    }
}
