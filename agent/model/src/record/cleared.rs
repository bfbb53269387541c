//! Which warnings are over once the Node object is as it should be.

use crate::fault::Code;

/// Whether a warning is over once the node's object says what the node is.
pub(super) fn is_of_node_object(code: Code) -> bool {
    matches!(
        code,
        Code::ReadyNodeUnregistered
            | Code::ReadyNodeIdentityDenied
            | Code::ReadyNodeIdentityMissing
            | Code::ReadyNodeForeign
    )
}

/// Whether a warning is over once the node's conditions are reported and its startup taint is gone.
pub(super) fn is_of_conditions(code: Code) -> bool {
    let is_kept = code == Code::ReadyStartupTaintKept || code == Code::ReadyNodeForeign;
    is_kept || code.entry().code.starts_with("ready.conditions-")
}
