//! The names that a control plane of kops 1.8 to 1.15 publishes, as protokube did: which, where, and by which changes.

mod hosts_block;
mod records;
mod upkeep;
mod wanted;
mod zone;

pub use hosts_block::{hosts_text, is_own_block};
pub use records::{Decision, TTL_SECONDS, decide, peers_matter};
pub use upkeep::{Due, Upkeep, upkeep};
pub use wanted::{host_records, publication, steps};
pub use zone::{ZoneError, choose_zone, holds_names};
