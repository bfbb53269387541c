//! What etcd-manager does with volumes after the agent, and without it, in every order of EC2's answer.

use crate::common::run;
use crate::kops::{EPOCH_OF_THE_DATA, conformance, warnings};
use crate::kops_volumes::{CLUSTER, GROUP, add_volume, both, control_plane, manifests, mounts};
use quake_model::facts::VolumeFacts;
use quake_testkit::mounter::{Mounter, Taken, arrange, orders};
use quake_testkit::region::{Region, example_instance};
use quake_testkit::{SimHost, Timing};
use std::collections::BTreeSet;

const ME: &str = "i-0123456789abcdef0";

async fn mounter(host: &SimHost, etcd: &str, all: &[&str], order: &[usize]) -> Taken {
    let device_name = match etcd {
        "main" => "/dev/xvdu",
        _ => "/dev/xvdv",
    };
    let mounter = Mounter {
        cluster: CLUSTER,
        etcd,
        instance_id: ME,
        zone: "us-test-1a",
        device_name,
    };
    let arranged = |volumes: &mut Vec<VolumeFacts>| arrange(volumes, all, order);
    mounter
        .take(host, arranged)
        .await
        .expect("the ports answer")
}

/// What etcd-manager takes in one region by itself, by the order of EC2's answer: `main`'s volume and `events`'.
async fn alone(make: &dyn Fn(&mut Region), all: &[&str], order: &[usize]) -> [Option<String>; 2] {
    let mut region = Region::with_instance(example_instance("us-test-1a"), CLUSTER);
    make(&mut region);
    let host = SimHost::new(region, Timing::default(), EPOCH_OF_THE_DATA);
    let main = mounter(&host, "main", all, order).await;
    let events = mounter(&host, "events", all, order).await;
    [main.attached, events.attached]
}

const DUPLICATES: [&str; 4] = ["vol-events-a", "vol-events-x", "vol-main-a", "vol-main-x"];

fn make_duplicates(region: &mut Region) {
    for etcd in ["main", "events"] {
        for name in ["a", "x"] {
            add_volume(region, &format!("vol-{etcd}-{name}"), etcd, "a");
        }
    }
}

const MEMBERS: [&str; 6] = [
    "vol-events-a",
    "vol-events-b",
    "vol-events-c",
    "vol-main-a",
    "vol-main-b",
    "vol-main-c",
];

fn make_members(region: &mut Region) {
    for etcd in ["main", "events"] {
        for name in ["a", "b", "c"] {
            add_volume(region, &format!("vol-{etcd}-{name}"), etcd, name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_the_agent_the_order_of_the_answer_decides() {
    let mut outcomes = BTreeSet::new();
    for order in orders(4) {
        outcomes.insert(alone(&make_duplicates, &DUPLICATES, &order).await);
    }
    assert_eq!(outcomes.len(), 4, "{outcomes:?}");
    let member = |id: &Option<String>| {
        id.as_deref()
            .and_then(|id| id.rsplit('-').next().map(str::to_owned))
    };
    let mut split = 0;
    for order in orders(6) {
        let [main, events] = alone(&make_members, &MEMBERS, &order).await;
        split += u32::from(member(&main) != member(&events));
    }
    assert_eq!(split, 480);
}

/// Asserts that etcd-manager, after the agent, takes nothing in any order of these volumes.
async fn takes_nothing(host: &SimHost, all: &[&str], wanted: [&str; 2]) {
    for order in orders(all.len()) {
        for (etcd, volume) in ["main", "events"].into_iter().zip(wanted) {
            let taken = mounter(host, etcd, all, &order).await;
            let found = Taken {
                volume: Some(volume.to_owned()),
                ..Taken::default()
            };
            assert_eq!(taken, found, "{order:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_the_agent_etcd_manager_finds_one_volume_and_takes_nothing() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    let (verdict, record) = run(&host, &request).await;
    assert_eq!((verdict.fault, warnings(&record)), (None, Vec::new()));
    assert_eq!(manifests(&host), both());
    // kops' role for a control plane allows neither.
    for call in ["tag_volume", "untag_volume", "keep_on_termination"] {
        assert_eq!(host.port_calls_of(call), 0, "{call}");
    }
    let wanted = ["vol-events-a", "vol-main-a"].map(|id| format!("/mnt/master-{id}"));
    assert!(wanted.iter().all(|target| mounts(&host).contains(target)));
    // Volumes with the same tags that come later are no choice any more.
    host.change(|region| {
        for etcd in ["main", "events"] {
            add_volume(region, &format!("vol-{etcd}-x"), etcd, "a");
        }
    });
    takes_nothing(&host, &DUPLICATES, ["vol-main-a", "vol-events-a"]).await;
}

#[tokio::test(start_paused = true)]
async fn of_three_members_in_one_group_a_node_takes_one_whole_and_etcd_manager_nothing_more() {
    let Some(root) = conformance() else { return };
    let (host, request) = control_plane(&root);
    let location = format!("s3://tests/{CLUSTER}/cluster-completed.spec");
    let text = String::from_utf8(host.object(&location).expect("it is there")).expect("it is text");
    let member = |name: &str| {
        format!("    - encryptedVolume: true\n      instanceGroup: {GROUP}\n      name: {name}\n")
    };
    let three: String = ["a", "b", "c"].map(member).concat();
    let edited = text.replace(&member("a"), &three);
    assert_ne!(edited, text);
    host.put_object(&location, edited);
    host.change(|region| {
        region.volumes.clear();
        make_members(region);
    });
    assert_eq!(run(&host, &request).await.0.fault, None);
    let region = host.region();
    let held = region
        .volumes
        .iter()
        .filter(|volume| !volume.attachments.is_empty());
    let held: Vec<&str> = held.map(|volume| volume.volume_id.as_str()).collect();
    let [main, events] = held.as_slice() else {
        panic!("{held:?}")
    };
    assert_eq!(main.rsplit('-').next(), events.rsplit('-').next());
    takes_nothing(&host, &MEMBERS, [main, events]).await;
}
