//! The role of a control plane may not list volumes: the agent stops, and says which action is missing wherever one looks.

use quake_integration::ec2::Rules;
use quake_integration::machine::{Kind, Lab, MachineBackend, OperatorOutput};

#[test]
fn describe_volumes_denied() {
    let rules = Rules {
        denied: Some("DescribeVolumes"),
        ..Rules::default()
    };
    let case = "describe-volumes-denied";
    let Some(lab) = Lab::with("machine", case, Kind::Containers, rules) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let facts = cluster.launch("control-plane");
    let machine = lab.container(&facts, lab.baked());
    // A new role takes some seconds until it works everywhere, so a denial has a grace of half a minute.
    let status = machine.agent_fails(90).expect("it gives up");
    assert_eq!(status, 77, "{}", machine.said());
    assert_eq!(machine.unit_shows("NRestarts"), "0", "a person is needed");
    let said = machine.console_of_agent();
    let verdict = "FAILED code=storage.describe-denied phase=storage exit=77";
    assert_eq!(said.last().map(String::as_str), Some(verdict), "{said:?}");
    let action = "ec2:DescribeVolumes";
    assert!(said.join("\n").contains(action), "{said:?}");
    assert!(machine.said().contains(action), "{}", machine.said());
    assert!(machine.journal_says(action, 1), "the journal names it");
    let ec2 = lab.vpc().ec2();
    assert!(ec2.calls(&facts.instance)["DescribeVolumes"] > 1, "grace");
    assert_eq!(ec2.attached(), []);
    for volume in volumes.values() {
        assert!(!machine.holds(&format!("findmnt /mnt/master-{volume}")));
    }
}
