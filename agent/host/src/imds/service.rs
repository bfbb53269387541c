//! Reads of the metadata service: one attempt each, with the process' one token.

use super::token::{Session, open_session};
use super::{instance, user_data};
use crate::aws::Calls;
use quake_http::{Client, Response, StatusCode, build_metadata_client, describe_failure};
use quake_model::facts::InstanceFacts;
use quake_model::ports::{Condition, Metadata, PortError};
use std::sync::{Arc, PoisonError};
use tokio::sync::{Mutex, OnceCell};

/// The service's IPv4 address, the same on every instance (EC2 user guide, "Access instance metadata").
const IPV4_ENDPOINT: &str = "http://169.254.169.254";

/// The service's IPv6 address, on Nitro instances where it is enabled (same guide).
const IPV6_ENDPOINT: &str = "http://[fd00:ec2::254]";

/// The largest answer that is read. User data has at most 16 KiB, everything else less.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Where the metadata service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataEndpoint {
    /// EC2's two addresses; the first to answer is used.
    Ec2,
    /// This URL alone, as `AWS_EC2_METADATA_SERVICE_ENDPOINT` gives it.
    At(String),
}

impl MetadataEndpoint {
    /// What the environment says; EC2's addresses when it says nothing.
    pub fn from_environment() -> Self {
        let set = std::env::var("AWS_EC2_METADATA_SERVICE_ENDPOINT").ok();
        set.filter(|url| !url.is_empty())
            .map_or(Self::Ec2, Self::At)
    }

    fn urls(&self) -> Vec<String> {
        match self {
            Self::Ec2 => vec![IPV4_ENDPOINT.to_owned(), IPV6_ENDPOINT.to_owned()],
            Self::At(url) => vec![url.trim_end_matches('/').to_owned()],
        }
    }
}

/// The metadata service of this instance. Clones share the token, the counters and the region.
#[derive(Debug, Clone)]
pub struct Imds(Arc<Service>);

#[derive(Debug)]
struct Service {
    client: Client,
    endpoints: Vec<String>,
    session: Mutex<Option<Session>>,
    region: OnceCell<String>,
    role: std::sync::Mutex<Option<String>>,
    calls: Calls,
}

/// What one read came to.
pub(super) enum Answer {
    Found(Vec<u8>),
    /// The service has nothing under that path.
    NotFound,
}

impl Imds {
    /// A client for the service at `endpoint`; nothing is asked yet.
    pub fn new(endpoint: &MetadataEndpoint, calls: Calls) -> Self {
        Self::with_endpoints(endpoint.urls(), calls)
    }

    pub(super) fn with_endpoints(endpoints: Vec<String>, calls: Calls) -> Self {
        Self(Arc::new(Service {
            client: build_metadata_client(),
            endpoints,
            session: Mutex::new(None),
            region: OnceCell::new(),
            role: std::sync::Mutex::default(),
            calls,
        }))
    }

    /// The region of this instance; asked for once per process.
    ///
    /// # Errors
    ///
    /// As [`Metadata::read_instance`].
    pub async fn read_region(&self) -> Result<String, PortError> {
        let region = self.0.region.get_or_try_init(|| async {
            let document = self.read_text(instance::DOCUMENT).await?;
            instance::parse_document(&document).map(|document| document.region)
        });
        region.await.cloned()
    }

    /// The role's name as it was last read, which saves a request when its credentials are read.
    pub(super) fn known_role(&self) -> Option<String> {
        self.role().clone()
    }

    /// Drops the role's name: a profile can be replaced while the instance runs.
    pub(super) fn forget_role(&self) {
        *self.role() = None;
    }

