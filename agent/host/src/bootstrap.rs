//! kops-controller, as a node asks it.
//!
//! Not here yet: the token that proves which instance asks, and the client that trusts one authority alone. Until then a
//! worker on a real node is refused by name; a rehearsal has a kops-controller of its own.

use quake_model::ports::{Bootstrap, BootstrapServer, Condition, PortError};

/// The real kops-controller.
#[derive(Debug, Clone, Copy, Default)]
pub struct KopsController;

impl Bootstrap for KopsController {
    async fn ask_bootstrap(&self, _: &BootstrapServer, _: &[u8]) -> Result<Vec<u8>, PortError> {
        let summary = "this agent cannot ask kops-controller yet: workers are not brought up";
        Err(PortError::new(Condition::Impossible, summary))
    }
}
