//! What the environment says about AWS: regions, endpoints and whose credentials.

use quake_http::HttpSettings;
use quake_model::redact::Secret;

/// Where the agent runs, which decides whose credentials it may use without being told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// On an EC2 instance: the instance's role.
    Node,
    /// On an operator's machine: their own.
    Elsewhere,
}

/// Whose credentials sign requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialSource {
    /// The instance's role, from the metadata service.
    Instance,
    /// The SDK's usual order: environment, profile, web identity, container, instance.
    Chain,
}

/// A key pair of an S3-compatible store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreKeys {
    pub id: String,
    pub secret: Secret<String>,
}

/// Everything the clients need to know; nothing was asked of anyone to know it.
#[derive(Debug, Clone)]
pub struct AwsSettings {
    pub environment: Environment,
    /// The region, if it is set; else the instance's, or elsewhere the profile's.
    pub region: Option<String>,
    /// The endpoint of EC2, if it is not AWS' own.
    pub ec2_endpoint: Option<String>,
    /// The endpoint of Auto Scaling, if it is not AWS' own.
    pub autoscaling_endpoint: Option<String>,
    /// The endpoint of Route 53, if it is not AWS' own.
    pub route53_endpoint: Option<String>,
    /// The endpoint of S3, if it is not AWS' own; buckets are then named in the path.
    pub s3_endpoint: Option<String>,
    pub credentials: CredentialSource,
    /// The region that requests to an S3-compatible store are signed for, if it is not the machine's own.
    pub store_region: Option<String>,
    /// Keys for S3 alone, as kops passes them on for an S3-compatible store.
    pub store_keys: Option<StoreKeys>,
    pub http: HttpSettings,
}

impl AwsSettings {
    /// Reads the settings of this process' environment.
    pub fn from_environment(environment: Environment) -> Self {
        let http = HttpSettings::from_environment();
        Self::from_lookup(environment, http, |name| std::env::var(name).ok())
    }

    /// Reads the settings from `lookup`, which answers for one variable's name.
    ///
    /// What names S3 alone wins over what names all services; AWS' own names win over those of kops
    /// (`S3_ENDPOINT`, `S3_REGION`, `S3_ACCESS_KEY_ID`, `S3_SECRET_ACCESS_KEY`).
    pub fn from_lookup(
        environment: Environment,
        http: HttpSettings,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let first = |names: &[&str]| names.iter().find_map(|name| set(name));
        let reported = first(&[
            "AWS_ACCESS_KEY_ID",
            "AWS_PROFILE",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
        ]);
        let credentials = match (environment, &reported) {
            (Environment::Node, None) => CredentialSource::Instance,
            (Environment::Node, Some(_)) | (Environment::Elsewhere, _) => CredentialSource::Chain,
        };
        let keys = set("S3_ACCESS_KEY_ID").zip(set("S3_SECRET_ACCESS_KEY"));
        let store_keys = keys
            .filter(|_| reported.is_none())
            .map(|(id, secret)| StoreKeys {
                id,
                secret: Secret::new(secret),
            });
        // A store of the operator's own has a region of its own, whatever that of the machine is.
        let own_store = set("S3_ENDPOINT").filter(|_| set("AWS_ENDPOINT_URL_S3").is_none());
        let store_region = own_store.and_then(|_| set("S3_REGION"));
        Self {
            environment,
            store_region,
            region: first(&["AWS_REGION", "AWS_DEFAULT_REGION", "S3_REGION"]),
            ec2_endpoint: first(&["AWS_ENDPOINT_URL_EC2", "AWS_ENDPOINT_URL"]).map(with_scheme),
            autoscaling_endpoint: first(&["AWS_ENDPOINT_URL_AUTO_SCALING", "AWS_ENDPOINT_URL"])
                .map(with_scheme),
            route53_endpoint: first(&["AWS_ENDPOINT_URL_ROUTE_53", "AWS_ENDPOINT_URL"])
                .map(with_scheme),
            s3_endpoint: first(&["AWS_ENDPOINT_URL_S3", "S3_ENDPOINT", "AWS_ENDPOINT_URL"])
                .map(with_scheme),
            credentials,
            store_keys,
            http,
        }
    }
}

/// kops accepts an endpoint without a scheme and means https.
fn with_scheme(endpoint: String) -> String {
    if endpoint.contains("://") {
        return endpoint;
    }
    format!("https://{endpoint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(environment: Environment, pairs: &[(&str, &str)]) -> AwsSettings {
        AwsSettings::from_lookup(environment, HttpSettings::default(), |name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_node_uses_its_role_unless_it_is_told_otherwise() {
        let node = |pairs| settings(Environment::Node, pairs).credentials;
        assert_eq!(node(&[]), CredentialSource::Instance);
        assert_eq!(node(&[("AWS_PROFILE", "")]), CredentialSource::Instance);
        assert_eq!(node(&[("AWS_ACCESS_KEY_ID", "A")]), CredentialSource::Chain);
        let laptop = settings(Environment::Elsewhere, &[]).credentials;
        assert_eq!(laptop, CredentialSource::Chain);
    }

    #[test]
    fn the_variables_of_kops_name_a_store_and_its_keys() {
        let reported = settings(
            Environment::Node,
            &[
                ("S3_ENDPOINT", "minio.example:9000"),
                ("S3_REGION", "us-east-1"),
                ("S3_ACCESS_KEY_ID", "minio"),
                ("S3_SECRET_ACCESS_KEY", "minio123"),
            ],
        );
        assert_eq!(
            reported.s3_endpoint.as_deref(),
            Some("https://minio.example:9000")
        );
        assert_eq!(
            (reported.ec2_endpoint.as_deref(), reported.region.as_deref()),
            (None, Some("us-east-1"))
        );
        assert_eq!(
            reported.credentials,
            CredentialSource::Instance,
            "the keys are for S3 alone"
        );
        assert!(!format!("{reported:?}").contains("minio123"));
        assert_eq!(
            reported.store_keys.map(|keys| keys.id),
            Some("minio".to_owned())
        );
    }

    #[test]
    fn a_store_of_the_operators_own_has_a_region_of_its_own() {
        let pairs = [
            ("AWS_REGION", "eu-west-1"),
            ("S3_ENDPOINT", "minio.example"),
            ("S3_REGION", "us-east-1"),
        ];
        let reported = settings(Environment::Node, &pairs);
        let regions = (reported.region.as_deref(), reported.store_region.as_deref());
        assert_eq!(regions, (Some("eu-west-1"), Some("us-east-1")));
        let alone = settings(Environment::Node, &[pairs[0], pairs[2]]);
        assert_eq!(
            alone.store_region, None,
            "without an endpoint it is AWS' own"
        );
    }

    #[test]
    fn an_endpoint_for_s3_alone_wins_over_one_for_all() {
        let reported = settings(
            Environment::Node,
            &[
                ("AWS_ENDPOINT_URL", "http://all"),
                ("AWS_ENDPOINT_URL_S3", "http://s3"),
            ],
        );
        assert_eq!(reported.s3_endpoint.as_deref(), Some("http://s3"));
        assert_eq!(reported.ec2_endpoint.as_deref(), Some("http://all"));
    }
}
