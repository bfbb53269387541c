//! A control plane's volumes: attached by EC2, shown by the kernel as NVMe devices, made into filesystems and mounted. The power
//! is cut in the middle of the first boot, with one volume mounted, and what the kernel had not written is lost; the next boot
//! goes on from whatever is there. It boots again; and what etcd wrote is there for the instance that replaces this one.

use crate::reboot::{ENVIRONMENT, changed_by_reboot, steps, verdicts};
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
    loses_its_power(&mut machine, &volumes);
    check_volumes(&machine, &volumes);
    let changed = changed_by_reboot(&mut machine, &[]);
    let wanted = [
        ENVIRONMENT,
        "services:kubelet.service",
        "storage:mount/events/a",
        "storage:mount/main/a",
    ];
    assert_eq!(changed, steps(wanted));
    check_volumes(&machine, &volumes);
    let calls = lab.vpc().ec2().calls(&facts.instance);
    assert_eq!(calls["AttachVolume"], 2, "each volume was attached once");
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

/// The power is cut once a volume is mounted, and comes again.
fn loses_its_power(machine: &mut Emulated, volumes: &BTreeMap<&'static str, String>) {
    let mounted = format!("findmnt /mnt/master-{}", volumes["main"]);
    assert!(
        machine.comes_true(&mounted, 60),
        "it comes half-way: {}",
        machine.console()
    );
    machine.cut_power();
    assert_eq!(verdicts(machine), [""; 0], "that boot has no end");
    machine.start().expect("it boots again");
    machine.becomes_ready(60).expect("and becomes ready");
    let damaged = "dmesg | grep -E 'EXT4-fs error|I/O error'";
    assert!(!machine.holds(damaged), "{}", machine.output("dmesg"));
    let verdicts = verdicts(machine);
    assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    assert!(verdicts[0].starts_with("READY "), "{verdicts:?}");
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
