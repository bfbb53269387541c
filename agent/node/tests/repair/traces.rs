//! Replays published incidents: what each node saw, and which were to be replaced.
//!
//! A trace is what an incident report says, put into looks of nodes. Sizes and minutes are ours where the report has none.

use crate::world::{Node, Rules, STEP, Seen, World};
use quake_model::repair::{RepairDecision, SharedCause, SkipReason, Symptom};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const FILES: [(&str, &str); 5] = [
    (
        "control-plane.yaml",
        include_str!("traces/control-plane.yaml"),
    ),
    ("groups.yaml", include_str!("traces/groups.yaml")),
    ("nodes.yaml", include_str!("traces/nodes.yaml")),
    (
        "not-the-node.yaml",
        include_str!("traces/not-the-node.yaml"),
    ),
    ("regions.yaml", include_str!("traces/regions.yaml")),
];

/// The page that lists the traces; `QUAKE_BLESS=1` writes it.
const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/reference/repair-traces.md"
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    name: String,
    /// What happened, in one sentence.
    what: String,
    source: String,
    size: usize,
    #[serde(default = "three")]
    zones: usize,
    #[serde(default)]
    etcd: bool,
    #[serde(default)]
    share: Option<String>,
    #[serde(default)]
    suspended: BTreeSet<String>,
    #[serde(default = "four_hours")]
    minutes: u64,
    events: Vec<Span>,
    /// The nodes that are truly bad.
    replaced: Vec<usize>,
    /// Reasons or causes for which a node was skipped at least once.
    skips: Vec<String>,
}

/// What some nodes see for some time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Span {
    #[serde(default)]
    from: u64,
    #[serde(default)]
    until: Option<u64>,
    nodes: Nodes,
    /// How many minutes later each further node is met.
    #[serde(default)]
    apart: u64,
    /// Seen in so many minutes, and then not for as many.
    #[serde(default)]
    flaps: Option<u64>,
    #[serde(default)]
    symptoms: BTreeSet<Symptom>,
    #[serde(default)]
    shared: BTreeSet<SharedCause>,
    #[serde(default)]
    leaving: bool,
    #[serde(default)]
    blind: bool,
}

/// Indices, `all`, which has instances that are launched later, or a zone.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Nodes {
    These(Vec<usize>),
    Word(String),
}

fn three() -> usize {
    3
}

fn four_hours() -> u64 {
    240
}

fn index(node: &Node) -> usize {
    node.name
        .trim_start_matches('n')
        .parse()
        .expect("its name has its number")
}

impl Span {
    fn has(&self, node: &Node) -> bool {
        match &self.nodes {
            Nodes::These(these) => these.contains(&index(node)),
            Nodes::Word(word) => word == "all" || *word == node.zone,
        }
    }

    fn is_seen(&self, node: &Node, minute: u64) -> bool {
        let from = self.from + self.apart * index(node) as u64;
        let flaps = self
            .flaps
            .is_none_or(|minutes| (minute / minutes).is_multiple_of(2));
        self.has(node) && minute >= from && self.until.is_none_or(|until| minute < until) && flaps
    }
}

fn traces() -> Vec<(&'static str, Trace)> {
    let mut all = Vec::new();
    for (file, text) in FILES {
        let read: Result<Vec<Trace>, _> = serde_saphyr::from_str(text);
        let read = read.expect(file);
        all.extend(read.into_iter().map(|trace| (file, trace)));
    }
    all
}

fn replay(trace: &Trace) -> World {
    let share = trace.share.as_deref().unwrap_or("10%");
    let mut world = World::new(Rules {
        size: trace.size,
        zones: trace.zones,
        share: share.parse().expect("a share"),
        etcd: trace.etcd,
        suspended: trace.suspended.clone(),
        stale: 120,
    });
    let begin = world.now;
    for _ in 0..trace.minutes * 60 / STEP {
        world.step(|node, now| {
            let minute = (now - begin) / 60;
            let mut seen = Seen::default();
            for span in trace
                .events
                .iter()
                .filter(|span| span.is_seen(node, minute))
            {
                seen.symptoms.extend(&span.symptoms);
                seen.shared.extend(&span.shared);
                seen.leaving |= span.leaving;
                seen.blind |= span.blind;
            }
            seen
        });
    }
    world
}

/// The reasons and causes for which nodes were skipped, that are still there.
fn skipped(world: &World) -> BTreeSet<String> {
    let decisions = world.nodes.iter().flat_map(|node| &node.decisions);
    let word = |decision: &RepairDecision| match decision {
        RepairDecision::Skip {
            cause: Some(cause), ..
        } => Some(cause.to_string()),
        RepairDecision::Skip {
            reason,
            cause: None,
        } => Some(reason.to_string()),
        RepairDecision::Healthy | RepairDecision::Replace => None,
    };
    decisions.filter_map(word).collect()
}

