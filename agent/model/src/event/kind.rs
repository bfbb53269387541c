//! What a sink needs to know of an event, whatever it says.

/// What a sink needs to know of a kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventKind {
    /// The name in JSON and in the journal.
    pub name: &'static str,
    /// The journal's `MESSAGE_ID`: `journalctl MESSAGE_ID=…` finds every entry of the kind. It
    /// never changes.
    pub message_id: &'static str,
    pub priority: Priority,
    pub scope: Scope,
}

/// syslog's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Error = 3,
    Warning = 4,
    Notice = 5,
    Info = 6,
    Debug = 7,
}

/// Where in a boot's stream an event may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Before the boot's end.
    Boot,
    /// It ends the boot.
    End,
    /// Of a ready node: it may follow the boot's end.
    Node,
    /// Of objects in the cluster: while the node boots, and after it became ready.
    Cluster,
    /// Of a notification: after the boot's end, whatever it was.
    Notification,
}
