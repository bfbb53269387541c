//! What is asked of services around the node: the metadata service, AWS and the API server. Everything is read, or tried
//! dry.

use quake_diagnose::checks::api_access;
use quake_host::aws::{Aws, AwsSettings, Calls, Ec2, Environment, S3};
use quake_host::imds::{Imds, MetadataEndpoint, decompress};
use quake_host::survey::{
    CloudLook, Tried, limited, limited_service, look_at_metadata, look_at_node,
    look_at_permissions, look_at_volumes,
};
use quake_http::ApiServerTrust;
use quake_model::facts::{
    BucketFacts, MetadataSeen, NodeObject, PermissionSeen, Seen, VolumeFacts,
};
use quake_model::iam::Caller;
use quake_model::location::{Location, Scheme};
use quake_model::ports::Condition;
use quake_model::record::Record;
use quake_model::time::Timestamp;
use quake_node::user_data::find_documents;
use quake_volumes::newest_backup_at;
use std::collections::BTreeMap;
use std::time::Duration;

/// The services that a node asks.
pub(super) struct Services {
    imds: Imds,
    ec2: Ec2,
    s3: S3,
    limit: Duration,
}

impl Services {
    /// Wires the services; nothing is contacted yet.
    pub(super) fn wire(limit: Duration) -> Self {
        let calls = Calls::new();
        let imds = Imds::new(&MetadataEndpoint::from_environment(), calls.clone());
        let settings = AwsSettings::from_environment(Environment::Node);
        let aws = Aws::new(settings, imds.clone(), calls);
        Self {
            imds,
            ec2: Ec2::new(aws.clone()),
            s3: S3::new(aws),
            limit,
        }
    }

    pub(super) async fn metadata(&self) -> Seen<MetadataSeen> {
        limited_service(self.limit, async {
            let look = look_at_metadata(&self.imds).await?;
            let mut seen = look.seen;
            if let (Some(bytes), Some(seen)) = (look.user_data, &mut seen.user_data) {
                seen.problems = problems(bytes);
            }
            Ok(seen)
        })
        .await
    }

    /// EC2's view of this instance, and on a control plane of etcd's volumes.
    pub(super) async fn cloud(&self, record: Option<&Record>) -> Seen<CloudLook> {
        let Some((record, instance)) =
            record.and_then(|record| Some((record, record.instance.as_ref()?)))
        else {
            return Seen::NotTaken("no boot came as far as to know this instance".to_owned());
        };
        let spec = record.spec.as_ref();
        let spec = spec.filter(|spec| spec.role == "control-plane");
        let cluster = spec.map(|spec| spec.cluster.as_str());
        let look = look_at_volumes(&self.ec2, cluster, &instance.instance_id);
        limited(self.limit, look).await
    }

    /// Whether the role may do what a node of its kind does.
    pub(super) async fn permissions(
        &self,
        record: Option<&Record>,
        volumes: &Seen<Vec<VolumeFacts>>,
    ) -> Seen<Vec<PermissionSeen>> {
        let known =
            record.and_then(|record| Some((record.spec.as_ref()?, record.instance.as_ref()?)));
        let Some((spec, instance)) = known else {
            return Seen::NotTaken("no boot came as far as to know the node's role".to_owned());
        };
        let expected = record.and_then(|record| record.expected.as_ref());
        let own = volumes.ok().into_iter().flatten().find_map(|volume| {
            let mut attachments = volume.attachments.iter();
            let own = attachments.find(|held| held.instance_id == instance.instance_id)?;
            Some((volume.volume_id.clone(), own.device_name.clone()))
        });
        let tried = Tried {
            caller: match spec.role.as_str() {
                "control-plane" => Caller::ControlPlane,
                _ => Caller::Worker,
            },
            region: instance.region.clone(),
            instance_id: instance.instance_id.clone(),
            volume: own,
            config_base: expected.and_then(|expected| expected.config_base.parse().ok()),
        };
        limited(self.limit, async {
            Ok(look_at_permissions(&self.ec2, &self.s3, &tried).await)
        })
        .await
    }

    /// How the bucket of the state store is kept. A node that asks kops-controller reads none.
    pub(super) async fn bucket(&self, record: Option<&Record>) -> Seen<BucketFacts> {
        let expected = record.and_then(|record| record.expected.as_ref());
        let base = expected.and_then(|expected| expected.config_base.parse::<Location>().ok());
        let Some(base) = base.filter(|base| base.scheme() == Scheme::S3) else {
            return Seen::NotTaken("no state store in S3 is known to this node".to_owned());
        };
        limited(self.limit, self.s3.look_at_bucket(&base)).await
    }

    /// When the newest backup was made, by the place of the backups. A place that this role may not list, or that is
    /// not in S3, is left out.
    pub(super) async fn backups(
        &self,
        record: Option<&Record>,
    ) -> Seen<BTreeMap<String, Option<Timestamp>>> {
        let expected = record.and_then(|record| record.expected.as_ref());
        let places = expected.map_or(&[][..], |expected| &expected.backups);
        if places.is_empty() {
            return Seen::NotTaken("no place of backups is known".to_owned());
        }
        limited(self.limit, async {
            let mut newest = BTreeMap::new();
            for place in places {
                let location = place.parse::<Location>().ok();
                let Some(location) = location.filter(|it| it.scheme() == Scheme::S3) else {
                    continue;
                };
                match self.s3.list_objects(&location).await {
                    Ok(names) => newest.insert(place.clone(), newest_backup_at(&names)),
                    Err(error) if error.condition == Condition::Denied => continue,
                    Err(error) => return Err(error),
                };
            }
            Ok(newest)
        })
        .await
    }
}

/// What is wrong with user data, one line each.
fn problems(bytes: Vec<u8>) -> Vec<String> {
    let bytes = match decompress(bytes) {
        Ok(bytes) => bytes,
        Err(error) => return vec![error.to_string()],
    };
    match find_documents(&bytes) {
        Ok(_) => Vec::new(),
        Err(fault) => vec![fault.to_string()],
    }
}

/// The node as the API server shows it, asked with kubelet's own certificate.
pub(super) async fn node(record: Option<&Record>, limit: Duration) -> Seen<Option<NodeObject>> {
    let expected = record.and_then(|record| record.expected.as_ref());
    let Some(expected) = expected.filter(|expected| !expected.node_name.is_empty()) else {
        return Seen::NotTaken("no boot came as far as to know the node's name".to_owned());
    };
    let text = match tokio::fs::read_to_string(&expected.kubeconfig).await {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Seen::Denied(format!("only root may read {}", expected.kubeconfig));
        }
        Err(error) => return Seen::NotTaken(format!("{}: {error}", expected.kubeconfig)),
    };
    let Some(access) = api_access(&text, |path| std::fs::read(path).ok()) else {
        return Seen::NotTaken(format!(
            "{} names no way in that is tried",
            expected.kubeconfig
        ));
    };
    let trust = (!access.ca_bundle.is_empty()).then_some(ApiServerTrust {
        ca_bundle: &access.ca_bundle,
        certificate: &access.certificate,
        key: access.key.expose(),
    });
    limited(
        limit,
        look_at_node(&access.server, trust, &expected.node_name),
    )
    .await
}
