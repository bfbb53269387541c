//! An operator's choice: tags and decisions, before and after.

use super::explanation::{node_json, node_text};
use quake_model::facts::VolumeFacts;
use quake_volumes::{Facts, TagEdit, World, decision_json, line, select_volumes};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

pub(crate) struct Shown<'a> {
    pub(crate) volume: &'a str,
    pub(crate) edits: &'a [TagEdit],
    pub(crate) before: &'a Facts,
    /// The facts after: foreseen, or read back.
    pub(crate) after: &'a Facts,
    pub(crate) worlds_before: &'a [World],
    pub(crate) worlds_after: &'a [World],
    pub(crate) is_written: bool,
}

impl Shown<'_> {
    /// The volumes whose tags change; the one it is about, where none does.
    fn volumes(&self) -> Vec<&str> {
        let edited = self.edits.iter().map(|edit| edit.volume_id.as_str());
        let edited: Vec<&str> = edited.collect();
        if edited.is_empty() {
            vec![self.volume]
        } else {
            edited
        }
    }
}

pub(crate) fn change_json(shown: &Shown<'_>, notes: &[String]) -> Value {
    let tags = shown.volumes().into_iter().map(|id| {
        json!({
            "volume": id,
            "before": tags(shown.before, id),
            "after": tags(shown.after, id),
        })
    });
    let decisions = shown.worlds_before.iter().zip(shown.worlds_after);
    let decisions = decisions.map(|(before, after)| {
        let (before_it, after_it) = (select_volumes(before), select_volumes(after));
        json!({
            "node": node_json(before),
            "before": decision_json(&before_it),
            "after": decision_json(&after_it),
            "proceeds": { "before": before_it.is_go(), "after": after_it.is_go() },
        })
    });
    json!({
        "schemaVersion": "quake-agent/volumes-change/v1",
        "cluster": shown.before.cluster,
        "volume": shown.volume,
        "written": shown.is_written,
        "changes": !shown.edits.is_empty(),
        "tags": tags.collect::<Vec<_>>(),
        "decisions": decisions.collect::<Vec<_>>(),
        "notes": notes,
    })
}

pub(crate) fn change_text(shown: &Shown<'_>) -> String {
    let mut text = String::new();
    for id in shown.volumes() {
        let _ = writeln!(text, "tags of {id}:");
        let (before, after) = (tags(shown.before, id), tags(shown.after, id));
        for (key, value) in &before {
            let mark = if after.get(key) == Some(value) {
                ' '
            } else {
                '-'
            };
            let _ = writeln!(text, "  {mark} {key}={value}");
        }
        for (key, value) in after
            .iter()
            .filter(|(key, value)| before.get(*key) != Some(*value))
        {
            let _ = writeln!(text, "  + {key}={value}");
        }
    }
    for (before, after) in shown.worlds_before.iter().zip(shown.worlds_after) {
        let _ = writeln!(text, "decision of {}:", node_text(before));
        let (before, after) = (lines(before), lines(after));
        if before == after {
            before.iter().for_each(|line| {
                let _ = writeln!(text, "    {line}");
            });
            continue;
        }
        before.iter().for_each(|line| {
            let _ = writeln!(text, "  - {line}");
        });
        after.iter().for_each(|line| {
            let _ = writeln!(text, "  + {line}");
        });
    }
    text.push_str(match (shown.edits.is_empty(), shown.is_written) {
        (true, _) => "nothing to change: the tags are so already\n",
        (false, true) => "written, and read back\n",
        (false, false) => "nothing was written; --yes writes these tags\n",
    });
    text
}

fn lines(world: &World) -> Vec<String> {
    let decision = select_volumes(world);
    let lines = decision.all().map(|(slot, decided)| line(slot, decided));
    lines.collect()
}

fn tags(facts: &Facts, id: &str) -> BTreeMap<String, String> {
    let mut volumes = facts.volumes.iter();
    let found: Option<&VolumeFacts> = volumes.find(|volume| volume.volume_id == id);
    found.map(|volume| volume.tags.clone()).unwrap_or_default()
}
