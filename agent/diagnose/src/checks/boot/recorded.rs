//! Whether the agent ever ran here, and if not, why.

use super::super::check::{Finding, Verdict};
use super::super::node::Node;
use quake_model::facts::Unseen;
use serde_json::Value;

/// Where the ledgers are.
const BOOTS: &str = "/var/lib/quake-agent/boots";

/// Where cloud-init says how it fared.
const CLOUD_INIT: &str = "/run/cloud-init/status.json";

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Ok(record) = node.record() {
        let boot = record.boot.as_ref().map_or("", |boot| boot.as_str());
        return Verdict::ok(format!("{boot}, {} events", record.seq));
    }
    let ledgers = node.list(BOOTS);
    if let Some((name, entry)) = ledgers.last() {
        return Finding::new(
            format!("the ledger {BOOTS}/{name} cannot be read"),
            format!("look at its end (tail -n 2 {BOOTS}/{name}) and at the disk: journalctl -b -k; then: systemctl restart quake-agent.service"),
        )
        .seen("size", entry.size)
        .fail();
    }
    let survey = node.survey();
    let holds = |start: &str| survey.entries.keys().any(|path| path.starts_with(start));
    // The tree of a running machine has these; without them nothing is known of what was left out. Whoever saw its network
    // stood on the machine itself, and would have seen a boot.
    let is_machine = survey.network.get().is_ok();
    if !is_machine && !holds("/var/lib/") && !holds("/run/") {
        return Err(Unseen::NotTaken(
            "neither /var/lib nor /run is in what was looked at".to_owned(),
        ));
    }
    never(node)
}

fn never(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let installed = ["/usr/local/bin/quake-agent", "/usr/bin/quake-agent"]
        .iter()
        .any(|path| node.survey().entries.contains_key(*path));
    let unit = node.unit("quake-agent.service").ok();
    let errors = cloud_init_errors(node);
    let (summary, fix) = match (errors.first(), installed, unit) {
        (Some(error), _, _) => (
            format!("the agent never ran here: cloud-init failed: {error}"),
            "less /var/log/cloud-init-output.log; cloud-init status --long; correct the user data and launch the instance anew",
        ),
        (None, false, _) => (
            "the agent never ran here: it is not installed".to_owned(),
            "look whether the user data delivers it: less /var/log/cloud-init-output.log; or bake it into the image: quake-agent install",
        ),
        (None, true, Some(None)) => (
            "the agent never ran here: quake-agent.service is not installed".to_owned(),
            "quake-agent install; systemctl enable --now quake-agent.service",
        ),
        (None, true, Some(Some(unit))) if !unit.enabled => (
            "the agent never ran here: quake-agent.service is not enabled".to_owned(),
            "systemctl enable --now quake-agent.service",
        ),
        (None, true, _) => (
            "the agent never ran here".to_owned(),
            "systemctl status quake-agent.service; journalctl -b -u quake-agent.service; systemctl start quake-agent.service",
        ),
    };
    let mut finding = Finding::new(summary, fix);
    for error in errors.iter().skip(1) {
        finding = finding.seen("cloud-init", error);
    }
    if let Some(line) = node.journal("quake-agent.service").last() {
        finding = finding.seen("journal", line);
    }
    finding.fail()
}

/// What cloud-init's stages complain of (its `status.json`: `v1.<stage>.errors`).
fn cloud_init_errors(node: &Node<'_>) -> Vec<String> {
    let text = node.text(CLOUD_INIT).ok().flatten().unwrap_or_default();
    let status: Value = serde_json::from_str(text).unwrap_or_default();
    let stages = status.get("v1").and_then(Value::as_object);
    let errors = stages.into_iter().flatten().flat_map(|(stage, recorded)| {
        let list = recorded.get("errors").and_then(Value::as_array);
        let list = list.into_iter().flatten().filter_map(Value::as_str);
        list.map(move |error| format!("{stage}: {error}"))
    });
    errors.collect()
}
