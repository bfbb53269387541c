//! What a change changes and breaks, for people and for programs. Everything that came from a configuration goes through the
//! redactor: an operator may have put a secret where none belongs.

use super::plan::colored;
use crate::output::style;
use diffy::DiffOptions;
use quake_model::redact::scrub;
use quake_model::step::Contents;
use quake_node::preview::{
    Aspect, Becomes, ClusterSide, FileChange, FileKind, GroupPreview, GroupedFinding, Preview,
    RowChange, Severity, UnitChange,
};
use serde_json::{Value, json};
use std::fmt::Write;

/// A preview, and the two sides by the names that they were given.
pub(crate) struct Shown<'a> {
    pub(crate) preview: &'a Preview,
    pub(crate) old: (&'a str, &'a ClusterSide),
    pub(crate) new: (&'a str, &'a ClusterSide),
}

/// Values by what they are about, with the heading of each.
const ASPECTS: &[(Aspect, &str)] = &[
    (Aspect::Fact, "node"),
    (Aspect::Flag, "flags"),
    (Aspect::Setting, "settings"),
    (Aspect::Sysctl, "sysctls"),
    (Aspect::Module, "kernel modules"),
    (Aspect::Package, "packages"),
    (Aspect::Image, "images"),
    (Aspect::Asset, "assets"),
    (Aspect::Certificate, "certificates"),
    (Aspect::User, "users"),
    (Aspect::HostRecord, "names in /etc/hosts"),
    (Aspect::Volume, "volumes"),
    (Aspect::IamCall, "IAM calls"),
];

/// How much of a digest people are shown.
const SHORT: usize = 12;

/// The preview for people.
pub(crate) fn preview_text(shown: &Shown<'_>, with_diff: bool) -> String {
    let preview = shown.preview;
    if preview.is_empty() {
        let groups = counted(preview.groups.len(), "instance group");
        return format!("nothing changes ({groups})\n");
    }
    let mut text = head(shown);
    if !preview.findings.is_empty() {
        text.push('\n');
    }
    for finding in &preview.findings {
        finding_text(&mut text, finding);
    }
    if !preview.addons.is_empty() {
        text.push_str("\nadd-ons, which are applied to the cluster once it has their manifests\n");
    }
    for addon in &preview.addons {
        let _ = writeln!(text, "  {}", row_line(addon));
    }
    for alike in alike(&preview.groups) {
        text.push('\n');
        group_text(&mut text, &alike, with_diff);
    }
    text
}

fn head(shown: &Shown<'_>) -> String {
    let version = |side: &ClusterSide| {
        let shown = |name: &str, version: Option<String>| {
            version.map(|version| format!(", {name} {version}"))
        };
        let kubernetes = shown("Kubernetes", side.kubernetes.map(|it| it.to_string()));
        let kops = shown("kops", side.kops.map(|it| it.to_string()));
        format!(
            "{}{}{}",
            side.name,
            kubernetes.unwrap_or_default(),
            kops.unwrap_or_default()
        )
    };
    format!(
        "old: {} ({})\nnew: {} ({})\n",
        shown.old.0,
        version(shown.old.1),
        shown.new.0,
        version(shown.new.1)
    )
}

fn finding_text(text: &mut String, grouped: &GroupedFinding) {
    let finding = &grouped.finding;
    let word = finding.severity.name();
    let word = match finding.severity {
        Severity::Breaks => style::bad(word).to_string(),
        Severity::Risk => style::warning(word).to_string(),
    };
    let _ = writeln!(text, "{word} {}: {}", finding.id, scrub(&finding.summary));
    if !grouped.groups.is_empty() {
        let _ = writeln!(text, "  groups: {}", grouped.groups.join(", "));
    }
    let _ = writeln!(text, "  fix: {}", scrub(&finding.remedy));
    let _ = writeln!(text, "  source: {}", finding.sources.join(" "));
}

/// Groups whose nodes change alike, in the order of the first of each.
fn alike(groups: &[GroupPreview]) -> Vec<Vec<&GroupPreview>> {
    let mut found: Vec<Vec<&GroupPreview>> = Vec::new();
    for group in groups {
        let same = |others: &&mut Vec<&GroupPreview>| {
            others.first().is_some_and(|other| {
                let renamed = GroupPreview {
                    group: group.group.clone(),
                    ..(*other).clone()
                };
                renamed == *group
            })
        };
        match found.iter_mut().find(same) {
            Some(others) => others.push(group),
            None => found.push(vec![group]),
        }
    }
    found
}

