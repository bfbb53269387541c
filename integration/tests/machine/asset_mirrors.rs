//! Mirrors of assets: the first that a node is told of is dead, slow or lying, and the second one serves.

use quake_integration::http::{Reply, Request};
use quake_integration::machine::{
    AWS, Cluster, Container, Kind, Lab, MIRROR, MachineBackend, Place,
};
use quake_integration::mirror::piece;
use quake_integration::waiting::pause;
use std::time::Duration;

/// Nothing listens there.
const DEAD: &str = "http://172.20.0.1:8001";

/// The asset that is large enough to be slow with.
const PLUGINS: &str = "/network-plugins/cni-plugins-amd64-v0.7.5.tgz";

/// A worker whose assets are first looked for below `first`, and then at the mirror.
fn worker(lab: &Lab, cluster: &Cluster, first: &str) -> Container {
    let pins = format!("@{MIRROR}");
    let user_data = cluster.user_data("workers", "");
    let both: Vec<String> = user_data
        .lines()
        .map(|line| both_urls(line, &pins, first))
        .collect();
    let facts = cluster.launch_with("workers", both.join("\n").as_bytes());
    lab.container(&facts, lab.baked())
}

/// The line of a pin with a URL below `first` before its own.
fn both_urls(line: &str, pins: &str, first: &str) -> String {
    match line.split_once(pins) {
        Some((digest, path)) => format!("{digest}@{first}{path},{MIRROR}{path}"),
        None => line.to_owned(),
    }
}

/// Asserts that what was installed is what the mirror serves, and that each asset is told to come from the second URL.
/// The operator reads what the first mirror did: `why`.
fn came_from_the_second(lab: &Lab, machine: &Container, why: &str) {
    let kubelet = lab
        .vpc()
        .served("/bin/linux/amd64/kubelet")
        .expect("it is published");
    assert_eq!(
        machine.output("cat /usr/local/bin/kubelet").as_bytes(),
        kubelet.as_slice()
    );
    assert!(machine.holds("test -x /opt/cni/bin/bridge"));
    let status = machine.ask_agent("/v1/status");
    let fetched = status["assets"]["fetched"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert_eq!(fetched.len(), 3, "{status}");
    for asset in &fetched {
        assert_eq!(asset["mirror"], 2, "{asset}");
    }
    let journal = machine.output("journalctl --no-pager --unit quake-agent.service");
    assert!(journal.contains("assets:cni-plugins-amd64-v0.7.5.tgz was downloaded from"));
    let warned =
        |line: &str| line.contains("was fetched from another mirror") && line.contains(why);
    assert!(journal.lines().any(warned), "{why}: {journal}");
}

#[test]
fn asset_mirror_dead() {
    let Some(lab) = Lab::open("asset-mirror-dead", Kind::Containers) else {
        return;
    };
    let machine = worker(&lab, &lab.cluster(), DEAD);
    machine.becomes_ready(90).expect("the second mirror serves");
    came_from_the_second(&lab, &machine, "Connection refused");
}

#[test]
fn asset_mirror_slow() {
    let Some(lab) = Lab::open("asset-mirror-slow", Kind::Containers) else {
        return;
    };
    let cluster = lab.cluster();
    let plugins = lab.vpc().served(PLUGINS).expect("it is published");
    // Its answers begin at once and come at 4 KiB/s; small files do not come for longer than the agent waits.
    lab.vpc()
        .interpose(Place::Aws, move |_, request: &Request| {
            if request.path() == PLUGINS {
                let pace = Some(Duration::from_secs(4));
                return Some(Reply {
                    pace,
                    ..piece(request, &plugins)
                });
            }
            if request.path().starts_with("/bin/") {
                pause(Duration::from_secs(6));
                return Some(Reply::nothing());
            }
            None
        });
    let machine = worker(&lab, &cluster, AWS);
    machine.becomes_ready(90).expect("the second mirror serves");
    came_from_the_second(&lab, &machine, "it gave nothing for 3 s");
}

#[test]
fn asset_mirror_lying() {
    let Some(lab) = Lab::open("asset-mirror-lying", Kind::Containers) else {
        return;
    };
    let cluster = lab.cluster();
    let vpc = std::sync::Arc::downgrade(lab.vpc());
    lab.vpc()
        .interpose(Place::Aws, move |_, request: &Request| {
            let mut file = vpc.upgrade()?.served(request.path())?.to_vec();
            let middle = file.len() / 2;
            file[middle] ^= 1;
            Some(piece(request, &file))
        });
    let machine = worker(&lab, &cluster, AWS);
    machine.becomes_ready(90).expect("the second mirror serves");
    came_from_the_second(&lab, &machine, "the digest is sha256:");
}
