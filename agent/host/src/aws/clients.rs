//! The SDK's clients: our HTTP client, no retries, made when first needed.

use super::connector::SdkClient;
use super::meter::Calls;
use super::settings::{AwsSettings, CredentialSource, Environment};
use crate::imds::{Imds, ImdsCredentials};
use aws_config::identity::IdentityCache;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{AppName, BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use quake_http::{CONNECT_TIMEOUT, READ_TIMEOUT};
use quake_model::ports::{Condition, PortError};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, OnceCell};

/// How long one request may take until its answer begins; EC2's slowest pages take some seconds.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);

/// The region that S3's global endpoint is in, and any bucket can be asked about from.
const GLOBAL_REGION: &str = "us-east-1";

/// AWS as this process reaches it. Clones share clients, credentials and counters.
///
/// Nothing is read and no connection opened until a request needs it: a worker may never call EC2.
#[derive(Debug, Clone)]
pub struct Aws(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: AwsSettings,
    imds: Imds,
    instance: ImdsCredentials,
    calls: Calls,
    base: OnceCell<SdkConfig>,
    ec2: OnceCell<aws_sdk_ec2::Client>,
    autoscaling: OnceCell<aws_sdk_autoscaling::Client>,
    route53: OnceCell<aws_sdk_route53::Client>,
    s3: Mutex<HashMap<String, aws_sdk_s3::Client>>,
}

impl Aws {
    /// AWS under these settings; the instance's region and role are read from `imds` if needed.
    pub fn new(settings: AwsSettings, imds: Imds, calls: Calls) -> Self {
        let instance = ImdsCredentials::new(imds.clone());
        Self(Arc::new(Shared {
            settings,
            imds,
            instance,
            calls,
            base: OnceCell::new(),
            ec2: OnceCell::new(),
            autoscaling: OnceCell::new(),
            route53: OnceCell::new(),
            s3: Mutex::default(),
        }))
    }

    /// Counts a request that is about to leave.
    pub(crate) fn count(&self, operation: &'static str) {
        self.0.calls.count(operation);
    }

    /// Counts a call of this IAM action that AWS refused because of its rate.
    pub(super) fn count_throttled(&self, action: &'static str) {
        self.0.calls.count_throttled(action);
    }

    /// Drops credentials that AWS called expired, so that the next attempt reads new ones.
    pub(super) async fn forget_credentials(&self) {
        self.0.instance.forget().await;
    }

    /// The region of the instance itself, whatever is set.
    pub(super) async fn instance_region(&self) -> Result<String, PortError> {
        self.0.imds.read_region().await
    }

    /// The credentials that requests are signed with.
    ///
    /// # Errors
    ///
    /// `Missing` while the instance has no role, `Denied` where there are none to sign with, else those of the metadata service.
    pub(super) async fn credentials(&self) -> Result<Credentials, PortError> {
        if self.0.settings.credentials == CredentialSource::Instance {
            return self.0.instance.load().await;
        }
        let none = || PortError::new(Condition::Denied, "there are no credentials to sign with");
        let provider = self.base().await?.credentials_provider().ok_or_else(none)?;
        let provided = provider.provide_credentials().await;
        provided.map_err(|error| none().because(&error))
    }

    /// The region that requests go to unless a bucket is elsewhere.
    pub(super) async fn region(&self) -> Result<String, PortError> {
        let base = self.base().await?;
        let region = base.region().map(ToString::to_string);
        Ok(region.unwrap_or_else(|| GLOBAL_REGION.to_owned()))
    }

    /// The region that requests to the state store are signed for until an answer names another.
    pub(super) async fn store_region(&self) -> Result<String, PortError> {
        match &self.0.settings.store_region {
            Some(region) => Ok(region.clone()),
            None => self.region().await,
        }
    }

    /// The client for EC2.
    ///
    /// # Errors
    ///
    /// As [`Aws::region`], and `Malformed` when the HTTP settings cannot be used.
    pub(super) async fn ec2(&self) -> Result<&aws_sdk_ec2::Client, PortError> {
        let client = self.0.ec2.get_or_try_init(|| async {
            let mut config = aws_sdk_ec2::config::Builder::from(self.base().await?);
            config.set_endpoint_url(self.0.settings.ec2_endpoint.clone());
            Ok(aws_sdk_ec2::Client::from_conf(config.build()))
        });
        client.await
    }

