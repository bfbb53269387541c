//! The IAM policy of a role: the rows of the table of actions that concern it, for one cluster and its state
//! store.

use crate::dns::bare_zone_id;
use crate::iam::{
    Caller, GRANTS, Grant, NAMES_GRANTS, NEWER_GRANTS, OLDER_STORE, PREVIEW_GRANTS, REPAIR_GRANTS,
    Reach, SIGNAL_GRANTS, Statement, partition_of,
};
use crate::location::{Location, Scheme};
use serde::Serialize;

/// Whose policy is wanted, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub caller: Caller,
    /// The cluster's name, as its tags have it.
    pub cluster: String,
    /// The state store: `s3://bucket[/prefix]`, or the cluster's own directory in it.
    pub state_store: Location,
    /// The region of instances and volumes; any when absent.
    pub region: Option<String>,
    /// The account of instances and volumes; any when absent.
    pub account: Option<String>,
    /// The partition of all ARNs; the region's when absent.
    pub partition: Option<String>,
    /// Whether the node also signals its Auto Scaling group.
    pub with_signals: bool,
    /// Whether the node may have itself replaced; signals are part of it.
    pub with_repair: bool,
    /// Whether the node is of kops 1.32 or newer: it reads its own part of the state store in place of what older ones read, a
    /// worker none, and asks what some of its networks and groups make it ask.
    pub with_newer_kops: bool,
    /// The hosted zone of the cluster's names, by its id; none when the node publishes no names.
    pub zone: Option<String>,
    /// Buckets, or directories in them, that hold assets: `spec.assets.fileRepository`.
    pub assets: Vec<Location>,
}

/// Why there is no policy for a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The state store is no bucket.
    #[error("{location} is not in S3, and IAM has no say about it")]
    NotS3 {
        /// The state store, or where assets are.
        location: Location,
    },
    /// A value could mean more to IAM than itself: a wildcard, a variable, another part of an ARN.
    #[error("the {what} {value:?} has a character that no {what} has")]
    Unusable { what: &'static str, value: String },
}

/// A policy, as IAM reads it. Its fields are written in the order people write them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Policy {
    /// The version of the language: the only one with variables, and current.
    pub version: &'static str,
    pub statement: Vec<Statement>,
}

/// Writes the policy of a role: what the agent calls in it, and nothing else.
///
/// # Errors
///
/// Returns a [`PolicyError`] when a value cannot be part of a policy.
pub fn policy(request: &Request) -> Result<Policy, PolicyError> {
    check(request)?;
    let scope = Scope::new(request);
    let signals = (request.with_signals || request.with_repair).then_some(SIGNAL_GRANTS);
    let repair = request.with_repair.then_some(REPAIR_GRANTS);
    let newer = request.with_newer_kops.then_some(NEWER_GRANTS);
    let names = request.zone.is_some().then_some(NAMES_GRANTS);
    let is_replaced = |grant: &&Grant| {
        let is_node = request.caller != Caller::Operator;
        is_node && request.with_newer_kops && OLDER_STORE.contains(&grant.sid)
    };
    let rows = GRANTS
        .iter()
        .filter(|grant| !is_replaced(grant))
        .chain(signals.unwrap_or_default())
        .chain(repair.unwrap_or_default())
        .chain(newer.unwrap_or_default())
        .chain(names.unwrap_or_default())
        .chain(PREVIEW_GRANTS)
        .filter(|grant| grant.callers.contains(&request.caller));
    let statements = rows.flat_map(|grant| scope.statements(grant));
    Ok(Policy {
        version: "2012-10-17",
        statement: statements.chain(scope.assets(&request.assets)).collect(),
    })
}

/// What a policy is about, as ARNs spell it.
struct Scope<'a> {
    cluster: &'a str,
    folder: Location,
    partition: &'a str,
    region: &'a str,
    account: &'a str,
    zone: &'a str,
}

