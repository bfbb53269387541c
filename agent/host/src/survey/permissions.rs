//! Whether the node's role may do what a node of its kind does. Nothing is changed: EC2 is asked for dry runs, and of
//! the state store one object and one listing are read.

use crate::aws::{DryRun, Ec2, S3};
use futures_util::future::join_all;
use quake_model::facts::{PermissionSeen, Permitted};
use quake_model::iam::{Caller, partition_of};
use quake_model::location::{Location, Scheme};
use quake_model::ports::{Condition, PortError};
use std::time::Duration;

/// How long one try may take.
const LIMIT: Duration = Duration::from_millis(1500);

/// What is tried, and on what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    pub caller: Caller,
    pub region: String,
    pub instance_id: String,
    /// A volume of the cluster, and the device name it is or would be attached under.
    pub volume: Option<(String, String)>,
    /// The cluster's directory in the state store.
    pub config_base: Option<Location>,
}

/// Tries everything at once, each for a second and a half at most: at most seven calls.
pub async fn look_at_permissions(ec2: &Ec2, s3: &S3, tried: &Tried) -> Vec<PermissionSeen> {
    let runs = runs(tried);
    let of_ec2 = join_all(runs.iter().map(|run| try_dry(ec2, tried, run)));
    let (mut seen, of_s3) = tokio::join!(of_ec2, of_store(s3, tried));
    seen.extend(of_s3);
    seen
}

fn runs(tried: &Tried) -> Vec<DryRun> {
    let mut runs = vec![DryRun::DescribeInstances];
    if tried.caller != Caller::ControlPlane {
        return runs;
    }
    runs.push(DryRun::DescribeVolumes);
    // What is judged by its tags can only be tried on something that has them.
    if let Some((volume_id, device_name)) = tried.volume.clone() {
        let instance_id = tried.instance_id.clone();
        runs.push(DryRun::AttachVolume {
            volume_id: volume_id.clone(),
            instance_id: instance_id.clone(),
        });
        runs.push(DryRun::KeepVolume {
            instance_id,
            device_name,
        });
        runs.push(DryRun::TagVolume { volume_id });
    }
    runs
}

async fn try_dry(ec2: &Ec2, tried: &Tried, run: &DryRun) -> PermissionSeen {
    let permitted = tokio::time::timeout(LIMIT, ec2.try_dry(run)).await;
    let (partition, region) = (partition_of(&tried.region), &tried.region);
    let arn = |kind: &str, id: &str| format!("arn:{partition}:ec2:{region}:*:{kind}/{id}");
    let resource = match run {
        DryRun::DescribeInstances | DryRun::DescribeVolumes => "*".to_owned(),
        DryRun::AttachVolume { volume_id, .. } | DryRun::TagVolume { volume_id } => {
            arn("volume", volume_id)
        }
        DryRun::KeepVolume { instance_id, .. } => arn("instance", instance_id),
    };
    seen(run.action(), resource, permitted.unwrap_or_else(|_| late()))
}

/// The two ways in which a node reads the state store, each where every policy of a node allows it.
async fn of_store(s3: &S3, tried: &Tried) -> Vec<PermissionSeen> {
    let base = tried.config_base.as_ref();
    let Some(base) = base.filter(|base| base.scheme() == Scheme::S3) else {
        return Vec::new();
    };
    let bucket = format!("arn:{}:s3:::{}", partition_of(&tried.region), base.bucket());
    let (object, names) = (base.join("cluster.spec"), base.join("pki/issued/ca"));
    let (read, listed) = tokio::join!(
        tokio::time::timeout(LIMIT, s3.read_object(&object)),
        tokio::time::timeout(LIMIT, s3.list_objects(&names)),
    );
    let read = read.map_or_else(|_| late(), |read| of_answer(read.err()));
    let listed = listed.map_or_else(|_| late(), |listed| of_answer(listed.err()));
    vec![
        seen("s3:GetObject", format!("{bucket}/{}", object.key()), read),
        seen("s3:ListBucket", bucket, listed),
    ]
}

/// An object that is not there was looked for with leave: who may not read and list is told 403.
fn of_answer(error: Option<PortError>) -> Permitted {
    match error {
        None => Permitted::Yes,
        Some(error) => match error.condition {
            Condition::Missing | Condition::Malformed => Permitted::Yes,
            Condition::Denied => Permitted::No {
                message: error.summary,
            },
            _ => Permitted::Unknown { why: error.summary },
        },
    }
}

fn late() -> Permitted {
    Permitted::Unknown {
        why: format!("no answer in {} ms", LIMIT.as_millis()),
    }
}

fn seen(action: &str, resource: String, permitted: Permitted) -> PermissionSeen {
    PermissionSeen {
        action: action.to_owned(),
        resource,
        permitted,
        statement: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(caller: Caller, volume: Option<(&str, &str)>) -> Tried {
        Tried {
            caller,
            region: "us-west-2".to_owned(),
            instance_id: "i-1".to_owned(),
            volume: volume.map(|(id, device)| (id.to_owned(), device.to_owned())),
            config_base: None,
        }
    }

    #[test]
    fn each_role_tries_what_it_needs_and_nothing_on_a_volume_that_is_not_there() {
        let actions =
            |tried: Tried| -> Vec<&str> { runs(&tried).iter().map(DryRun::action).collect() };
        assert_eq!(
            actions(tried(Caller::Worker, None)),
            ["ec2:DescribeInstances"]
        );
        let bare = actions(tried(Caller::ControlPlane, None));
        assert_eq!(bare, ["ec2:DescribeInstances", "ec2:DescribeVolumes"]);
        let all = actions(tried(Caller::ControlPlane, Some(("vol-1", "/dev/xvdba"))));
        assert_eq!(all.len(), 5);
        assert!(all.contains(&"ec2:AttachVolume") && all.contains(&"ec2:CreateTags"));
    }

    #[test]
    fn an_absent_object_is_no_refusal_and_silence_no_leave() {
        let of = |condition| of_answer(Some(PortError::new(condition, "x")));
        assert_eq!(of_answer(None), Permitted::Yes);
        assert_eq!(of(Condition::Missing), Permitted::Yes);
        assert!(matches!(of(Condition::Denied), Permitted::No { .. }));
        assert!(matches!(
            of(Condition::Unreachable),
            Permitted::Unknown { .. }
        ));
        assert!(matches!(
            of(Condition::Throttled),
            Permitted::Unknown { .. }
        ));
    }
}
