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
    of_file(node, key)
        .or_else(|| of_pod(node, key, value))
        .or_else(|| of_journal(node, key, value))
}

fn of_file(node: &Node<'_>, key: &str) -> Option<Setter> {
    let path_of_key = format!("/proc/sys/{}", key.replace('.', "/"));
    let names = |line: &str| line.contains(key) || line.contains(&path_of_key);
    let sets = |text: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.any(|line| !line.starts_with(['#', ';']) && names(line))
    };
    let texts = node.survey().texts.iter();
    let is_place = |path: &str| {
        let is_unit = path.starts_with(UNITS) && path.contains(".service");
        is_unit || SCRIPTS.iter().any(|place| path.starts_with(place))
    };
    let mut found = texts.filter(|(path, _)| is_place(path));
    let (path, _) = found.find(|(_, text)| text.ok().is_some_and(|text| sets(text)))?;
    let unit = path.strip_prefix(UNITS);
    let unit = unit.and_then(|rest| rest.split('/').next());
    let Some(unit) = unit.map(|name| name.trim_end_matches(".d")) else {
        return Some(Setter {
            name: path.clone(),
            undo: format!("take {key} out of {path}"),
        });
    };
    let timer = unit.replace(".service", ".timer");
    let has_timer = node
        .survey()
        .entries
        .contains_key(&format!("{UNITS}{timer}"));
    let off = match has_timer {
        true => timer.as_str(),
        false => unit,
    };
    Some(Setter {
        name: unit.to_owned(),
        undo: format!("systemctl disable --now {off} (or take {key} out of {path})"),
    })
}

/// What sysctl prints of a key that it set.
fn prints(line: &str, key: &str, value: &str) -> bool {
    let printed = [format!("{key} = {value}"), format!("{key}={value}")];
    printed.iter().any(|text| line.trim_end().ends_with(text))
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
