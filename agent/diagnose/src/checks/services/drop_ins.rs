//! The check of what overrides the node's own units: drop-ins, and whole units in directories that come first (systemd.unit(5)).

use super::kill_mode::kills_containers;
use super::masked::masked;
use super::refused::refused;
use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet::judge_kubelet;
use crate::checks::node::{AGENT_UNIT, Node};
use quake_model::facts::{ActiveState, Unseen};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "services.drop-ins",
    title: "nothing overrides the units of the agent, the runtime and kubelet",
    severity: Severity::Critical,
    tags: &["systemd"],
    sources: &[Source::Files, Source::Units],
    because: &[],
    why: "a drop-in that replaces a command or a variable starts another program than the cluster's spec asks for",
    remedy: "remove the file that systemctl cat shows after the unit's own; then: systemctl daemon-reload, and restart the unit",
    judge: drop_ins,
}];

/// The units without which the node is none.
const UNITS: &[&str] = &[
    "containerd.service",
    "docker.service",
    "kops-configuration.service",
    "kubelet.service",
    "quake-agent.service",
];

/// Groups of units whose limits hold for all of the node's units together.
const SLICES: &[&str] = &[
    "system.slice",
    "kubepods.slice",
    "runtime.slice",
    "kubelet.slice",
];

/// Drop-ins that the agent writes.
const OWN: &[&str] = &["10-kops.conf", "10-quake-agent.conf", "20-config-dir.conf"];

/// Directories whose units win over those of the agent, the first one before the second.
pub(super) const ABOVE: &[&str] = &["/etc/systemd/system", "/run/systemd/system"];

/// Settings that change what runs, and whether others may stay beside them.
const COMMANDS: &[&str] = &[
    "ExecStart",
    "ExecStartPre",
    "ExecCondition",
    "User",
    "RootDirectory",
];
const VARIABLES: &[&str] = &["Environment", "EnvironmentFile", "UnsetEnvironment"];
const LIMITS: &[&str] = &[
    "LimitNOFILE",
    "LimitNPROC",
    "MemoryHigh",
    "MemoryMax",
    "TasksMax",
    "CPUQuota",
    "MemoryLimit",
    "AllowedCPUs",
    "CPUAffinity",
    "ReadOnlyPaths",
    "ProtectSystem",
    "ProtectHome",
    "ProtectKernelTunables",
    "ProtectKernelModules",
    "ProtectControlGroups",
    "PrivateTmp",
    "PrivateMounts",
    "PrivateNetwork",
    "PrivateDevices",
    "NoExecPaths",
    "IPAddressDeny",
    "RestrictAddressFamilies",
    "RestrictNamespaces",
    "SystemCallFilter",
    "CapabilityBoundingSet",
    "NoNewPrivileges",
    "RuntimeMaxSec",
    "Requires",
    "Requisite",
    "BindsTo",
    "PartOf",
    "Conflicts",
    "ConditionPathExists",
    "AssertPathExists",
];

/// The bits that new files do not get (systemd.exec(5)).
const UMASK: &str = "UMask";

/// How many files a unit may open, and each container of the runtime (systemd.exec(5)).
const OPEN_FILES: &str = "LimitNOFILE";

/// Whether a unit may open fewer files than those of kubelet and the runtime ask for; of a pair the soft limit comes first.
fn are_few(line: &str) -> bool {
    const ASKED: u64 = 1_048_576;
    let value = line
        .split_once('=')
        .filter(|(name, _)| name.trim() == OPEN_FILES);
    let soft = value.and_then(|(_, value)| value.trim().split(':').next());
    soft.is_some_and(|soft| soft.parse().is_ok_and(|files: u64| files < ASKED))
}

/// Whether files are made that others cannot read or enter: the runtime writes resolv.conf of all pods.
fn hides_files(line: &str) -> bool {
    const READ_OR_ENTER: u32 = 0o005;
    let value = line.split_once('=').map(|(_, value)| value.trim());
    let mask = value.and_then(|value| u32::from_str_radix(value, 8).ok());
    mask.is_some_and(|mask| mask & READ_OR_ENTER != 0)
}

/// What one file changes of a unit.
struct Override<'a> {
    path: &'a str,
    unit: &'static str,
    /// Its line that changes most.
    line: &'a str,
    /// Whether another program runs by it, or the same with other words.
    changes_command: bool,
}

