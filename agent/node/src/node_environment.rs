//! Facts of the node for other programs, as a file that a POSIX shell sources and systemd reads (`EnvironmentFile=`).
//! Its names are stable: docs/reference/node-environment.md. Nothing in it is secret.

use crate::builders::legacy::api_server;
use crate::expected::node_name;
use crate::plan_inputs::PlanInputs;
use quake_model::phase::Phase;
use quake_model::spec::{NodeSpec, Role};
use quake_model::step::{Action, Step, WriteFile};

/// Where the file is. The directory is gone after a reboot, and so is what the file said of the last boot.
pub const PATH: &str = "/run/quake-agent/node.env";

const HEADER: &str = "# Facts of this node, written by quake-agent on each boot: docs/reference/node-environment.md\n";

/// Plans the file: as soon as the configuration is known, for what runs on the node may wait for it. A bastion is no node.
pub fn plan(spec: &NodeSpec, known: &PlanInputs) -> Vec<Step> {
    if spec.role == Role::Bastion {
        return Vec::new();
    }
    let file = WriteFile::plain(PATH, 0o644, text(spec, known));
    vec![Step::new(Phase::Config, Action::WriteFile(file))]
}

fn text(spec: &NodeSpec, known: &PlanInputs) -> String {
    let lines = variables(spec, known);
    let lines = lines
        .iter()
        .map(|(name, value)| format!("{name}={}\n", quoted(value)));
    HEADER.to_owned() + &lines.collect::<String>()
}

/// The variables, each there on every node; empty where the node has none.
fn variables(spec: &NodeSpec, known: &PlanInputs) -> [(&'static str, String); 12] {
    let instance = &known.instance;
    [
        ("QUAKE_INSTANCE_ID", instance.instance_id.clone()),
        ("QUAKE_INSTANCE_TYPE", instance.instance_type.clone()),
        ("QUAKE_REGION", instance.region.clone()),
        ("QUAKE_ZONE", instance.zone.clone()),
        ("QUAKE_PRIVATE_ADDRESS", instance.private_ip.clone()),
        ("QUAKE_CLUSTER", spec.cluster.clone()),
        ("QUAKE_INSTANCE_GROUP", spec.instance_group.clone()),
        ("QUAKE_ROLE", spec.role.name().to_owned()),
        ("QUAKE_NODE_NAME", node_name(spec, instance)),
        ("QUAKE_API_SERVER", api_server(spec)),
        ("QUAKE_KUBERNETES_VERSION", spec.kubernetes.to_string()),
        ("QUAKE_KOPS_GENERATION", spec.generation.name().to_owned()),
    ]
}

/// The value as one word of a shell, which nothing in it is expanded in.
fn quoted(value: &str) -> String {
    // A line is one variable for whoever reads the file line by line.
    let printable: String = value.chars().filter(|c| !c.is_control()).collect();
    format!("'{}'", printable.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_value_is_for_the_shell() {
        for (value, expected) in [
            ("", "''"),
            ("us-west-2a", "'us-west-2a'"),
            ("$(id) `id` \"x\" \\ #", "'$(id) `id` \"x\" \\ #'"),
            ("it's\nQUAKE_ROLE=x", "'it'\\''sQUAKE_ROLE=x'"),
        ] {
            assert_eq!(quoted(value), expected);
        }
    }
}
