//! Route 53, as a node that publishes its names asks it.

use super::PortError;
use crate::dns::{AddressRecord, ChangeProgress, RecordChange, ZoneFacts};
use std::collections::BTreeSet;
use std::future::Future;

/// The DNS service.
///
/// All methods fail alike: `Denied`, `Throttled` (an account has five requests a second, for all its nodes), `ClockSkew`,
/// `Unreachable`.
pub trait Dns {
    /// Lists the zones of this name, public and private ones; their VPCs are not told.
    ///
    /// # Errors
    ///
    /// As [`Dns`].
    fn list_zones(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<Vec<ZoneFacts>, PortError>> + Send;

    /// Reads one zone with its VPCs; `None` where there is none of this id.
    ///
    /// # Errors
    ///
    /// As [`Dns`].
    fn read_zone(
        &self,
        zone_id: &str,
    ) -> impl Future<Output = Result<Option<ZoneFacts>, PortError>> + Send;

    /// Reads the address records of these names, those included that are changed but not everywhere yet. A name that has none
    /// is left out; a name may have several, each steered.
    ///
    /// # Errors
    ///
    /// As [`Dns`], and `Missing` when there is no such zone.
    fn read_records(
        &self,
        zone_id: &str,
        names: &BTreeSet<String>,
    ) -> impl Future<Output = Result<Vec<AddressRecord>, PortError>> + Send;

    /// Changes records, all of them or none; the id by which [`Dns::look_change`] knows the batch.
    ///
    /// # Errors
    ///
    /// As [`Dns`]; `Missing` when there is no such zone, `Conflict` when the records are not as the batch takes them to be.
    /// `Throttled` also while an earlier batch keeps the zone busy.
    fn change_records(
        &self,
        zone_id: &str,
        changes: &[RecordChange],
    ) -> impl Future<Output = Result<String, PortError>> + Send;

    /// Looks how far a batch has come.
    ///
    /// # Errors
    ///
    /// As [`Dns`], and `Missing` when there is no such batch.
    fn look_change(
        &self,
        change_id: &str,
    ) -> impl Future<Output = Result<ChangeProgress, PortError>> + Send;
}

/// Calls a macro with the methods of [`Dns`] that only pass a call on, after what it is given: `forward_dns! { forward Cloud => field }`.
#[macro_export]
macro_rules! forward_dns {
    ($forward:ident $($to:tt)*) => {
        $forward! { $($to)*;
            async fn list_zones(name: &str) -> Result<Vec<$crate::dns::ZoneFacts>, $crate::ports::PortError>;
            async fn read_zone(zone: &str) -> Result<Option<$crate::dns::ZoneFacts>, $crate::ports::PortError>;
            async fn read_records(
                zone: &str, names: &std::collections::BTreeSet<String>
            ) -> Result<Vec<$crate::dns::AddressRecord>, $crate::ports::PortError>;
            async fn change_records(
                zone: &str, changes: &[$crate::dns::RecordChange]
            ) -> Result<String, $crate::ports::PortError>;
            async fn look_change(change: &str) -> Result<$crate::dns::ChangeProgress, $crate::ports::PortError>;
        }
    };
}