fn drop_ins(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let mut found: Vec<Override<'_>> = Vec::new();
    if let Some(finding) = kills_containers(node) {
        return finding.fail();
    }
    for unit in UNITS {
        if let Some(finding) = masked(node, unit).or_else(|| refused(node, unit)) {
            return finding.fail();
        }
        found.extend(of_unit(node, unit));
        found.extend(in_front(node, unit));
    }
    found.extend(SLICES.iter().flat_map(|slice| of_unit(node, slice)));
    if found.is_empty() {
        node.was_surveyed("/etc/systemd/system/kubelet.service.d/x.conf")?;
        return Verdict::ok("none has a drop-in of others");
    }
    let is_unit_down = |name: &str| {
        let unit = node.unit(name).ok().flatten();
        unit.is_some_and(|unit| {
            unit.active != ActiveState::Active
                || unit.sub_state == "auto-restart"
                || unit.restarts > 2
        })
    };
    let is_down = |it: &Override<'_>| match it.unit.ends_with(".slice") {
        true => ["kubelet.service", "containerd.service"]
            .into_iter()
            .any(is_unit_down),
        false => is_unit_down(it.unit),
    };
    // The one that does harm comes first, then the one that changes most.
    found.sort_by_key(|it| (!is_down(it), !it.changes_command));
    let first = &found[0];
    let does_harm = is_down(first);
    let mut finding = finding_of(first);
    if let Some(ended) = end_of_kubelet(node, first) {
        finding.summary = format!("{}; {}", finding.summary, ended.summary);
        finding.fix = format!("{}; or correct it: {}", finding.fix, ended.fix);
    }
    let finding = found[1..].iter().fold(finding, |finding, other| {
        finding.seen("also", format_args!("{}: {}", other.path, other.line))
    });
    match does_harm {
        true => finding
            .or_else(format!(
                "{} fails for another reason: see its own finding",
                first.unit
            ))
            .fail(),
        false => finding.warn(),
    }
}

fn of_unit<'a>(node: &Node<'a>, unit: &'static str) -> Vec<Override<'a>> {
    let texts = node.survey().texts.iter();
    // What is in `service.d` holds for every service.
    let folders = ABOVE.iter().flat_map(|folder| {
        let all = unit
            .ends_with(".service")
            .then(|| format!("{folder}/service.d/"));
        all.into_iter().chain([format!("{folder}/{unit}.d/")])
    });
    let folders: Vec<String> = folders.collect();
    texts
        .filter(|(path, _)| {
            folders
                .iter()
                .any(|folder| path.starts_with(folder.as_str()))
        })
        .filter(|(path, _)| !is_of_agent(node, path))
        .filter_map(|(path, text)| of_text(path, text.ok()?, unit))
        .collect()
}

/// A whole unit of others in a directory that comes before the one that the boot wrote its own to.
fn in_front<'a>(node: &Node<'a>, unit: &'static str) -> Option<Override<'a>> {
    if !was_written(node, &format!("/usr/lib/systemd/system/{unit}")) {
        return None;
    }
    ABOVE.iter().find_map(|folder| {
        let wanted = format!("{folder}/{unit}");
        let (path, text) = node.survey().texts.get_key_value(&wanted)?;
        let own = (!was_written(node, path)).then_some(text)?;
        of_text(path, own.ok()?, unit)
    })
}

/// Whether a drop-in or a unit is the agent's own.
pub(super) fn is_of_agent(node: &Node<'_>, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    OWN.contains(&name) || was_written(node, path)
}

/// Whether the boot wrote a file.
fn was_written(node: &Node<'_>, path: &str) -> bool {
    let Ok(record) = node.record() else {
        return false;
    };
    let step = format!("files:{path}");
    record.steps.iter().any(|done| done.step == step)
}

fn of_text<'a>(path: &'a str, text: &'a str, unit: &'static str) -> Option<Override<'a>> {
    let sets = |names: &[&str]| {
        let mut lines = text.lines().map(str::trim);
        lines.rfind(|line| {
            line.split_once('=').is_some_and(|(name, value)| {
                // Proxies are judged by a check of their own.
                names.contains(&name.trim())
                    && !value.trim().is_empty()
                    && !value.to_ascii_lowercase().contains("_proxy")
            })
        })
    };
    let command = sets(COMMANDS);
    // Variables in a drop-in are how the agent itself is configured (docs/start-here.md).
    let variables = (unit != AGENT_UNIT).then(|| sets(VARIABLES)).flatten();
    let hides = || sets(&[UMASK]).filter(|line| hides_files(line));
    let line = command
        .or(variables)
        .or_else(|| sets(LIMITS))
        .or_else(hides)?;
    Some(Override {
        path,
        unit,
        line,
        changes_command: command.is_some() || line.contains("DAEMON_ARGS"),
    })
}

/// Why a kubelet ends whose command a drop-in replaces: its own finding.
fn end_of_kubelet(node: &Node<'_>, it: &Override<'_>) -> Option<Finding> {
    if it.unit != "kubelet.service" || !it.changes_command {
        return None;
    }
    match judge_kubelet(node) {
        Ok(Verdict::Fail(finding)) if finding.certainty != Certainty::Possible => Some(finding),
        _ => None,
    }
}

