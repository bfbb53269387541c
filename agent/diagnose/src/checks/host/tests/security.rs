//! Checks of what guards the machine.

use super::{logged, machine};
use crate::checks::report::Status;
use crate::checks::surveyed::{proves, tree, unit};
use quake_model::facts::{ActiveState, Seen};

#[test]
fn selinux_is_in_the_way_only_where_it_denied_something() {
    let enforcing = || machine("node", "1.29.0", &[("/sys/fs/selinux/enforce", "1")]);
    let denial = "audit: type=1400 audit(1.2:3): avc:  denied  { execute } for  pid=9 comm=\"kubelet\" name=\"calico\" dev=\"nvme0n1p1\" permissive=0";
    let other = "audit: type=1400 audit(1.2:3): avc:  denied  { read } for  pid=9 comm=\"sshd\" name=\"x\" permissive=0";
    let unlabeled = "audit: type=1400 audit(1.2:3): avc:  denied  { entrypoint } for  pid=9 comm=\"runc:[2:INIT]\" path=\"/app\" scontext=system_u:system_r:container_t:s0:c1,c2 tcontext=system_u:object_r:unlabeled_t:s0 tclass=file permissive=0";
    let cases = [
        (
            machine("node", "1.29.0", &[("/proc/filesystems", "\text4\n")]),
            Status::Ok,
            "none",
        ),
        (
            machine("node", "1.29.0", &[("/sys/fs/selinux/enforce", "0")]),
            Status::Ok,
            "permissive",
        ),
        (logged(enforcing(), &[other]), Status::Ok, "enforcing"),
        (
            logged(enforcing(), &[denial]),
            Status::Fail,
            "denied kubelet the use of calico",
        ),
        (
            logged(
                enforcing(),
                &[&denial.replace("name=\"calico\"", "path=\"/opt/x\"")],
            ),
            Status::Fail,
            "the use of /opt/x",
        ),
        (
            logged(enforcing(), &[unlabeled]),
            Status::Fail,
            "the files in /var/lib/containerd have no labels",
        ),
        (enforcing(), Status::Skip, "nothing recorded it"),
        (tree(&[]), Status::Skip, "/proc/filesystems"),
    ];
    for (survey, status, words) in cases {
        proves("host.selinux", &survey, status, words);
    }
}

#[test]
fn a_firewall_counts_only_when_it_filters() {
    let with = |active| {
        let mut survey = tree(&[("/etc/ufw/ufw.conf", "ENABLED=no\n")]);
        survey.units = Seen::Yes(vec![unit("firewalld.service", active)]);
        survey
    };
    proves(
        "host.firewall",
        &with(ActiveState::Inactive),
        Status::Ok,
        "neither",
    );
    proves(
        "host.firewall",
        &with(ActiveState::Active),
        Status::Warn,
        "firewalld filters",
    );
    let ufw = tree(&[("/etc/ufw/ufw.conf", "# x\nENABLED=yes\n")]);
    proves("host.firewall", &ufw, Status::Warn, "ufw filters");
    proves(
        "host.firewall",
        &tree(&[]),
        Status::Skip,
        "nothing recorded it",
    );
}

#[test]
fn the_mode_of_fips_is_told() {
    let on = machine(
        "node",
        "1.29.0",
        &[("/proc/sys/crypto/fips_enabled", "1\n")],
    );
    proves("host.fips", &on, Status::Ok, "is on");
    proves(
        "host.fips",
        &machine("node", "1.29.0", &[]),
        Status::Ok,
        "is off",
    );
    proves("host.fips", &tree(&[]), Status::Skip, "osrelease");
}

#[test]
fn a_denial_of_apparmor_is_told_with_its_profile() {
    let denied = |profile: &str, name: &str| {
        format!(
            "audit: type=1400 audit(1.2:3): apparmor=\"DENIED\" operation=\"exec\" class=\"file\" profile=\"{profile}\" name=\"{name}\" pid=811 comm=\"(kubelet)\" requested_mask=\"x\""
        )
    };
    let id = "host.apparmor";
    let base = machine("node", "1.29.0", &[]);
    let of = |line: String| logged(base.clone(), &[line.as_str()]);
    let own = of(denied("site-kubelet", "/usr/local/bin/kubelet"));
    proves(
        id,
        &own,
        Status::Fail,
        "denied (kubelet) exec of /usr/local/bin/kubelet, by the profile site-kubelet",
    );
    let pod = of(denied(
        "cri-containerd.apparmor.d",
        "/usr/local/bin/kubelet",
    ));
    proves(id, &pod, Status::Ok, "denied pods something");
    proves(id, &logged(base.clone(), &[]), Status::Ok, "denied nothing");
}
