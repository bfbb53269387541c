//! The first boot of a bare image, for the forms of user data that cloud-init has to take apart (`kops_worker` has a script
//! alone): cloud-init knows EC2 by its firmware, asks the metadata service for user data, and runs the delivery script in it;
//! that fetches, proves, installs and starts the agent, which makes the machine a node. What the confined service did holds
//! for all of it.

use quake_integration::agent;
use quake_integration::machine::{
    Cluster, Emulated, Hardware, Kind, Lab, MIRROR, MachineBackend, OperatorOutput, assert_reported,
};
use quake_integration::tree::sha256;
use std::thread;

/// User data of a form, and what the node becomes by it.
struct Form {
    name: &'static str,
    more: &'static [&'static str],
    group: &'static str,
}

/// Compressed is the one that cloud-init has to take apart most: the script is a part of it. Only a control plane has mounts.
const FORMS: [Form; 2] = [
    Form {
        name: "mime",
        more: &["--gzip"],
        group: "control-plane",
    },
    Form {
        name: "cloud-config",
        more: &[],
        group: "workers",
    },
];

/// Properties of the agent's unit that only the confined one has.
const CONFINED: [&str; 3] = [
    "NoNewPrivileges",
    "MemoryDenyWriteExecute",
    "RestrictSUIDSGID",
];

#[test]
fn first_boot_cloud_init() {
    let Some(lab) = Lab::open("first-boot-cloud-init", Kind::Emulated) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let binary = lab.base().agent().expect("the agent is built");
    let binary = std::fs::read(binary).expect("it is there");
    let digest = sha256(&binary);
    lab.vpc().serve("/quake-agent", binary);
    thread::scope(|scope| {
        for form in &FORMS {
            let (lab, cluster) = (&lab, &cluster);
            let user_data = rendered(cluster, &digest, form);
            let mounts = volumes.values().filter(|_| form.group != "workers");
            let mounts = mounts.map(|volume| format!("/mnt/master-{volume}"));
            let mounts: Vec<String> = mounts.collect();
            scope.spawn(move || {
                let machine = delivered(lab, cluster, form, &user_data);
                assert_whole_machine(&machine, &mounts);
            });
        }
    });
}

/// What an operator gives an instance.
fn rendered(cluster: &Cluster, digest: &str, form: &Form) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (kube_env, out) = (at("kube_env.yaml"), at("user-data"));
    std::fs::write(&kube_env, cluster.kube_env(form.group)).expect("the directory is ours");
    let url = format!("{MIRROR}/quake-agent");
    let mut arguments = vec!["user-data", "render", "--kube-env", &kube_env];
    arguments.extend(["--sha256", digest, "--binary-url", &url]);
    arguments.extend(["--format", form.name, "--out", &out]);
    arguments.extend(form.more);
    let ended = agent::run(&arguments);
    assert_eq!(ended.status, 0, "{}", ended.text());
    std::fs::read(&out).expect("it was written")
}

/// A machine that came up with this user data alone, and is ready.
fn delivered(lab: &Lab, cluster: &Cluster, form: &Form, user_data: &[u8]) -> Emulated {
    let name = form.name;
    let facts = cluster.launch_with(form.group, user_data);
    let hardware = Hardware {
        cloud_init: true,
        ..Hardware::default()
    };
    let machine = lab.emulated(&facts, lab.bare(), hardware);
    let installed = machine.comes_true("systemctl is-enabled --quiet quake-agent.service", 60);
    assert!(installed, "{name}: user data runs: {}", machine.console());
    let ready = machine.becomes_ready(60);
    assert!(ready.is_ok(), "{name}: the node becomes ready: {ready:?}");
    assert_eq!(machine.output("cloud-id").trim(), "aws", "{name}");
    let verdict = format!("quake-agent delivery: ok fetched from={MIRROR}/quake-agent");
    assert_reported(&machine.console(), &[&verdict, "quake-agent: READY"]);
    let token = format!("Metadata {} PUT /latest/api/token 200", facts.address);
    let requests = lab.vpc().requests();
    assert!(
        requests.contains(&token),
        "{name}: by version 2 of the metadata service"
    );
    machine
}

/// The service is the confined one, and yet what it loaded, set and mounted is so for the whole machine.
fn assert_whole_machine(machine: &Emulated, mounts: &[String]) {
    let unit = "/usr/local/lib/systemd/system/quake-agent.service";
    assert_eq!(machine.unit_shows("FragmentPath"), unit);
    for property in CONFINED {
        assert_eq!(machine.unit_shows(property), "yes", "{property}");
    }
    assert!(
        machine.holds("test -d /sys/module/br_netfilter"),
        "its modules are loaded"
    );
    for (setting, value) in [("net.ipv4.ip_forward", "1"), ("vm.max_map_count", "262144")] {
        let is = machine.output(&format!("sysctl -n {setting}"));
        assert_eq!(is.trim(), value, "{setting}");
    }
    for mount in mounts {
        let kind = machine.output(&format!("findmnt -n -o FSTYPE {mount}"));
        assert_eq!(kind.trim(), "ext4", "{mount}");
    }
}
