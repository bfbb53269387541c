//! Which volumes back this node's etcd members, what may be done with each, and what is remembered about it.

mod change;
mod classify;
mod cluster_generation;
mod decision;
mod device_names;
mod expectation;
mod gate;
mod held_back;
mod journal;
mod marker;
mod recorded;
mod report;
pub mod restore;
mod rule;
mod scenario;
mod select;
mod slot;
mod steps;
mod story;
mod tags;
mod view;
mod world;

pub use change::{Change, ChangeError, TagEdit, apply, edits};
pub use classify::{Verdict, VolumeClass, is_adopted};
pub use cluster_generation::{cluster_generation, key_digests};
pub use decision::{Decision, Detail, SlotDecision};
pub use device_names::device_names;
pub use expectation::{
    Expectation, consent, consents, expects_data, newest_backup, newest_backup_at,
};
pub use gate::{
    ContentsContext, DeviceSignature, FilesystemContents, GateDecision, GateFacts, GateRule,
    decide_gate, inside, surface,
};
pub use held_back::{MOUNTS, mounted_volume, volume_at, withheld_manifests};
pub use journal::{Attempt, Formatting, JOURNAL, Journal};
pub use marker::{Marker, VolumeIdentity, Writer, identity};
pub use recorded::{Recorded, RecordedError, read_recorded};
pub use report::{decision_fault, describe, instance_state, line, volume_state, warnings};
pub use rule::{Action, Rule};
pub use scenario::{Scenario, ScenarioOutcome, decision_json, read_scenarios};
pub use select::select_volumes;
pub use steps::{MountedSlot, has_slots, mounted_slots, steps, volume_steps};
pub use story::{STAGES, Stage, fired, near_misses, verdict_of, why};
pub use tags::{
    ADOPT, AUTOSCALING_GROUP, BLANK_OK, FORMATTED, IGNORE, PIN, Slot, SlotError, UID, group_of,
    instant, is_of_etcd,
};
pub use tags::{CONTROL_PLANE_TAGS, member_tag};
pub use view::{Facts, ViewRequest, Viewpoint, clusters_of, judge_of};
pub use world::{ClusterGeneration, LocalFacts, Member, Peer, World};
