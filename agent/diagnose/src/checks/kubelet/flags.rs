//! What kubelet is started with.

use crate::checks::command_flags::Flags;
use crate::checks::node::Node;
use crate::checks::stage;
use quake_model::facts::Unseen;

/// Where the agent writes kubelet's flags.
pub(in crate::checks) const ENVIRONMENT: &str = "/etc/sysconfig/kubelet";

/// kubelet's flags: those on the machine, or without that file those that are expected.
///
/// # Errors
///
/// `NotTaken` when neither is known; as the file when it cannot be read.
pub(in crate::checks) fn flags(node: &Node<'_>) -> Result<Flags, Unseen> {
    if let Some(text) = node.text(ENVIRONMENT)? {
        return Ok(Flags::of_variable(text, "DAEMON_ARGS"));
    }
    Ok(Flags::of_pairs(&stage::kubernetes(node)?.kubelet_flags))
}
