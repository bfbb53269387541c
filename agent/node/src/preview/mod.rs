//! The preview of a change: two clusters, as two state stores have them, to what differs on the nodes of each instance group, what
//! that makes happen, and what breaks.
//!
//! Nothing is read or run here. Both sides are planned as a boot plans them; what differs between the plans differs between the
//! nodes.

mod checks;
mod consequence;
mod difference;
mod iam_calls;
mod rule;
#[cfg(test)]
pub(crate) mod sample;
mod side;
mod tables;
mod view;
mod words;

pub use consequence::{Consequences, Restart};
pub use difference::{Becomes, FileChange, RowChange, UnitChange};
pub use rule::{Finding, Rule, Severity, rules};
pub use side::{ClusterSide, GroupSide, KeySide, ObjectSide, Settings};
pub use view::{Aspect, FileKind};

use checks::{Pair, Subject};
use quake_model::fault::Code;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use view::NodeView;

/// What a change comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preview {
    pub findings: Vec<GroupedFinding>,
    /// The add-ons that differ: they are applied to the cluster, whichever groups are asked for.
    pub addons: Vec<RowChange>,
    pub groups: Vec<GroupPreview>,
}

impl Preview {
    /// Whether anything breaks.
    pub fn breaks(&self) -> bool {
        let mut found = self.findings.iter();
        found.any(|it| it.finding.severity == Severity::Breaks)
    }

    /// Whether nothing differs and nothing was found.
    pub fn is_empty(&self) -> bool {
        let is_same = self.findings.is_empty() && self.addons.is_empty();
        is_same && self.groups.iter().all(GroupPreview::is_unchanged)
    }
}

/// A finding, and the instance groups that it is about; none for one about the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupedFinding {
    #[serde(flatten)]
    pub finding: Finding,
    pub groups: Vec<String>,
}

/// What differs on the nodes of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupPreview {
    pub group: String,
    /// Whether the group itself is added, removed, or on both sides.
    pub becomes: Becomes,
    pub files: Vec<FileChange>,
    pub units: Vec<UnitChange>,
    pub values: Vec<RowChange>,
    pub consequences: Consequences,
    /// The sides of which no node can be made; then nothing can be said of files, units and values.
    pub unplanned: Vec<Unplanned>,
}

/// A side of a group of which no node can be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unplanned {
    /// `old` or `new`.
    pub side: &'static str,
    pub code: Code,
    pub summary: String,
}

impl GroupPreview {
    /// Whether nothing differs on its nodes; never where that cannot be said.
    pub fn is_unchanged(&self) -> bool {
        if !self.unplanned.is_empty() {
            return false;
        }
        let is_same = self.files.is_empty() && self.units.is_empty() && self.values.is_empty();
        self.becomes == Becomes::Changed && is_same && self.consequences.new_node.is_empty()
    }
}

/// Compares two clusters in these groups, or in all.
pub fn preview(old: &ClusterSide, new: &ClusterSide, wanted: Option<&str>) -> Preview {
    let mut found: BTreeMap<Finding, BTreeSet<String>> = BTreeMap::new();
    for finding in checks::of_clusters(old, new) {
        found.entry(finding).or_default();
    }
    let names: BTreeSet<&String> = old.groups.keys().chain(new.groups.keys()).collect();
    let names = names
        .into_iter()
        .filter(|name| wanted.is_none_or(|wanted| wanted == *name));
    let groups = names.map(|name| {
        let (preview, findings) = group(name, (old, new));
        for finding in findings {
            found.entry(finding).or_default().insert(name.clone());
        }
        preview
    });
    let groups = groups.collect();
    let findings = found.into_iter().map(|(finding, groups)| GroupedFinding {
        finding,
        groups: groups.into_iter().collect(),
    });
    Preview {
        findings: findings.collect(),
        addons: difference::rows(&addons(old), &addons(new)),
        groups,
    }
}

fn addons(side: &ClusterSide) -> view::Rows {
    let addons = side.addons.iter();
    let rows = addons.map(|(name, version)| ((Aspect::Addon, name.clone()), version.clone()));
    rows.collect()
}

/// What differs in a group, and what was found in it.
fn group(name: &str, (old, new): (&ClusterSide, &ClusterSide)) -> (GroupPreview, Vec<Finding>) {
    let sides = (old.groups.get(name), new.groups.get(name));
    let view = |side: Option<&GroupSide>| {
        let node = side.and_then(|side| side.node.as_ref().ok());
        node.map(|node| NodeView::new(node))
    };
    let views = (view(sides.0), view(sides.1));
    let empty = NodeView::default();
    let unplanned = unplanned(sides);
    // A side that cannot be planned is no difference.
    let compared = [&views.0, &views.1].map(|view| match view {
        Some(view) if unplanned.is_empty() => view,
        _ => &empty,
    });
    let [before, after] = compared;
    let files = difference::files(before, after);
    let planned = sides.1.and_then(|side| side.node.as_ref().ok());
    let consequences = match (sides.0, sides.1, planned) {
        (Some(old), Some(new), Some(spec)) => Consequences {
            restarts: consequence::restarts(&files, spec, after),
            pods: consequence::pods(&files, spec),
            new_node: consequence::new_node(old, new),
        },
        _ => Consequences::default(),
    };
    let findings = match sides {
        (Some(one), Some(other)) => checks::of_groups(&Pair {
            old: Subject::new(old, one, &views.0),
            new: Subject::new(new, other, &views.1),
        }),
        (None, Some(side)) => checks::of_a_new_group(&Subject::new(new, side, &views.1)),
        (Some(_), None) | (None, None) => Vec::new(),
    };
    let preview = GroupPreview {
        group: name.to_owned(),
        becomes: Becomes::of(sides.0, sides.1),
        units: difference::units(before, after),
        values: difference::rows(&before.rows, &after.rows),
        files,
        consequences,
        unplanned,
    };
    (preview, findings)
}

fn unplanned((old, new): (Option<&GroupSide>, Option<&GroupSide>)) -> Vec<Unplanned> {
    let sides = [("old", old), ("new", new)].into_iter();
    let faults = sides.filter_map(|(side, group)| {
        let fault = group?.node.as_ref().err()?;
        Some(Unplanned {
            side,
            code: fault.code,
            summary: fault.summary.clone(),
        })
    });
    faults.collect()
}

#[cfg(test)]
mod tests;