fn group_text(text: &mut String, alike: &[&GroupPreview], with_diff: bool) {
    let Some(group) = alike.first() else {
        return;
    };
    let names: Vec<&str> = alike.iter().map(|group| group.group.as_str()).collect();
    let names = style::strong(names.join(", ")).to_string();
    let counts = counts(group);
    match group.becomes {
        Becomes::Changed if group.is_unchanged() => {
            let _ = writeln!(text, "{names}: nothing changes");
            return;
        }
        Becomes::Added => {
            let _ = writeln!(text, "{names}: the group is new ({counts})");
            return;
        }
        Becomes::Removed => {
            let _ = writeln!(text, "{names}: the group is removed");
            return;
        }
        Becomes::Changed if counts.is_empty() => {
            let _ = writeln!(text, "{names}: no file changes");
        }
        Becomes::Changed => {
            let _ = writeln!(text, "{names}: {counts} change");
        }
    }
    for side in &group.unplanned {
        let (code, summary) = (side.code, scrub(&side.summary));
        let _ = writeln!(text, "  {} side not planned: {code}: {summary}", side.side);
    }
    consequences(text, group);
    section(text, "files", group.files.iter().map(file_line));
    section(text, "units", group.units.iter().map(unit_line));
    for (aspect, heading) in ASPECTS {
        let rows = group.values.iter().filter(|row| row.aspect == *aspect);
        section(text, heading, rows.map(row_line));
    }
    if with_diff {
        for file in &group.files {
            text.push_str(&colored(&diff(file).unwrap_or_default()));
        }
    }
}

/// How much changes, without what does not.
fn counts(group: &GroupPreview) -> String {
    let counts = [
        (group.files.len(), "file"),
        (group.units.len(), "unit"),
        (group.values.len(), "value"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, what)| counted(count, what));
    counts.collect::<Vec<_>>().join(", ")
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

fn consequences(text: &mut String, group: &GroupPreview) {
    let consequences = &group.consequences;
    let new_node: Vec<String> = consequences.new_node.iter().map(|it| scrub(it)).collect();
    if !new_node.is_empty() {
        let _ = writeln!(text, "  needs new nodes: {}", new_node.join("; "));
    }
    for restart in &consequences.restarts {
        let because = restart.because.join(", ");
        let _ = writeln!(text, "  restarts {}: {because}", restart.unit);
    }
    for pod in &consequences.pods {
        let _ = writeln!(text, "  restarts the pod of {pod}");
    }
}

fn section(text: &mut String, heading: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "  {heading}");
    for line in lines {
        let _ = writeln!(text, "    {line}");
    }
}

fn mark(becomes: Becomes) -> String {
    match becomes {
        Becomes::Added => style::good('+').to_string(),
        Becomes::Removed => style::bad('-').to_string(),
        Becomes::Changed => style::warning('~').to_string(),
    }
}

fn file_line(file: &FileChange) -> String {
    let mut notes: Vec<&str> = file.differs.clone();
    match file.kind {
        FileKind::File => {}
        FileKind::Directory => notes.push("directory"),
        FileKind::Link => notes.push("link"),
        FileKind::Program => notes.push("program"),
    }
    if file.is_secret {
        notes.push("secret, not shown");
    }
    let notes = match notes.is_empty() {
        true => String::new(),
        false => format!("  ({})", notes.join(", ")),
    };
    format!("{} {}{notes}", mark(file.becomes), file.path)
}

fn unit_line(unit: &UnitChange) -> String {
    let differs = unit.differs.join(", ");
    let note = match differs.is_empty() {
        true => String::new(),
        false => format!("  ({differs})"),
    };
    format!("{} {}{note}", mark(unit.becomes), unit.name)
}

