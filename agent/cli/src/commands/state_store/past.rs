//! A cluster's directory as it was at an instant, from the versions that its bucket keeps.

use super::cluster::Refused;
use quake_engine::store_fault;
use quake_host::objects::{Past, StateStore};
use quake_model::facts::{UnknownPast, objects_at};
use quake_model::fault::{Code, Fault};
use quake_model::location::{Location, Scheme};
use quake_model::ports::{Condition, PortError};
use quake_model::time::Timestamp;

/// How the keys begin that are listed below a cluster's directory, and whether a refusal leaves them out, as it does where
/// the present is read. Backups and boot reports are no part of what a node is, and have the most versions by far.
const STARTS: &[(&str, bool)] = &[
    ("addons/", false),
    ("cluster-completed.spec", false),
    ("cluster.spec", false),
    ("igconfig/", false),
    ("instancegroup/", false),
    ("kops-version.txt", false),
    ("manifests/", false),
    ("pki/issued/", true),
    ("pki/private/", true),
    ("secrets/", true),
];

/// The directory of a cluster as it was.
///
/// # Errors
///
/// What listing comes to, and that nobody can say what was there.
pub(super) async fn past_of(
    objects: &StateStore,
    root: &Location,
    cluster: Option<&str>,
    at: Timestamp,
) -> Result<Past, Refused> {
    let base = base_of(root, cluster)?;
    let mut versions = Vec::new();
    for (start, may_be_denied) in STARTS {
        match objects.list_versions(&base, start).await {
            Ok(listed) => versions.extend(listed),
            Err(error) if *may_be_denied && error.condition == Condition::Denied => {}
            Err(error) => return Err(unlisted(&base, error).into()),
        }
    }
    match objects_at(&versions, at) {
        Ok(objects) => Ok(Past { base, objects }),
        Err(unknown) => Err(unknown_past(&base, at, &unknown).into()),
    }
}

/// The directory of the one cluster that is meant. All of a bucket is not looked through: it has too many versions.
fn base_of(root: &Location, cluster: Option<&str>) -> Result<Location, Refused> {
    if root.scheme() != Scheme::S3 {
        let message = format!(
            "{root} is a directory, which keeps no versions: name s3://BUCKET/CLUSTER@INSTANT"
        );
        return Err(Refused::Usage(message));
    }
    let last = root.key().rsplit('/').next().unwrap_or_default();
    match cluster {
        Some(cluster) if last != cluster => Ok(root.join(cluster)),
        None if root.key().is_empty() => {
            let message = format!("{root} may have several clusters: name {root}/CLUSTER@INSTANT");
            Err(Refused::Usage(message))
        }
        _ => Ok(root.clone()),
    }
}

fn unlisted(base: &Location, error: PortError) -> Fault {
    let fault = store_fault(error);
    fault.seen("location", base)
}

fn unknown_past(base: &Location, at: Timestamp, unknown: &UnknownPast) -> Fault {
    let bucket = base.bucket();
    let (summary, location) = match unknown {
        UnknownPast::NoVersions => (
            format!("the bucket {bucket} keeps no versions, so nobody can say what it had at {at}"),
            base,
        ),
        UnknownPast::Overwritten(location) => (
            format!(
                "{location} was written after {at} while the bucket kept no versions: what it was before is lost"
            ),
            location,
        ),
    };
    let fault = Fault::new(Code::ConfigLocationUnusable, summary).seen("location", location);
    fault.remedied_by(format!(
        "compare with a copy of that time; to keep versions from now on: aws s3api put-bucket-versioning --bucket {bucket} \
         --versioning-configuration Status=Enabled"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_one_cluster_is_named_by_its_place_or_by_its_name() {
        for (root, cluster, base) in [
            ("s3://b/c.example", None, Some("s3://b/c.example")),
            ("s3://b", Some("c.example"), Some("s3://b/c.example")),
            (
                "s3://b/c.example",
                Some("c.example"),
                Some("s3://b/c.example"),
            ),
            ("s3://b/x", Some("c.example"), Some("s3://b/x/c.example")),
            ("s3://b", None, None),
            ("file:///tmp/b", Some("c.example"), None),
        ] {
            let root: Location = root.parse().expect("a literal");
            let found = base_of(&root, cluster).ok().map(|base| base.to_string());
            assert_eq!(found.as_deref(), base, "{root} {cluster:?}");
        }
    }

    #[test]
    fn what_nobody_can_say_has_a_code_the_place_and_a_remedy() {
        let base: Location = "s3://b/c.example".parse().expect("a literal");
        let lost = base.join("igconfig/node/nodes/nodeupconfig.yaml");
        for (unknown, seen) in [
            (UnknownPast::NoVersions, &base),
            (UnknownPast::Overwritten(lost.clone()), &lost),
        ] {
            let fault = unknown_past(&base, Timestamp(0), &unknown);
            assert_eq!(fault.code, Code::ConfigLocationUnusable);
            assert!(fault.remedy_text().contains("--bucket b "), "{fault:?}");
            let location = fault.evidence.iter().find(|it| it.name == "location");
            assert_eq!(location.map(|it| it.value.clone()), Some(seen.to_string()));
        }
    }
}
