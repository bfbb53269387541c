//! Checks of the kernel.

use super::{KERNEL, expecting, logged, machine};
use crate::checks::report::Status;
use crate::checks::surveyed::{entry, proves, record, set_phase, survey_with, tree, unit};
use quake_model::expected::Expected;
use quake_model::facts::{ActiveState, EntryKind, Seen, Survey};
use quake_model::phase::Phase;
use quake_model::record::PhaseStatus;
use quake_model::spec::KopsGeneration;

#[test]
fn a_kernel_is_judged_by_its_age_and_its_log() {
    let of = |release: &str, kubernetes: &str| {
        let survey = survey_with(tree(&[]), KERNEL.0, release);
        Survey {
            record: Some(record("node", kubernetes)),
            ..survey
        }
    };
    proves(
        "host.kernel",
        &of("2.6.32-754\n", "1.9.3"),
        Status::Fail,
        "older than 3.10",
    );
    proves(
        "host.kernel",
        &of("4.14.200-amzn2\n", "1.32.0"),
        Status::Warn,
        "4.19",
    );
    proves(
        "host.kernel",
        &of("4.9.0-7-amd64\n", "1.9.3"),
        Status::Ok,
        "its log was not seen",
    );
    let faulty = ["watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [kworker/1:1:99]"];
    let faulty = logged(of("6.1.0\n", "1.29.0"), &faulty);
    proves("host.kernel", &faulty, Status::Warn, "soft lockup");
    proves(
        "host.kernel",
        &logged(of("6.1.0\n", "1.29.0"), &[]),
        Status::Ok,
        "6.1.0",
    );
    proves("host.kernel", &Survey::default(), Status::Skip, "osrelease");
}

#[test]
fn a_node_of_newer_kops_gets_connection_tracking_with_its_first_rule() {
    let found = [
        ("/proc/filesystems", "nodev\toverlay\n"),
        ("/proc/modules", "br_netfilter 36864 0 - Live 0x0\n"),
        ("/proc/sys/net/bridge/bridge-nf-call-iptables", "1\n"),
        ("/proc/sys/kernel/osrelease", "6.1.0-1-cloud-amd64\n"),
    ];
    for (generation, status) in [
        (KopsGeneration::Legacy, Status::Fail),
        (KopsGeneration::Current, Status::Warn),
    ] {
        let expected = Expected {
            generation: Some(generation),
            ..Expected::default()
        };
        let node = expecting(machine("node", "1.35.0", &found), expected);
        proves("host.modules", &node, status, "has not loaded nf_conntrack");
    }
}

#[test]
fn what_the_kernel_lacks_is_named() {
    let whole: [(&str, &str); 4] = [
        ("/proc/filesystems", "nodev\toverlay\n\text4\n"),
        ("/proc/modules", "br_netfilter 36864 0 - Live 0x0\n"),
        ("/proc/sys/net/bridge/bridge-nf-call-iptables", "1\n"),
        ("/proc/sys/net/netfilter/nf_conntrack_max", "262144\n"),
    ];
    let node = machine("node", "1.29.0", &whole);
    proves("host.modules", &node, Status::Ok, "are there");
    let expected = Expected {
        runtime: "containerd".into(),
        ..Expected::default()
    };
    let bare = machine("node", "1.29.0", &[("/proc/filesystems", "\text4\n")]);
    let bare = expecting(bare, expected);
    proves(
        "host.modules",
        &bare,
        Status::Fail,
        "overlay, br_netfilter, nf_conntrack",
    );
    let without_bridge = machine("node", "1.29.0", &[whole[0], whole[3]]);
    proves(
        "host.modules",
        &without_bridge,
        Status::Warn,
        "modprobe br_netfilter",
    );
}

#[test]
fn modules_of_another_kernel_mean_that_the_machine_was_not_restarted() {
    let mut node = machine(
        "node",
        "1.29.0",
        &[("/proc/filesystems", "nodev\toverlay\n")],
    );
    let folder = entry(EntryKind::Directory, 0o755);
    node.entries
        .insert("/lib/modules/6.1.0-31-cloud-amd64".into(), folder);
    proves("host.modules", &node, Status::Fail, "restart the machine");
}

