//! Remedies that can be followed on the node.

use super::Remedies;
use crate::checks::check::Finding;
use crate::checks::find;
use crate::checks::node::Node;
use crate::checks::node_sample::{NAME, Sample};
use crate::checks::report::{CheckReport, Status};
use quake_model::facts::EntryKind;

/// A remedy on a node where these checks came to this.
fn completed(node: &Sample, finding: Finding, checks: &[CheckReport]) -> String {
    let mut finding = finding;
    let seen = Node::new(&node.survey);
    let check = find("kubelet.alive").expect("it exists");
    Remedies::new(&seen, checks).complete(check, &mut finding);
    finding.fix
}

fn of_fix(node: &Sample, fix: &str) -> String {
    completed(node, Finding::new("something", fix), &[])
}

#[test]
fn placeholders_are_filled_with_what_the_survey_knows() {
    let node = Sample::worker();
    for (fix, wanted) in [
        (
            "kubectl delete node <name>",
            format!("kubectl delete node {NAME}"),
        ),
        (
            "--instance-group <group> --yes",
            "--instance-group nodes --yes".to_owned(),
        ),
        (
            "--auto-scaling-group-name <group>",
            "--auto-scaling-group-name nodes.demo.example.com".to_owned(),
        ),
        (
            "--instance-id <id>",
            "--instance-id i-0123456789abcdef0".to_owned(),
        ),
        (
            "s3.<region>.amazonaws.com",
            "s3.us-west-2.amazonaws.com".to_owned(),
        ),
        (
            "head-bucket --bucket <bucket>",
            "head-bucket --bucket bucket".to_owned(),
        ),
    ] {
        assert_eq!(of_fix(&node, fix), wanted);
    }
    let finding = Finding::new(
        "registry.acme.io/a/b:1 cannot be pulled",
        "curl https://<registry>/v2/ for <image>",
    );
    assert_eq!(
        completed(&node, finding, &[]),
        "curl https://registry.acme.io/v2/ for registry.acme.io/a/b:1"
    );
    let finding = Finding::new(
        "vol-0a1 is held by i-0b2",
        "--volume-id <id> --instance-ids <holder>, fsck <device>",
    )
    .seen("device", "/dev/nvme1n1");
    assert_eq!(
        completed(&node, finding, &[]),
        "--volume-id vol-0a1 --instance-ids i-0b2, fsck /dev/nvme1n1"
    );
    let finding = Finding::new("kops-controller does not answer", "nc -vz <server> 3988").seen(
        "server",
        "https://kops-controller.internal.c.example.com:3988/",
    );
    assert_eq!(
        completed(&node, finding, &[]),
        "nc -vz kops-controller.internal.c.example.com 3988"
    );
}

#[test]
fn crictl_is_named_only_where_it_is() {
    let fix = "crictl rmi --prune; or grow the volume";
    let mut node = Sample::worker();
    assert_eq!(
        of_fix(&node, fix),
        "ctr -n k8s.io images prune --all; or grow the volume"
    );
    node.expected().runtime = "docker".to_owned();
    assert_eq!(
        of_fix(&node, fix),
        "docker image prune --all; or grow the volume"
    );
    node.entry("/usr/local/bin/crictl", EntryKind::File, 0o755);
    assert_eq!(of_fix(&node, fix), fix);
}

#[test]
fn a_pod_is_looked_for_by_its_name_where_crictl_is_not() {
    let fix = "check its pod: crictl ps -a --name kube-apiserver, and its log";
    let mut node = Sample::worker();
    assert_eq!(
        of_fix(&node, fix),
        "check its pod: ls -t /var/log/containers | grep kube-apiserver, and its log"
    );
    node.expected().runtime = "docker".to_owned();
    assert_eq!(
        of_fix(&node, fix),
        "check its pod: docker ps -a --filter name=kube-apiserver, and its log"
    );
}

#[test]
fn a_remedy_does_not_send_to_checks_that_hold() {
    let node = Sample::worker();
    let made = |id: &str, status: Status| CheckReport {
        check: *find(id).expect("it exists"),
        status,
        note: String::new(),
        finding: None,
        because: Vec::new(),
        unseen: false,
        heard: 0,
    };
    let fix = "quake-agent diagnose --only certificates names it; write it anew";
    let with = |status: Status| {
        let checks = [
            made("certificates.dates", status),
            made("certificates.present", Status::Ok),
        ];
        completed(&node, Finding::new("x", fix), &checks)
    };
    assert_eq!(with(Status::Fail), fix);
    assert_eq!(with(Status::Skip), fix);
    assert_eq!(with(Status::Ok), "write it anew");
    // Without any part left, what the check says in general.
    let alone = Finding::new("x", "quake-agent diagnose --only certificates");
    let checks = [made("certificates.dates", Status::Ok)];
    assert!(completed(&node, alone, &checks).contains("journalctl"));
}
