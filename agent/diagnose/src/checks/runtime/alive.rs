//! `runtime.alive`: the runtime's unit and its answer.

use super::unloaded;
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::from_journal::from_journal_of;
use crate::checks::innermost::innermost;
use crate::checks::node::Node;
use crate::checks::stage;
use crate::checks::unit_health::{UnitHealth, health, stopped, with_evidence};
use quake_formats::journal::{KnownLine, latest};
use quake_model::facts::{RuntimeSeen, Unseen};
use quake_model::fault::Code;
use quake_model::phase::Phase;

/// What a panic of bbolt means, the library of containerd's database.
const DAMAGED: &str = "its database /var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db is damaged, as after a hard stop, and it crashes as it opens it";
const MADE_ANEW: &str = "systemctl stop kubelet.service containerd.service; mv /var/lib/containerd /var/lib/containerd.bad; reboot (the shims of before go), and containerd makes a new one and pulls the images again; or replace the instance; kubelet and the configuration are not the cause";

/// Lines with which containerd and docker end, or cannot begin.
pub(super) const REASONS: &[KnownLine] = &[
    KnownLine {
        parts: &["containerd config version", "is no longer supported"],
        means: "its configuration is of a version that this containerd does not take any more",
        fix: "containerd config migrate prints it in the newest version; systemctl restart quake-agent.service writes the agent's own file",
    },
    KnownLine {
        parts: &["expected containerd config version"],
        means: "its configuration is of a newer version than this containerd knows",
        fix: "write version = 2 and its sections for containerd 1, or install the containerd that the file is for; systemctl restart quake-agent.service writes the agent's own file",
    },
    KnownLine {
        parts: &["failed to create new OS thread"],
        means: "it can start no more threads: TasksMax of its unit, or kernel.pid_max, is reached",
        fix: "systemctl show -p TasksCurrent,TasksMax containerd.service; raise the one that is reached: systemctl set-property containerd.service TasksMax=infinity, sysctl -w kernel.pid_max=4194304",
    },
    KnownLine {
        parts: &["accept: too many open files"],
        means: "it has as many files open as its LimitNOFILE allows",
        fix: "raise LimitNOFILE of its unit with a drop-in; then: systemctl daemon-reload, systemctl restart the unit",
    },
    KnownLine {
        parts: &["failed to load TOML"],
        means: "its configuration is no TOML",
        fix: "containerd config dump names the place; systemctl restart quake-agent.service writes the agent's own file",
    },
    KnownLine {
        parts: &["no space left on device"],
        means: "its filesystem is full",
        fix: "make room below /var/lib: crictl rmi --prune, journalctl --vacuum-size=200M; or grow the volume",
    },
    KnownLine {
        parts: &["read-only file system"],
        means: "its filesystem is read-only",
        fix: "dmesg shows why the kernel made it so; a damaged disk is replaced with its instance",
    },
    KnownLine {
        parts: &["Exec format error"],
        means: "its program is for another processor",
        fix: "pin the assets of the instance's own architecture in the cluster spec, and roll the group",
    },
    KnownLine {
        parts: &["address already in use"],
        means: "something else listens at its address",
        fix: "ss -ltnxp shows who listens; stop that, then restart the runtime",
    },
    KnownLine {
        parts: &["pid file found, ensure docker is not running"],
        means: "another docker runs, or a dead one left its pid file",
        fix: "pgrep dockerd; where none runs: rm /var/run/docker.pid, then: systemctl restart docker.service",
    },
    KnownLine {
        parts: &["unable to configure the Docker daemon with file"],
        means: "/etc/docker/daemon.json contradicts the flags or is no JSON",
        fix: "take from /etc/docker/daemon.json what DOCKER_OPTS in /etc/sysconfig/docker sets too, then: systemctl restart docker.service",
    },
    KnownLine {
        parts: &["error initializing graphdriver", "d_type"],
        means: "the file system of /var/lib/docker was made without d_type (xfs with ftype=0), and overlay2 does not work on it",
        fix: "xfs_info /var/lib/docker shows ftype; mkfs.xfs -n ftype=1 on a volume of its own, mounted at /var/lib/docker; or an image whose root is ext4",
    },
    KnownLine {
        parts: &["error initializing graphdriver"],
        means: "its storage driver does not work on this machine",
        fix: "choose a storage driver that the kernel has (overlay2) in the cluster spec's docker.storage; what another driver stored is not seen any more",
    },
    KnownLine {
        parts: &["Failed to create NAT chain"],
        means: "it cannot program iptables",
        fix: "modprobe ip_tables iptable_nat; where the image has only nftables, install iptables-nft",
    },
    KnownLine {
        parts: &["meta.db", "timeout"],
        means: "another containerd holds its database",
        fix: "pgrep -a containerd; stop the one that systemd did not start, then: systemctl restart containerd.service",
    },
    // The trace stands below the panic, and the latest line counts.
    KnownLine {
        parts: &["libnetwork", "initStores"],
        means: "it crashes as it opens its database of networks, which is damaged, as after a loss of power",
        fix: "mv /var/lib/docker/network/files/local-kv.db /root/, then: systemctl restart docker.service (it makes a new one, and kubelet makes the pods' sandboxes anew); images and containers of /var/lib/docker stay",
    },
    KnownLine {
        parts: &["panic: freepages"],
        means: DAMAGED,
        fix: MADE_ANEW,
    },
    KnownLine {
        parts: &["go.etcd.io/bbolt", ".go:"],
        means: DAMAGED,
        fix: MADE_ANEW,
    },
    KnownLine {
        parts: &["panic:"],
        means: "it crashed",
        fix: "journalctl -b -u containerd.service -u docker.service has the trace; after a hard stop a damaged database in /var/lib/containerd may be why: replace the instance",
    },
    KnownLine {
        parts: &["oom-kill"],
        means: "the kernel killed it for want of memory",
        fix: "take a larger instance type, or give pods memory limits and kubelet a reserve (systemReserved)",
    },
];

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    stage::begun(node, Phase::Services)?;
    let name = match expected.runtime.as_str() {
        "docker" => "docker.service",
        _ => "containerd.service",
    };
    let answer = node.survey().runtime.get();
    let unit = match node.unit(name) {
        Ok(unit) => unit,
        // Without systemd the runtime's own answer tells.
        Err(unseen) => return answered(node, name, &answer, None).unwrap_or(Err(unseen)),
    };
    let Some(unit) = unit else {
        return Finding::new(
            format!("systemd knows no {name}"),
            "bake the runtime's package into the image, or pin its archive in the cluster spec's assets",
        )
        .coded(Code::ServicesUnitUnknown)
        .fail();
    };
    let journal = node.journal(name);
    match health(unit, node.taken()) {
        UnitHealth::Down(how) => {
            if let Some(finding) = stopped(unit, journal) {
                return finding.coded(Code::ServicesUnitFailed).fail();
            }
            let finding = match latest(journal, REASONS) {
                Some(reason) => {
                    let program = expected.runtime.as_str();
                    from_journal_of(program, &reason, &how, &node.survey().texts)
                }
                None => Finding::new(
                    format!("{how}{}", of_dependency(node, journal)),
                    format!(
                        "journalctl -b -u {name}; fix what it says, then: systemctl restart {name}"
                    ),
                )
                .by(Certainty::Possible),
            };
            with_evidence(finding, unit, journal)
                .coded(Code::ServicesUnitFailed)
                .fail()
        }
        UnitHealth::Coming(how) => {
            let finding = Finding::new(how, format!("wait; then: systemctl status {name}"));
            with_evidence(finding, unit, journal).warn()
        }
        UnitHealth::Up(how) => match answered(node, name, &answer, Some(&how)) {
            Some(verdict) => verdict,
            None => Verdict::ok(how),
        },
    }
}

