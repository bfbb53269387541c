//! The simulated host keeps the contract of every host.

use quake_model::digest::Digest;
use quake_model::dns::{ZoneFacts, ZoneKind};
use quake_model::facts::BucketFacts;
use quake_model::item::User;
use quake_model::location::Location;
use quake_model::ports::{BootstrapServer, Cloud, Disks, KeyCount, TokenVersion};
use quake_model::redact::Secret;
use quake_model::signal::{ApiAccess, NodeEvent};
use quake_model::spec::{AssetKind, AssetSpec};
use quake_model::time::Timestamp;
use quake_testkit::region::{EtcdSlot, GroupState, Region, example_instance};
use quake_testkit::{Controller, SimHost, Timing, contract};
use std::collections::BTreeMap;
use std::io::Read;

fn host() -> SimHost {
    let region = Region::with_instance(example_instance("us-test-1a"), "contract.example");
    SimHost::new(region, Timing::default(), Timestamp(0))
}

fn asset(url: &str, digest: Digest) -> AssetSpec {
    AssetSpec {
        name: "tool".into(),
        digest,
        urls: vec![url.into()],
        kind: AssetKind::Plain,
    }
}

#[tokio::test]
async fn the_simulated_files_keep_the_contract() {
    assert_eq!(contract::files(&host()).await, Ok(()));
}

#[tokio::test]
async fn the_simulated_keys_keep_the_contract() {
    assert_eq!(contract::keys(&host()).await, Ok(()));
}

#[tokio::test]
async fn the_simulated_assets_keep_the_contract() {
    let host = host();
    host.serve("https://mirror.example/tool", "tool\n");
    let pinned = asset("https://mirror.example/tool", sha1_of("tool\n"));
    let forged = AssetSpec {
        digest: sha1_of("other\n"),
        ..pinned.clone()
    };
    assert_eq!(contract::assets(&host, &pinned, &forged).await, Ok(()));
}

fn sha1_of(text: &str) -> Digest {
    use sha1::Digest as _;
    Digest::from_bytes(
        quake_model::digest::Algorithm::Sha1,
        &sha1::Sha1::digest(text),
    )
}

#[tokio::test]
async fn the_simulated_objects_keep_the_contract() {
    let host = host();
    host.put_object("s3://bucket/x/a", "a");
    host.put_object("s3://bucket/x/b/c", "c");
    let base: Location = "s3://bucket".parse().expect("a literal");
    assert_eq!(contract::objects(&host, &base).await, Ok(()));
    assert_eq!(contract::written_objects(&host, &base).await, Ok(()));
}

#[tokio::test]
async fn the_simulated_buckets_keep_the_contract() {
    let host = host();
    let closed = BucketFacts {
        bucket: "closed".to_owned(),
        policy_is_public: Some(false),
        acl_is_public: Some(false),
        unblocked: Some(Vec::new()),
        encryption: Some("AES256".to_owned()),
        denied: Vec::new(),
    };
    host.put_bucket(BucketFacts {
        bucket: "open".to_owned(),
        policy_is_public: Some(true),
        unblocked: Some(vec!["RestrictPublicBuckets".to_owned()]),
        encryption: Some(String::new()),
        ..closed.clone()
    });
    host.put_bucket(closed);
    let at = |text: &str| text.parse::<Location>().expect("a literal");
    let (closed, open, absent) = (at("s3://closed"), at("s3://open"), at("s3://absent"));
    let kept = contract::buckets(&host, &closed, &open, &absent).await;
    assert_eq!(kept, Ok(()));
}

const ME: &str = "i-0123456789abcdef0";

/// A host with a free volume for an etcd member.
fn host_with_volume() -> SimHost {
    let host = host();
    host.change(|region| {
        let slot = EtcdSlot {
            volume_id: "vol-0a",
            etcd: "main",
            member: "a",
            members: &["a"],
            created: Timestamp(0),
            encrypted: false,
        };
        region.add_etcd_volume("contract.example", &slot);
    });
    host
}

