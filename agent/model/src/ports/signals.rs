//! What is told to whoever replaces or watches the node.

use super::PortError;
use crate::repair::GroupView;
use crate::signal::{ApiAccess, HookCompletion, NodeEvent};
use std::future::Future;

/// The Auto Scaling group of an instance, and the API server of its cluster.
pub trait Signals {
    /// Looks which Auto Scaling group an instance is in; `None` when in none.
    ///
    /// # Errors
    ///
    /// `Denied`, `Throttled`, `ClockSkew` or `Unreachable`.
    fn find_group(
        &self,
        instance_id: &str,
    ) -> impl Future<Output = Result<Option<String>, PortError>> + Send;

    /// Tells the Auto Scaling group of an instance that it is unhealthy, whatever grace a new instance has. The group
    /// terminates and replaces it.
    ///
    /// # Errors
    ///
    /// `Missing` when the instance is in no group; else as [`Signals::find_group`].
    fn set_unhealthy(
        &self,
        instance_id: &str,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Completes the action of a lifecycle hook at which an instance waits.
    ///
    /// # Errors
    ///
    /// `Missing` when it does not wait there, or the group or the hook is not there; else as [`Signals::find_group`].
    fn complete_hook(
        &self,
        completion: &HookCompletion,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Looks whether an Auto Scaling group has a lifecycle hook of this name.
    ///
    /// # Errors
    ///
    /// As [`Signals::find_group`]; a group that is not there has no hook.
    fn has_hook(
        &self,
        group: &str,
        hook: &str,
    ) -> impl Future<Output = Result<bool, PortError>> + Send;

    /// Describes these Auto Scaling groups with their instances: one request. A group that is not there is left out.
    ///
    /// # Errors
    ///
    /// As [`Signals::find_group`].
    fn describe_groups(
        &self,
        names: &[String],
    ) -> impl Future<Output = Result<Vec<GroupView>, PortError>> + Send;

    /// Leaves an event at the API server. One of the same name that is there already is no error.
    ///
    /// # Errors
    ///
    /// `Denied` when the certificate is not accepted or may not; `Unreachable` when the server does not answer or fails
    /// itself, `Throttled`, `Malformed` when the certificate cannot be read or the server refuses the object.
    fn post_node_event(
        &self,
        access: &ApiAccess,
        event: &NodeEvent,
    ) -> impl Future<Output = Result<(), PortError>> + Send;
}

/// Calls a macro with the methods of [`Signals`] that only pass a call on, after what it is given: `forward_signals! { forward Cloud => field }`.
#[macro_export]
macro_rules! forward_signals {
    ($forward:ident $($to:tt)*) => {
        $forward! { $($to)*;
            async fn find_group(instance: &str) -> Result<Option<String>, $crate::ports::PortError>;
            async fn set_unhealthy(instance: &str) -> Result<(), $crate::ports::PortError>;
            async fn complete_hook(completion: &$crate::signal::HookCompletion) -> Result<(), $crate::ports::PortError>;
            async fn describe_groups(names: &[String]) -> Result<Vec<$crate::repair::GroupView>, $crate::ports::PortError>;
            async fn has_hook(group: &str, hook: &str) -> Result<bool, $crate::ports::PortError>;
        }
    };
}