fn finding_of(it: &Override<'_>) -> Finding {
    let name = it
        .line
        .split_once('=')
        .map_or(it.line, |(name, _)| name.trim());
    // Containers have the limits of the runtime that starts them.
    let is_of_runtime = matches!(it.unit, "containerd.service" | "docker.service");
    let (what, then) = match it.changes_command {
        true => ("replaces what it runs", ""),
        false if is_of_runtime && name == UMASK => (
            "hides files that it makes from programs that are not root, such as resolv.conf of pods",
            "; then delete the pods that fail: their files keep the mode",
        ),
        false if is_of_runtime && are_few(it.line) => (
            "gives it and all containers fewer open files than the unit has (1048576)",
            "; then delete the pods that fail: running containers keep the limit",
        ),
        false => ("changes its settings", ""),
    };
    let (path, unit) = (it.path, it.unit);
    let restart = match unit.ends_with(".slice") {
        true => String::new(),
        false => format!(" && systemctl restart {unit}{then}"),
    };
    Finding::new(
        format!("{path} overrides {unit} and {what}: it sets {name}"),
        format!("mv {path} /root/; then: systemctl daemon-reload{restart}; find what writes it: an image, or configuration management"),
    )
    .seen("line", quake_formats::yaml::shorten(it.line, 300))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use crate::checks::surveyed::survey_with;

    const PATH: &str = "/etc/systemd/system/kubelet.service.d/99-site.conf";

    const RUNTIME: &str = "/etc/systemd/system/containerd.service.d/99-site.conf";

    fn with(path: &str, text: &str, is_down: bool) -> Sample {
        let mut node = Sample::worker();
        if is_down {
            node.crashing("kubelet.service", &["unknown flag: --foo"]);
        }
        node.survey = survey_with(node.survey.clone(), path, text);
        node.survey.schema_version = "x".to_owned();
        node
    }

    #[test]
    fn a_drop_in_that_replaces_the_command_fails_where_the_unit_is_down() {
        let text = "[Service]\nExecStart=\nExecStart=/opt/kubelet --foo\n";
        let id = "services.drop-ins";
        with(PATH, text, true).assert(
            id,
            Status::Fail,
            "overrides kubelet.service and replaces what it runs",
        );
        with(PATH, text, false).assert(id, Status::Warn, "sets ExecStart");
        let run = PATH.replace("/etc/", "/run/");
        with(&run, text, true).assert(
            id,
            Status::Fail,
            "mv /run/systemd/system/kubelet.service.d/99-site.conf /root/",
        );
    }

    #[test]
    fn what_holds_for_every_service_or_for_all_together_is_an_override_too() {
        let id = "services.drop-ins";
        for (path, text, says) in [
            (
                "/etc/systemd/system/service.d/10-hardening.conf",
                "[Service]\nPrivateMounts=yes\n",
                "sets PrivateMounts",
            ),
            (
                "/etc/systemd/system/system.slice.d/50-limit.conf",
                "[Slice]\nMemoryMax=512M\n",
                "overrides system.slice",
            ),
        ] {
            with(path, text, true).assert(id, Status::Fail, says);
            with(path, text, false).assert(id, Status::Warn, says);
        }
    }

    #[test]
    fn few_open_files_are_told_with_what_they_do_to_containers() {
        let id = "services.drop-ins";
        let text = |files: &str| format!("[Service]\nLimitNOFILE={files}\n");
        for (files, says) in [
            ("4096", "all containers fewer open files"),
            ("1024:4096", "all containers fewer open files"),
            ("infinity", "changes its settings"),
        ] {
            with(RUNTIME, &text(files), false).assert(id, Status::Warn, says);
        }
    }

    #[test]
    fn a_umask_counts_where_it_hides_files_from_others() {
        let id = "services.drop-ins";
        let text = |mask: &str| format!("[Service]\nUMask={mask}\n");
        let says = "programs that are not root";
        with(RUNTIME, &text("0077"), false).assert(id, Status::Warn, says);
        with(RUNTIME, &text("0027"), false).assert(id, Status::Warn, says);
        with(RUNTIME, &text("0022"), false).assert(id, Status::Ok, "none has");
    }

    #[test]
    fn drop_ins_of_the_agent_and_those_that_change_nothing_are_no_trouble() {
        let own = PATH.replace("99-site", "20-config-dir");
        for (path, text) in [
            (
                own.as_str(),
                "[Service]\nExecStart=/usr/local/bin/kubelet --config-dir=/x\n",
            ),
            (PATH, "[Unit]\nAfter=x.service\n"),
            (
                PATH,
                "[Service]\nEnvironment=HTTP_PROXY=http://proxy:3128\n",
            ),
        ] {
            with(path, text, true).assert("services.drop-ins", Status::Ok, "none has");
        }
    }
}
