//! kops-controller on the control plane, which gives a worker its configuration and signs its certificates.

use super::PortError;
use std::future::Future;

/// How kops-controller is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapServer {
    /// Its base URLs, of which any will do.
    pub urls: Vec<String>,
    /// The name its certificate must have, where it is not the URL's.
    pub tls_server_name: Option<String>,
    /// The authorities to trust, PEM; no others are.
    pub authorities: String,
}

/// kops-controller.
pub trait Bootstrap {
    /// Posts a request to `<url>/bootstrap`, with a token that proves which instance asks and is bound to this body; the
    /// body of the answer.
    ///
    /// One attempt at one of the servers. The answer may hold secrets and must not be shown.
    ///
    /// # Errors
    ///
    /// `Denied` where the server does not take this instance for a node of the cluster (403), `Conflict` where a node of its
    /// name exists (409), `Malformed` where the request asks for what the server does not sign (400), `Throttled` (429),
    /// `Unreachable` for every other answer and for none, `Missing` where the name does not resolve.
    fn ask_bootstrap(
        &self,
        server: &BootstrapServer,
        body: &[u8],
    ) -> impl Future<Output = Result<Vec<u8>, PortError>> + Send;
}
