//! The first boot of a worker from an image that has the agent, up to a container with an address.

use quake_integration::machine::{Container, Kind, Lab, MachineBackend};

/// Runs the first plugin of the configuration that the agent wrote, as a container runtime would, and then a container
/// in the network that it made. Its root is the machine's own: what matters is that it runs, and where.
const RUN_CONTAINER: &str = r#"set -eu
python3 - <<'END' > /run/plugin.json
import json
conf = json.load(open("/etc/cni/net.d/10-quake-agent.conflist"))
print(json.dumps(dict(conf["plugins"][0], name=conf["name"], cniVersion=conf["cniVersion"])))
END
ip netns add pod
export CNI_COMMAND=ADD CNI_CONTAINERID=pod CNI_NETNS=/run/netns/pod CNI_IFNAME=eth0 CNI_PATH=/opt/cni/bin
/opt/cni/bin/bridge < /run/plugin.json
mkdir -p /run/pod && mount --bind / /run/pod
ctr --address /run/docker/containerd/containerd.sock run --rootfs --rm --with-ns network:/run/netns/pod \
    /run/pod pod /sbin/ip -4 -o address show eth0
"#;

#[test]
fn first_boot_worker() {
    let Some(lab) = Lab::open("first-boot-worker", Kind::Containers) else {
        return;
    };
    let machine = lab.worker(lab.baked());
    machine.becomes_ready(90).expect("a worker becomes ready");
    for unit in ["quake-agent", "docker", "kubelet"] {
        let is_active = format!("systemctl is-active --quiet {unit}.service");
        assert!(machine.holds(&is_active), "{unit} runs");
    }
    assert!(
        machine.console().contains("quake-agent: READY"),
        "the console says so"
    );
    container_has_address(&machine);
}

fn container_has_address(machine: &Container) {
    let shown = machine.output(RUN_CONTAINER);
    assert!(shown.contains("inet 10.244.1."), "{shown}");
}
