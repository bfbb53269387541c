//! kops (1.32 and newer) over the conformance data: real clusters' configurations, and what a real nodeup made of them.

#![expect(clippy::disallowed_methods, reason = "the corpus is read from disk")]
#![expect(clippy::panic, reason = "a boot that cannot be read names itself")]

#[path = "../common/conformance.rs"]
mod conformance;
mod corpus;
mod derived;
mod expected;
mod goldens;
#[path = "../common/instance.rs"]
mod instance;
mod kubelet_tasks;
mod laws;
mod lists;
mod os_release;
mod parsed;
mod pem;
#[path = "../common/policy.rs"]
mod policies;
mod policy;
mod rendered;
mod support;
mod tasks;
mod user_data;
