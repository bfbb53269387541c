//! The console of instances, as EC2 keeps it. An operator reads it; a node never does.

use super::PortError;
use std::future::Future;

/// Which output of a console is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleAge {
    /// What is on the console now. Only instances on Nitro have it.
    Latest,
    /// What EC2 kept of the last start, stop or reboot, minutes after it.
    Kept,
}

/// The console output of instances.
pub trait Consoles {
    /// Reads the last 64 KiB of an instance's console, in base64; empty while there is none.
    ///
    /// # Errors
    ///
    /// `Impossible` where the instance has no latest output, `Missing` when EC2 does not know the instance;
    /// else `Denied`, `Throttled`, `ClockSkew` or `Unreachable`.
    fn read_console(
        &self,
        instance_id: &str,
        age: ConsoleAge,
    ) -> impl Future<Output = Result<String, PortError>> + Send;
}
