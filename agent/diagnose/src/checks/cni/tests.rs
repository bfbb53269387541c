use crate::checks::Status;
use crate::checks::node_sample::Sample;
use quake_model::facts::{EntryKind, Seen};
use quake_model::phase::Phase;

const CALICO: &str = "/etc/cni/net.d/10-calico.conflist";
const OWN: &str = "/etc/cni/net.d/10-quake-agent.conflist";
const BRIDGE: &str = "{\"cniVersion\": \"0.3.1\", \"name\": \"x\", \"type\": \"bridge\", \"ipam\": {\"type\": \"host-local\"}}";

/// A node whose network the agent configures.
fn of_agent() -> Sample {
    let mut node = Sample::worker();
    let list = format!(
        "{{\"cniVersion\": \"0.3.1\", \"name\": \"quake-agent\", \"plugins\": [{BRIDGE}]}}"
    );
    node.remove(CALICO).text(OWN, &list);
    let network = &mut node.expected().network;
    network.name = "kubenet".to_owned();
    network.writer = "agent".to_owned();
    network.files = vec![OWN.to_owned()];
    node
}

#[test]
fn a_configuration_is_read_as_the_runtime_reads_it() {
    for (text, status, words) in [
        (
            "{\"name\": \"k\", \"plugins\": [\n{\"type\": \"calico\",}\n]}",
            Status::Fail,
            "line 2, column 19",
        ),
        (
            "{\"name\": \"k\", \"plugins\": []}",
            Status::Fail,
            "names no plugin",
        ),
        (
            "{\"name\": \"k\", \"type\": \"calico\"}",
            Status::Fail,
            "no list of plugins",
        ),
        (
            "{\"plugins\": [{\"type\": \"calico\"}]}",
            Status::Fail,
            "has no name",
        ),
        (
            "{\"cniVersion\": \"3\", \"name\": \"k\", \"plugins\": [{\"type\": \"calico\"}]}",
            Status::Fail,
            "cniVersion \"3\"",
        ),
        (
            "{\"cniVersion\": \"1.0.0\", \"name\": \"k\", \"plugins\": [{\"type\": \"calico\"}]}",
            Status::Ok,
            "calico",
        ),
        ("", Status::Fail, "calico-node"),
    ] {
        let mut node = Sample::worker();
        node.text(CALICO, text).assert("cni.config", status, words);
    }
}

#[test]
fn dockershim_goes_on_to_the_next_file() {
    let mut node = Sample::worker();
    node.text("/etc/cni/net.d/00-broken.conf", "{").assert(
        "cni.config",
        Status::Fail,
        "00-broken.conf",
    );
    node.expected().runtime = "docker".to_owned();
    node.assert("cni.config", Status::Warn, "10-calico.conflist");
}

#[test]
fn who_should_have_written_the_configuration_is_told() {
    let mut node = Sample::worker();
    node.remove(CALICO).assert(
        "cni.config",
        Status::Fail,
        "the pod of calico-node writes it",
    );
    node.in_phase(Phase::Ready)
        .assert("cni.config", Status::Warn, "calico-node");
    node.in_phase(Phase::Services)
        .assert("cni.config", Status::Skip, "not come so far");
    let mut node = of_agent();
    node.remove(OWN)
        .assert("cni.config", Status::Fail, "the agent's own");
    node.expected().network.writer = "runtime".to_owned();
    node.assert("cni.config", Status::Fail, "no conf_template");
    node.edit(
        "/etc/containerd/config.toml",
        "bin_dir",
        "conf_template = \"/x\"\nbin_dir",
    );
    node.assert("cni.config", Status::Fail, "allocate-node-cidrs");
}

#[test]
fn a_runtime_that_looks_elsewhere_is_told() {
    let mut node = Sample::worker();
    node.edit(
        "/etc/containerd/config.toml",
        "/etc/cni/net.d",
        "/etc/cni/other.d",
    );
    node.assert("cni.config", Status::Fail, "/etc/cni/other.d");
    node.expected().network.directory = "/opt/net.d".to_owned();
    node.assert("cni.config", Status::Skip, "/opt/net.d was not looked at");
}

#[test]
fn a_leftover_that_wins_by_its_name_is_told() {
    let mut node = Sample::worker();
    node.assert("cni.stale", Status::Ok, "10-calico.conflist");
    node.text("/etc/cni/net.d/05-cilium.conflist", BRIDGE);
    node.assert(
        "cni.stale",
        Status::Fail,
        "05-cilium.conflist of cilium comes before 10-calico.conflist",
    );
    node.remove("/etc/cni/net.d/05-cilium.conflist")
        .text("/etc/cni/net.d/10-flannel.conflist", BRIDGE);
    node.assert("cni.stale", Status::Warn, "lies beside");
    node.remove(CALICO)
        .assert("cni.stale", Status::Fail, "the file of calico is not there");
    node.remove("/etc/cni/net.d/10-flannel.conflist").assert(
        "cni.stale",
        Status::Skip,
        "no configuration",
    );
}

#[test]
fn files_of_packages_and_of_meta_plugins_are_no_leftovers() {
    let mut node = Sample::worker();
    node.text("/etc/cni/net.d/87-podman-bridge.conflist", BRIDGE);
    node.text("/etc/cni/net.d/10-a.conflist.cilium_bak", BRIDGE)
        .text("/etc/cni/net.d/calico-kubeconfig", "x");
    node.assert("cni.stale", Status::Ok, "own");
    node.remove(CALICO)
        .assert("cni.stale", Status::Warn, "87-podman-bridge");
    node.text(
        "/etc/cni/net.d/00-multus.conf",
        "{\"name\": \"m\", \"type\": \"multus\"}",
    );
    node.assert("cni.stale", Status::Ok, "calls the other networks");
}