#[tokio::test]
async fn the_simulated_cloud_keeps_the_contract() {
    let host = host_with_volume();
    assert_eq!(contract::cloud(&host, "vol-0a", ME, "i-0b").await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn the_simulated_etcd_keeps_the_contract() {
    let host = host();
    host.install_etcd("3.4.23");
    host.delay_etcd(3);
    let packed = include_bytes!("../../volumes/tests/volumes/snapshots/main-3.4.db.gz");
    let mut whole = Vec::new();
    let unpacked = flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut whole);
    let length = unpacked.expect("it was packed by gzip");
    for (path, bytes) in [
        ("/whole.db", &whole[..]),
        ("/cut.db", &whole[..length - 700]),
    ] {
        host.put_file(path, bytes);
    }
    let given = contract::EtcdGiven {
        snapshot: "/whole.db",
        truncated: "/cut.db",
        directory: "/contract",
        holds: KeyCount {
            keys: 11,
            revision: 15,
        },
    };
    assert_eq!(contract::etcd(&host, given).await, Ok(()));
}

#[tokio::test]
async fn the_simulated_consoles_keep_the_contract() {
    let host = host();
    assert_eq!(contract::consoles(&host, ME).await, Ok(()));
    host.change(|region| {
        region.without_nitro.insert(ME.to_owned());
    });
    assert_eq!(contract::consoles(&host, ME).await, Ok(()));
}

#[tokio::test]
async fn the_simulated_disks_keep_the_contract() {
    let host = host_with_volume();
    let attached = host.attach_volume("vol-0a", ME, "/dev/xvdba").await;
    assert_eq!(attached, Ok(()));
    let devices = host.list_devices().await.expect("they are listed");
    let ended = contract::disks(&host, &devices[0], "/mnt/contract").await;
    assert_eq!(ended, Ok(()));
}

#[tokio::test]
async fn the_simulated_name_service_keeps_the_contract() {
    let host = host();
    host.change(|region| {
        region.names.in_sync_after = 2;
        region.names.add_zone(ZoneFacts {
            id: "Z1".to_owned(),
            name: "contract.example".to_owned(),
            kind: ZoneKind::Public,
            vpcs: Vec::new(),
        });
    });
    let zone = contract::EmptyZone {
        id: "Z1",
        name: "contract.example",
    };
    assert_eq!(contract::dns(&host, &zone).await, Ok(()));
}

#[tokio::test]
async fn the_simulated_signals_keep_the_contract() {
    let host = host();
    let hook = "launch".parse().expect("a literal");
    host.change(|region| {
        region.groups = vec![GroupState {
            name: "nodes.contract.example".to_owned(),
            members: [ME.to_owned()].into(),
            waiting: [(ME.to_owned(), ["launch".to_owned()].into())].into(),
            ..GroupState::default()
        }];
    });
    let waiting = contract::Waiting {
        instance: ME,
        group: "nodes.contract.example",
        hook: &hook,
        alone: "i-0b",
    };
    assert_eq!(contract::signals(&host, &waiting).await, Ok(()));
    let group = host.region().groups.pop().expect("it is there");
    assert_eq!(group.completed, ["launch=ABANDON"]);
}

#[tokio::test]
async fn the_simulated_api_server_keeps_the_contract() {
    let access = ApiAccess {
        server: "http://127.0.0.1:8080".to_owned(),
        ca_bundle: Vec::new(),
        certificate: Vec::new(),
        key: Secret::new(Vec::new()),
    };
    let event = NodeEvent {
        name: "n.1".to_owned(),
        namespace: "default".to_owned(),
        json: b"{}".to_vec(),
    };
    let host = host();
    assert_eq!(contract::node_events(&host, &access, &event).await, Ok(()));
    assert_eq!(host.region().node_events.len(), 1);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the CA is a file; the simulated machine gets its text"
)]
#[tokio::test]
async fn the_simulated_kops_controller_keeps_the_contract() {
    let ca = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/conformance/kops/ca/kubernetes-ca"
    );
    let part = |name: &str| std::fs::read_to_string(format!("{ca}/{name}"));
    let (Ok(certificate), Ok(key)) = (part("crt"), part("key")) else {
        println!("skipped: {ca} is not there");
        return;
    };
    // A day on which that CA is valid.
    let now = Timestamp(1_795_000_000_000);
    let region = Region::with_instance(example_instance("us-test-1a"), "contract.example");
    let host = SimHost::new(region, Timing::default(), now);
    host.answer_bootstrap(Controller {
        config: "ClusterName: contract.example\n".to_owned(),
        secrets: BTreeMap::new(),
        signs: ["kubelet", "kubelet-server"].map(str::to_owned).into(),
        node_name: "i-0a".to_owned(),
        certificate: certificate.clone(),
        key: Secret::new(key),
        cilium: None,
        takes: vec![TokenVersion::V1, TokenVersion::V2],
        swapped_key: None,
        signs_bare_names: false,
    });
    let server = BootstrapServer {
        url: "https://kops-controller.internal.contract.example:3988/".to_owned(),
        tls_server_name: None,
        ca_bundle: certificate,
    };
    assert_eq!(contract::bootstrap(&host, &server).await, Ok(()));
}

#[tokio::test]
async fn the_simulated_programs_keep_the_contract() {
    let host = host();
    host.lack_package("no-such-package");
    host.lack_program("no-such-program-anywhere");
    host.fail_commands("false", 1);
    host.put_file("/usr/bin/tool", "");
    let user = User {
        name: "contract".into(),
        uid: 64_017,
        home: "/nonexistent".into(),
        shell: "/usr/sbin/nologin".into(),
    };
    let has = contract::Provisioned {
        package: "tool",
        unknown: "no-such-package",
        there: "/usr/bin/tool",
        user: &user,
        succeeds: "true",
        fails: "false",
    };
    assert_eq!(contract::provision(&host, &has).await, Ok(()));
}
