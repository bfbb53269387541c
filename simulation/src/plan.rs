//! A world and what befalls it, as plain data: it can be printed, and made smaller one piece at a time.

use quake_model::ports::Condition;
use quake_testkit::{Timing, When};

/// When an instance is launched that is not.
pub(crate) const NEVER: u64 = 1 << 40;

/// Which kops made the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KopsGeneration {
    /// 1.8 to 1.15.
    Legacy,
    /// 1.32 and newer.
    Current,
}

/// A world.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What it was drawn from; delays are drawn from it while it runs.
    pub seed: u64,
    pub generation: KopsGeneration,
    /// The instance groups.
    pub groups: Vec<Group>,
    /// The instances, with those that replace others.
    pub instances: Vec<Instance>,
    /// Volumes beside those that kops made for the members.
    pub extras: Vec<Extra>,
    /// Whether the state store has a backup of `main` although its volumes are blank.
    pub has_backup: bool,
    /// The etcd cluster and the member whose own volume has data that nobody knows.
    pub unsigned: Option<(&'static str, String)>,
    /// Whether the agent applies the add-ons of a cluster of the current kops.
    pub takes_over_addons: bool,
    /// Whether the agents report conditions in the Node objects, and remove a startup taint.
    pub reports_conditions: bool,
    /// Whether control planes publish their names in a zone: those of kops legacy do, where the cluster names one.
    pub publishes_names: bool,
    /// Whether the channel of add-ons has one with versions, and an operator who applies it.
    pub versions_addons: bool,
    /// The share of a group that may have itself replaced, in percent, where nodes may.
    pub repair_share: Option<u8>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// From when on nothing goes wrong any more, in milliseconds.
    pub freeze_ms: u64,
    /// How long the world goes on once every node is settled.
    pub looks_on_ms: u64,
}

/// An instance group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    /// The members of etcd that it runs; none for a group of workers.
    pub members: Vec<String>,
}

impl Group {
    /// Whether its nodes run members of etcd.
    pub(crate) fn is_control_plane(&self) -> bool {
        !self.members.is_empty()
    }
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The index of its group.
    pub group: usize,
    /// When it comes up.
    pub launch_ms: u64,
    /// How late its world is.
    pub timing: Timing,
    /// The instance in whose place it comes.
    pub replaces: Option<usize>,
    /// Whether its group launches it in the place of one that was marked unhealthy.
    pub is_spare: bool,
}

/// What a volume beside the members' own is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraKind {
    /// A second one for a member, blank.
    Duplicate,
    /// The same, with somebody's data.
    DuplicateWithData,
    /// One for a member in another zone.
    OtherZone,
    /// A member's volume of another cluster.
    OtherCluster,
    /// A volume of a pod.
    Pod,
}

/// A volume beside the members' own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extra {
    pub kind: ExtraKind,
    /// The etcd cluster and the member that it is for.
    pub etcd: &'static str,
    pub member: String,
    /// When it appears.
    pub at_ms: u64,
}

/// What an operator does in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Ignores every second volume of a member.
    Ignore,
    /// Pins the volume that kops made for each member.
    Pin,
}

/// What somebody does to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordEdit {
    /// A member's name leads elsewhere.
    Elsewhere,
    /// A member's name is gone.
    Removed,
    /// The shared name leads elsewhere alone.
    SharedElsewhere,
    /// The shared name leads elsewhere, too.
    SharedStale,
}

/// What is wrong with a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sickness {
    /// Its disk is mounted read-only.
    Disk,
    /// Its clock is off, by what its host measures.
    Clock,
    /// kubelet does not answer.
    Kubelet,
    /// Its member of etcd does not answer.
    Etcd,
}

/// Who answers a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    Metadata,
    Ec2,
    Objects,
    Mirrors,
    Controller,
    Cluster,
    Names,
    /// The machine's own disk.
    Disk,
    /// Whatever else is on the machine.
    Machine,
}

/// One thing that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The agent is killed at its `nth` port call, counted over its whole life; with `power` the machine, too.
    Crash {
        node: usize,
        nth: u64,
        when: When,
        power: bool,
    },
    /// The machine is restarted at this time.
    Reboot { node: usize, at_ms: u64 },
    /// A call fails without an effect, or after it.
    Strike {
        node: usize,
        operation: &'static str,
        nth: u64,
        times: u64,
        condition: Condition,
        when: When,
    },
    /// The reply to an `AttachVolume` is lost, and it has its effect only later.
    LateAttach {
        node: usize,
        nth: u64,
        later_ms: u64,
    },
    /// A service refuses for a while.
    Outage {
        node: Option<usize>,
        service: Service,
        from_ms: u64,
        to_ms: u64,
        condition: Condition,
    },
    /// Listings of volumes and instances show each object as it was up to `lag_ms` ago.
    Stale {
        node: usize,
        from_ms: u64,
        to_ms: u64,
        lag_ms: u64,
    },
    /// A service takes its time.
    Slow {
        node: usize,
        service: Service,
        from_ms: u64,
        to_ms: u64,
        takes_ms: u64,
    },
    /// An instance is terminated; its volumes come off later.
    Terminate {
        node: usize,
        at_ms: u64,
        detach_ms: u64,
    },
    /// The clock is set.
    Clock {
        node: usize,
        at_ms: u64,
        by_ms: u64,
        back: bool,
    },
    /// Somebody makes a plan on the node while the agent runs.
    PlanBeside { node: usize, at_ms: u64 },
    /// Somebody removes a file that the agent wrote.
    RemoveFile { node: usize, at_ms: u64, nth: u64 },
    /// An operator does something.
    Operator { at_ms: u64, act: Act },
    /// An operator applies all add-ons from this node.
    ApplyAddons { node: usize, at_ms: u64 },
    /// The channel wants this version of the add-on from now on.
    Channel { at_ms: u64, version: u64 },
    /// Somebody changes a record of the cluster.
    Record {
        at_ms: u64,
        member: usize,
        edit: RecordEdit,
    },
    /// Something is wrong with a node for a while.
    Sick {
        node: usize,
        from_ms: u64,
        to_ms: u64,
        sickness: Sickness,
    },
}

