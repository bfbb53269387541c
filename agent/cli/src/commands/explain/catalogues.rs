//! Every catalogue whose names can be explained. One more catalogue is one more row here.

use quake_diagnose::checks::{Check, all, find};
use quake_diagnose::log_lines;
use quake_model::fault::{Code, Page};
use serde_json::{Value, json};

/// What is told of a name.
pub(super) struct Explanation {
    pub(super) name: String,
    /// What kind of thing it is, in a few words.
    pub(super) headline: String,
    /// The one sentence that a list has room for.
    pub(super) gist: String,
    /// Labels and what stands behind them, in the order in which they are read.
    pub(super) lines: Vec<(&'static str, String)>,
    pub(super) json: Value,
}

/// A catalogue: its names in their order, and what it tells of one of them.
struct Catalogue {
    names: fn() -> Vec<&'static str>,
    explain: fn(&str) -> Option<Explanation>,
}

const CATALOGUES: &[Catalogue] = &[
    Catalogue {
        names: fault_names,
        explain: explain_fault,
    },
    Catalogue {
        names: check_names,
        explain: explain_check,
    },
];

/// All names, one catalogue after the other.
pub(crate) fn names() -> Vec<&'static str> {
    CATALOGUES
        .iter()
        .flat_map(|catalogue| (catalogue.names)())
        .collect()
}

/// What is told of exactly this name, by every catalogue's own account.
pub(super) fn explain(name: &str) -> Option<Explanation> {
    CATALOGUES
        .iter()
        .find_map(|catalogue| (catalogue.explain)(name))
}

/// The names that stand in a text, such as a line out of a log; each once, in their order.
pub(super) fn names_in(text: &str) -> Vec<&'static str> {
    let names = names();
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let mut found = Vec::new();
    for word in text.split(|c| !is_of_a_name(c)) {
        let word = word.trim_matches(['.', '-']).to_ascii_lowercase();
        let known = names.iter().find(|name| **name == word);
        if let Some(name) = known.filter(|name| !found.contains(*name)) {
            found.push(*name);
        }
    }
    found
}

fn fault_names() -> Vec<&'static str> {
    Code::ALL.iter().map(|code| code.entry().code).collect()
}

fn explain_fault(name: &str) -> Option<Explanation> {
    let code = Code::from_name(name);
    if code == Code::Unrecognised {
        return None;
    }
    let page = code.page();
    Some(Explanation {
        name: code.to_string(),
        headline: format!("{}, exit {}", page.class, page.class.exit_status()),
        gist: page.why.to_owned(),
        lines: fault_lines(&page),
        json: fault_json(&page),
    })
}

/// What is told of a line that a program of the node logged.
pub(super) fn explain_line(line: &str) -> Option<Explanation> {
    let known = log_lines::find(line)?;
    let mut lines = vec![
        ("means", known.means.to_owned()),
        ("fix", known.fix.to_owned()),
        (
            "look",
            format!("quake-agent diagnose --only {}", known.check),
        ),
    ];
    if !known.from.is_empty() {
        lines.push(("printed by", known.from.to_owned()));
    }
    Some(Explanation {
        name: known.parts.join(" … "),
        headline: "a line of a log".to_owned(),
        gist: known.means.to_owned(),
        lines,
        json: json!({
            "schemaVersion": "quake-agent/explain/v1",
            "kind": "log-line",
            "parts": known.parts,
            "meaning": known.means,
            "remedy": known.fix,
            "check": known.check,
            "printedBy": known.from,
        }),
    })
}

fn check_names() -> Vec<&'static str> {
    all().iter().map(|check| check.id).collect()
}

fn explain_check(name: &str) -> Option<Explanation> {
    let check = find(name)?;
    let mut lines = vec![
        ("passes when", check.title.to_owned()),
        ("why", check.why.to_owned()),
        ("fix", check.remedy.to_owned()),
    ];
    if !check.because.is_empty() {
        lines.push(("may follow from", check.because.join(", ")));
    }
    lines.push(("alone", format!("quake-agent diagnose --only {}", check.id)));
    Some(Explanation {
        name: check.id.to_owned(),
        headline: format!("check, {}", check.severity.name()),
        gist: check.why.to_owned(),
        lines,
        json: check_json(check),
    })
}

