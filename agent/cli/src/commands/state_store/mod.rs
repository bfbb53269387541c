//! State stores as operators name them: which clusters they hold, of which generation of kops, and what they have of an
//! instance group. Every command that takes a state store finds it here.

mod ca;
mod cluster;
mod group;
mod past;
mod read;
mod search;
mod sources;

pub(crate) use ca::read_ca;
pub(crate) use cluster::{
    Generation, Refused, StoredCluster, Wanted, look, open, open_at, open_if_any,
};
pub(crate) use group::{FoundGroup, say_assumptions};
pub(crate) use read::{list_optional, read_optional};
pub(crate) use sources::{
    Found, StateStoreQuery, documents_in, find, folder_named, older_kube_env,
};
