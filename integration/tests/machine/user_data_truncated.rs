//! User data that was cut off in the middle of one of its documents.

use quake_integration::machine::{Kind, Lab, MachineBackend, OperatorOutput, assert_reported};

#[test]
fn user_data_truncated() {
    let Some(lab) = Lab::open("user-data-truncated", Kind::Containers) else {
        return;
    };
    let cluster = lab.cluster();
    let whole = cluster.user_data("workers", "");
    let cut = whole.find("ConfigBase").expect("it is there") + 4;
    let facts = cluster.launch_with("workers", &whole.as_bytes()[..cut]);
    let machine = lab.container(&facts, lab.baked());
    assert_eq!(machine.agent_fails(60), Ok(78));
    let line = whole[..cut].lines().count();
    let place = format!(
        "kube_env.yaml is cut short: the user data ends within it at line {line}, column 5"
    );
    let journal = machine.output("journalctl --no-pager --unit quake-agent.service");
    for reported in [machine.console(), machine.said(), journal] {
        assert_reported(&reported, &["config.user-data-unusable", &place]);
    }
    assert_reported(
        &machine.console(),
        &["FAILED code=config.user-data-unusable phase=config exit=78"],
    );
    let is_untouched = "! test -e /etc/kubernetes && ! test -e /usr/local/bin/kubelet";
    assert!(machine.holds(is_untouched), "nothing is written");
    let restarts = machine.unit_shows("NRestarts");
    assert_eq!(restarts, "0", "it is not tried again");
}
