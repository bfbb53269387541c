//! Effects of quake-agent: EC2, IMDS, S3, disks, files, systemd, netlink. Each method is one
//! attempt with a typed error; nothing here retries, sleeps, plans or reports.

pub mod api_server;
pub mod aws;
pub mod bootstrap;
pub mod bundle;
pub mod clock;
pub mod collect;
pub mod etcd;
pub mod hygiene;
pub mod images;
pub mod imds;
pub mod kubernetes;
pub mod linux;
pub mod objects;
pub mod probes;
pub mod provision;
pub mod sinks;
pub mod survey;
pub mod systemd;

pub use quake_keys as keys;
