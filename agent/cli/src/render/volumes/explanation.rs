//! The explanation: each decision with its rule, each volume with why it lost, and the rules in their order.

use super::list::volume_json;
use crate::render::{fault_json, fault_text};
use quake_model::fault::Fault;
use quake_volumes::{
    Decision, Facts, Rule, STAGES, Slot, SlotDecision, Stage, Verdict, World, decision_fault,
    decision_json, describe, fired, line, near_misses, select_volumes, verdict_of, warnings, why,
};
use serde_json::{Value, json};
use std::fmt::Write;

/// Everything about the choice, as one object.
pub(crate) fn explanation_json(
    facts: &Facts,
    worlds: &[World],
    slot: Option<&Slot>,
    notes: &[String],
) -> Value {
    let generation = &facts.cluster_generation;
    let decisions = worlds.iter().filter_map(|world| decided_json(world, slot));
    json!({
        "schemaVersion": "quake-agent/volumes-explain/v1",
        "cluster": facts.cluster,
        "clusterGeneration": {
            "uids": generation.uids,
            "current": generation.current,
            "createdAt": generation.born.map(|born| born.to_string()),
        },
        "settled": facts.settled,
        "notes": notes,
        "decisions": decisions.collect::<Vec<_>>(),
    })
}

pub(super) fn node_json(world: &World) -> Value {
    let id = Some(&world.me.instance_id).filter(|id| !id.is_empty());
    json!({
        "instanceGroup": world.me.instance_group,
        "zone": world.me.zone,
        "instance": id,
    })
}

pub(super) fn node_text(world: &World) -> String {
    let me = &world.me;
    let who = match me.instance_id.as_str() {
        "" => "the next instance",
        id => id,
    };
    let group = me.instance_group.as_deref();
    let group = group.map(|group| format!(" of {group}"));
    format!("{who}{} in {}", group.unwrap_or_default(), me.zone)
}

fn decided_json(world: &World, slot: Option<&Slot>) -> Option<Value> {
    let decision = select_volumes(world);
    if !concerns(world, &decision, slot) {
        return None;
    }
    let slots = decisions(&decision, slot).map(|(named, decided)| {
        json!({
            "slot": named.map(Slot::to_string),
            "action": decided.action.name(),
            "rule": decided.rule.name(),
            "volume": decided.volume,
            "why": why(world, named, decided),
        })
    });
    let volumes = volumes(&decision, slot).map(|verdict| {
        let mut shown = volume_json(verdict);
        shown["why"] = json!(verdict_of(world, &decision, verdict));
        shown
    });
    let rules = STAGES.iter().flat_map(|stage| {
        let row = |rule: &Rule| {
            json!({
                "stage": stage.name,
                "rule": rule.name(),
                "meaning": rule.meaning(),
                "fired": fired(&decision, stage, *rule),
            })
        };
        stage.rules.iter().map(row).collect::<Vec<_>>()
    });
    let near = near_misses(&decision).map(|verdict| &verdict.volume.volume_id);
    Some(json!({
        "node": node_json(world),
        "member": decision.member,
        "proceeds": decision.is_go(),
        "decisions": decision_json(&decision),
        "slots": slots.collect::<Vec<_>>(),
        "fault": decision_fault(world, &decision).as_ref().map(fault_json),
        "warnings": warnings(&decision).iter().map(fault_json).collect::<Vec<_>>(),
        "volumes": volumes.collect::<Vec<_>>(),
        "nearMisses": near.collect::<Vec<_>>(),
        "rules": rules.collect::<Vec<_>>(),
    }))
}

/// Everything about the choice, for people.
pub(crate) fn explanation_text(facts: &Facts, worlds: &[World], slot: Option<&Slot>) -> String {
    let mut text = format!("cluster {}\n", facts.cluster);
    for world in worlds {
        let decision = select_volumes(world);
        if concerns(world, &decision, slot) {
            write_decision(&mut text, world, &decision, slot);
        }
    }
    text
}

fn write_decision(text: &mut String, world: &World, decision: &Decision<'_>, slot: Option<&Slot>) {
    let member = decision.member.as_deref().unwrap_or("none");
    let _ = writeln!(text, "\n{}: member {member}", node_text(world));
    for (named, decided) in decisions(decision, slot) {
        let _ = writeln!(text, "  {}", line(named, decided));
        let _ = writeln!(text, "    {}", why(world, named, decided));
    }
    let label = |label: &str, fault: &Fault| -> String {
        let shown = fault_text(label, fault);
        shown.lines().map(|line| format!("  {line}\n")).collect()
    };
    for fault in warnings(decision) {
        text.push_str(&label("warning", &fault));
    }
    if let Some(fault) = decision_fault(world, decision) {
        text.push_str(&label("this would be", &fault));
    }
    text.push_str("  volumes:\n");
    for verdict in volumes(decision, slot) {
        let _ = writeln!(text, "    {}", describe(verdict));
        let _ = writeln!(text, "      {}", verdict_of(world, decision, verdict));
    }
    let near: Vec<String> = near_misses(decision)
        .map(|verdict| format!("{} ({})", verdict.volume.volume_id, verdict.rule))
        .collect();
    if !near.is_empty() {
        let _ = writeln!(text, "  near misses: {}", near.join(", "));
    }
    for stage in STAGES {
        write_rules(text, decision, stage);
    }
}

fn write_rules(text: &mut String, decision: &Decision<'_>, stage: &Stage) {
    let _ = writeln!(text, "  rules for {}, the first that applies:", stage.name);
    for rule in stage.rules {
        let by = fired(decision, stage, *rule);
        let mark = if by.is_empty() { "  " } else { "->" };
        let (name, meaning) = (rule.name(), rule.meaning());
        let row = format!("  {mark} {name:<27} {meaning} {}", by.join(", "));
        let _ = writeln!(text, "{}", row.trim_end());
    }
}

/// Whether a decision is about the slot that was asked for.
fn concerns(world: &World, decision: &Decision<'_>, slot: Option<&Slot>) -> bool {
    let Some(slot) = slot else {
        return true;
    };
    let decided = decision.slots.iter().any(|(named, _)| named == slot);
    let member = world.members.iter().find(|member| member.slot == *slot);
    let is_open = decision.member.is_none()
        && member.is_some_and(|member| {
            let ours = |wanted: &Option<String>, mine: Option<&String>| {
                wanted.is_none() || wanted.as_ref() == mine
            };
            ours(&member.instance_group, world.me.instance_group.as_ref())
                && ours(&member.zone, Some(&world.me.zone))
        });
    decided || is_open
}

fn decisions<'a>(
    decision: &'a Decision<'_>,
    slot: Option<&'a Slot>,
) -> impl Iterator<Item = (Option<&'a Slot>, &'a SlotDecision)> {
    let all = decision.all();
    all.filter(move |(named, _)| slot.is_none() || named.is_none() || *named == slot)
}

/// Volumes that may be the slot's: those that name it, and those of which nobody knows.
fn volumes<'a>(
    decision: &'a Decision<'a>,
    slot: Option<&'a Slot>,
) -> impl Iterator<Item = &'a Verdict<'a>> {
    let verdicts = decision.verdicts.iter();
    verdicts.filter(move |verdict| {
        let named = verdict.slot.as_ref();
        slot.is_none() || named.is_none() || named == slot
    })
}
