//! What a setting of others names that is not there, so that systemd does not start one of the node's units: a file of
//! variables, a directory, a program, a user or a group (systemd.exec(5), "Process Exit Codes").

use super::drop_ins::{ABOVE, is_of_agent};
use crate::checks::check::Finding;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::log_lines::is_plain_name;
use quake_model::facts::ActiveState;

/// What systemd logs where a setting names what is not there (systemd, `src/core/exec-invoke.c`), and the settings.
const REFUSALS: &[(&[&str], &[&str], Missing)] = &[
    (
        &["Failed to load environment files: No such file"],
        &["EnvironmentFile"],
        Missing::Variables,
    ),
    (
        &["Failed at step CHDIR spawning"],
        &["WorkingDirectory"],
        Missing::Directory,
    ),
    (
        &["Failed at step EXEC spawning ", ": No such file"],
        &[
            "ExecCondition",
            "ExecStartPre",
            "ExecStart",
            "ExecStartPost",
        ],
        Missing::Program,
    ),
    (&["Failed at step USER spawning"], &["User"], Missing::User),
    (
        &["Failed at step GROUP spawning"],
        &["Group"],
        Missing::Group,
    ),
];

/// What is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Variables,
    Directory,
    Program,
    User,
    Group,
}

/// A line of a file of others, and the thing that it names.
struct Setting<'a> {
    path: &'a str,
    line: &'a str,
    name: &'static str,
    value: &'a str,
}

/// The finding of a unit that systemd does not start because of a file of others.
pub(super) fn refused(node: &Node<'_>, unit: &str) -> Option<Finding> {
    let facts = node.unit(unit).ok().flatten()?;
    if facts.active == ActiveState::Active && facts.sub_state != "auto-restart" {
        return None;
    }
    let mut lines = node.journal(unit).iter().rev();
    let (line, names, missing) = lines.find_map(|line| {
        let mut all = REFUSALS.iter();
        let (_, names, missing) =
            all.find(|(parts, ..)| parts.iter().all(|part| line.contains(part)))?;
        Some((line, *names, *missing))
    })?;
    let all = settings(node, unit, names);
    let mut fitting = all.iter().filter(|it| is_missing(node, it, missing, line));
    let first = fitting.next()?;
    let finding = finding_of(first, unit, missing).seen("line", quote(first.line, 300));
    let finding = finding.seen("journal", quote(line, 300));
    Some(fitting.fold(finding, |finding, other| {
        finding.seen("also", format_args!("{}: {}", other.path, other.line))
    }))
}

/// The settings of others that count for a unit, in the order in which systemd reads them: an empty one takes back those
/// before it, and of a directory, a user or a group the last one counts.
fn settings<'a>(node: &Node<'a>, unit: &str, names: &[&'static str]) -> Vec<Setting<'a>> {
    let is_list = names[0].starts_with("Exec") || names[0].starts_with("Environment");
    let mut found: Vec<Setting<'a>> = Vec::new();
    for (path, text) in files(node, unit) {
        for line in text.lines().map(str::trim) {
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            let Some(name) = names.iter().find(|name| **name == key) else {
                continue;
            };
            if value.is_empty() || !is_list {
                found.retain(|other| other.name != key);
            }
            if !value.is_empty() {
                found.push(Setting {
                    path,
                    line,
                    name,
                    value,
                });
            }
        }
    }
    // What the agent wrote it writes again.
    found.retain(|it| !is_of_agent(node, it.path));
    found
}

/// The unit's own file and its drop-ins, which systemd reads by their names.
fn files<'a>(node: &Node<'a>, unit: &str) -> Vec<(&'a str, &'a str)> {
    let texts = node.survey().texts.iter();
    let mut found: Vec<(bool, &str, &str, &str)> = texts
        .filter_map(|(path, text)| {
            let (folder, name) = path.rsplit_once('/')?;
            let is_own = name == unit && ABOVE.contains(&folder);
            let is_drop_in = ABOVE.iter().any(|above| {
                folder == format!("{above}/{unit}.d") || folder == format!("{above}/service.d")
            });
            (is_own || is_drop_in).then_some((is_drop_in, name, path.as_str(), text.ok()?.as_str()))
        })
        .collect();
    found.sort_unstable();
    let files = found.into_iter();
    files.map(|(_, _, path, text)| (path, text)).collect()
}

/// The program of a command, without the marks before it (systemd.service(5)).
fn program(command: &str) -> &str {
    let first = command.split_whitespace().next().unwrap_or_default();
    first.trim_start_matches(['-', '@', ':', '+', '!', '|'])
}

