//! Decides whether a node that stays unhealthy is replaced, and most of all when it is not.
//!
//! `health` folds looks into symptoms that last, `decision` weighs them against what is seen of the group. Both are pure:
//! instants are arguments.
//!
//! # How nodes that decide at the same moment keep the share
//!
//! No node can lock out another, so each must come to the same order by itself. A node that would ask writes so into its
//! note in the state store, [`ANNOUNCED_FOR`] before it acts. S3 shows a written object to every reader that begins
//! afterwards, so whoever acts has been seen to ask by everyone who acts within that time. All asking nodes are ordered
//! by [`Peer::rank`]; the node counts those before it and the instances that are away as one set, and acts only while that
//! set is smaller than the share. Of the nodes that acted, the last in the order counted all others, whether the group
//! already showed them as unhealthy or not. So they are within the share, with any clocks and with a group's view that is
//! old by less than [`ANNOUNCED_FOR`].

mod decision;
mod health;
mod note;
mod symptoms;

pub use decision::{
    ANNOUNCED_FOR, Etcd, JUST_READY, Member, Peer, Population, RECURS_WITHIN, Situation, decide,
};
pub use health::{Health, UNHEALTHY_AFTER};
pub use note::{FRESH, HEARTBEAT, note_due, note_name, peer_of, read_note};
pub use symptoms::{
    EtcdSubject, Subject, cas_have_expired, has_expired, host_symptoms, subject, symptom_of,
    symptom_of_step,
};