#[test]
fn only_the_agents_own_file_counts_where_it_writes_one() {
    let mut node = of_agent();
    node.assert("cni.stale", Status::Ok, "10-quake-agent.conflist");
    node.text("/etc/cni/net.d/10-containerd-net.conflist", BRIDGE);
    node.assert(
        "cni.stale",
        Status::Fail,
        "comes before 10-quake-agent.conflist",
    );
    node.remove("/etc/cni/net.d/10-containerd-net.conflist")
        .expected()
        .network
        .writer = "runtime".to_owned();
    node.assert(
        "cni.stale",
        Status::Fail,
        "10-containerd-net.conflist is not there",
    );
}

#[test]
fn every_plugin_must_be_a_program() {
    let mut node = Sample::worker();
    node.assert("cni.plugins", Status::Ok, "calico, calico-ipam, portmap");
    node.entry("/opt/cni/bin/portmap", EntryKind::File, 0o644)
        .assert("cni.plugins", Status::Fail, "may not be run");
    node.remove("/opt/cni/bin/portmap").assert(
        "cni.plugins",
        Status::Fail,
        "/opt/cni/bin/portmap is not there",
    );
    let mut node = Sample::worker();
    node.survey
        .entries
        .retain(|path, _| !path.starts_with("/opt/") && !path.starts_with("/usr/"));
    node.assert("cni.plugins", Status::Skip, "not looked at");
    node.text(CALICO, "{").assert(
        "cni.plugins",
        Status::Skip,
        "no configuration that can be read",
    );
}

#[test]
fn the_pod_that_brings_the_network_is_looked_for() {
    let mut node = Sample::worker();
    node.assert("cni.ready", Status::Ok, "calico-node");
    let pod = node.pod("calico-node", "exited");
    pod.exit_code = Some(1);
    pod.restarts = 4;
    node.assert("cni.ready", Status::Fail, "ended with 1, started 5 times");
    for (line, words) in [
        (
            "2026-11-22 03:57:12.093 [ERROR][9] startup/startup.go 5: no gizmo for this node",
            "no gizmo for this node",
        ),
        (
            "2026-11-22 03:57:12.093 [WARNING][9] startup/startup.go 5: no gizmo for this node",
            "no gizmo for this node",
        ),
    ] {
        let pod = node.pod("calico-node", "exited");
        (pod.exit_code, pod.log) = (Some(1), vec![line.to_owned(), "bye".to_owned()]);
        let summary = node.judge("cni.ready").note;
        assert!(summary.contains(words), "{summary}");
    }
    node.pod("calico-node", "running");
    node.remove(CALICO)
        .assert("cni.ready", Status::Warn, "written no configuration yet");
    node.pods().retain(|pod| !pod.name.starts_with("calico"));
    node.assert("cni.ready", Status::Fail, "no pod of calico-node came");
    node.in_phase(Phase::Ready)
        .assert("cni.ready", Status::Warn, "no pod of calico-node came");
    node.in_phase(Phase::Files)
        .assert("cni.ready", Status::Skip, "not come so far");
    of_agent().assert("cni.ready", Status::Skip, "no DaemonSet");
    let mut node = Sample::worker();
    node.survey.runtime = Seen::Denied("root's".to_owned());
    node.assert("cni.ready", Status::Skip, "needs root");
}

#[test]
fn a_cluster_that_got_another_network_is_judged_by_that_one() {
    let mut node = Sample::worker();
    node.remove(CALICO);
    node.text(
        "/etc/cni/net.d/10-aws.conflist",
        "{\"cniVersion\":\"1.0.0\",\"name\":\"aws-cni\",\"plugins\":[{\"type\":\"aws-cni\"}]}",
    );
    node.pods().retain(|pod| !pod.name.starts_with("calico"));
    node.assert(
        "cni.stale",
        Status::Fail,
        "10-aws.conflist of amazonvpc counts",
    );
    node.pod("aws-node", "running");
    node.assert("cni.ready", Status::Ok, "the cluster had calico");
    node.assert("cni.stale", Status::Ok, "is of aws-node");
}

#[test]
fn an_init_container_that_ended_well_is_no_trouble() {
    let mut node = Sample::worker();
    let name = node.pod("calico-node", "running").name.clone();
    let pod = node.pod("install-cni", "exited");
    pod.name = name;
    pod.exit_code = Some(0);
    node.assert("cni.ready", Status::Ok, "runs");
}

#[test]
fn a_network_without_addresses_names_the_limit_that_is_reached() {
    let mut node = Sample::worker();
    node.assert("cni.addresses", Status::Ok, "no pod was refused");
    for (line, words) in [
        (
            "failed to allocate for range 0: no IP addresses available in range set: 100.96.1.1-100.96.1.254",
            "every address of the node's range",
        ),
        (
            "plugin type=\"calico\" failed (add): failed to request IPv4 addresses: Assigned 0 out of 1 requested IPv4 addresses; No more free affine blocks and strict affinity enabled",
            "no free block",
        ),
        (
            "unable to allocate IP via local cilium agent: [POST /ipam][502] postIpamFailure  No more IPs available",
            "Cilium has no address left",
        ),
    ] {
        node.journal("kubelet.service", &[line]);
        node.assert("cni.addresses", Status::Fail, words);
    }
    node.journal(
        "kubelet.service",
        &["add cmd: failed to assign an IP address to container"],
    );
    node.pod("aws-node", "exited").log = vec!["ec2: InsufficientFreeAddressesInSubnet: The specified subnet does not have enough free addresses".to_owned()];
    node.assert(
        "cni.addresses",
        Status::Fail,
        "the subnet has no free addresses",
    );
}
