//! Restores of etcd on a simulated region: what is lost, which backups there are and who runs the
//! members decide; nothing but what was asked for is written.

mod chaos;
mod file;
mod refused;
mod rehearsed;

use flate2::read::GzDecoder;
use quake_engine::restore::{RestoreFrom, RestoreQuestion};
use quake_model::facts::{Attachment, AttachmentState, InstanceView, VolumeState};
use quake_model::location::Location;
use quake_model::spec::{EtcdCluster, EtcdMember, EtcdProvider};
use quake_model::time::Timestamp;
use quake_testkit::region::{EtcdSlot, Region, example_instance};
use quake_testkit::{SimHost, Timing};
use quake_volumes::restore::{Consent, Health};
use quake_volumes::{ClusterGeneration, Facts};
use std::collections::BTreeMap;
use std::io::Read;

const CLUSTER: &str = "c.example";
const STORE: &str = "s3://b/c.example/backups/etcd/main";
const MEMBERS: [&str; 3] = ["a", "b", "c"];
const HOUR: u64 = 3_600_000;
/// 2026-11-26T02:00:00Z.
const NOW: Timestamp = Timestamp(1_795_658_400_000);
const FRESH: &str = "2026-11-26T01:45:00Z-000012";
const OLD: &str = "2026-11-16T02:00:00Z-000001";

/// A snapshot of etcd 3.4 of `main`, with eleven keys at revision 15.
fn snapshot() -> Vec<u8> {
    unpacked(include_bytes!(
        "../../../../volumes/tests/volumes/snapshots/main-3.4.db.gz"
    ))
}

/// A snapshot of etcd 3.6 of `events`.
fn snapshot_of_events() -> Vec<u8> {
    unpacked(include_bytes!(
        "../../../../volumes/tests/volumes/snapshots/events-3.6.db.gz"
    ))
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    let read = GzDecoder::new(bytes).read_to_end(&mut unpacked);
    read.expect("it was packed by gzip");
    unpacked
}

/// A region with a control plane of three members, of one group or of three, of which the first
/// `lost` have no data any more: their volumes were deleted and created again.
fn region(lost: usize, split: bool) -> SimHost {
    let mut region = Region::with_instance(example_instance("us-test-1a"), CLUSTER);
    for (at, member) in MEMBERS.into_iter().enumerate() {
        let id = format!("vol-{member}");
        let age = if at < lost { 0 } else { 500 * HOUR };
        region.add_etcd_volume(
            CLUSTER,
            &EtcdSlot {
                volume_id: &id,
                etcd: "main",
                member,
                members: &MEMBERS,
                created: Timestamp(NOW.0 - age),
                encrypted: false,
            },
        );
        let volume = region.volumes.last_mut().expect("it was added");
        let instance = match split {
            true => format!("i-{member}"),
            false => region.instance.instance_id.clone(),
        };
        volume.state = VolumeState::InUse;
        volume.attachments = vec![Attachment {
            instance_id: instance.clone(),
            state: AttachmentState::Attached,
            device_name: "/dev/xvdu".to_owned(),
            since: None,
            delete_on_termination: false,
        }];
        let view = InstanceView {
            instance_id: instance,
            ..region.instances[0].clone()
        };
        region.instances.push(view);
    }
    SimHost::new(region, Timing::default(), NOW)
}

/// Puts a backup into the store.
fn back_up(host: &SimHost, name: &str, version: &str, bytes: &[u8]) {
    let place = format!("{STORE}/{name}");
    host.put_object(&format!("{place}/etcd.backup.gz"), bytes);
    let meta = format!(r#"{{"etcdVersion":"{version}","clusterSpec":{{"memberCount":3}}}}"#);
    host.put_object(&format!("{place}/_etcd_backup.meta"), meta.as_bytes());
}

/// What etcd-manager has in its store since the cluster was created.
fn control(host: &SimHost, version: &str) {
    let spec = format!(r#"{{"memberCount":3,"etcdVersion":"{version}"}}"#);
    host.put_object(
        &format!("{STORE}/control/etcd-cluster-spec"),
        spec.as_bytes(),
    );
    host.put_object(&format!("{STORE}/control/etcd-cluster-created"), *b"{}");
}

/// The question about this region; the first `lost` members are down, and the others if they are no
/// majority.
fn question(host: &SimHost, lost: usize, split: bool) -> RestoreQuestion {
    let members = MEMBERS.map(|name| EtcdMember {
        name: name.to_owned(),
        instance_group: Some(match split {
            true => format!("master-{name}"),
            false => "masters".to_owned(),
        }),
        encrypted: false,
    });
    let health = MEMBERS.into_iter().enumerate().map(|(at, name)| {
        let works = at >= lost && lost < 2;
        let reason = "connection refused".to_owned();
        let health = match works {
            true => Health::Healthy,
            false => Health::Unhealthy { reason },
        };
        (name.to_owned(), health)
    });
    let region = host.region();
    RestoreQuestion {
        facts: Facts {
            cluster: CLUSTER.to_owned(),
            etcd: vec![("main".to_owned(), members.to_vec())],
            zones: BTreeMap::new(),
            cluster_generation: ClusterGeneration::default(),
            volumes: region.volumes,
            instances: region.instances,
            settled: true,
        },
        etcd: EtcdCluster {
            name: "main".to_owned(),
            members: members.to_vec(),
            version: "3.4.23".to_owned(),
            image: String::new(),
            provider: EtcdProvider::Manager,
            backup_store: Some(location(STORE)),
            manifest: None,
        },
        manifest: None,
        health: health.collect(),
        from: RestoreFrom::Newest,
        consent: Consent::default(),
    }
}

fn location(text: &str) -> Location {
    text.parse().expect("a literal")
}

/// The names of commands that etcd-manager would find.
fn commands(host: &SimHost) -> Vec<serde_json::Value> {
    let name = quake_volumes::restore::command_name(NOW);
    let place = format!("{STORE}/control/{name}/_command.json");
    let found = host.object(&place);
    let read = |bytes: Vec<u8>| serde_json::from_slice(&bytes).expect("it is JSON");
    found.into_iter().map(read).collect()
}
