//! The provisioning step of images.

use quake_integration::machine::{BAKE, Kind, Lab, MachineBackend};

#[test]
fn image_is_clean_and_starts_the_agent() {
    let Some(lab) = Lab::open("image", Kind::Containers) else {
        return;
    };
    let agent = lab.base().agent().expect("the agent is built");
    // It ends with `seed verify`: an image that is not clean has no layer.
    let layer = lab.base().provisioned(&agent).expect("the image is clean");
    assert!(layer.join("usr/local/bin/quake-agent").is_file());
    let wanted = "etc/systemd/system/multi-user.target.wants/quake-agent.service";
    assert!(
        layer.join(wanted).is_symlink(),
        "the agent starts with the machine"
    );
}

/// What a machine has come by until it is imaged, and no other one may have from it.
const OF_ONE_MACHINE: [&str; 6] = [
    "/etc/ssh/ssh_host_ed25519_key",
    "/root/.aws/credentials",
    "/root/.ssh/authorized_keys",
    "/var/lib/cloud/instances/i-0123456789abcdef0/user-data.txt",
    "/var/lib/dhcp/dhclient.eth0.leases",
    "/var/lib/quake-agent/boots/20260101T000000000Z-1.jsonl",
];

#[test]
fn image_with_a_seed() {
    let Some(lab) = Lab::open("image-with-a-seed", Kind::Containers) else {
        return;
    };
    let cluster = lab.cluster();
    let facts = cluster.launch("workers");
    let worn = OF_ONE_MACHINE.iter();
    let layer = worn
        .fold(lab.unprovisioned(), |layer, path| {
            layer.file(path, 0o600, "its own")
        })
        .file("/root/kube_env.yaml", 0o600, cluster.kube_env("workers"));
    let machine = lab.container(&facts, layer);
    machine.output(&format!("{BAKE} -- --kube-env /root/kube_env.yaml"));
    let listed = machine.output("quake-agent store list --output json");
    for pin in cluster.pins() {
        let digest = pin.split('@').next().unwrap_or_default();
        assert!(listed.contains(digest), "{digest}: {listed}");
    }
    assert!(machine.holds("systemctl is-enabled --quiet quake-agent.service"));
    assert_eq!(machine.output("cat /etc/machine-id"), "");
    for path in OF_ONE_MACHINE {
        assert!(machine.holds(&format!("! test -e {path}")), "{path}");
    }
}

#[test]
fn an_image_with_a_clusters_key_is_refused() {
    let Some(lab) = Lab::open("image-with-a-key", Kind::Containers) else {
        return;
    };
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIC\n-----END RSA PRIVATE KEY-----\n";
    let layer = lab
        .unprovisioned()
        .file("/srv/kubernetes/server.key", 0o600, key);
    let machine = lab.worker(layer);
    let ran = machine.run(BAKE, machine.second() * 60).expect("it ends");
    assert_ne!(ran.status, 0, "{}", ran.stdout);
    let reported = ran.stdout + &ran.stderr;
    assert!(
        reported.contains("node-credentials") && reported.contains("/srv/kubernetes/server.key"),
        "{reported}"
    );
}
