//! What etcd-manager would do with volumes that the agent attached and mounted, on a control plane of kops 1.32 and newer whose
//! volumes come and go as NVMe devices: nothing, in whatever order EC2 lists them. Then what it does without the agent.

use quake_integration::etcd_manager::{self, Outcome, PROGRAM, Pods, Taken};
use quake_integration::machine::{
    AWS, Emulated, Facts, Golden, Hardware, Kind, Lab, MachineBackend, ZONE,
};
use quake_integration::waiting::wait_until;
use std::collections::BTreeMap;
use std::time::Duration;

const CLUSTER: &str = "minimal.example.com";
const GROUP: &str = "master-us-test-1a";
const MEMBERS: [&str; 3] = ["a", "b", "c"];

/// Where the stand-in for etcd-manager is in a machine.
const STAND_IN: &str = "/usr/local/bin/etcd-manager-stand-in";

/// What etcd-manager does on this machine.
fn run(machine: &Emulated, volumes: &[&str], more: &[&str]) -> Vec<Outcome> {
    let pods = Pods {
        endpoint: AWS,
        cluster: CLUSTER,
        instance: machine.instance(),
        zone: ZONE,
    };
    let arguments = pods.arguments(volumes, more);
    let script = format!("{STAND_IN} {}", arguments.join(" "));
    let ran = machine.run(&script, machine.second() * 120);
    let ran = ran.expect("the machine answers");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    etcd_manager::outcomes(&ran.stdout)
}

/// Asserts that etcd-manager finds these volumes attached and mounted in every order, and what it leaves: the devices and mounts
/// as they were.
fn takes_nothing(machine: &Emulated, volumes: &[&str], [main, events]: [&str; 2]) {
    let shown = "cat /sys/class/nvme/*/serial /proc/self/mounts";
    let before = machine.output(shown);
    let outcomes = run(machine, volumes, &["--every-order"]);
    let wanted = Outcome {
        orders: (1..=volumes.len()).product(),
        main: Taken::found(main),
        events: Taken::found(events),
    };
    assert_eq!(outcomes, [wanted]);
    assert_eq!(machine.output(shown), before);
}

#[test]
fn etcd_manager_takes_nothing() {
    let Some(lab) = Lab::open("etcd-manager-takes-nothing", Kind::Emulated) else {
        return;
    };
    let golden = Golden::publish_saying(lab.vpc(), "minimal-1.35", |spec| {
        etcd_manager::with_members(&spec, GROUP, &MEMBERS)
    });
    let Some(golden) = golden else {
        return;
    };
    let mut members = BTreeMap::new();
    for etcd in ["main", "events"] {
        for member in MEMBERS {
            let id = golden.add_volume(CLUSTER, (etcd, member, &MEMBERS));
            members.insert(id, (etcd, member));
        }
    }
    let facts = golden.launch(&lab, CLUSTER, GROUP);
    let stand_in = |layer: quake_integration::machine::Layer| layer.file(STAND_IN, 0o755, PROGRAM);
    let endpoint = format!("[Service]\nEnvironment=AWS_ENDPOINT_URL_EC2={AWS}\n");
    let drop_in = "/etc/systemd/system/kops-configuration.service.d/50-region.conf";
    let layer = stand_in(lab.bare()).file(drop_in, 0o644, endpoint);
    let mut machine = golden.boot(&lab, &facts, layer);
    machine.becomes_ready(90).expect("the node becomes ready");
    let held = held(&lab, &facts, &members);
    let all: Vec<&str> = members.keys().map(String::as_str).collect();
    takes_nothing(&machine, &all, [&held[0], &held[1]]);
    // Volumes with the same tags that come later are no choice any more.
    let member = members[&held[0]].1;
    assert_eq!(member, members[&held[1]].1, "one member, and whole");
    let twins = ["main", "events"].map(|etcd| golden.add_volume(CLUSTER, (etcd, member, &MEMBERS)));
    let four = [&held[0], &twins[0], &held[1], &twins[1]].map(String::as_str);
    takes_nothing(&machine, &four, [&held[0], &held[1]]);
    machine.cut_power();
    drop(machine);
    let ec2 = lab.vpc().ec2();
    ec2.terminate(&facts.instance);
    assert!(wait_until(Duration::from_secs(60), || ec2
        .holders()
        .is_empty()));
    without_the_agent(&lab, &golden, &members, four);
}

/// The volumes of `main` and of `events` that an instance holds.
fn held(
    lab: &Lab,
    facts: &Facts,
    members: &BTreeMap<String, (&'static str, &'static str)>,
) -> [String; 2] {
    let holders = lab.vpc().ec2().holders();
    ["main", "events"].map(|etcd| {
        // The instance's own disk is none of them.
        let is_of_etcd = |id| members.get(id).is_some_and(|member| member.0 == etcd);
        let held = holders.iter();
        let held: Vec<_> = held
            .filter(|(id, by)| **by == facts.instance && is_of_etcd(*id))
            .map(|(id, _)| id.clone())
            .collect();
        let [held] = held.try_into().expect("one volume is attached");
        held
    })
}

/// The same volumes and an instance that has no agent: the order of the answer decides, and a node can be two members.
fn without_the_agent(
    lab: &Lab,
    golden: &Golden,
    members: &BTreeMap<String, (&'static str, &'static str)>,
    four: [&str; 4],
) {
    let facts = golden.launch(lab, CLUSTER, GROUP);
    let layer = lab.bare().file(STAND_IN, 0o755, PROGRAM);
    let machine = lab.emulated(&facts, layer, Hardware::default());
    let choose = ["--every-order", "--choose"];
    let outcomes = run(&machine, &four, &choose);
    let orders: Vec<usize> = outcomes.iter().map(|outcome| outcome.orders).collect();
    assert_eq!(orders, [6, 6, 6, 6], "{outcomes:?}");
    let all: Vec<&str> = members.keys().map(String::as_str).collect();
    let outcomes = run(&machine, &all, &choose);
    let splits = etcd_manager::splits(&outcomes, |id| members[id].1.to_owned());
    assert_eq!(splits, 480);
    // One of them, done: two blank volumes of two members are attached, formatted and mounted.
    let blank = |etcd: &str, member: &str| {
        let mut found = members
            .iter()
            .filter(|(_, named)| **named == (etcd, member));
        found
            .next()
            .map(|(id, _)| id.as_str())
            .expect("there is one")
    };
    let others: Vec<&str> = MEMBERS
        .into_iter()
        .filter(|member| *member != members[four[0]].1)
        .collect();
    let split = [blank("main", others[0]), blank("events", others[1])];
    let took = |id: &str| Taken {
        attached: Some(id.to_owned()),
        formatted: Some(id.to_owned()),
        mounted: Some(id.to_owned()),
        ..Taken::found(id)
    };
    let wanted = Outcome {
        orders: 1,
        main: took(split[0]),
        events: took(split[1]),
    };
    assert_eq!(run(&machine, &split, &[]), [wanted]);
    for id in split {
        assert!(machine.holds(&format!("findmnt -t ext4 /mnt/master-{id}")));
    }
}
