//! Checks of what the machine has.

use super::{KERNEL, logged, machine};
use crate::checks::report::Status;
use crate::checks::surveyed::{proves, survey_with, tree, unit};
use quake_model::facts::{ActiveState, Seen, Survey, UnitFacts};

#[test]
fn a_control_plane_needs_two_processors_and_none_may_be_withheld() {
    let one = ("/proc/cpuinfo", "processor\t: 0\nmodel name\t: x\n");
    proves(
        "host.cpu",
        &machine("control-plane", "1.29.0", &[one]),
        Status::Warn,
        "one processor",
    );
    proves(
        "host.cpu",
        &machine("node", "1.29.0", &[one]),
        Status::Ok,
        "1 processors",
    );
    let withheld = ("/proc/stat", "cpu  5000 0 1000 10000 0 0 0 9000 0 0\n");
    proves(
        "host.cpu",
        &machine("node", "1.29.0", &[one, withheld]),
        Status::Warn,
        "36 %",
    );
    proves("host.cpu", &tree(&[]), Status::Skip, "/proc/cpuinfo");
}

#[test]
fn memory_must_be_enough_for_the_role_and_some_of_it_available() {
    let of = |total: u64, available: u64| {
        format!("MemTotal:  {total} kB\nMemFree: 1 kB\nMemAvailable:  {available} kB\n")
    };
    let cases = [
        (
            "node",
            of(4_000_000, 2_000_000),
            Status::Ok,
            "are available",
        ),
        (
            "control-plane",
            of(1_000_000, 500_000),
            Status::Warn,
            "needs 1700",
        ),
        (
            "node",
            of(4_000_000, 60_000),
            Status::Warn,
            "58 of 3906 MiB",
        ),
    ];
    for (role, text, status, words) in cases {
        proves(
            "host.memory",
            &machine(role, "1.29.0", &[("/proc/meminfo", &text)]),
            status,
            words,
        );
    }
    proves("host.memory", &tree(&[]), Status::Skip, "/proc/meminfo");
}

#[test]
fn swap_stops_a_kubelet_that_was_not_told_to_bear_it() {
    const NONE: (&str, &str) = ("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
    const ON: (&str, &str) = (
        "/proc/swaps",
        "Filename\tType\tSize\tUsed\tPriority\n/swapfile file 2097148 0 -2\n",
    );
    let reported = (
        "/etc/sysconfig/kubelet",
        "DAEMON_ARGS=\"--v=2 --fail-swap-on=false\"\n",
    );
    let configured = ("/var/lib/kubelet/config.yaml", "failSwapOn: false\n");
    let cases = [
        (machine("node", "1.29.0", &[NONE]), Status::Ok, "no swap"),
        (machine("node", "1.29.0", &[ON]), Status::Fail, "/swapfile"),
        (
            machine("node", "1.29.0", &[ON, reported]),
            Status::Ok,
            "told to bear",
        ),
        (
            machine("node", "1.29.0", &[ON, configured]),
            Status::Ok,
            "told to bear",
        ),
        (
            machine("bastion", "1.29.0", &[ON]),
            Status::Ok,
            "no kubelet",
        ),
        (tree(&[]), Status::Skip, "/proc/swaps"),
    ];
    for (survey, status, words) in cases {
        proves("host.swap", &survey, status, words);
    }
}

#[test]
fn limits_are_judged_by_what_they_allow_and_by_what_is_used() {
    const PIDS: &str = "/proc/sys/kernel/pid_max";
    let cases = [
        (
            machine("node", "1.29.0", &[(PIDS, "4194304\n")]),
            Status::Ok,
            "room",
        ),
        (
            machine("node", "1.29.0", &[(PIDS, "16384\n")]),
            Status::Warn,
            "kernel.pid_max is 16384",
        ),
        (
            machine(
                "node",
                "1.29.0",
                &[("/proc/sys/fs/inotify/max_user_instances", "128\n")],
            ),
            Status::Warn,
            "fs.inotify.max_user_instances is 128",
        ),
        (
            machine(
                "node",
                "1.29.0",
                &[
                    (PIDS, "32768\n"),
                    ("/proc/loadavg", "0.1 0.2 0.3 2/31000 99\n"),
                ],
            ),
            Status::Fail,
            "31000 threads run",
        ),
        (
            machine(
                "node",
                "1.29.0",
                &[
                    ("/proc/sys/fs/file-nr", "990 0 1000\n"),
                    ("/proc/sys/fs/file-max", "1000\n"),
                ],
            ),
            Status::Fail,
            "990 files are open",
        ),
        (tree(&[]), Status::Skip, "osrelease"),
    ];
    for (survey, status, words) in cases {
        proves("host.limits", &survey, status, words);
    }
    // What the agent has yet to raise is not held against the machine.
    let fresh = survey_with(
        tree(&[KERNEL]),
        "/proc/sys/fs/inotify/max_user_instances",
        "128\n",
    );
    proves("host.limits", &fresh, Status::Ok, "room");
}

/// A machine whose kubelet runs, and was restarted so often by systemd.
fn with_kubelet(restarts: u32, line: &str) -> Survey {
    let mut survey = logged(machine("node", "1.29.0", &[]), &[line]);
    survey.units = Seen::Yes(vec![UnitFacts {
        restarts,
        ..unit("kubelet.service", ActiveState::Active)
    }]);
    survey
}

#[test]
fn a_kill_for_want_of_memory_is_told_with_its_victim() {
    let node = || machine("node", "1.29.0", &[]);
    let pod = "Memory cgroup out of memory: Killed process 812 (java) total-vm:1kB";
    let global = "Out of memory: Killed process 99 (node) total-vm:1kB";
    let own = "Out of memory: Killed process 700 (kubelet) total-vm:1kB";
    let etcd = "Memory cgroup out of memory: Killed process 5 (etcd) total-vm:1kB";
    let cases = [
        (logged(node(), &[pod]), Status::Ok, "1 times a pod"),
        (logged(node(), &[pod, global]), Status::Warn, "killed node"),
        (logged(node(), &[own]), Status::Fail, "killed kubelet"),
        (logged(node(), &[etcd]), Status::Fail, "killed etcd"),
        (with_kubelet(0, own), Status::Warn, "killed kubelet"),
        (with_kubelet(1, own), Status::Fail, "killed kubelet"),
        (
            machine(
                "node",
                "1.29.0",
                &[("/proc/vmstat", "nr_free 1\noom_kill 0\n")],
            ),
            Status::Ok,
            "none",
        ),
        (
            machine("node", "1.29.0", &[("/proc/vmstat", "oom_kill 3\n")]),
            Status::Skip,
            "nothing recorded it",
        ),
    ];
    for (survey, status, words) in cases {
        proves("host.oom", &survey, status, words);
    }
}
