//! kops-controller on the control plane, which gives a worker its configuration and signs its certificates.

use super::PortError;
use crate::redact::Secret;
use std::future::Future;

/// One server of kops-controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapServer {
    pub url: String,
    /// The name its certificate must have, where it is not the URL's.
    pub tls_server_name: Option<String>,
    /// The CAs to trust, PEM; no others are.
    pub ca_bundle: String,
}

/// The form of a proof of which instance asks. Servers of kops 1.30 and newer take both forms, older
/// ones only the first (`upup/pkg/fi/cloudup/awsup/aws_verifier.go`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenVersion {
    /// `x-aws-sts`: the headers of a signed request to STS.
    V1,
    /// `x-aws-sts-v2`: the URL, method and headers of a presigned request to STS.
    V2,
}

impl TokenVersion {
    /// Its number.
    pub fn number(self) -> u8 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

/// kops-controller.
pub trait Bootstrap {
    /// Makes a proof of which instance asks, bound to this body: the value of the header that a request with it carries. It is
    /// good for some minutes.
    ///
    /// # Errors
    ///
    /// `Missing` while the instance has no role, `Denied` where its role gives no credentials, else as the other reads of
    /// metadata.
    fn prove_instance(
        &self,
        body: &[u8],
        version: TokenVersion,
    ) -> impl Future<Output = Result<Secret<String>, PortError>> + Send;

    /// Posts a request to `<url>/bootstrap` with a proof that was made for this body; the body of the answer.
    ///
    /// One attempt, at this server. The answer may hold secrets and must not be shown; what a refusal says of its reason is
    /// evidence.
    ///
    /// # Errors
    ///
    /// | condition | when |
    /// |---|---|
    /// | `Missing` | the name has no address, or the address that stands for it until a control plane has told its own |
    /// | `Unreachable` | no connection, no answer in time, or an answer that broke off |
    /// | `Unsafe` | the certificate is none of the CAs', or for another name |
    /// | `ClockSkew` | the certificate is not valid by the local clock, or a refusal shows that the clock is off |
    /// | `Denied` | the server does not take this instance for a node of the cluster, or not this version of its proof (403) |
    /// | `Conflict` | a node of its name is ready (409) |
    /// | `Malformed` | a certificate is asked for that the server does not sign (400, `key name not enabled`) |
    /// | `Impossible` | the server cannot do anything with the request (every other 400), or the URL is none |
    /// | `Throttled` | 429 |
    /// | `NotReady` | the server failed, or something that is no kops-controller answered (every other status) |
    fn ask_bootstrap(
        &self,
        server: &BootstrapServer,
        proof: &Secret<String>,
        body: &[u8],
    ) -> impl Future<Output = Result<Vec<u8>, PortError>> + Send;
}
