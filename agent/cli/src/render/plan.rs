//! What a boot would change: one line a step, and a unified diff for each file that may be shown.

use super::fault::fault_json;
use crate::output::style;
use diffy::DiffOptions;
use quake_engine::PlannedStep;
use quake_model::fault::Fault;
use quake_model::outcome::Outcome;
use quake_model::redact::scrub;
use quake_model::step::{Action, Contents};
use serde_json::{Value, json};
use std::fmt::Write;

pub(crate) fn plan_text(planned: &[PlannedStep]) -> String {
    let mut text = String::new();
    for step in planned {
        let mark = match step.outcome {
            Outcome::Unchanged => continue,
            Outcome::WouldChange | Outcome::Changed => style::good('+'),
            Outcome::Skipped => style::faint('?'),
        };
        let note = note(step).map_or_else(String::new, |note| format!("  ({note})"));
        let _ = writeln!(text, "{mark} {}{note}", step.step.id);
        if let Some(what) = &step.drift {
            let drifted = style::warning("drift");
            let _ = writeln!(text, "  {drifted}: {what}");
        }
        text.push_str(&colored(&diff(step).unwrap_or_default()));
    }
    let held = planned
        .iter()
        .filter(|step| step.outcome == Outcome::Unchanged)
        .count();
    let (changes, drifted) = (changes(planned), drifted(planned));
    let _ = write!(text, "Plan: {changes} to change, {held} unchanged");
    if drifted > 0 {
        let _ = write!(text, "; {drifted} with drift");
    }
    text.push_str(".\n");
    text
}

pub(crate) fn plan_json(planned: &[PlannedStep], warnings: &[Fault]) -> Value {
    let steps: Vec<Value> = planned
        .iter()
        .map(|step| {
            json!({
                "id": step.step.id,
                "phase": step.step.phase,
                "action": step.step.action,
                "outcome": step.outcome,
                "differs": step.differs,
                "drift": step.drift,
                "note": note(step),
                "diff": diff(step),
            })
        })
        .collect();
    json!({
        "schemaVersion": "quake-agent/plan/v1",
        "changes": changes(planned),
        "drifted": drifted(planned),
        "warnings": warnings.iter().map(fault_json).collect::<Vec<_>>(),
        "steps": steps,
    })
}

/// How many steps would change something.
pub(crate) fn changes(planned: &[PlannedStep]) -> usize {
    planned
        .iter()
        .filter(|step| step.outcome == Outcome::WouldChange)
        .count()
}

/// How many would change back what somebody changed.
fn drifted(planned: &[PlannedStep]) -> usize {
    planned.iter().filter(|step| step.drift.is_some()).count()
}

fn note(step: &PlannedStep) -> Option<String> {
    let when = match (&step.step.action, step.outcome) {
        (Action::Await(_), Outcome::Skipped) => Some("after services".to_owned()),
        (Action::MakeFilesystem(_) | Action::MountVolume(_), Outcome::WouldChange) => {
            Some("after the volume is attached".to_owned())
        }
        (Action::Place(_), Outcome::WouldChange) => Some("after assets".to_owned()),
        (Action::WriteFile(file), Outcome::WouldChange) if step.after.is_none() => {
            Some(format!("{} secret bytes, not shown", file.contents.0.len()))
        }
        _ => None,
    };
    let notes: Vec<String> = step.differs.iter().cloned().chain(when).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// A unified diff of a file that may be shown. Both sides go through the redactor first, for an operator may have put a
/// secret where none belongs; where they differ in nothing else there is no diff.
fn diff(step: &PlannedStep) -> Option<String> {
    let Action::WriteFile(file) = &step.step.action else {
        return None;
    };
    let shown = |contents: &Contents| scrub(&String::from_utf8_lossy(&contents.0));
    let after = shown(step.after.as_ref()?);
    let before = step.before.as_ref().map(shown);
    let from = match before {
        Some(_) => format!("a{}", file.path),
        None => "/dev/null".to_owned(),
    };
    let before = before.unwrap_or_default();
    let mut options = DiffOptions::new();
    options
        .set_original_filename(from)
        .set_modified_filename(format!("b{}", file.path));
    (before != after).then(|| options.create_patch(&before, &after).to_string())
}

pub(super) fn colored(diff: &str) -> String {
    let mut text = String::with_capacity(diff.len());
    for line in diff.lines() {
        let _ = match line.as_bytes().first() {
            Some(b'+') => writeln!(text, "{}", style::good(line)),
            Some(b'-') => writeln!(text, "{}", style::bad(line)),
            Some(b'@') => writeln!(text, "{}", style::faint(line)),
            Some(_) | None => writeln!(text, "{line}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::item::Reaction;
    use quake_model::phase::Phase;
    use quake_model::step::{Step, WriteFile};

    fn planned(before: &str, after: &str) -> PlannedStep {
        let file = WriteFile::plain("/etc/x", 0o644, after);
        PlannedStep {
            step: Step::new(Phase::Files, Action::WriteFile(file)),
            outcome: Outcome::WouldChange,
            before: Some(before.into()),
            after: Some(after.into()),
            differs: Some("other contents".to_owned()),
            drift: Some("other contents".to_owned()),
        }
    }

    #[test]
    fn a_reaction_has_its_name_and_its_object_under_keys_of_their_own() {
        for (reaction, wanted) in [
            (
                Reaction::ReloadUdev,
                json!({"kind": "react", "reaction": "reload-udev"}),
            ),
            (
                Reaction::RestartUnit("x.service".to_owned()),
                json!({"kind": "react", "reaction": "restart-unit", "unit": "x.service"}),
            ),
            (
                Reaction::Run(vec!["true".to_owned()]),
                json!({"kind": "react", "reaction": "run", "command": ["true"]}),
            ),
        ] {
            let step = PlannedStep {
                step: Step::new(Phase::Files, Action::React(reaction)),
                ..planned("", "")
            };
            let json = plan_json(&[step], &[]);
            assert_eq!(json["steps"][0]["action"], wanted);
        }
    }

    #[test]
    fn what_somebody_changed_is_told_with_a_diff() {
        let steps = [planned("a\nmine\n", "a\nb\n")];
        let text = anstream::adapter::strip_str(&plan_text(&steps)).to_string();
        let wanted = "+ files:/etc/x  (other contents)\n  drift: other contents\n\
                      --- a/etc/x\n+++ b/etc/x\n@@ -1,2 +1,2 @@\n a\n-mine\n+b\n\
                      Plan: 1 to change, 0 unchanged; 1 with drift.\n";
        assert_eq!(text, wanted);
        let json = plan_json(&steps, &[]);
        assert_eq!(json["drifted"], 1);
        assert_eq!(json["steps"][0]["drift"], "other contents");
    }

    #[test]
    fn a_secret_that_somebody_put_into_a_file_is_in_no_diff() {
        let before = "a\nexport AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI\n";
        let steps = [planned(before, "a\n")];
        for shown in [plan_text(&steps), plan_json(&steps, &[]).to_string()] {
            assert!(shown.contains("AWS_SECRET_ACCESS_KEY"), "{shown}");
            assert!(!shown.contains("wJalrXUtnFEMI"), "{shown}");
        }
    }

    #[test]
    fn a_file_of_other_permissions_alone_has_no_diff() {
        let same = planned("a\n", "a\n");
        assert_eq!(diff(&same), None);
    }
}
