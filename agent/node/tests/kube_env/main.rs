//! kops legacy (1.8 to 1.15): from documents to a node's spec.

#![expect(clippy::disallowed_methods, reason = "the corpus is read from disk")]

mod additions;
mod check;
#[path = "../common/conformance.rs"]
mod conformance;
mod corpus;
mod drift;
mod identity;
#[path = "../common/instance.rs"]
mod instance;
mod kubelet;
mod lowering;
mod names;
mod support;
