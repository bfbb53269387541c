//! The instance's metadata and the EC2 API.

use super::PortError;
use crate::facts::{EniCapacity, InstanceFacts, InstanceView, VolumeFacts};
use std::collections::BTreeMap;
use std::future::Future;

/// What the instance metadata service knows (IMDSv2).
pub trait Metadata {
    /// Reads who this instance is: one token, few reads.
    ///
    /// # Errors
    ///
    /// `Unreachable` when neither endpoint answers, `Denied` when the service is turned off,
    /// `Malformed` when the answer is not metadata.
    fn read_instance(&self) -> impl Future<Output = Result<InstanceFacts, PortError>> + Send;

    /// Reads the user data, decompressed if it was gzip; `None` when there is none.
    ///
    /// # Errors
    ///
    /// As [`Metadata::read_instance`].
    fn read_user_data(&self) -> impl Future<Output = Result<Option<Vec<u8>>, PortError>> + Send;

    /// Looks whether the instance has a role; its name.
    ///
    /// # Errors
    ///
    /// `Missing` while no profile is attached or it has not propagated; else as
    /// [`Metadata::read_instance`].
    fn read_role(&self) -> impl Future<Output = Result<String, PortError>> + Send;

    /// A value of the metadata service below `meta-data/`, such as `public-ipv4`; `None` where it has none.
    ///
    /// # Errors
    ///
    /// As [`read_instance`](Self::read_instance).
    fn read_metadata(
        &self,
        key: &str,
    ) -> impl Future<Output = Result<Option<String>, PortError>> + Send;
}

/// Which instances to describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceQuery {
    Ids(Vec<String>),
    /// Instances that carry this tag with this value.
    Tagged {
        key: String,
        value: String,
    },
}

/// Which volumes to describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeQuery {
    /// Volumes that carry this tag with this value.
    Tagged {
        key: String,
        value: String,
    },
    Ids(Vec<String>),
    /// Volumes attached to this instance.
    AttachedTo(String),
}

/// The EC2 API. There is no detach, no delete and no create: the agent cannot do them.
pub trait Cloud {
    /// Describes instances, all pages, in no particular order; those EC2 does not show are left out.
    ///
    /// # Errors
    ///
    /// `Denied`, `Throttled`, `ClockSkew` or `Unreachable`.
    fn describe_instances(
        &self,
        query: &InstanceQuery,
    ) -> impl Future<Output = Result<Vec<InstanceView>, PortError>> + Send;

    /// Describes volumes, all pages, in no particular order.
    ///
    /// # Errors
    ///
    /// As [`Cloud::describe_instances`].
    fn describe_volumes(
        &self,
        query: &VolumeQuery,
    ) -> impl Future<Output = Result<Vec<VolumeFacts>, PortError>> + Send;

    /// Asks EC2 to attach a volume. Success means that it will, not that the kernel shows it.
    ///
    /// # Errors
    ///
    /// `Conflict` when someone holds it (perhaps we ourselves), `Occupied` when the device name is taken,
    /// `NotReady` when volume or instance are not in a state for it yet, `Missing` when EC2 does not know
    /// the volume, `Limit` when the instance holds as many as it can, `Impossible` when it can never be (another zone);
    /// else as [`Cloud::describe_instances`].
    fn attach_volume(
        &self,
        volume_id: &str,
        instance_id: &str,
        device_name: &str,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Makes EC2 keep a volume when the instance it is attached to under `device_name` is terminated.
    ///
    /// # Errors
    ///
    /// As [`Cloud::describe_instances`].
    fn keep_on_termination(
        &self,
        instance_id: &str,
        device_name: &str,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Writes tags of a volume; others stay.
    ///
    /// # Errors
    ///
    /// `Missing` when EC2 does not know the volume; else as [`Cloud::describe_instances`].
    fn tag_volume(
        &self,
        volume_id: &str,
        tags: &BTreeMap<String, String>,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Removes tags of a volume by their keys; those it does not have are not missed.
    ///
    /// # Errors
    ///
    /// As [`Cloud::tag_volume`].
    fn untag_volume(
        &self,
        volume_id: &str,
        keys: &[String],
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Asks EC2 for an IPv6 prefix of the subnet on a network interface. Success means that it is assigned, not that the
    /// metadata shows it; whoever asks twice gets two.
    ///
    /// # Errors
    ///
    /// `Missing` when EC2 does not know the interface, `Limit` when it or the subnet has no more to give; else as
    /// [`Cloud::describe_instances`].
    fn assign_prefix(
        &self,
        interface_id: &str,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// How many addresses instances of a type have for pods.
    ///
    /// # Errors
    ///
    /// `Missing` when EC2 does not know the type; else as [`Cloud::describe_instances`].
    fn describe_type(
        &self,
        instance_type: &str,
    ) -> impl Future<Output = Result<EniCapacity, PortError>> + Send;
}

/// Counts requests that left this machine for a cloud service.
pub trait Meter {
    /// Requests so far, by `service:Operation`, such as `ec2:DescribeVolumes`.
    fn calls(&self) -> BTreeMap<String, u64>;

    /// How many of them were refused because of their rate, by the IAM action, such as `ec2:DescribeVolumes`. The simulated host
    /// names the port's method in its place.
    fn throttled(&self) -> BTreeMap<String, u64>;
}

/// Calls a macro with the methods of [`Cloud`] that only pass a call on, after what it is given: `forward_cloud! { forward Cloud => field }`.
#[macro_export]
macro_rules! forward_cloud {
    ($forward:ident $($to:tt)*) => {
        $forward! { $($to)*;
            async fn describe_instances(
                query: &$crate::ports::InstanceQuery
            ) -> Result<Vec<$crate::facts::InstanceView>, $crate::ports::PortError>;
            async fn attach_volume(
                volume: &str, instance: &str, device: &str
            ) -> Result<(), $crate::ports::PortError>;
            async fn keep_on_termination(instance: &str, device: &str) -> Result<(), $crate::ports::PortError>;
            async fn tag_volume(
                volume: &str, tags: &std::collections::BTreeMap<String, String>
            ) -> Result<(), $crate::ports::PortError>;
            async fn untag_volume(volume: &str, keys: &[String]) -> Result<(), $crate::ports::PortError>;
            async fn assign_prefix(interface: &str) -> Result<(), $crate::ports::PortError>;
            async fn describe_type(name: &str) -> Result<$crate::facts::EniCapacity, $crate::ports::PortError>;
        }
    };
}
