//! The check of the cluster's add-ons, by what the agent noted of them.

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use quake_model::addon::{AddonState, AddonStatus};
use quake_model::facts::Unseen;

pub(super) const CHECKS: &[Check] = &[Check {
    id: "addons.applied",
    title: "the cluster's add-ons are applied as in its channels",
    severity: Severity::Warning,
    tags: &["addons", "control-plane"],
    sources: &[Source::Files],
    because: &["agent.running", "apiserver.alive"],
    why: "the pod network, DNS and the cloud controllers are add-ons: without them nodes do not become ready, and pods resolve no name",
    remedy: "quake-agent addons list; quake-agent addons plan <add-on> shows the drift of each object",
    judge: applied,
}];

fn applied(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let addons = &node.record()?.addons;
    if addons.is_empty() {
        return Verdict::skip("this node has nothing to do with add-ons");
    }
    let of = |state: AddonState| -> Vec<&AddonStatus> {
        let found = addons.addons.values();
        found.filter(|addon| addon.state == state).collect()
    };
    let failed = of(AddonState::Failed);
    let count = addons.addons.len();
    let done = of(AddonState::Applied).len();
    if let Some(first) = failed.first() {
        let summary = format!("{} of {count} add-ons could not be applied", failed.len());
        let fix = first
            .fault
            .as_ref()
            .map(|fault| fault.remedy_text().to_owned());
        let mut finding = Finding::new(summary, fix.unwrap_or_default());
        if let Some(fault) = &first.fault {
            finding = finding.coded(fault.code);
        }
        for addon in failed {
            let object = addon.object.as_deref().unwrap_or_default();
            let why = addon.why().unwrap_or_default();
            finding = finding.seen(&addon.name, format_args!("{object}: {why}"));
        }
        return finding.warn();
    }
    if let Some(fault) = &addons.fault {
        let finding = Finding::new(fault.summary.clone(), fault.remedy_text().to_owned());
        return finding.coded(fault.code).warn();
    }
    let reconciler = addons.reconciler.as_ref();
    let reconciler = reconciler.map(ToString::to_string).unwrap_or_default();
    Verdict::ok(format!("{done} of {count} applied; {reconciler}"))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{record_of, says, worker};
    use quake_model::addon::{AddonState, AddonStatus, ReconcilerRef};
    use quake_model::fault::{Code, Fault};

    const ID: &str = "addons.applied";

    fn addon(name: &str, state: AddonState) -> (String, AddonStatus) {
        let status = AddonStatus {
            name: name.to_owned(),
            state,
            ..AddonStatus::default()
        };
        (name.to_owned(), status)
    }

    #[test]
    fn a_node_without_add_ons_has_nothing_to_tell() {
        assert!(says(ID, &worker()).starts_with("skip: "));
    }

    #[test]
    fn what_failed_is_named_with_its_object_and_the_rest_is_counted() {
        let mut survey = worker();
        let addons = &mut record_of(&mut survey).addons;
        addons.reconciler = Some(ReconcilerRef::Me);
        addons.addons.extend([
            addon("a", AddonState::Applied),
            addon("b", AddonState::Applying),
        ]);
        assert_eq!(
            says(ID, &survey),
            "ok: 1 of 2 applied; this agent applies the cluster's add-ons"
        );
        let (name, mut failed) = addon("b", AddonState::Failed);
        failed.object = Some("Deployment/kube-system/b".to_owned());
        failed.fault = Some(Fault::new(Code::AddonsObjectRefused, "denied"));
        let addons = &mut record_of(&mut survey).addons;
        addons.addons.insert(name, failed);
        assert_eq!(
            says(ID, &survey),
            "warn: 1 of 2 add-ons could not be applied [addons.object-refused]"
        );
    }

    #[test]
    fn a_channel_that_cannot_be_read_is_a_warning() {
        let mut survey = worker();
        let addons = &mut record_of(&mut survey).addons;
        addons.fault = Some(Fault::new(Code::AddonsChannelUnreadable, "no such object"));
        assert_eq!(
            says(ID, &survey),
            "warn: no such object [addons.channel-unreadable]"
        );
    }
}
