use crate::checks::Status;
use crate::checks::node_sample::Sample;
use quake_model::facts::{Seen, TaintSeen};
use quake_model::phase::Phase;

#[test]
fn a_healthy_node_is_found_healthy() {
    for mut node in [Sample::worker(), Sample::control_plane()] {
        node.survey.runtime.ok().expect("a sample has one");
        let text = "apiVersion: v1\nclusters: [{name: l, cluster: {server: \"https://127.0.0.1\", insecure-skip-tls-verify: true}}]\n\
                    users: [{name: k, user: {token: x}}]\ncontexts: [{name: c, context: {cluster: l, user: k}}]\ncurrent-context: c\n";
        let server = node.expected().api_servers[0].clone();
        node.text(
            "/var/lib/kubelet/kubeconfig",
            &text.replace("https://127.0.0.1", &server),
        );
        let own: Vec<_> = node.findings();
        assert!(own.is_empty(), "{own:?}");
    }
}

#[test]
fn a_bastion_and_a_node_without_a_boot_are_not_judged() {
    let mut node = Sample::worker();
    node.expected().runtime = String::new();
    let mut bare = Sample::worker();
    bare.survey.record = None;
    for node in [node, bare] {
        for id in [
            "runtime.alive",
            "kubelet.alive",
            "cni.config",
            "staticpods.running",
            "node.ready",
            "images.pull",
        ] {
            node.assert(id, Status::Skip, "");
        }
    }
}

#[test]
fn what_follows_from_a_broken_runtime_comes_after_it() {
    let mut node = Sample::worker();
    let config = "/etc/containerd/config.toml";
    node.edit(
        config,
        "[plugins.\"io.containerd.grpc.v1.cri\".cni]",
        "[plugins.\"io.containerd.grpc.v1.cri\".cni",
    );
    node.crashing("containerd.service", &["failed to load TOML"]);
    node.runtime().error = Some("no socket".to_owned());
    node.crashing("kubelet.service", &["\"command failed\" err=\"failed to run Kubelet: validate service connection: validate CRI v1 runtime API\""]);
    node.survey.node = Seen::Yes(None);
    let findings = node.findings();
    assert_eq!(findings[0].0, "runtime.config", "{findings:?}");
    let order: Vec<&str> = findings.iter().map(|found| found.0).collect();
    for id in ["runtime.alive", "kubelet.alive", "node.registered"] {
        assert!(order.contains(&id), "{order:?}");
    }
}

#[test]
fn a_node_that_is_not_known_says_why_kubelet_stays_away() {
    let mut node = Sample::worker();
    node.assert("node.registered", Status::Ok, "known as");
    node.survey.node = Seen::Yes(None);
    node.assert("node.registered", Status::Fail, "does not know the node");
    node.journal(
        "kubelet.service",
        &["Unable to register node with API server: x509: certificate signed by unknown authority"],
    );
    node.assert("node.registered", Status::Fail, "another CA");
    node.in_phase(Phase::Ready)
        .assert("node.registered", Status::Warn, "another CA");
    node.in_phase(Phase::Services)
        .assert("node.registered", Status::Skip, "not come so far");
}

#[test]
fn a_node_under_another_name_is_told() {
    let mut node = Sample::worker();
    node.object().name = "ip-10-0-9-9".to_owned();
    node.assert("node.registered", Status::Fail, "known as ip-10-0-9-9");
    node.expected().node_name = String::new();
    node.assert("node.registered", Status::Ok, "ip-10-0-9-9");
}

#[test]
fn where_the_api_server_cannot_be_asked_the_journals_end_tells() {
    let mut node = Sample::worker();
    node.survey.node = Seen::Failed("connection refused".to_owned().into());
    node.assert("node.registered", Status::Error, "connection refused");
    let line =
        "Unable to register node with API server: dial tcp: lookup api.internal: no such host";
    node.journal("kubelet.service", &[line]).assert(
        "node.registered",
        Status::Fail,
        "name does not resolve",
    );
    let mut lines = vec![line];
    lines.extend(["later"; 20]);
    node.journal("kubelet.service", &lines).assert(
        "node.registered",
        Status::Error,
        "connection refused",
    );
}