fn row_line(row: &RowChange) -> String {
    let name = &row.name;
    let shown = |value: &str| match row.aspect {
        Aspect::Asset | Aspect::Image => scrub(&shortened(value)),
        _ => scrub(value),
    };
    match (&row.old, &row.new) {
        (None, Some(new)) => format!("{} {name}: {}", mark(Becomes::Added), shown(new)),
        (Some(old), None) => format!("{} {name}: {}", mark(Becomes::Removed), shown(old)),
        (old, new) => {
            let [old, new] = [old, new].map(|value| shown(value.as_deref().unwrap_or_default()));
            format!("{} {name}: {old} -> {new}", mark(Becomes::Changed))
        }
    }
}

/// A value with its digest shortened as people know commits: the whole one is in the JSON.
fn shortened(value: &str) -> String {
    let words = value.split(' ').map(|word| match word.split_once(':') {
        Some((algorithm @ ("sha256" | "sha1"), hex)) if hex.len() > SHORT => {
            format!("{algorithm}:{}", &hex[..SHORT])
        }
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A unified diff of a file that may be shown; `None` where the two differ in nothing but secrets.
fn diff(file: &FileChange) -> Option<String> {
    let (old, new) = file.shown.as_ref()?;
    let shown = |contents: &Contents| scrub(&String::from_utf8_lossy(&contents.0));
    let (old, new) = (shown(old), shown(new));
    let name = |side: &str, is_there: bool| match is_there {
        true => format!("{side}{}", file.path),
        false => "/dev/null".to_owned(),
    };
    let mut options = DiffOptions::new();
    options
        .set_original_filename(name("a", file.becomes != Becomes::Added))
        .set_modified_filename(name("b", file.becomes != Becomes::Removed));
    (old != new).then(|| options.create_patch(&old, &new).to_string())
}

/// The preview for programs.
pub(crate) fn preview_json(shown: &Shown<'_>, with_diff: bool) -> Value {
    let side = |(store, side): (&str, &ClusterSide)| {
        json!({
            "store": store,
            "cluster": side.name,
            "kubernetes": side.kubernetes.map(|it| it.to_string()),
            "kops": side.kops.map(|it| it.to_string()),
            "kopsGeneration": side.generation.name(),
        })
    };
    let findings = shown.preview.findings.iter().map(finding_json);
    let groups = shown.preview.groups.iter();
    let groups = groups.map(|group| group_json(group, with_diff));
    json!({
        "schemaVersion": "quake-agent/preview/v1",
        "old": side(shown.old),
        "new": side(shown.new),
        "breaks": shown.preview.breaks(),
        "changes": !shown.preview.is_empty(),
        "findings": findings.collect::<Vec<_>>(),
        "addons": shown.preview.addons.iter().map(value_json).collect::<Vec<_>>(),
        "groups": groups.collect::<Vec<_>>(),
    })
}

fn finding_json(grouped: &GroupedFinding) -> Value {
    let finding = &grouped.finding;
    json!({
        "id": finding.id,
        "severity": finding.severity,
        "summary": scrub(&finding.summary),
        "remedy": scrub(&finding.remedy),
        "sources": finding.sources,
        "groups": grouped.groups,
    })
}

fn value_json(row: &RowChange) -> Value {
    json!({
        "aspect": row.aspect,
        "name": row.name,
        "old": row.old.as_deref().map(scrub),
        "new": row.new.as_deref().map(scrub),
    })
}

fn group_json(group: &GroupPreview, with_diff: bool) -> Value {
    let files = group.files.iter().map(|file| {
        json!({
            "path": file.path,
            "becomes": file.becomes,
            "kind": file.kind,
            "differs": file.differs,
            "isSecret": file.is_secret,
            "diff": diff(file).filter(|_| with_diff),
        })
    });
    let values = group.values.iter().map(value_json);
    let new_node = group.consequences.new_node.iter().map(|it| scrub(it));
    let unplanned = group.unplanned.iter().map(|side| {
        json!({
            "side": side.side,
            "code": side.code.to_string(),
            "summary": scrub(&side.summary),
        })
    });
    json!({
        "group": group.group,
        "becomes": group.becomes,
        "changes": !group.is_unchanged(),
        "files": files.collect::<Vec<_>>(),
        "units": group.units,
        "values": values.collect::<Vec<_>>(),
        "restarts": group.consequences.restarts,
        "pods": group.consequences.pods,
        "newNode": new_node.collect::<Vec<_>>(),
        "unplanned": unplanned.collect::<Vec<_>>(),
    })
}