impl Fault {
    /// The node it befalls; `None` where it befalls all, or the region.
    pub fn node(&self) -> Option<usize> {
        match self {
            Self::Crash { node, .. }
            | Self::Reboot { node, .. }
            | Self::Strike { node, .. }
            | Self::LateAttach { node, .. }
            | Self::Stale { node, .. }
            | Self::Slow { node, .. }
            | Self::Terminate { node, .. }
            | Self::Clock { node, .. }
            | Self::PlanBeside { node, .. }
            | Self::RemoveFile { node, .. }
            | Self::ApplyAddons { node, .. }
            | Self::Sick { node, .. } => Some(*node),
            Self::Outage { node, .. } => *node,
            Self::Operator { .. } | Self::Channel { .. } | Self::Record { .. } => None,
        }
    }
}

impl Service {
    /// Who answers a port method.
    pub fn of(operation: &str) -> Self {
        match operation {
            "read_instance" | "read_user_data" | "read_role" | "read_metadata" => Self::Metadata,
            "describe_instances"
            | "describe_volumes"
            | "attach_volume"
            | "keep_on_termination"
            | "tag_volume"
            | "untag_volume"
            | "assign_prefix"
            | "describe_type"
            | "find_group"
            | "describe_groups"
            | "set_unhealthy"
            | "complete_hook"
            | "has_hook" => Self::Ec2,
            "read_object" | "read_object_unless" | "list_objects" | "write_object" => Self::Objects,
            "fetch_asset" | "fetch_keyring" | "pull_image" => Self::Mirrors,
            "ask_bootstrap" => Self::Controller,
            "ask_version"
            | "list_groups"
            | "list_kinds"
            | "get_object"
            | "list_cluster_objects"
            | "change_object"
            | "delete_object"
            | "watch_object"
            | "post_node_event"
            | "look_node" => Self::Cluster,
            "list_zones" | "read_zone" | "read_records" | "change_records" | "look_change" => {
                Self::Names
            }
            "write_file" | "place" | "make_directory" | "make_link" | "import_images"
            | "make_user" | "set_permissions" => Self::Disk,
            _ => Self::Machine,
        }
    }
}

impl Plan {
    /// Whether an instance is terminated at some time.
    pub(crate) fn is_terminated(&self, node: usize) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|fault| matches!(fault, Fault::Terminate { node: ended, .. } if *ended == node))
    }

    /// Whether a node is one of a control plane.
    pub(crate) fn is_control_plane(&self, node: usize) -> bool {
        self.groups[self.instances[node].group].is_control_plane()
    }

    /// The tag that kops puts on control planes.
    pub(crate) fn role_tag(&self, node: usize) -> Option<&'static str> {
        self.is_control_plane(node)
            .then_some(match self.generation {
                KopsGeneration::Legacy => "k8s.io/role/master",
                KopsGeneration::Current => "k8s.io/role/control-plane",
            })
    }

    /// The groups that run members of etcd, by their index.
    pub fn control_planes(&self) -> impl Iterator<Item = (usize, &Group)> {
        let groups = self.groups.iter().enumerate();
        groups.filter(|(_, group)| group.is_control_plane())
    }

    /// All members of etcd, in their order.
    pub fn members(&self) -> Vec<&str> {
        let groups = self.groups.iter();
        let mut members: Vec<&str> = groups
            .flat_map(|group| group.members.iter().map(String::as_str))
            .collect();
        members.sort_unstable();
        members
    }

    /// The volumes that kops makes: the etcd cluster, the member, the id.
    pub fn slots(&self) -> Vec<(&'static str, String, String)> {
        let mut slots = Vec::new();
        for member in self.members() {
            for etcd in ["main", "events"] {
                slots.push((etcd, member.to_owned(), format!("vol-{etcd}-{member}")));
            }
        }
        slots
    }

    /// The id of a volume beside the members' own.
    pub fn extra_id(&self, index: usize) -> String {
        format!("vol-0x{index}")
    }

    /// The instance's id.
    pub fn instance_id(node: usize) -> String {
        format!("i-00000000000000{node:03}")
    }
}
