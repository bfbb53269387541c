//! What a boot is asked to do, apart from the node's own configuration.

use crate::budget::Budget;
use quake_model::boot::BootId;
use quake_model::location::Location;
use quake_model::repair::RepairConfig;
use quake_node::config::legacy::Document;
use quake_node::node_conditions::StartupTaint;
use std::time::Duration;

/// Whether steps act or are only compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Apply,
    /// Steps are looked at, and what would change is collected.
    DryRun,
}

/// Where the node's configuration is found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configuration {
    /// `kube_env.yaml`; read from the instance's user data when it is not given.
    pub kube_env: Option<Document>,
    /// Where `kube_env.yaml` is, if it is an object of a state store and not given itself.
    pub kube_env_at: Option<Location>,
    /// The cluster spec as it was at launch, if it came along.
    pub inline_cluster: Option<Document>,
    /// The instance group as it was at launch, if it came along.
    pub inline_instance_group: Option<Document>,
    /// Where the cluster's objects are, if not where `kube_env.yaml` says.
    pub config_base: Option<Location>,
}

/// What to do about a keypair that the state store does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialSource {
    /// The boot fails: a node cannot join without it.
    Store,
    /// A stand-in that proves nothing takes its place; for rehearsals only.
    StandIn,
}

/// How long to hold out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// How long a refusal is tried again, because new roles propagate late.
    pub denied_grace: Duration,
    /// An end to every wait of the boot, where the phases' own deadlines are too long.
    pub deadline: Option<Duration>,
}

impl Default for Deadlines {
    /// Half a minute for refusals: IAM says new roles take "several seconds"; a guess with room.
    fn default() -> Self {
        Self {
            denied_grace: Duration::from_secs(30),
            deadline: None,
        }
    }
}

/// What the agent says of the node in its Node object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConditionsRequest {
    /// Whether it reports conditions there while it stays.
    pub reports: bool,
    /// The taint that kubelet registers the node with, and that goes once conditions hold.
    pub startup_taint: Option<StartupTaint>,
}

/// One run of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub boot: BootId,
    pub version: String,
    /// What was started, such as `boot`.
    pub command: String,
    pub acting: Mode,
    pub configuration: Configuration,
    /// What to do about missing keypairs.
    pub credentials: CredentialSource,
    /// Whether the instance must have a role before the state store is read.
    pub needs_role: bool,
    /// Slots, such as `main/a`, in which an operator consents to an empty volume although data is expected.
    pub empty_slots: Vec<String>,
    /// Whether the agent applies the add-ons of a cluster whose kops has a pod for it.
    pub takes_over_addons: bool,
    /// Whether the agent may have this instance replaced when the ready node stays unhealthy; never without it.
    pub repair: Option<RepairConfig>,
    /// What the agent says of the node in its Node object.
    pub conditions: ConditionsRequest,
    /// Whether the process ends when the node is ready: then nobody calls [`crate::keep_looking`].
    pub exit_when_ready: bool,
    /// How long to hold out.
    pub patience: Deadlines,
    /// How many cloud calls the boot may make.
    pub budget: Budget,
}
