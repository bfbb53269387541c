//! What a boot would change: one line a step, and a unified diff for each file that may be shown.

use super::fault::fault_json;
use quake_engine::PlannedStep;
use quake_model::fault::Fault;
use quake_model::outcome::Outcome;
use quake_model::step::Action;
use serde_json::{Value, json};
use similar::TextDiff;
use std::fmt::Write;

/// The plan for people.
pub(crate) fn plan_text(planned: &[PlannedStep]) -> String {
    let mut text = String::new();
    for step in planned {
        let mark = match step.outcome {
            Outcome::Held => continue,
            Outcome::WouldChange | Outcome::Changed => '+',
            Outcome::Skipped => '?',
        };
        let note = note(step).map_or_else(String::new, |note| format!("  ({note})"));
        let _ = writeln!(text, "{mark} {}{note}", step.step.id);
        text.push_str(&diff(step).unwrap_or_default());
    }
    let held = planned
        .iter()
        .filter(|step| step.outcome == Outcome::Held)
        .count();
    let _ = writeln!(text, "Plan: {} to change, {held} hold.", changes(planned));
    text
}

/// The plan for programs.
pub(crate) fn plan_json(planned: &[PlannedStep], warnings: &[Fault]) -> Value {
    let steps: Vec<Value> = planned
        .iter()
        .map(|step| {
            json!({
                "id": step.step.id,
                "phase": step.step.phase,
                "action": step.step.action,
                "outcome": step.outcome,
                "note": note(step),
                "diff": diff(step),
            })
        })
        .collect();
    json!({
        "schemaVersion": "quake-agent/plan/v1",
        "changes": changes(planned),
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

fn note(step: &PlannedStep) -> Option<String> {
    let note = match (&step.step.action, step.outcome) {
        (Action::Await(_), Outcome::Skipped) => "after services",
        (Action::MakeFilesystem(_) | Action::MountVolume(_), Outcome::WouldChange) => {
            "after the volume is attached"
        }
        (Action::Place(_), Outcome::WouldChange) => "after assets",
        (Action::WriteFile(file), Outcome::WouldChange) if step.after.is_none() => {
            return Some(format!("{} secret bytes, not shown", file.contents.0.len()));
        }
        _ => return None,
    };
    Some(note.to_owned())
}

fn diff(step: &PlannedStep) -> Option<String> {
    let Action::WriteFile(file) = &step.step.action else {
        return None;
    };
    let after = String::from_utf8_lossy(&step.after.as_ref()?.0).into_owned();
    let before = step
        .before
        .as_ref()
        .map(|before| String::from_utf8_lossy(&before.0).into_owned());
    let from = if before.is_some() {
        format!("a{}", file.path)
    } else {
        "/dev/null".to_owned()
    };
    let diff = TextDiff::from_lines(before.as_deref().unwrap_or_default(), after.as_str());
    Some(
        diff.unified_diff()
            .context_radius(3)
            .header(&from, &format!("b{}", file.path))
            .to_string(),
    )
}