#[test]
fn modules_are_not_judged_before_the_network_phase() {
    let mut early = record("node", "1.29.0");
    set_phase(&mut early, Phase::Network, PhaseStatus::Pending);
    let node = Survey {
        record: Some(early),
        ..machine("node", "1.29.0", &[])
    };
    proves("host.modules", &node, Status::Skip, "not come so far");
    proves(
        "host.modules",
        &tree(&[]),
        Status::Skip,
        "not known to run Kubernetes",
    );
}

const CONFIGURATION: &str = "/var/lib/kubelet/config.yaml";

/// A setting of kubelet's that the operator's own file takes over.
const OWN: &[(&str, &str)] = &[
    (CONFIGURATION, "failCgroupV1: true\n"),
    (
        "/etc/kubernetes/kubelet.conf.d/10-own.conf",
        "failCgroupV1: false\n",
    ),
];

#[test]
fn control_groups_must_be_of_a_version_that_kubelet_knows() {
    const TWO: (&str, &str) = (
        "/sys/fs/cgroup/cgroup.controllers",
        "cpuset cpu io memory hugetlb pids rdma\n",
    );
    let one = |kubernetes: &str, files: &[(&str, &str)]| {
        let mut survey = machine("node", kubernetes, files);
        let folder = entry(EntryKind::Directory, 0o555);
        survey
            .entries
            .insert("/sys/fs/cgroup/memory".into(), folder);
        survey
    };
    let cases = [
        (machine("node", "1.29.3", &[TWO]), Status::Ok, "version 2"),
        (
            machine("node", "1.9.3", &[TWO]),
            Status::Fail,
            "kubelet 1.9 knows only version 1",
        ),
        (machine("bastion", "1.9.3", &[TWO]), Status::Ok, "version 2"),
        (one("1.9.3", &[]), Status::Ok, "version 1"),
        (one("1.33.0", &[]), Status::Warn, "1.35 refuses"),
        (
            one("1.35.0", &[]),
            Status::Fail,
            "which kubelet 1.35 refuses",
        ),
        (
            one("1.35.0", &[(CONFIGURATION, "failCgroupV1: false\n")]),
            Status::Warn,
            "failCgroupV1: false",
        ),
        (one("1.36.0", OWN), Status::Warn, "kubelet 1.36 takes only"),
        (
            machine(
                "node",
                "1.29.3",
                &[
                    (TWO.0, "cpuset cpu io pids\n"),
                    ("/proc/cmdline", "quiet cgroup_disable=memory\n"),
                ],
            ),
            Status::Fail,
            "cgroup_disable=memory",
        ),
        (machine("node", "1.29.3", &[]), Status::Skip, ""),
    ];
    for (survey, status, words) in cases {
        proves("host.cgroup", &survey, status, words);
    }
}

#[test]
fn a_cpu_controller_that_is_there_and_not_turned_on_is_told_where_kubelet_misses_it() {
    const CONTROLLERS: (&str, &str) = (
        "/sys/fs/cgroup/cgroup.controllers",
        "cpuset cpu io memory pids\n",
    );
    const TURNED_ON: &str = "/sys/fs/cgroup/cgroup.subtree_control";
    let line = "cgroup manager.Set failed: openat2 /sys/fs/cgroup/kubepods.slice/cpu.weight: no such file or directory";
    let of = |files: &[(&str, &str)], lines: &[&str], state: ActiveState| {
        let mut survey = machine("node", "1.35.2", files);
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        survey.journals = Seen::Yes([("kubelet.service".to_owned(), lines)].into());
        let kubelet = unit("kubelet.service", state);
        survey.units = Seen::Yes(vec![kubelet]);
        survey
    };
    let (up, down) = (ActiveState::Active, ActiveState::Activating);
    let without = [CONTROLLERS, (TURNED_ON, "cpuset io memory pids\n")];
    let with = [CONTROLLERS, (TURNED_ON, "cpuset cpu io memory pids\n")];
    let unseen = [CONTROLLERS];
    for (survey, status, words) in [
        (
            of(&without, &[line], down),
            Status::Fail,
            "no cpu controller",
        ),
        (
            of(&unseen, &[line], down),
            Status::Fail,
            "no cpu controller",
        ),
        (of(&unseen, &[line], up), Status::Ok, "version 2"),
        (of(&with, &[line], down), Status::Ok, "version 2"),
        (of(&without, &[], down), Status::Ok, "version 2"),
    ] {
        proves("host.cgroup", &survey, status, words);
    }
}