fn check_json(check: &Check) -> Value {
    json!({
        "schemaVersion": "quake-agent/explain/v1",
        "kind": "check",
        "id": check.id,
        "title": check.title,
        "severity": check.severity.name(),
        "tags": check.tags,
        "because": check.because,
        "why": check.why,
        "remedy": check.remedy,
    })
}

fn fault_lines(page: &Page) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(sample) = page.sample_line() {
        lines.push(("looks like", format!("error: {sample}")));
    }
    lines.push(("why", page.why.to_owned()));
    lines.push(("fix", page.remedy.to_owned()));
    lines.push(("class", format!("{}: {}", page.class, page.class.meaning())));
    lines.push(("the agent", page.handling().to_owned()));
    lines.push(("phase", page.phase_text()));
    let blocked = page.blocks();
    if !blocked.is_empty() {
        lines.push(("holds up", join(&blocked)));
    }
    for (action, grant) in page.grants() {
        lines.push(("IAM", format!("{action} ({}), {}", grant.sid, grant.why)));
    }
    lines.push(("near it", join(&page.near)));
    lines.push(("runbook", runbook(page.code)));
    lines
}

fn fault_json(page: &Page) -> Value {
    let actions = page.grants().into_iter().map(
        |(action, grant)| json!({ "action": action, "statement": grant.sid, "why": grant.why }),
    );
    json!({
        "schemaVersion": "quake-agent/explain/v1",
        "kind": "fault",
        "code": page.code,
        "class": page.class.name(),
        "classMeaning": page.class.meaning(),
        "exitStatus": page.class.exit_status(),
        "retried": page.class.is_retried(),
        "handling": page.handling(),
        "why": page.why,
        "remedy": page.remedy,
        "phase": page.phase,
        "blocks": page.blocks(),
        "actions": actions.collect::<Vec<_>>(),
        "sample": page.sample_line(),
        "similar": page.near,
        "runbook": runbook(page.code),
    })
}

fn runbook(code: Code) -> String {
    format!("docs/operations.md#{}", code.anchor())
}

fn join(names: &[impl ToString]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_pasted_line_is_found_wherever_it_stands() {
        for line in [
            "storage.volume-held",
            "error: storage.volume-held: vol-0a1b of main/a is attached to i-0, which is running",
            "Nov 22 01:00:00 ip-10-0-0-1 quake-agent[812]: [  3.2] ~ storage (storage.volume-held), try 2",
            r#"{"event":"waiting","fault":{"code":"storage.volume-held","summary":"x"}}"#,
            "QUAKE_CODE=STORAGE.VOLUME-HELD.",
        ] {
            assert_eq!(names_in(line), ["storage.volume-held"], "{line}");
        }
        assert!(names_in("all is well in storage").is_empty());
    }

    #[test]
    fn a_line_of_another_program_is_explained() {
        let line = "kernel: nf_conntrack: nf_conntrack: table full, dropping packet";
        let explained = explain_line(line).expect("it is in the table");
        assert_eq!(explained.json["kind"], "log-line");
        assert_eq!(explained.json["check"], "net.conntrack");
        assert!(explain_line("all is well").is_none());
    }

    #[test]
    fn two_codes_of_one_line_are_two_names_and_one_twice_is_one() {
        let line = "files.no-space after assets.no-space after files.no-space";
        assert_eq!(names_in(line), ["files.no-space", "assets.no-space"]);
    }

    #[test]
    fn every_name_of_every_catalogue_is_explained_under_that_name_alone() {
        let names = names();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name} is there twice");
            let explained = explain(name).expect("it is in a catalogue");
            assert_eq!(explained.name, *name);
            assert!(!explained.lines.is_empty() && !explained.gist.is_empty());
        }
    }
}