/// What the unit says without which the runtime's is not started, as the end of a sentence.
fn of_dependency(node: &Node<'_>, journal: &[String]) -> String {
    if !journal
        .iter()
        .any(|line| line.contains("Dependency failed"))
    {
        return String::new();
    }
    let units = ["docker.socket", "containerd.service"];
    let first = units.iter().find_map(|unit| {
        let mut lines = node.journal(unit).iter();
        lines.find(|line| line.contains("Failed to ") || line.contains("Failed at "))
    });
    first.map_or(String::new(), |line| {
        format!(", because {}", innermost(line))
    })
}

/// What the runtime's own answer says; `None` where it was not asked.
fn answered(
    node: &Node<'_>,
    name: &str,
    answer: &Result<&RuntimeSeen, Unseen>,
    up: Option<&str>,
) -> Option<Result<Verdict, Unseen>> {
    let silent = |how: String| {
        Finding::new(
            format!("{name} does not answer: {how}"),
            format!("journalctl -b -u {name}; systemctl restart {name} (containers go on running)"),
        )
    };
    match answer {
        Ok(seen) => Some(match (&seen.error, &seen.version) {
            (Some(error), _) => unloaded::finding(node, name, error)
                .unwrap_or_else(|| silent(error.clone()))
                .fail(),
            (None, Some(version)) => Verdict::ok(format!("{} {version} answers", seen.name)),
            (None, None) => return None,
        }),
        Err(Unseen::TimedOut(millis)) => {
            let seconds = *millis as f64 / 1000.0;
            Some(silent(format!("nothing came within {seconds:.1} s")).warn())
        }
        Err(_) => up.map(|up| Verdict::ok(format!("{up}; it was not asked itself"))),
    }
}
