//! The power is cut in the middle of a control plane's first boot, with one volume mounted; what the kernel had not written
//! is lost. The next boot goes on from whatever is there.

use quake_integration::machine::{Hardware, Kind, Lab, MachineBackend, OperatorOutput};

#[test]
fn power_cut() {
    let Some(lab) = Lab::open("power-cut", Kind::Emulated) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let facts = cluster.launch("control-plane");
    let mut machine = lab.emulated(&facts, lab.baked(), Hardware::default());
    let mounted = format!("findmnt /mnt/master-{}", volumes["main"]);
    assert!(
        machine.comes_true(&mounted, 60),
        "it comes half-way: {}",
        machine.console()
    );
    machine.cut_power();
    let said = machine.console_of_agent();
    let is_verdict = |line: &String| {
        ["READY ", "FAILED ", "STOPPED "]
            .iter()
            .any(|it| line.starts_with(it))
    };
    assert!(
        !said.iter().any(is_verdict),
        "that boot has no end: {said:?}"
    );
    machine.start().expect("it boots again");
    machine.becomes_ready(60).expect("and becomes ready");
    for volume in volumes.values() {
        let mount = machine.output(&format!("findmnt -n -o FSTYPE /mnt/master-{volume}"));
        assert_eq!(mount.trim(), "ext4");
    }
    let damaged = "dmesg | grep -E 'EXT4-fs error|I/O error'";
    assert!(!machine.holds(damaged), "{}", machine.output("dmesg"));
    let said = machine.console_of_agent();
    assert_eq!(
        said.iter().filter(|line| is_verdict(line)).count(),
        1,
        "{said:?}"
    );
    assert!(
        said.last().is_some_and(|line| line.starts_with("READY ")),
        "{said:?}"
    );
    let attached = lab.vpc().ec2().attached();
    assert_eq!(
        attached.len(),
        2,
        "each volume was attached once: {attached:?}"
    );
}