/// Whether a setting may be the one that systemd complains of. A dash says that what it names need not be there.
fn is_missing(node: &Node<'_>, it: &Setting<'_>, missing: Missing, line: &str) -> bool {
    let is_there = |path: &str| node.survey().entries.contains_key(path);
    match missing {
        Missing::Variables | Missing::Directory => {
            it.value.starts_with('/') && is_plain_name(it.value) && !is_there(it.value)
        }
        Missing::Program => {
            let path = program(it.value);
            let marks = it.value.split('/').next().unwrap_or_default();
            let is_named = line.contains(&format!(" spawning {path}: "));
            is_named && is_plain_name(path) && !marks.contains('-') && !is_there(path)
        }
        Missing::User | Missing::Group => {
            is_plain_name(it.value) && !matches!(it.value, "root" | "0")
        }
    }
}

fn finding_of(it: &Setting<'_>, unit: &str, missing: Missing) -> Finding {
    let Setting {
        path, name, value, ..
    } = it;
    let (what, fix) = match missing {
        Missing::Variables => (
            format!("the file {value}, which is not there"),
            format!(
                "sed -i 's|^{name}={value}|{name}=-{value}|' {path} (the dash says that the file may be missing), or bring {value} back, or: mv {path} /root/"
            ),
        ),
        Missing::Directory => (
            format!("the directory {value}, which is not there or cannot be entered"),
            format!("mkdir -p {value}, or take {name}= out of {path}"),
        ),
        Missing::Program => (
            format!("the program {}, which is not there", program(value)),
            format!(
                "bring {} back, or take the line out of {path}",
                program(value)
            ),
        ),
        Missing::User => (
            format!("the user {value}, whom the node does not know"),
            format!("take {name}= out of {path}: {unit} runs as root"),
        ),
        Missing::Group => (
            format!("the group {value}, which the node does not know"),
            format!("take {name}= out of {path}: {unit} runs as root"),
        ),
    };
    Finding::new(
        format!("systemd does not start {unit}: {name}= of {path} names {what}"),
        format!("{fix}; then: systemctl daemon-reload && systemctl restart {unit}"),
    )
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use crate::checks::surveyed::survey_with;

    const ID: &str = "services.drop-ins";
    const PATH: &str = "/etc/systemd/system/kubelet.service.d/60-site.conf";

    fn with(text: &str, line: &str) -> Sample {
        let mut node = Sample::worker();
        node.crashing("kubelet.service", &[line]);
        node.survey = survey_with(node.survey.clone(), PATH, text);
        node.survey.schema_version = "x".to_owned();
        node
    }

    #[test]
    fn what_a_setting_names_and_is_not_there_is_why_systemd_does_not_start_a_unit() {
        for (setting, line, says, fix) in [
            (
                "EnvironmentFile=/etc/site/env",
                "kubelet.service: Failed to load environment files: No such file or directory",
                "names the file /etc/site/env, which is not there",
                "EnvironmentFile=-/etc/site/env",
            ),
            (
                "WorkingDirectory=/srv/site",
                "kubelet.service: Failed at step CHDIR spawning /usr/local/bin/kubelet: No such file or directory",
                "names the directory /srv/site",
                "mkdir -p /srv/site",
            ),
            (
                "ExecStartPre=-/opt/site/other\nExecStartPre=+/opt/site/prepare --now",
                "kubelet.service: Failed at step EXEC spawning /opt/site/prepare: No such file or directory",
                "names the program /opt/site/prepare",
                "bring /opt/site/prepare back",
            ),
            (
                "User=site",
                "kubelet.service: Failed at step USER spawning /usr/local/bin/kubelet: No such process",
                "names the user site",
                "take User= out of",
            ),
        ] {
            let node = with(&format!("[Service]\n{setting}\n"), line);
            node.assert(ID, Status::Fail, says);
            node.assert(ID, Status::Fail, PATH);
            node.assert(ID, Status::Fail, fix);
        }
    }

    #[test]
    fn a_file_that_may_be_missing_or_that_is_taken_back_is_not_why() {
        let line = "kubelet.service: Failed to load environment files: No such file or directory";
        for text in [
            "EnvironmentFile=-/etc/site/env",
            "EnvironmentFile=/etc/site/env\nEnvironmentFile=\nEnvironment=A=b",
        ] {
            let node = with(&format!("[Service]\n{text}\n"), line);
            node.assert(ID, Status::Fail, "changes its settings");
        }
    }
}
