//! Static pods of Kubernetes' own components.

mod api_server;
mod controller_manager;
mod kube_proxy;
mod scheduler;
mod tree;

pub(crate) use tree::items;