impl<'a> Scope<'a> {
    fn new(request: &'a Request) -> Self {
        let region = request.region.as_deref();
        let partition = request.partition.as_deref();
        Self {
            cluster: &request.cluster,
            folder: folder(&request.state_store, &request.cluster),
            partition: partition.unwrap_or_else(|| partition_of(region.unwrap_or_default())),
            region: region.unwrap_or("*"),
            account: request.account.as_deref().unwrap_or("*"),
            zone: bare_zone_id(request.zone.as_deref().unwrap_or("*")),
        }
    }

    fn statements(&self, grant: &Grant) -> Vec<Statement> {
        let bucket = format!("arn:{}:s3:::{}", self.partition, self.folder.bucket());
        let below = |path: &&str| self.folder.join(path).key().to_owned();
        let (resources, prefixes) = match grant.reach {
            Reach::Everything => (vec!["*".to_owned()], Vec::new()),
            Reach::Cluster(kinds) | Reach::OwnTags(kinds) => {
                let arn = |kind| {
                    let (partition, region) = (self.partition, self.region);
                    format!("arn:{partition}:ec2:{region}:{}:{kind}/*", self.account)
                };
                (kinds.iter().map(arn).collect(), Vec::new())
            }
            Reach::Interfaces => {
                let (partition, region, account) = (self.partition, self.region, self.account);
                let arn = format!("arn:{partition}:ec2:{region}:{account}:network-interface/*");
                (vec![arn], Vec::new())
            }
            // Route 53 is one for all regions, and its ARNs name no account.
            Reach::Zone => (
                vec![format!(
                    "arn:{}:route53:::hostedzone/{}",
                    self.partition, self.zone
                )],
                Vec::new(),
            ),
            Reach::Changes => (
                vec![format!("arn:{}:route53:::change/*", self.partition)],
                Vec::new(),
            ),
            Reach::Groups => {
                let (partition, region, account) = (self.partition, self.region, self.account);
                let group = format!(
                    "arn:{partition}:autoscaling:{region}:{account}:autoScalingGroup:*:autoScalingGroupName/*"
                );
                (vec![group], Vec::new())
            }
            Reach::Objects(paths) => {
                let arn = |path| format!("{bucket}/{}", below(path));
                (paths.iter().map(arn).collect(), Vec::new())
            }
            Reach::Bucket => (vec![bucket], Vec::new()),
            Reach::Names(paths) => (vec![bucket], paths.iter().map(below).collect()),
        };
        grant.statements(self.cluster, &resources, &prefixes)
    }
}

impl Scope<'_> {
    /// What nodes read of the buckets that hold assets; also a person who makes a seed of them.
    fn assets(&self, buckets: &[Location]) -> Option<Statement> {
        let arn = |folder: &Location| {
            let below = folder.join("*");
            let (partition, bucket) = (self.partition, below.bucket());
            format!("arn:{partition}:s3:::{bucket}/{}", below.key())
        };
        let objects: Vec<String> = buckets.iter().map(arn).collect();
        let statement = Statement {
            sid: Some("QuakeReadAssets".to_owned()),
            ..Statement::allow("s3:GetObject", objects)
        };
        (!buckets.is_empty()).then_some(statement)
    }
}

/// The cluster's directory: kops puts it into the state store under the cluster's name.
fn folder(state_store: &Location, cluster: &str) -> Location {
    match state_store.key().rsplit('/').next() {
        Some(last) if last == cluster => state_store.clone(),
        _ => state_store.join(cluster),
    }
}

fn check(request: &Request) -> Result<(), PolicyError> {
    let name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let label = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    usable("cluster", Some(&request.cluster), name)?;
    for location in std::iter::once(&request.state_store).chain(&request.assets) {
        if location.scheme() != Scheme::S3 {
            let location = location.clone();
            return Err(PolicyError::NotS3 { location });
        }
        usable("bucket", Some(location.bucket()), name)?;
        // Keys may have more, but `*`, `?` and `$` are IAM's own.
        let key = Some(location.key()).filter(|key| !key.is_empty());
        usable("prefix", key, |c| name(c) || "/!'()=+@:,".contains(c))?;
    }
    usable("region", request.region.as_deref(), label)?;
    usable("partition", request.partition.as_deref(), label)?;
    let zone = request.zone.as_deref().map(bare_zone_id);
    usable("zone", zone, |c| c.is_ascii_alphanumeric())?;
    usable("account", request.account.as_deref(), |c| {
        c.is_ascii_digit()
    })
}

