//! The Node objects of a world whose agents report conditions: kubelet registers them with a startup taint, and agents may say there
//! only what is so.

use crate::hub::{Hub, Status};
use crate::plan::{KopsGeneration, Plan};
use quake_apisim::Request;
use quake_engine::ConditionsRequest;
use quake_node::node_conditions::{ConditionKind, StartupTaint, UNTIL};
use quake_testkit::{Called, Machine};
use serde_json::{Value, json};
use std::time::Duration;

/// The taint that control planes are registered with.
pub(crate) const TAINT: &str = "quake.io/starting";

/// Within this time of quiet a condition that changed is reported: a try that fails doubles the pause to the next up to two minutes.
pub(crate) const REPORTED_WITHIN: Duration = Duration::from_secs(10 * 60);

/// What the agents of a world say of their nodes.
pub(crate) fn requested(plan: &Plan, node: usize) -> ConditionsRequest {
    let taint = || StartupTaint {
        taint: StartupTaint::read_taint(TAINT).expect("it is one"),
        until: UNTIL.to_vec(),
        remover: quake_node::node_conditions::RemoverChoice::Agent,
    };
    ConditionsRequest {
        reports: plan.reports_conditions,
        startup_taint: is_tainted(plan, node).then(taint),
    }
}

/// Whether kubelet registers a node with the taint: a worker's own certificate may not remove it.
fn is_tainted(plan: &Plan, node: usize) -> bool {
    plan.reports_conditions && plan.is_control_plane(node)
}

/// The name that kubelet registers a node by.
fn name(plan: &Plan, node: usize) -> String {
    match plan.generation {
        KopsGeneration::Legacy => format!("ip-10-0-0-{}.us-test-1.compute.internal", node + 10),
        KopsGeneration::Current => Plan::instance_id(node),
    }
}

impl Hub {
    /// Registers a node whose kubelet starts, and looks at what its agent changes of it.
    pub(crate) fn see_node(&mut self, node: usize, called: &Called<'_>, machine: &mut Machine<'_>) {
        if !self.plan.reports_conditions || called.ended.is_err() {
            return;
        }
        match called.operation {
            "start_unit" | "restart_unit" if called.subject == "kubelet.service" => {
                self.register(node, machine);
            }
            "change_object" if called.subject.contains("/api/v1/nodes/") => {
                self.see_taint(node, machine);
            }
            _ => {}
        }
    }

    fn register(&mut self, node: usize, machine: &mut Machine<'_>) {
        let taints = match is_tainted(&self.plan, node) {
            true => json!([{"key": TAINT, "effect": "NoSchedule"}]),
            false => json!([]),
        };
        let object = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name(&self.plan, node)},
            "spec": {"taints": taints},
        });
        let request = Request::new("POST", "/api/v1/nodes").with_body("application/json", &object);
        let now = self.world_time();
        // One that is registered already stays as it is.
        if let Some(server) = machine.cluster() {
            server.answer(&request, now);
        }
        self.nodes[node].is_tainted |= self.has_taint(node, machine);
    }

    fn has_taint(&self, node: usize, machine: &mut Machine<'_>) -> bool {
        let object = self.object(node, machine).unwrap_or_default();
        let taints = object["spec"]["taints"].as_array();
        taints.is_some_and(|taints| taints.iter().any(|taint| taint["key"] == TAINT))
    }

    fn object(&self, node: usize, machine: &mut Machine<'_>) -> Option<Value> {
        let name = name(&self.plan, node);
        machine.cluster()?.object("Node", "", &name).cloned()
    }

    /// The taint goes once the node is ready, and says so.
    fn see_taint(&mut self, node: usize, machine: &mut Machine<'_>) {
        let was_tainted = self.nodes[node].is_tainted;
        self.nodes[node].is_tainted = self.has_taint(node, machine);
        if !was_tainted || self.nodes[node].is_tainted {
            return;
        }
        let unmet = UNTIL
            .into_iter()
            .find(|kind| !self.holds(*kind, node, machine));
        let status = self.nodes[node].status;
        if status != Status::Ready || unmet.is_some() {
            let seen = format!("{status:?}, without {unmet:?}");
            let now = self.now_ms();
            self.judge.broke(now, node, "taint-until-ready", seen);
        }
    }

    /// Whether the object of a node says that a condition holds.
    fn holds(&self, kind: ConditionKind, node: usize, machine: &mut Machine<'_>) -> bool {
        let object = self.object(node, machine).unwrap_or_default();
        let conditions = object["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let said = conditions.find(|it| it["type"] == kind.to_string());
        said.is_some_and(|said| said["status"] == "True")
    }

    /// At the end of the world the objects say what is so.
    pub(crate) fn conditions_hold(&mut self, node: usize, machine: &mut Machine<'_>) {
        if self.object(node, machine).is_none() || self.nodes[node].has_lost_file {
            return;
        }
        let untold = UNTIL
            .into_iter()
            .find(|kind| !self.holds(*kind, node, machine));
        let seen = match (self.nodes[node].status, untold) {
            (Status::Ready, Some(kind)) => format!("a ready node lacks {kind}"),
            (Status::Ready, None) if self.has_taint(node, machine) => {
                "a ready node has its startup taint".to_owned()
            }
            (Status::Failed(code, _) | Status::Refused(code, _), _)
                if self.holds(ConditionKind::BootComplete, node, machine) =>
            {
                format!("BootComplete, and its boot ended by {code}")
            }
            _ => return,
        };
        let now = self.now_ms();
        self.judge.broke(now, node, "conditions-hold", seen);
    }
}
