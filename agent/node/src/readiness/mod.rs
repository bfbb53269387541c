//! What is awaited of a node that is brought up, and what is said of it while it has not come: pods and the pod network.

mod network;
mod pods;

pub use network::{CniProvider, PodNetwork, bringer};
pub use pods::{answers, static_pod, with_kubelets_word};
