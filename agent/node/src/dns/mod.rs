//! The names that a control plane of kops 1.8 to 1.15 publishes, as protokube did: which, where, and by which changes.

mod hosts_block;
mod records;
mod upkeep;
mod wanted;
mod zone;

pub(crate) use hosts_block::around;
pub use hosts_block::{hosts_text, is_own_block};
pub use records::{Decision, TTL_SECONDS, decide, peers_matter};
pub use upkeep::{Due, Upkeep, upkeep};
pub use wanted::{host_records, publication, steps};
pub use zone::{choose_zone, holds_names};

/// What the tests publish: this name as the node's own.
#[cfg(test)]
fn sample(own: &str, address: &str) -> quake_model::dns::Publication {
    quake_model::dns::Publication {
        zone: "Z1".parse().expect("it cannot fail"),
        kind: None,
        cluster: "c.example.com".to_owned(),
        address: address.to_owned(),
        own: [own.to_owned()].into(),
        shared: None,
    }
}