fn usable(
    what: &'static str,
    value: Option<&str>,
    allowed: impl Fn(char) -> bool,
) -> Result<(), PolicyError> {
    match value {
        Some(value) if value.is_empty() || !value.chars().all(allowed) => {
            Err(PolicyError::Unusable {
                what,
                value: value.to_owned(),
            })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(state_store: &str) -> Request {
        Request {
            caller: Caller::ControlPlane,
            cluster: "c.example".to_owned(),
            state_store: state_store.parse().expect("a location"),
            region: None,
            account: None,
            partition: None,
            with_signals: false,
            with_repair: false,
            with_newer_kops: false,
            zone: None,
            assets: Vec::new(),
        }
    }

    fn resources(request: &Request) -> Vec<String> {
        let policy = policy(request).expect("the request is good");
        policy
            .statement
            .into_iter()
            .flat_map(|statement| statement.resource)
            .collect()
    }

    #[test]
    fn the_state_store_and_the_clusters_folder_in_it_mean_the_same() {
        let store = policy(&request("s3://store/clusters"));
        let folder = policy(&request("s3://store/clusters/c.example"));
        assert_eq!(store, folder);
        let spec = "arn:aws:s3:::store/clusters/c.example/cluster.spec".to_owned();
        assert!(resources(&request("s3://store/clusters")).contains(&spec));
        let spec = "arn:aws:s3:::store/c.example/cluster.spec".to_owned();
        assert!(resources(&request("s3://store")).contains(&spec));
    }

    #[test]
    fn the_partition_is_the_regions_unless_it_is_given() {
        let mut request = request("s3://store");
        request.region = Some("cn-north-1".to_owned());
        request.account = Some("111122223333".to_owned());
        let volumes = "arn:aws-cn:ec2:cn-north-1:111122223333:volume/*".to_owned();
        assert!(resources(&request).contains(&volumes));
        request.partition = Some("aws-iso".to_owned());
        let all = resources(&request);
        assert!(
            all.iter()
                .all(|arn| arn == "*" || arn.starts_with("arn:aws-iso:"))
        );
    }

    #[test]
    fn the_buckets_of_assets_are_read_and_nothing_else_of_them() {
        let plain = policy(&request("s3://store")).expect("the request is good");
        let mut request = request("s3://store");
        let bucket = |text: &str| text.parse().expect("a location");
        request.assets = vec![bucket("s3://files/kops"), bucket("s3://other")];
        let policy = policy(&request).expect("the request is good");
        let more = &policy.statement[plain.statement.len()..];
        let [added] = more else {
            panic!("one statement more: {more:?}");
        };
        assert_eq!(added.action, ["s3:GetObject"]);
        let objects = ["arn:aws:s3:::files/kops/*", "arn:aws:s3:::other/*"];
        assert_eq!(added.resource, objects);
    }

    #[test]
    fn a_value_that_could_mean_more_than_itself_is_refused() {
        let mut wide = request("s3://store");
        wide.cluster = "*".to_owned();
        let mut variable = request("s3://store");
        variable.cluster = "${aws:username}".to_owned();
        let mut empty = request("s3://store");
        empty.account = Some(String::new());
        for request in [
            wide,
            variable,
            empty,
            request("s3://store/*"),
            request("s3://st*re"),
        ] {
            let answer = policy(&request);
            assert!(
                matches!(answer, Err(PolicyError::Unusable { .. })),
                "{answer:?}"
            );
        }
        let answer = policy(&request("file:///srv/store"));
        assert!(
            matches!(answer, Err(PolicyError::NotS3 { .. })),
            "{answer:?}"
        );
    }
}
