//! kops legacy (1.8 to 1.15): from documents to a node's spec.

#![expect(clippy::disallowed_methods, reason = "the corpus is read from disk")]

mod additions;
mod check;
mod corpus;
mod drift;
mod identity;
mod kubelet;
mod lowering;
mod names;
mod support;
