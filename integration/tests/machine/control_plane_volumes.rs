//! A control plane's volumes: attached by EC2, shown by the kernel as NVMe devices, made into filesystems and mounted;
//! etcd writes to one, and what it wrote is there for the instance that replaces this one.

use quake_integration::machine::{Emulated, Hardware, Kind, Lab, MachineBackend};
use std::collections::BTreeMap;

const ETCDCTL: &str = "ETCDCTL_API=3 etcdctl --endpoints http://127.0.0.1:4001";

#[test]
fn control_plane_volumes() {
    let Some(lab) = Lab::open("control-plane-volumes", Kind::Emulated) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let facts = cluster.launch("control-plane");
    let mut machine = lab.emulated(&facts, lab.baked(), Hardware::default());
    machine
        .becomes_ready(60)
        .expect("a control plane becomes ready");
    check_volumes(&machine, &volumes);
    machine.output(&format!("{ETCDCTL} put lasting yes"));
    // The instance is lost with its disk; the volumes stay.
    machine.cut_power();
    lab.vpc().ec2().terminate(&facts.instance);
    let replacement = cluster.launch("control-plane");
    let machine = lab.emulated(&replacement, lab.baked(), Hardware::default());
    machine
        .becomes_ready(60)
        .expect("its replacement becomes ready");
    check_volumes(&machine, &volumes);
    let kept = machine.output(&format!("{ETCDCTL} get lasting"));
    assert_eq!(kept.trim(), "lasting\nyes");
}

fn check_volumes(machine: &Emulated, volumes: &BTreeMap<&'static str, String>) {
    let serials = machine.output("cat /sys/class/nvme/*/serial");
    for (etcd, volume) in volumes {
        assert!(
            serials.contains(&volume.replace('-', "")),
            "{etcd}: {serials}"
        );
        let place = format!("/mnt/master-{volume}");
        let mount = machine.output(&format!("findmnt -n -o FSTYPE,SOURCE {place}"));
        assert!(
            mount.starts_with("ext4") && mount.contains("/dev/nvme"),
            "{etcd}: {mount}"
        );
        assert!(
            machine.holds(&format!("ls {place}/var/etcd/data*/member/wal")),
            "{etcd} writes there"
        );
    }
}
