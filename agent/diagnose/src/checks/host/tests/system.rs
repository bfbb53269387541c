//! Checks of the operating system.

use super::{expecting, machine};
use crate::checks::report::Status;
use crate::checks::surveyed::{proves, tree};
use quake_model::expected::Expected;
use quake_model::facts::Survey;

#[test]
fn who_looked_is_told() {
    let mut survey = tree(&[]);
    proves("host.root", &survey, Status::Ok, "by root");
    survey.by_root = false;
    proves(
        "host.root",
        &survey,
        Status::Warn,
        "sudo quake-agent diagnose",
    );
    proves(
        "host.root",
        &Survey::default(),
        Status::Skip,
        "nothing says who",
    );
}

#[test]
fn the_operating_system_must_say_which_it_is() {
    let cases = [
        ("ID=debian\nVERSION_ID=\"12\"\n", Status::Ok, "debian 12"),
        (
            "ID=\"amzn\"\nVERSION_ID=\"2023\"\n",
            Status::Ok,
            "amzn 2023",
        ),
        ("ID=pop\nID_LIKE=\"ubuntu debian\"\n", Status::Ok, "pop"),
        ("ID=gentoo\n", Status::Warn, "gentoo"),
        ("NAME=x\n", Status::Fail, "no ID"),
    ];
    for (text, status, words) in cases {
        proves(
            "host.os",
            &tree(&[("/etc/os-release", text)]),
            status,
            words,
        );
    }
    let elsewhere = tree(&[("/usr/lib/os-release", "ID=flatcar\n")]);
    proves("host.os", &elsewhere, Status::Ok, "flatcar");
    proves("host.os", &tree(&[]), Status::Fail, "no os-release");
    proves(
        "host.os",
        &Survey::default(),
        Status::Skip,
        "/etc/os-release",
    );
}

#[test]
fn a_hostname_matters_where_kubelet_registers_by_it() {
    let named = |name: &str, flags: &[&str]| {
        let survey = machine("node", "1.29.3", &[("/proc/sys/kernel/hostname", name)]);
        let expected = Expected {
            node_name: "ip-10-0-1-2.ec2.internal".into(),
            kubelet_flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ..Expected::default()
        };
        expecting(survey, expected)
    };
    let external = ["cloud-provider=external"];
    let aws = ["cloud-provider=aws"];
    let cases: [(&str, &[&str], Status, &str); 7] = [
        ("ip-10-0-1-2.ec2.internal\n", &external, Status::Ok, "ip-10"),
        (
            "ip-10-0-1-2\n",
            &external,
            Status::Warn,
            "is to register as ip-10-0-1-2.ec2.internal",
        ),
        ("ip-10-0-1-2\n", &aws, Status::Ok, "ip-10"),
        ("localhost\n", &external, Status::Fail, "unconfigured"),
        ("localhost\n", &aws, Status::Warn, "unconfigured"),
        ("my_node\n", &external, Status::Fail, "characters"),
        ("web\n", &["hostname-override=x"], Status::Ok, "web"),
    ];
    for (name, flags, status, words) in cases {
        proves("host.hostname", &named(name, flags), status, words);
    }
    let long = "a".repeat(64);
    proves(
        "host.hostname",
        &named(&long, &external),
        Status::Fail,
        "63",
    );
    proves("host.hostname", &tree(&[]), Status::Skip, "/etc/hostname");
}

#[test]
fn a_machine_id_is_there_and_its_own() {
    let cases = [
        ("5f3c2a9d0c8b4c66a1e2d3c4b5a69788\n", Status::Ok, "its own"),
        ("", Status::Warn, "empty"),
        ("uninitialized\n", Status::Warn, "uninitialized"),
        (
            "00000000000000000000000000000000\n",
            Status::Warn,
            "no identity",
        ),
    ];
    for (text, status, words) in cases {
        proves(
            "host.machine-id",
            &tree(&[("/etc/machine-id", text)]),
            status,
            words,
        );
    }
    proves(
        "host.machine-id",
        &tree(&[]),
        Status::Warn,
        "there is no /etc/machine-id",
    );
    proves(
        "host.machine-id",
        &Survey::default(),
        Status::Skip,
        "machine-id",
    );
}
