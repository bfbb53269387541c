//! What the tests that drive the built binary need: the binary as a child that cannot outlive its test,
//! servers that fail on purpose, snapshots of trees, and namespaces. Nothing of the agent is linked in:
//! what is tested is the file that ships.

pub mod agent;
pub mod api_server;
pub mod broken_nodes;
pub mod ca;
pub mod comparer;
pub mod container;
pub mod controller;
pub mod documents;
pub mod ec2;
pub mod etcd_manager;
pub mod health;
pub mod http;
pub mod imds;
mod key_case;
pub mod kops_copy;
pub mod kops_worker;
pub mod machine;
pub mod metrics;
pub mod mirror;
pub mod moto;
pub mod namespace;
pub mod node;
pub mod node_api;
pub mod node_conditions;
pub mod oci;
pub mod planted;
pub mod proxy;
pub mod published;
pub mod random;
pub mod real_api_server;
pub mod recorded;
pub mod schema;
pub mod sigv4;
pub mod skip;
pub mod store;
pub mod sts;
pub mod trace;
pub mod tree;
pub mod waiting;
pub mod xml;
pub mod zones;
