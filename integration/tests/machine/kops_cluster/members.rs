//! The nodes of a cluster of real programs, of either generation.

use quake_integration::machine::{Container, Facts, Lab, MachineBackend};
use std::collections::BTreeSet;
use std::time::Instant;

/// kubectl on the control plane, with the kubeconfig that the agent wrote there.
pub(super) const KUBECTL: &str = "kubectl --kubeconfig /var/lib/kubectl/kubeconfig";

/// What these nodes lack because they are containers beside each other on one kernel.
const OF_THE_LAB: [&str; 4] = ["host.disk-space", "host.modules", "host.oom", "time.sync"];

/// What a kernel of its own would have: a log, and mounts that pods may share.
pub(super) const KERNEL: &str = "[Unit]
DefaultDependencies=no
Before=sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c '[ -e /dev/kmsg ] || mknod /dev/kmsg c 1 11; mount --make-rshared /'
";

/// A node of the cluster.
pub(super) struct Node {
    pub(super) facts: Facts,
    /// In the cluster.
    pub(super) name: String,
    pub(super) machine: Container,
}

impl Node {
    /// Shuts it down and boots it again, until its agent says READY.
    pub(super) fn restart(&mut self) {
        self.machine.reboot().expect("it boots again");
        let ready = self.machine.becomes_ready(180);
        ready.expect("it becomes ready again");
    }
}

/// The nodes, and kubectl on the control plane.
pub(super) struct Members<'a> {
    pub(super) lab: &'a Lab,
    pub(super) control_plane: Option<Node>,
    pub(super) workers: Vec<Node>,
    begun: Instant,
}

impl<'a> Members<'a> {
    /// None yet.
    pub(super) fn new(lab: &'a Lab) -> Self {
        Self {
            lab,
            control_plane: None,
            workers: Vec::new(),
            begun: Instant::now(),
        }
    }

    pub(super) fn master(&self) -> &Node {
        self.control_plane.as_ref().expect("it was begun")
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.control_plane.iter().chain(&self.workers)
    }

    /// What kubectl says; it has to succeed.
    pub(super) fn kubectl(&self, arguments: &str) -> String {
        let machine = &self.master().machine;
        let said = machine.output(&format!("{KUBECTL} {arguments}"));
        said.trim().to_owned()
    }

    pub(super) fn note(&self, what: &str) {
        println!("{:6.1} s  {what}", self.begun.elapsed().as_secs_f64());
    }

    /// Waits until the cluster says that a node is Ready.
    pub(super) fn becomes_ready(&self, node: &Node) {
        let name = &node.name;
        let ready = format!("{KUBECTL} wait --for=condition=Ready --timeout=1s node/{name}");
        let is_ready = self.master().machine.comes_true(&ready, 120);
        assert!(is_ready, "{name}: {}", self.kubectl("describe nodes"));
    }

    /// Waits until a node has the label of this role.
    pub(super) fn has_role(&self, node: &Node, role: &str) {
        let name = &node.name;
        let label = format!(
            "{KUBECTL} get node {name} --show-labels | grep -q node-role.kubernetes.io/{role}="
        );
        let labelled = self.master().machine.comes_true(&label, 120);
        assert!(labelled, "{name} has its role");
    }

    /// The range of a node's pods, as kube-controller-manager gave it.
    pub(super) fn range(&self, node: &Node) -> String {
        let given = format!(
            "{KUBECTL} get node {} -o jsonpath='{{.spec.podCIDR}}'",
            node.name
        );
        let machine = &self.master().machine;
        let is_given = machine.comes_true(&format!("{given} | grep -q /"), 60);
        assert!(is_given, "{} has a range", node.name);
        machine.output(&given).trim().to_owned()
    }

    /// Has packets find their way between the pods of a node and those of all others.
    pub(super) fn route(&self, node: &Node) {
        let own = self.range(node);
        for peer in self.nodes().filter(|peer| peer.name != node.name) {
            let known = format!("{KUBECTL} get node {}", peer.name);
            if self.master().machine.holds(&known) {
                let theirs = self.range(peer);
                let route =
                    |to: &str, by: &Node| format!("ip route replace {to} via {}", by.facts.address);
                node.machine.output(&route(&theirs, peer));
                peer.machine.output(&route(&own, node));
            }
        }
    }

    /// All nodes are Ready, and on none of them anything is found wrong but what this lab lacks.
    pub(super) fn are_well(&self) {
        for node in self.nodes() {
            self.becomes_ready(node);
        }
        for node in self.nodes() {
            let found = node
                .machine
                .output("quake-agent diagnose --check-timeout 20s 2>&1 || :");
            let evidence = format!("diagnose-{}.txt", node.name);
            self.lab.evidence().write(&evidence, &found);
            let wrong: BTreeSet<&str> = found
                .lines()
                .filter_map(|line| line.strip_prefix("FAIL  ")?.split(' ').next())
                .filter(|check| !OF_THE_LAB.contains(check))
                .collect();
            assert!(wrong.is_empty(), "{wrong:?}: {found}");
            let timeline = node.machine.output("quake-agent timeline");
            let evidence = format!("timeline-{}.txt", node.name);
            self.lab.evidence().write(&evidence, &timeline);
        }
        self.note("all nodes are Ready, and diagnose finds nothing");
    }
}