    fn role(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        // The name is whole at every moment, so a panic elsewhere cannot have left it half-changed.
        self.0.role.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a path that may not exist, as it is.
    pub(crate) async fn read_optional(&self, path: &str) -> Result<Option<Vec<u8>>, PortError> {
        match self.read(path).await? {
            Answer::Found(bytes) => Ok(Some(bytes)),
            Answer::NotFound => Ok(None),
        }
    }

    /// Reads a path that must exist, as text.
    ///
    /// # Errors
    ///
    /// `Malformed` when it does not exist or is no text; else as [`Imds::read`].
    pub(super) async fn read_text(&self, path: &str) -> Result<String, PortError> {
        let malformed = |what: &str| {
            let summary = format!("the metadata service answered {what} for {path}");
            PortError::new(Condition::Malformed, summary)
        };
        match self.read(path).await? {
            Answer::Found(bytes) => {
                String::from_utf8(bytes).map_err(|_| malformed("bytes that are no text"))
            }
            Answer::NotFound => Err(malformed("404")),
        }
    }

    /// Reads a path below `/latest/`, with a token.
    ///
    /// # Errors
    ///
    /// `Unreachable`, `Denied`, `Throttled` or `Malformed`.
    pub(super) async fn read(&self, path: &str) -> Result<Answer, PortError> {
        let session = self.session().await?;
        let url = format!("{}/latest/{path}", session.endpoint);
        self.0.calls.count("imds:GetMetadata");
        let request = self.0.client.get(&url);
        let sent = request
            .header("x-aws-ec2-metadata-token", session.token.expose())
            .send()
            .await;
        let response = sent.map_err(|failure| describe_failure(&url, &failure))?;
        match response.status() {
            StatusCode::OK => read_body(&url, response).await.map(Answer::Found),
            StatusCode::NOT_FOUND => Ok(Answer::NotFound),
            StatusCode::UNAUTHORIZED => {
                // The host forgot the token, as after a resume elsewhere. The next attempt asks for a new one.
                *self.0.session.lock().await = None;
                Err(refused(
                    &url,
                    Condition::Unreachable,
                    StatusCode::UNAUTHORIZED,
                ))
            }
            status => Err(refused(&url, condition_of(status), status)),
        }
    }

    /// The token in force; whoever comes first asks for it, and the others wait for that answer.
    async fn session(&self) -> Result<Session, PortError> {
        let mut held = self.0.session.lock().await;
        if let Some(session) = held.as_ref().filter(|session| session.is_fresh()) {
            return Ok(session.clone());
        }
        let opened = open_session(&self.0.client, &self.0.endpoints, &self.0.calls).await?;
        *held = Some(opened.clone());
        Ok(opened)
    }
}

impl Metadata for Imds {
    async fn read_instance(&self) -> Result<InstanceFacts, PortError> {
        let (document, hostname, mac) = tokio::try_join!(
            self.read_text(instance::DOCUMENT),
            self.read_text(instance::LOCAL_HOSTNAME),
            self.read_text(instance::MAC),
        )?;
        let facts = instance::assemble(&document, &hostname, &mac)?;
        // Set already means the same value: an instance never changes its region.
        let _ = self.0.region.set(facts.region.clone());
        Ok(facts)
    }

    async fn read_user_data(&self) -> Result<Option<Vec<u8>>, PortError> {
        match self.read("user-data").await? {
            Answer::Found(bytes) if bytes.is_empty() => Ok(None),
            Answer::Found(bytes) => user_data::decompress(bytes).map(Some),
            Answer::NotFound => Ok(None),
        }
    }

    async fn read_role(&self) -> Result<String, PortError> {
        let missing = || {
            let summary = "this instance has no role yet: iam/security-credentials/ is empty";
            PortError::new(Condition::Missing, summary)
        };
        let Answer::Found(listing) = self.read("meta-data/iam/security-credentials/").await? else {
            return Err(missing());
        };
        let listing = String::from_utf8_lossy(&listing);
        let role = listing.lines().next().unwrap_or_default().trim();
        match role {
            "" => Err(missing()),
            role if instance::is_role_name(role) => {
                *self.role() = Some(role.to_owned());
                Ok(role.to_owned())
            }
            _ => Err(PortError::new(
                Condition::Malformed,
                "the metadata service answered something that is not a role's name",
            )),
        }
    }

    async fn read_metadata(&self, key: &str) -> Result<Option<String>, PortError> {
        let answer = self.read(&format!("meta-data/{key}")).await?;
        let Answer::Found(bytes) = answer else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        Ok((!text.is_empty()).then_some(text))
    }
}

fn condition_of(status: StatusCode) -> Condition {
    match status {
        StatusCode::FORBIDDEN => Condition::Denied,
        StatusCode::TOO_MANY_REQUESTS => Condition::Throttled,
        status if status.is_server_error() => Condition::Unreachable,
        _ => Condition::Malformed,
    }
}

fn refused(url: &str, condition: Condition, status: StatusCode) -> PortError {
    let summary = format!("{url} answered {}", status.as_u16());
    PortError::new(condition, summary).seen("status", status.as_u16())
}

async fn read_body(url: &str, mut response: Response) -> Result<Vec<u8>, PortError> {
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|failure| describe_failure(url, &failure))?
    {
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            let summary = format!("{url} answered more than {MAX_ANSWER_BYTES} bytes");
            return Err(PortError::new(Condition::Malformed, summary));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests;
