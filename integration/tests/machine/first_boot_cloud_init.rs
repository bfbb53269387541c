//! The first boot of a bare image: cloud-init knows EC2 by its firmware, asks the metadata service for user data, and
//! runs it; that installs the agent, which makes the machine a worker.

use quake_integration::machine::{Body, Hardware, Kind, Lab, MIRROR};

/// The units, as the user data fetches them.
const UNITS: [&str; 2] = ["quake-agent.service", "quake-ready.target"];

/// What the user data does once it has written its documents.
fn delivery() -> String {
    let mut script = format!(
        "curl -sf --retry 5 -o /usr/local/bin/quake-agent {MIRROR}/quake-agent\nchmod 755 /usr/local/bin/quake-agent\n"
    );
    for unit in UNITS {
        script.push_str(&format!(
            "curl -sf -o /etc/systemd/system/{unit} {MIRROR}/{unit}\n"
        ));
    }
    script.push_str("systemctl daemon-reload\nsystemctl enable quake-agent.service\n");
    script + "systemctl start --no-block quake-agent.service\n"
}

#[test]
fn first_boot_cloud_init() {
    let Some(lab) = Lab::open("first-boot-cloud-init", Kind::Emulated) else {
        return;
    };
    let cluster = lab.cluster();
    let agent = lab.base().agent().expect("the agent is built");
    lab.vpc()
        .serve("/quake-agent", std::fs::read(agent).expect("it is there"));
    for unit in UNITS {
        let path = format!("{}/../systemd/{unit}", env!("CARGO_MANIFEST_DIR"));
        lab.vpc().serve(
            &format!("/{unit}"),
            std::fs::read(path).expect("it is ours"),
        );
    }
    let user_data = cluster.user_data("workers", &delivery());
    let facts = cluster.launch_with("workers", user_data.as_bytes());
    let hardware = Hardware {
        cloud_init: true,
        ..Hardware::default()
    };
    let machine = lab.emulated(&facts, lab.bare(), hardware);
    let installed = machine.comes_true("systemctl is-enabled --quiet quake-agent.service", 40);
    assert!(installed, "user data was run: {}", machine.console());
    machine.becomes_ready(40).expect("a worker becomes ready");
    assert_eq!(machine.output("cloud-id").trim(), "aws");
    assert!(
        machine.console().contains("quake-agent: READY"),
        "the console says so"
    );
    let tokens = |line: &String| line.contains("PUT /latest/api/token 200");
    assert!(
        lab.vpc().asked().iter().any(tokens),
        "by version 2 of the metadata service"
    );
}
