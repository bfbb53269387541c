//! HTTP clients: names resolved without the C library, one TLS provider, proxies that never stand before
//! the instance's own services, time limits on every request.

mod client;
mod failure;
mod proxy;
mod resolver;

pub use client::{CONNECT_TIMEOUT, HttpSettings, READ_TIMEOUT, build_metadata_client};
pub use failure::{describe_failure, is_after_connecting, shown};
pub use proxy::ProxySettings;
pub use resolver::Resolver;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
