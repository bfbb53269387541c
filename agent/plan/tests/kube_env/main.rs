//! The kube_env dialect from documents to a node's spec.

mod additions;
mod check;
mod corpus;
mod drift;
mod identity;
mod kubelet;
mod lowering;
mod support;
