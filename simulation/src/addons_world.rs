//! An add-on in versions, and an operator who applies it beside the agents: which worlds have them, and their law.

use crate::draw::Draw;
use crate::hub::{Hub, Status};
use crate::interfere::lock;
use crate::plan::{Fault, KopsGeneration, Plan, Service};
use quake_engine::addons::AddonInspector;
use quake_model::location::Location;
use quake_model::ports::Condition;
use quake_testkit::{Machine, SimHost, When};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

/// The kubeconfig of the operator.
pub(crate) const OPERATOR: &str = "/root/.kube/config";

/// In so many of a hundred worlds whose agents apply add-ons the channel has one in versions.
const VERSIONED: u64 = 25;

/// Within this time of quiet the cluster has what its channel wants: the longest pause after a failure, and a look at the channel.
pub(crate) const SETTLED_WITHIN: Duration = Duration::from_secs(15 * 60);

/// The add-on.
const NAME: &str = "one.addons.k8s.io";

/// Its objects.
const OBJECTS: [&str; 6] = ["first", "second", "third", "fourth", "fifth", "sixth"];

impl Hub {
    /// Whether somebody is there who applies the add-on, and nobody who was cut off while applying another version.
    pub(crate) fn settles_addons(&self) -> bool {
        let plan = &self.plan;
        let nodes = self.nodes.iter().enumerate();
        let mut ready = nodes
            .filter(|(node, state)| state.status == Status::Ready && plan.is_control_plane(*node));
        let is_cut_off = self.nodes.iter().any(|state| state.is_applying);
        plan.versions_addons && plan.applies_addons() && ready.next().is_some() && !is_cut_off
    }
}

impl Plan {
    /// Lets some worlds have an add-on in versions, by draws of their own.
    pub(crate) fn draw_addons(&mut self) {
        let mut draw = Draw::of(self.seed, &[14]);
        if !self.applies_addons() || !draw.percent(VERSIONED) {
            return;
        }
        self.versions_addons = true;
        let first_ms = draw.between(60_000, self.freeze_ms.max(120_000));
        let longest = draw.one(&[30_000, 150_000]);
        let mut at_ms = first_ms;
        for version in 2..2 + draw.between(1, 4) {
            self.faults.push(Fault::Channel { at_ms, version });
            if draw.percent(70) {
                let latest = draw.one(&[5_000, 120_000]);
                self.faults.push(Fault::ApplyAddons {
                    node: self.a_control_plane(&mut draw),
                    at_ms: at_ms + draw.between(0, latest),
                });
            }
            at_ms += draw.between(3_000, longest);
        }
        // Slow now and then, so that one writer overtakes another.
        for node in 0..self.instances.len() {
            let is_control_plane = self.is_control_plane(node);
            for _ in 0..if is_control_plane {
                draw.between(0, 5)
            } else {
                0
            } {
                let from_ms = draw.between(first_ms.saturating_sub(10_000), at_ms + 60_000);
                self.faults.push(Fault::Slow {
                    node,
                    service: Service::Cluster,
                    from_ms,
                    to_ms: from_ms + draw.between(1_000, 30_000),
                    takes_ms: draw.between(500, 20_000),
                });
            }
        }
        // Nothing of it comes after the quiet begins.
        self.freeze_ms = self.freeze_ms.max(at_ms);
        if draw.percent(40) {
            self.faults.push(Fault::Strike {
                node: self.a_control_plane(&mut draw),
                operation: "change_object",
                nth: draw.between(1, 40),
                times: draw.between(1, 5),
                condition: draw.one(&[Condition::Unreachable, Condition::Conflict]),
                when: draw.one(&[When::Before, When::After]),
            });
        }
    }

    /// Whether the agents apply add-ons, and no pod of kops.
    fn applies_addons(&self) -> bool {
        self.generation == KopsGeneration::Legacy || self.takes_over_addons
    }

    fn a_control_plane(&self, draw: &mut Draw) -> usize {
        let instances = self.instances.iter().enumerate();
        let those: Vec<usize> = instances
            .filter(|(_, it)| self.groups[it.group].is_control_plane() && !it.is_spare)
            .map(|(node, _)| node)
            .collect();
        those[draw.index(those.len())]
    }

    /// Where the channel is.
    fn channel(&self) -> String {
        format!("{}/addons/bootstrap-channel.yaml", self.config_base())
    }

    /// Has the channel want this version.
    pub(crate) fn put_channel(&self, version: u64, objects: &mut BTreeMap<String, Vec<u8>>) {
        // kops compares versions until 1.21, and what they are called since.
        let number = match self.generation {
            KopsGeneration::Legacy => format!("    version: {version}.0.0\n"),
            KopsGeneration::Current => String::new(),
        };
        let text = format!(
            "kind: Addons\nmetadata: {{name: bootstrap}}\nspec:\n  addons:\n  - name: {NAME}\n    id: v{version}\n{number}    manifest: one-v{version}.yaml\n"
        );
        let manifest: Vec<String> = OBJECTS
            .iter()
            .map(|name| {
                format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: kube-system}}\ndata: {{version: v{version}}}\n"
                )
            })
            .collect();
        let location = format!("{}/addons/one-v{version}.yaml", self.config_base());
        objects.insert(location, manifest.join("---\n").into_bytes());
        objects.insert(self.channel(), text.into_bytes());
    }

    /// The version that the channel wants in the end.
    fn last_version(&self) -> u64 {
        let versions = self.faults.iter().filter_map(|fault| match fault {
            Fault::Channel { version, .. } => Some(*version),
            _ => None,
        });
        versions.max().unwrap_or(1)
    }

    /// What of the add-on is not as the channel wants it.
    pub(crate) fn unsettled_addon(&self, machine: &mut Machine<'_>) -> Option<String> {
        let wanted = format!("v{}", self.last_version());
        let server = machine.cluster()?;
        for name in OBJECTS {
            let object = server.object("ConfigMap", "kube-system", name);
            let found = object.map(|it| it["data"]["version"].as_str().unwrap_or_default());
            if found != Some(wanted.as_str()) {
                return Some(format!(
                    "the channel wants {wanted}, and {name} is {found:?}"
                ));
            }
        }
        let namespace = server.object("Namespace", "", "kube-system")?;
        let key = format!("addons.k8s.io/{NAME}");
        let noted = namespace["metadata"]["annotations"][&key].as_str();
        let is_noted = noted.is_some_and(|text| text.contains(&format!("\"{wanted}\"")));
        (!is_noted).then(|| format!("the channel wants {wanted}, and {noted:?} is noted"))
    }
}

/// What `addons apply --all` does.
pub(crate) async fn apply_addons(hub: &Mutex<Hub>, host: &SimHost, node: usize) {
    let channel = lock(hub).plan.channel().parse::<Location>();
    let channels: Vec<Location> = channel.into_iter().collect();
    let inspector = match Box::pin(AddonInspector::open(host, OPERATOR, &channels)).await {
        Ok(inspector) => inspector,
        Err(fault) => return lock(hub).note(node, format_args!("  addons apply: {fault}")),
    };
    let mut has_failed = false;
    for addon in &inspector.selected().addons {
        let said = match Box::pin(inspector.apply(addon)).await {
            Ok(applied) => {
                has_failed |= !applied.failed.is_empty();
                format!("{} changed, {:?}", applied.changed, applied.failed)
            }
            Err(fault) => {
                has_failed = true;
                fault.to_string()
            }
        };
        lock(hub).note(
            node,
            format_args!("  addons apply {}: {said}", addon.version),
        );
    }
    lock(hub).nodes[node].is_applying = has_failed;
}
