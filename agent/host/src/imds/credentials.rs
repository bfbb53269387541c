//! The role's credentials, for the AWS SDK. They are kept in memory and never printed.

use super::instance::is_role_name;
use super::service::{Answer, Imds};
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, Result as CredentialsResult, future};
use quake_model::ports::{Condition, Metadata, PortError};
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Mutex;

/// How long before their end credentials are read anew; EC2 has new ones ready five minutes before
/// (EC2 user guide, "Retrieve security credentials").
const MARGIN: Duration = Duration::from_secs(300);

/// Provides the instance role's credentials, read with the process' one metadata token.
///
/// Clones share what was read. Only one read is under way at a time.
#[derive(Debug, Clone)]
pub struct ImdsCredentials {
    imds: Imds,
    held: Arc<Mutex<Option<Credentials>>>,
}

/// The answer of `iam/security-credentials/<role>`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    code: Option<String>,
    access_key_id: Option<String>,
    secret_access_key: Option<String>,
    token: Option<String>,
    expiration: Option<String>,
}

impl ImdsCredentials {
    /// Credentials of the role of the instance that `imds` speaks for; nothing is read yet.
    pub fn new(imds: Imds) -> Self {
        Self {
            imds,
            held: Arc::default(),
        }
    }

    /// Drops what was read, so that the next request reads it anew: AWS called it expired.
    pub async fn forget(&self) {
        *self.held.lock().await = None;
        self.imds.forget_role();
    }

    /// The credentials in force.
    ///
    /// # Errors
    ///
    /// `Missing` while there is no role, `Denied` when EC2 cannot assume it, else as
    /// [`Metadata::read_role`].
    pub async fn load(&self) -> Result<Credentials, PortError> {
        let mut held = self.held.lock().await;
        if let Some(credentials) = held.as_ref().filter(|it| is_fresh(it)) {
            return Ok(credentials.clone());
        }
        let role = match self.imds.known_role() {
            Some(role) => role,
            None => self.imds.read_role().await?,
        };
        let credentials = self
            .read(&role)
            .await
            .inspect_err(|_| self.imds.forget_role())?;
        *held = Some(credentials.clone());
        Ok(credentials)
    }

    async fn read(&self, role: &str) -> Result<Credentials, PortError> {
        debug_assert!(is_role_name(role), "read_role accepts nothing else");
        let path = format!("meta-data/iam/security-credentials/{role}");
        match self.imds.read(&path).await? {
            Answer::Found(bytes) => parse(role, &bytes),
            Answer::NotFound => {
                let summary = format!("the metadata service has no credentials of role {role} yet");
                Err(PortError::new(Condition::Missing, summary))
            }
        }
    }
}

impl ProvideCredentials for ImdsCredentials {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async move {
            let loaded: CredentialsResult =
                self.load().await.map_err(CredentialsError::provider_error);
            loaded
        })
    }
}

fn is_fresh(credentials: &Credentials) -> bool {
    let ends = credentials.expiry();
    ends.is_none_or(|ends| SystemTime::now() + MARGIN < ends)
}

fn parse(role: &str, bytes: &[u8]) -> Result<Credentials, PortError> {
    let malformed = || {
        let summary = format!("the metadata service answered no credentials for role {role}");
        PortError::new(Condition::Malformed, summary)
    };
    // The parser's error is left out: it may quote the bytes.
    let document: Document = serde_json::from_slice(bytes).map_err(|_| malformed())?;
    let code = document.code.as_deref().unwrap_or_default();
    if code != "Success" {
        return Err(refused(role, code));
    }
    let needed = (document.access_key_id, document.secret_access_key);
    let (Some(key_id), Some(secret)) = needed else {
        return Err(malformed());
    };
    let ends = document.expiration.as_deref().map(parse_instant);
    let ends = ends.transpose().map_err(|()| malformed())?;
    Ok(Credentials::new(
        key_id,
        secret,
        document.token,
        ends,
        "quake-agent-imds",
    ))
}

fn refused(role: &str, code: &str) -> PortError {
    let summary = format!("the metadata service has no credentials for role {role}: {code}");
    if code.starts_with("AssumeRole") {
        return PortError::new(Condition::Denied, summary).remedied_by(format!(
            "let ec2.amazonaws.com assume role {role}: its trust policy must allow sts:AssumeRole"
        ));
    }
    PortError::new(Condition::Unreachable, summary)
}

fn parse_instant(text: &str) -> Result<SystemTime, ()> {
    let instant: jiff::Timestamp = text.parse().map_err(|_| ())?;
    Ok(SystemTime::from(instant))
}