    /// The client for Auto Scaling.
    ///
    /// # Errors
    ///
    /// As [`Aws::ec2`].
    pub(super) async fn autoscaling(&self) -> Result<&aws_sdk_autoscaling::Client, PortError> {
        let client = self.0.autoscaling.get_or_try_init(|| async {
            let mut config = aws_sdk_autoscaling::config::Builder::from(self.base().await?);
            config.set_endpoint_url(self.0.settings.autoscaling_endpoint.clone());
            Ok(aws_sdk_autoscaling::Client::from_conf(config.build()))
        });
        client.await
    }

    /// The client for Route 53.
    ///
    /// # Errors
    ///
    /// As [`Aws::ec2`].
    pub(super) async fn route53(&self) -> Result<&aws_sdk_route53::Client, PortError> {
        let client = self.0.route53.get_or_try_init(|| async {
            let mut config = aws_sdk_route53::config::Builder::from(self.base().await?);
            config.set_endpoint_url(self.0.settings.route53_endpoint.clone());
            Ok(aws_sdk_route53::Client::from_conf(config.build()))
        });
        client.await
    }

    /// The client for buckets in `region`.
    ///
    /// # Errors
    ///
    /// As [`Aws::ec2`].
    pub(super) async fn s3(&self, region: &str) -> Result<aws_sdk_s3::Client, PortError> {
        let base = self.base().await?;
        let mut clients = self.0.s3.lock().await;
        let client = clients.entry(region.to_owned()).or_insert_with(|| {
            let settings = &self.0.settings;
            let mut config = aws_sdk_s3::config::Builder::from(base)
                .region(Region::new(region.to_owned()))
                .force_path_style(settings.s3_endpoint.is_some());
            config.set_endpoint_url(settings.s3_endpoint.clone());
            if let Some(keys) = &settings.store_keys {
                let secret = keys.secret.expose();
                let keys = Credentials::new(&keys.id, secret, None, None, "quake-agent-store");
                config.set_credentials_provider(Some(SharedCredentialsProvider::new(keys)));
            }
            aws_sdk_s3::Client::from_conf(config.build())
        });
        Ok(client.clone())
    }

    /// Where requests of `service` go, for a person.
    pub(super) fn endpoint(&self, service: &str, region: &str) -> String {
        let settings = &self.0.settings;
        let set = match service {
            "ec2" => &settings.ec2_endpoint,
            "autoscaling" => &settings.autoscaling_endpoint,
            "route53" => &settings.route53_endpoint,
            _ => &settings.s3_endpoint,
        };
        let suffix = if region.starts_with("cn-") { ".cn" } else { "" };
        set.as_deref().map_or_else(
            || match service {
                // One for all regions.
                "route53" => format!("{service}.amazonaws.com{suffix}"),
                _ => format!("{service}.{region}.amazonaws.com{suffix}"),
            },
            quake_http::shown,
        )
    }

    async fn base(&self) -> Result<&SdkConfig, PortError> {
        self.0.base.get_or_try_init(|| self.load()).await
    }

    async fn load(&self) -> Result<SdkConfig, PortError> {
        let settings = &self.0.settings;
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(SdkClient::new(settings.http.build_client()?))
            .retry_config(RetryConfig::disabled())
            // It would sign by AWS's clock from the second request on, and a node whose own is wrong would be made.
            .disable_clock_skew_correction(true)
            .timeout_config(timeouts());
        if let Ok(name) = AppName::new("quake-agent") {
            loader = loader.app_name(name);
        }
        if let Some(region) = self.configured_region().await? {
            loader = loader.region(Region::new(region));
        }
        if settings.credentials == CredentialSource::Instance {
            // The provider keeps them itself, and can be told to forget them.
            loader = loader
                .credentials_provider(self.0.instance.clone())
                .identity_cache(IdentityCache::no_cache());
        }
        Ok(loader.load().await)
    }

    /// The region as set, or the instance's; `None` leaves it to the profile, on an operator's machine.
    async fn configured_region(&self) -> Result<Option<String>, PortError> {
        let settings = &self.0.settings;
        match (&settings.region, settings.environment) {
            (Some(region), _) => Ok(Some(region.clone())),
            (None, Environment::Node) => self.0.imds.read_region().await.map(Some),
            (None, Environment::Elsewhere) => Ok(profile_region().await),
        }
    }
}

/// The region of the operator's profile. The SDK's own order would ask for an instance's metadata, which
/// an operator's machine has not, and wait for it.
async fn profile_region() -> Option<String> {
    use aws_config::meta::region::ProvideRegion;
    use aws_config::profile::region::ProfileFileRegionProvider;
    let region = ProfileFileRegionProvider::builder().build().region().await;
    let region = region.map(|region| region.to_string());
    region.or_else(|| Some(GLOBAL_REGION.to_owned()))
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .build()
}
