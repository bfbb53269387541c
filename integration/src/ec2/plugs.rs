//! What an attachment does to a machine: a device comes and goes.

use super::Attached;
use std::sync::Arc;

/// Puts devices into machines; told by EC2, as its hypervisors are.
pub trait Plugs: Send + Sync {
    /// The volume's device appears in its instance. An instance that is not running has none.
    fn plug(&self, attached: &Attached);

    /// The device goes.
    fn unplug(&self, attached: &Attached);
}

/// The machines of a region, where there are any.
#[derive(Default)]
pub(super) struct Machines(Option<Arc<dyn Plugs>>);

impl Machines {
    /// These from now on.
    pub(super) fn become_those_of(&mut self, plugs: Arc<dyn Plugs>) {
        self.0 = Some(plugs);
    }

    /// Who is told.
    pub(super) fn reported(&self) -> Option<Arc<dyn Plugs>> {
        self.0.clone()
    }
}

impl std::fmt::Debug for Machines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Machines").field(&self.0.is_some()).finish()
    }
}
