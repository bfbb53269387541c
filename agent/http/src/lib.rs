//! The HTTP client: names resolved without the C library, one TLS provider, buffers of a known size, proxies that never
//! stand before the instance's own services, time limits on every request. Why it is our own: docs/adr/0015.
//!
//! | part | what it knows |
//! |---|---|
//! | [`settings`] | which clients there are |
//! | [`client`] | connections kept, limits of time and memory |
//! | [`request`] | a request, credentials in its URL, redirects |
//! | [`response`], [`body`] | an answer as it comes |
//! | [`connector`], [`proxy`], [`resolver`], [`tls`], [`telling`] | how a connection is opened |
//! | [`peer`] | whom a connection reaches, without a request |
//! | [`failure`] | what happened when no answer came |

mod body;
mod ca_error_verifier;
mod client;
mod connector;
mod failure;
mod peer;
mod proxy;
mod request;
mod resolver;
mod response;
mod settings;
mod tls;

pub use body::AnswerBody;
pub use client::{CONNECT_TIMEOUT, Client, Limits, READ_TIMEOUT, RequestBody, into_body};
pub use failure::{HttpFailure, describe_failure, is_after_connecting, shown};
pub use http::{HeaderMap, StatusCode, header};
pub use peer::{Speaks, reach};
pub use proxy::ProxySettings;
pub use request::{RequestBuilder, percent_decoded};
pub use resolver::Resolver;
pub use response::Response;
pub use settings::{
    ApiServerTrust, HttpSettings, PinnedPeer, build_api_server_client, build_endpoint_client,
    build_loopback_client, build_metadata_client, build_pinned_client,
};
pub use url::Url;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
