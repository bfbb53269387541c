//! The volumes are attached already when the instance boots, as by an operator or a boot that was lost: they are taken as
//! they are, under whatever device name, and EC2 is asked for nothing.

use quake_integration::machine::{Kind, Lab, MachineBackend, OperatorOutput};

#[test]
fn volume_attached_before() {
    let Some(lab) = Lab::open("volume-attached-before", Kind::Containers) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let facts = cluster.launch("control-plane");
    let ec2 = lab.vpc().ec2();
    for (volume, device) in volumes.values().zip(["/dev/sdq", "/dev/sdr"]) {
        ec2.attach_by_hand(volume, &facts.instance, device);
    }
    let machine = lab.container(&facts, lab.baked());
    machine
        .becomes_ready(90)
        .expect("a control plane becomes ready");
    for volume in volumes.values() {
        let mount = machine.output(&format!("findmnt -n -o FSTYPE /mnt/master-{volume}"));
        assert_eq!(mount.trim(), "ext4");
        assert_eq!(ec2.holders().get(volume), Some(&facts.instance));
    }
    assert!(
        !ec2.calls(&facts.instance).contains_key("AttachVolume"),
        "EC2 was not asked"
    );
    let said = machine.console_of_agent();
    assert!(
        said.last()
            .is_some_and(|verdict| verdict.starts_with("READY ")),
        "{said:?}"
    );
    assert!(machine.said().contains("ready"), "{}", machine.said());
}
