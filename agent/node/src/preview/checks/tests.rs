//! Planted changes: each is named by its rule, and by no other.

mod clusters;
mod nodes;

use crate::preview::rule::{Severity, rules};
use crate::preview::sample::Sample;
use crate::preview::side::ClusterSide;
use crate::preview::{Preview, preview};
use std::collections::BTreeSet;

/// What the planted change is named by, the state before, and the state after.
type Planted = (&'static str, ClusterSide, ClusterSide);

fn ids(preview: &Preview) -> Vec<&'static str> {
    let found = preview.findings.iter();
    found.map(|it| it.finding.id).collect()
}

fn planted() -> Vec<Planted> {
    [
        nodes::of_components(),
        nodes::of_the_runtime(),
        nodes::of_containerd(),
        nodes::of_programs(),
        nodes::of_kops(),
        clusters::of_the_network(),
        clusters::of_etcd(),
        clusters::of_keys(),
        clusters::of_the_group(),
        clusters::of_the_cluster(),
    ]
    .concat()
}

#[test]
fn every_planted_change_is_named_with_a_remedy() {
    for (id, old, new) in planted() {
        let found = preview(&old, &new, None);
        assert!(ids(&found).contains(&id), "{id}: {:?}", ids(&found));
        for it in &found.findings {
            let finding = &it.finding;
            let texts = [&finding.summary, &finding.remedy];
            assert!(texts.iter().all(|text| !text.contains('{')), "{finding:?}");
            assert!(!finding.sources.is_empty(), "{finding:?}");
        }
    }
}

#[test]
fn a_planted_change_is_named_by_no_other_rule() {
    for (id, old, new) in planted() {
        assert_eq!(ids(&preview(&old, &new, None)), [id], "{id}");
    }
}

#[test]
fn what_was_so_before_is_no_finding_of_a_change() {
    for (id, _, new) in planted() {
        let found = preview(&new, &new, None);
        assert_eq!(ids(&found), [""; 0], "{id}");
        // Of what cannot be planned nobody can say that nothing changes.
        let is_planned = new.groups.values().all(|group| group.node.is_ok());
        assert_eq!(found.is_empty(), is_planned, "{id}: {found:?}");
    }
}

#[test]
fn every_rule_is_planted_and_no_two_share_an_id() {
    let planted: BTreeSet<&str> = planted().iter().map(|(id, _, _)| *id).collect();
    let ids: Vec<&str> = rules().map(|rule| rule.id).collect();
    let distinct: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len());
    assert_eq!(distinct, planted);
    assert!(ids.len() >= 20);
}

/// A rule that is named nowhere is met by nothing, and an id that is no rule's is the id of no finding.
#[test]
fn every_rule_is_named_at_one_place_of_the_checks() {
    let checks = [
        include_str!("access.rs"),
        include_str!("cluster.rs"),
        include_str!("containerd.rs"),
        include_str!("etcd.rs"),
        include_str!("group.rs"),
        include_str!("keys.rs"),
        include_str!("kops.rs"),
        include_str!("kubernetes.rs"),
        include_str!("network.rs"),
        include_str!("programs.rs"),
        include_str!("runtime.rs"),
    ]
    .concat();
    for rule in rules() {
        let places = checks.matches(&format!("\"{}\"", rule.id)).count();
        assert_eq!(places, 1, "{}", rule.id);
    }
}

#[test]
fn what_breaks_is_said_before_what_is_a_risk() {
    let old = Sample::new("1.34.0").group("instanceMetadata: {httpTokens: optional}\n");
    let new = Sample::new("1.36.0").group("instanceMetadata: {httpTokens: required}\n");
    let found = preview(&old.done(), &new.done(), None);
    let order: Vec<Severity> = found
        .findings
        .iter()
        .map(|it| it.finding.severity)
        .collect();
    assert_eq!(order, [Severity::Breaks, Severity::Risk]);
    assert!(found.breaks());
}

#[test]
fn the_page_of_findings_has_every_rule_and_no_other() {
    let page = include_str!("../../../../../docs/reference/preview.md");
    let named = |text: &str| {
        let text = text.replace("{what}", "WHAT").replace("{old}", "OLD");
        text.replace("{new}", "NEW").replace("{instead}", "INSTEAD")
    };
    let rows = rules().map(|rule| {
        let (summary, remedy) = (named(rule.summary), named(rule.remedy));
        format!(
            "| `{}` | {} | {summary} | {remedy} |",
            rule.id,
            rule.severity.name()
        )
    });
    let rows: Vec<String> = rows.collect();
    let listed = page.lines().filter(|line| line.starts_with("| `"));
    assert_eq!(listed.collect::<Vec<_>>(), rows);
}
