//! Which warnings are over once the Node object is as it should be.

use crate::fault::Code;

/// Whether a warning is over once the node's object says what the node is.
pub fn is_of_node_object(code: Code) -> bool {
    matches!(
        code,
        Code::ReadyNodeUnregistered
            | Code::ReadyNodeIdentityDenied
            | Code::ReadyNodeIdentityMissing
            | Code::ReadyNodeForeign
    )
}

/// Whether a warning is over once the node's conditions are reported and its startup taint is gone.
pub fn is_of_conditions(code: Code) -> bool {
    matches!(
        code,
        Code::ReadyNodeForeign
            | Code::ReadyConditionsDenied
            | Code::ReadyConditionsUnreported
            | Code::ReadyStartupTaintKept
    )
}
