//! A control plane of kops legacy whose etcd lost its data has the data of a snapshot again: refused
//! beside a healthy member and beside a running etcd, then restored, with the old data moved aside.

use quake_integration::machine::{Emulated, Hardware, Kind, Lab, MachineBackend};

const ETCDCTL: &str = "ETCDCTL_API=3 etcdctl --endpoints http://127.0.0.1:4001";

/// Where the snapshot is.
const FILE: &str = "/root/main.db";

/// Runs the restore; its exit status and what it said.
fn restore(machine: &Emulated, more: &str) -> (i32, String) {
    // The unit has the addresses that stand for AWS.
    let aws = "env $(systemctl show --value -p Environment quake-agent.service)";
    let line = format!("{aws} quake-agent etcd restore --snapshot {FILE} {more} 2>&1");
    let ran = machine.run(&line, machine.second() * 60);
    let ran = ran.expect("the machine answers");
    (ran.status, ran.stdout)
}

#[test]
fn etcd_restored() {
    let Some(lab) = Lab::open("etcd-restored", Kind::Emulated) else {
        return;
    };
    // The machine runs the etcd of its distribution, and a restore goes by the spec's version.
    let cluster = lab.cluster_with(|spec| spec.replace("3.2.24", "3.4.23"));
    let volumes = cluster.add_volumes();
    let facts = cluster.launch("control-plane");
    let machine = lab.emulated(&facts, lab.baked(), Hardware::default());
    machine
        .becomes_ready(240)
        .expect("a control plane becomes ready");
    machine.output(&format!("{ETCDCTL} put before kept"));
    machine.output(&format!("{ETCDCTL} snapshot save {FILE}"));
    machine.output(&format!("{ETCDCTL} put after lost"));
    let (status, said) = restore(&machine, "--plan");
    assert_eq!(status, 80, "{said}");
    assert!(said.contains("etcd.quorum-healthy"), "{said}");
    let (status, said) = restore(&machine, "--rehearse");
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("the cluster is not touched"), "{said}");

    let (_, planned) = restore(&machine, "--plan --replace-healthy-quorum");
    let words = planned
        .split("--consent ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let words = words.expect("the words of consent").to_owned();
    let execute = format!("--execute --replace-healthy-quorum --consent {words}");
    let (status, said) = restore(&machine, &execute);
    assert_eq!(status, 75, "{said}");
    assert!(said.contains("etcd.member-running"), "{said}");
    machine.output("systemctl stop kubelet; pkill -x etcd; while pgrep -x etcd; do :; done");
    let (status, said) = restore(&machine, &execute);
    assert_eq!(status, 0, "{said}");
    machine.output("systemctl start kubelet");
    let back = machine.holds(&format!(
        "for _ in $(seq 300); do {ETCDCTL} get before >/dev/null 2>&1 && exit 0; done; exit 1"
    ));
    assert!(back, "etcd answers");
    let kept = machine.output(&format!("{ETCDCTL} get before"));
    assert_eq!(kept.trim(), "before\nkept");
    assert_eq!(machine.output(&format!("{ETCDCTL} get after")).trim(), "");
    let main = &volumes["main"];
    let aside = format!("ls -d /mnt/master-{main}/var/etcd/data.before-restore-*/member");
    assert!(machine.holds(&aside), "nothing was deleted");
}