fn names(indices: &[usize]) -> BTreeSet<String> {
    indices.iter().map(|index| format!("n{index:02}")).collect()
}

#[test]
fn all_truly_bad_nodes_are_replaced_and_none_in_shared_outages() {
    let mut wrong = String::new();
    let mut table = String::new();
    for (file, trace) in traces() {
        let world = replay(&trace);
        let replaced: BTreeSet<String> = world.replaced.iter().cloned().collect();
        let skipped = skipped(&world);
        let listed = |words: &BTreeSet<String>| words.iter().cloned().collect::<Vec<_>>().join(" ");
        let _ = writeln!(
            table,
            "{file} {}: replaced [{}] skipped [{}]",
            trace.name,
            listed(&replaced),
            listed(&skipped)
        );
        if replaced != names(&trace.replaced) || world.replaced.len() != replaced.len() {
            let _ = writeln!(
                wrong,
                "{}: {:?} replaced, not {:?}; skipped {skipped:?}",
                trace.name, world.replaced, trace.replaced
            );
        }
        for word in trace.skips.iter().filter(|word| !skipped.contains(*word)) {
            let _ = writeln!(
                wrong,
                "{}: none left alone for {word}, but for {skipped:?}",
                trace.name
            );
        }
    }
    print!("{table}");
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn there_are_forty_incidents_each_with_its_source_and_every_symptom_and_cause_among_them() {
    let traces = traces();
    let names: BTreeSet<&str> = traces
        .iter()
        .map(|(_, trace)| trace.name.as_str())
        .collect();
    assert_eq!(names.len(), traces.len(), "a name is used twice");
    assert!(traces.len() >= 40, "there are {}", traces.len());
    for (_, trace) in &traces {
        assert!(trace.source.starts_with("https://"), "{}", trace.name);
        assert!(trace.what.ends_with('.'), "{}", trace.name);
        let sees = trace.events.iter().any(|span| !span.symptoms.is_empty());
        let proves = !trace.replaced.is_empty() || !trace.skips.is_empty() || !sees;
        assert!(proves, "{} proves nothing", trace.name);
    }
    let spans: Vec<&Span> = traces.iter().flat_map(|(_, trace)| &trace.events).collect();
    for symptom in Symptom::ALL {
        assert!(
            spans.iter().any(|span| span.symptoms.contains(symptom)),
            "{symptom}"
        );
    }
    for cause in SharedCause::ALL {
        assert!(
            spans.iter().any(|span| span.shared.contains(cause)),
            "{cause}"
        );
    }
    let known: BTreeSet<String> = (SkipReason::ALL.iter().map(ToString::to_string))
        .chain(SharedCause::ALL.iter().map(ToString::to_string))
        .collect();
    for (_, trace) in &traces {
        let unknown = trace.skips.iter().find(|word| !known.contains(*word));
        assert_eq!(unknown, None, "{}", trace.name);
    }
}

fn page() -> String {
    let mut page = String::from(
        "# Incidents that the decision of repairs is replayed over\n\n\
         Written by the tests of `quake-node` (`QUAKE_BLESS=1 cargo test -p quake-node --test repair`).\n\
         A trace is what the source says, put into looks of nodes. The size of a group and the minutes are\n\
         ours where the source has none. In an outage one node often has a fault of its own: it must wait,\n\
         too, until the outage is over. *Replaced* are the nodes that are truly bad; *left alone for* are\n\
         reasons for which others were not replaced. [operations.md](../operations.md#replace-a-node-that-stays-unhealthy)\n\
         says what the words mean.\n\n\
         | incident | what happened | nodes | replaced | left alone for |\n|---|---|---|---|---|\n",
    );
    for (_, trace) in traces() {
        let replaced = match trace.replaced.len() {
            0 => "none".to_owned(),
            count => count.to_string(),
        };
        let skips = match trace.skips.is_empty() {
            true => "-".to_owned(),
            false => trace
                .skips
                .iter()
                .map(|word| format!("`{word}`"))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let _ = writeln!(
            page,
            "| [{}]({}) | {} | {} | {replaced} | {skips} |",
            trace.name, trace.source, trace.what, trace.size
        );
    }
    page
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the page of the traces is compared with the tree"
)]
fn the_page_lists_the_traces() {
    let page = page();
    if std::env::var_os("QUAKE_BLESS").is_some() {
        std::fs::write(PAGE, &page).expect("the page is written");
    }
    let found = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert_eq!(found, page, "run with QUAKE_BLESS=1");
}