#[test]
fn conditions_are_told_with_their_messages() {
    let mut node = Sample::worker();
    node.assert("node.ready", Status::Ok, "Ready");
    node.object().conditions[0].status = "True".to_owned();
    node.assert("node.ready", Status::Warn, "DiskPressure");
    let ready = &mut node.object().conditions[1];
    ready.status = "False".to_owned();
    ready.reason = "KubeletNotReady".to_owned();
    ready.message =
        "NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
            .to_owned();
    node.assert("node.ready", Status::Fail, "--only cni");
    node.object().conditions[1].message = "node is shutting down".to_owned();
    node.assert("node.ready", Status::Fail, "nothing on this node");
    node.object().conditions.clear();
    node.assert("node.ready", Status::Skip, "no conditions");
    node.survey.node = Seen::Yes(None);
    node.assert("node.ready", Status::Skip, "does not know");
}

#[test]
fn conditions_of_a_problem_detector_are_told_too() {
    for (kind, status, wanted) in [
        ("ReadonlyFilesystem", "True", Status::Warn),
        ("ReadonlyFilesystem", "False", Status::Ok),
        ("StorageReady", "False", Status::Warn),
        ("EtcdIsVoter", "True", Status::Ok),
    ] {
        let mut node = Sample::worker();
        let conditions = &mut node.object().conditions;
        let mut other = conditions[0].clone();
        (other.kind, other.status) = (kind.to_owned(), status.to_owned());
        conditions.push(other);
        node.assert("node.ready", wanted, "");
    }
}

#[test]
fn taints_that_somebody_should_take_off_are_told() {
    let taint = |key: &str| TaintSeen {
        key: key.to_owned(),
        effect: "NoSchedule".to_owned(),
    };
    for (key, status, words) in [
        (
            "node-role.kubernetes.io/control-plane",
            Status::Ok,
            "1 taints",
        ),
        ("dedicated", Status::Ok, "1 taints"),
        ("node.kubernetes.io/unschedulable", Status::Warn, "cordoned"),
        (
            "ToBeDeletedByClusterAutoscaler",
            Status::Warn,
            "about to remove the instance",
        ),
        (
            "ebs.csi.aws.com/agent-not-ready",
            Status::Warn,
            "EBS CSI driver",
        ),
        (
            "node.kubernetes.io/disk-pressure",
            Status::Warn,
            "disk-pressure",
        ),
        (
            "node.cloudprovider.kubernetes.io/uninitialized",
            Status::Fail,
            "cloud controller",
        ),
    ] {
        let mut node = Sample::worker();
        node.object().taints = vec![taint(key)];
        node.assert("node.taints", status, words);
    }
}

#[test]
fn an_object_of_another_instance_is_told() {
    let mut node = Sample::worker();
    node.assert("node.provider-id", Status::Ok, "i-0123456789abcdef0");
    node.object().provider_id = "aws:///us-west-2a/i-0fffffffffffffff0".to_owned();
    node.assert("node.provider-id", Status::Fail, "i-0fffffffffffffff0");
    node.object().provider_id = String::new();
    node.assert("node.provider-id", Status::Warn, "no provider id yet");
    node.text("/etc/sysconfig/kubelet", "DAEMON_ARGS=\"--v=2\"\n");
    node.assert("node.provider-id", Status::Skip, "no cloud provider");
}

#[test]
fn a_cloud_controller_that_ends_here_says_why_the_node_waits_for_it() {
    let mut node = Sample::worker();
    node.object().taints = vec![TaintSeen {
        key: "node.cloudprovider.kubernetes.io/uninitialized".to_owned(),
        effect: "NoSchedule".to_owned(),
    }];
    node.assert("node.taints", Status::Fail, "waits for a cloud controller");
    let pod = node.pod("aws-cloud-controller-manager", "exited");
    pod.exit_code = Some(1);
    pod.log = vec!["F1122 03:57:33.0 1 controllermanager.go:165] Cloud provider could not be initialized: no flux status code: 400, request id: 0f".to_owned()];
    let summary = node.judge("node.taints").note;
    assert!(
        summary.ends_with("could not be initialized: no flux"),
        "{summary}"
    );
}
