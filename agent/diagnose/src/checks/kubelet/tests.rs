use crate::checks::Status;
use crate::checks::node_sample::Sample;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_model::facts::{ActiveState, ProbeFacts, Seen};
use quake_model::phase::Phase;
use quake_model::time::Timestamp;

// Certificates of 2026 by a CA made for these tests; their keys were thrown away.
const CA: &str = "MIIBgDCCASWgAwIBAgIUQ8iLhvDYfn4Wi+x3xFH/c/hXifAwCgYIKoZIzj0EAwIwFTETMBEGA1UEAwwKa3ViZXJuZXRlczAeFw0yNjExMjIwMjM2MTVaFw0zNjExMTkwMjM2MTVaMBUxEzARBgNVBAMMCmt1YmVybmV0ZXMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARsPu6F9PSWA+gJIWK1s1CxZ2juaB7oNcdijwUUIlZ5OU3CFDzo5KU/sKD4ABNJCoFpuBWXdVxjWxm3BKTci8Hqo1MwUTAdBgNVHQ4EFgQUWp+jwtDwnWACRosUrT45jh7uMgAwHwYDVR0jBBgwFoAUWp+jwtDwnWACRosUrT45jh7uMgAwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEA3EDGlyd9NOP7q9yeufKCyliNUmWkyn2mXfWnab9H79sCIQDIt1Yk2GrMDjicRPz/reLGA5HyAAT8kFYLrndjVWIPbg==";
const NODE: &str = "MIIBUTCB9wIBATAKBggqhkjOPQQDAjAVMRMwEQYDVQQDDAprdWJlcm5ldGVzMB4XDTI2MDEwMTAwMDAwMFoXDTI3MDEwMTAwMDAwMFowVDEVMBMGA1UECgwMc3lzdGVtOm5vZGVzMTswOQYDVQQDDDJzeXN0ZW06bm9kZTppcC0xMC0wLTEtNy51cy13ZXN0LTIuY29tcHV0ZS5pbnRlcm5hbDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABH6MND2godvwWYL0GnF0Y3RDos1daykygqttgczj5M26OqjAUqowk1bT1+uougx9850GoEldFP+0JdnB/FHqCz4wCgYIKoZIzj0EAwIDSQAwRgIhAOSdiDAeD7Fny7gz54Z1R2l5B4srSFKru64edgoOVdGOAiEA0bwQlJYN2D0dCr4KF7fW6BV0wZFxMZfZMx/98Ot8dxQ=";
const OLD: &str = "MIIBJTCBzAIBAjAKBggqhkjOPQQDAjAVMRMwEQYDVQQDDAprdWJlcm5ldGVzMB4XDTI2MDEwMTAwMDAwMFoXDTI3MDEwMTAwMDAwMFowKTEVMBMGA1UECgwMc3lzdGVtOm5vZGVzMRAwDgYDVQQDDAdrdWJlbGV0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEuiuXyY9Pb7iUc6YKdXjlf2bGvdkbpuPmeP8el16F69b7TYGs5kwk0MUDjfGclXHffh80T+93TPWSlXmM4kce3jAKBggqhkjOPQQDAgNIADBFAiAL5xS503+83DzKdZhGTsxlkF9/G22T41gKijxqJc5PvgIhAJkTAZBQFNKwTtRdiS/2VwDAHYLYLd6ZWQnzna0ZaNHb";
const GROUPLESS: &str = "MIIBODCB4AIBAzAKBggqhkjOPQQDAjAVMRMwEQYDVQQDDAprdWJlcm5ldGVzMB4XDTI2MDEwMTAwMDAwMFoXDTI3MDEwMTAwMDAwMFowPTE7MDkGA1UEAwwyc3lzdGVtOm5vZGU6aXAtMTAtMC0xLTcudXMtd2VzdC0yLmNvbXB1dGUuaW50ZXJuYWwwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAThTcFJvtoVTULC7vXE7PTDL296IojqlPFubqo4BfA466YfMHd7cZRJ2nz7iwsvSSmzYO8rXja/0MlrxHgRGwXZMAoGCCqGSM49BAMCA0cAMEQCIHTCtdeAZUBwbyHkyWbz/fcaNrJcBt4ghHMLZ72zgribAiBd6rp+WQAu1KkOU3qXOIv0/r7cbJOEMzNhbLHGc0imhQ==";

const FLAGS: &str = "/etc/sysconfig/kubelet";
const CONFIG: &str = "/var/lib/kubelet/config.yaml";
const KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

fn pem(body: &str) -> String {
    let lines: Vec<&str> = (0..body.len())
        .step_by(64)
        .map(|at| &body[at..body.len().min(at + 64)])
        .collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}

fn kubeconfig(server: &str, client: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: local\n  cluster:\n    certificate-authority-data: {}\n    \
         server: {server}\nusers:\n- name: kubelet\n  user:\n    client-certificate-data: {}\n    client-key-data: a2V5\n\
         contexts:\n- name: c\n  context:\n    cluster: local\n    user: kubelet\ncurrent-context: c\n",
        STANDARD.encode(pem(CA)),
        STANDARD.encode(pem(client)),
    )
}

fn with_client(client: &str) -> Sample {
    let mut node = Sample::worker();
    node.text(
        KUBECONFIG,
        &kubeconfig("https://api.internal.demo.example.com", client),
    );
    node
}

#[test]
fn a_kubelet_that_ends_says_why() {
    for (line, words) in [
        (
            "E1 run.go:74] \"command failed\" err=\"failed to run Kubelet: running with swap on is not supported, please disable swap\"",
            "swap is on",
        ),
        (
            "E1 run.go:74] \"command failed\" err=\"failed to parse kubelet flag: unknown flag: --container-runtime\"",
            "does not know one of its flags",
        ),
        (
            "F1 server.go:273] failed to run Kubelet: could not init cloud provider \"aws\": UnauthorizedOperation",
            "ec2:DescribeInstances",
        ),
        (
            "E1 \"Failed to start ContainerManager\" err=\"invalid kernel flag: vm/overcommit_memory\"",
            "a sysctl is not as it wants",
        ),
        (
            "listen tcp 127.0.0.1:10248: bind: address already in use",
            "something else has its port",
        ),
        (
            "E1 \"command failed\" err=\"failed to load kubelet config file, path: /var/lib/kubelet/config.yaml\"",
            "cannot read its configuration",
        ),
        (
            "kubelet.service: A process of this unit has been killed by the OOM killer; oom-kill",
            "want of memory",
        ),
        (
            "E1 \"command failed\" err=\"something nobody has seen\"",
            "ended with an error",
        ),
        (
            "x509: certificate signed by unknown authority",
            "another CA",
        ),
        ("nothing known", "exit status 1"),
    ] {
        let mut node = Sample::worker();
        node.crashing("kubelet.service", &["I1 starting", line, "I1 bye"]);
        node.assert("kubelet.alive", Status::Fail, words);
        node.assert("kubelet.alive", Status::Fail, "started again 12 times");
    }
}

#[test]
fn a_kubelet_that_runs_must_say_that_it_is_well() {
    let mut node = Sample::worker();
    node.assert("kubelet.alive", Status::Ok, "is well");
    node.probes()[0].answer = ProbeFacts::Silent {
        reason: "connection refused".to_owned(),
    };
    node.assert(
        "kubelet.alive",
        Status::Fail,
        "did not answer: connection refused",
    );
    node.unit("kubelet.service").main_started_us =
        (crate::checks::node_sample::TAKEN.0 - 5000) * 1000;
    node.assert("kubelet.alive", Status::Warn, "did not answer");
    node.probes().clear();
    node.assert("kubelet.alive", Status::Ok, "not asked");
    node.survey.units = Seen::TimedOut(1000);
    node.assert("kubelet.alive", Status::Error, "1.0s");
}

#[test]
fn a_kubelet_that_was_not_started_yet_is_not_missed() {
    let mut node = Sample::worker();
    node.in_phase(Phase::Services);
    let unit = node.unit("kubelet.service");
    unit.active = ActiveState::Inactive;
    unit.sub_state = "dead".to_owned();
    unit.main_started_us = 0;
    node.assert("kubelet.alive", Status::Skip, "not come so far");
    node.unit("kubelet.service").found = false;
    node.assert("kubelet.alive", Status::Fail, "which the agent writes");
    node.in_phase(Phase::Assets)
        .assert("kubelet.alive", Status::Skip, "not come so far");
    let mut node = Sample::worker();
    node.unit("kubelet.service").active = ActiveState::Inactive;
    node.assert("kubelet.alive", Status::Fail, "is not running");
}

#[test]
fn flags_that_are_gone_are_told_by_version() {
    for (flag, version, status) in [
        ("--network-plugin=cni", "1.24.0", Status::Fail),
        ("--network-plugin=cni", "1.23.9", Status::Ok),
        ("--container-runtime=remote", "1.27.1", Status::Fail),
        ("--container-runtime=remote", "1.26.1", Status::Ok),
        ("--cloud-provider=aws", "1.27.0", Status::Fail),
        ("--non-masquerade-cidr=10.0.0.0/8", "1.24.0", Status::Fail),
        (
            "--keep-terminated-pod-volumes=false",
            "1.31.0",
            Status::Fail,
        ),
        ("--cloud-config=/etc/cloud.conf", "1.33.5", Status::Ok),
        ("--cloud-config=/etc/cloud.conf", "1.34.0", Status::Fail),
        ("--pod-infra-container-image=p:1", "1.34.2", Status::Ok),
        ("--pod-infra-container-image=p:1", "1.35.0", Status::Fail),
        ("--cloud-provider=external", "1.27.0", Status::Ok),
        ("--allow-privileged=true", "1.15.0", Status::Fail),
    ] {
        let mut node = Sample::worker();
        node.spec().kubernetes = version.to_owned();
        node.text(FLAGS, &format!("DAEMON_ARGS=\"{flag} --v=2\"\n"));
        node.assert("kubelet.config", status, "");
    }
}

#[test]
fn the_configuration_is_read_with_the_place_of_its_mistakes() {
    let head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    for (text, status, words) in [
        (
            format!("{head}maxPods: 110\nfailSwapOn: false\nsyncFrequency: 1m0s\n"),
            Status::Ok,
            "5 fields",
        ),
        (
            format!("{head}maxPods: \"110\"\n"),
            Status::Fail,
            "line 3, column 10: maxPods wants a whole number",
        ),
        (
            format!("{head}failSwapOn: \"no\"\n"),
            Status::Fail,
            "failSwapOn wants true or false",
        ),
        (
            format!("{head}syncFrequency: 60\n"),
            Status::Fail,
            "a time with its unit",
        ),
        (
            format!("{head}cgroupdriver: systemd\n"),
            Status::Warn,
            "cgroupDriver may be meant",
        ),
        (
            format!("{head}aFieldOfTheFuture: 1\n"),
            Status::Ok,
            "3 fields",
        ),
        (
            format!("{head}clusterDNS: [10.0.0.10\nx: y\n"),
            Status::Fail,
            "line",
        ),
        (
            "kind: Pod\n".to_owned(),
            Status::Fail,
            "no configuration of kubelet",
        ),
    ] {
        let mut node = Sample::worker();
        node.text(FLAGS, &format!("DAEMON_ARGS=\"--config={CONFIG}\"\n"))
            .text(CONFIG, &text);
        node.assert("kubelet.config", status, words);
    }
}

#[test]
fn a_configuration_that_is_not_there_is_told_only_if_it_is_asked_for() {
    let mut node = Sample::worker();
    node.assert("kubelet.config", Status::Ok, "no configuration");
    node.text(FLAGS, &format!("DAEMON_ARGS=\"--config={CONFIG}\"\n"));
    node.assert("kubelet.config", Status::Fail, "which is not there");
    node.text(FLAGS, "DAEMON_ARGS=\"--config=/opt/x.yaml\"\n")
        .assert("kubelet.config", Status::Ok, "not looked at");
}

#[test]
fn the_kubeconfig_leads_to_the_expected_server() {
    let client = NODE;
    let own = "https://api.internal.demo.example.com";
    let whole = kubeconfig(own, client);
    for (text, status, words) in [
        (whole.clone(), Status::Ok, own),
        (
            kubeconfig("https://api.internal.old.example.com", client),
            Status::Fail,
            "api.internal.old.example.com",
        ),
        (
            whole.replace("    client-key-data: a2V5\n", ""),
            Status::Fail,
            "no client-key",
        ),
        (
            whole.replace(
                "certificate-authority-data: ",
                "certificate-authority-data: ?",
            ),
            Status::Fail,
            "certificate-authority-data",
        ),
        (
            whole.replace("current-context: c\n", ""),
            Status::Fail,
            "no current-context",
        ),
        (
            whole.replace("current-context: c\n", "current-context: d\n"),
            Status::Fail,
            "no context \"d\"",
        ),
        (
            whole.replace("clusters:\n", "clusters: [\n"),
            Status::Fail,
            "cannot be read: line",
        ),
    ] {
        let mut node = Sample::worker();
        node.text(KUBECONFIG, &text)
            .assert("kubelet.kubeconfig", status, words);
        let shown = format!("{:?}", node.judge("kubelet.kubeconfig"));
        assert!(
            !shown.contains("a2V5") && !shown.contains(&STANDARD.encode(pem(NODE))),
            "{shown}"
        );
    }
}

#[test]
fn a_kubeconfig_that_is_not_there_is_missed_once_files_are_written() {
    let mut node = Sample::worker();
    node.assert("kubelet.kubeconfig", Status::Fail, "there is no");
    node.in_phase(Phase::Files)
        .assert("kubelet.kubeconfig", Status::Skip, "not come so far");
    node.text(
        FLAGS,
        "DAEMON_ARGS=\"--bootstrap-kubeconfig=/var/lib/kubelet/bootstrap-kubeconfig\"\n",
    );
    node.assert("kubelet.kubeconfig", Status::Skip, "kubelet writes it");
    node.expected().kubeconfig = "/opt/kubeconfig".to_owned();
    node.assert("kubelet.kubeconfig", Status::Skip, "/opt/kubeconfig");
}

#[test]
fn the_certificate_is_this_nodes_and_of_this_time() {
    with_client(NODE).assert("kubelet.certificate", Status::Ok, "system:node:ip-10-0-1-7");
    with_client(OLD).assert("kubelet.certificate", Status::Ok, "kubelet, until");
    with_client(GROUPLESS).assert("kubelet.certificate", Status::Fail, "system:nodes");
    with_client("AAAA").assert("kubelet.certificate", Status::Fail, "cannot be read");
    let mut node = with_client(NODE);
    node.expected().node_name = "ip-10-0-9-9".to_owned();
    node.assert(
        "kubelet.certificate",
        Status::Fail,
        "and this one is ip-10-0-9-9",
    );
    for (now, status, words) in [
        (
            1_767_000_000_000,
            Status::Fail,
            "valid only from 2026-01-01",
        ),
        (1_798_500_000_000, Status::Warn, "ends in"),
        (1_800_000_000_000, Status::Fail, "expired at 2027-01-01"),
        (0, Status::Ok, "until"),
    ] {
        let mut node = with_client(NODE);
        node.survey.taken = Timestamp(now);
        node.assert("kubelet.certificate", status, words);
    }
    Sample::worker().assert("kubelet.certificate", Status::Skip, "no kubeconfig");
}

#[test]
fn a_certificate_in_a_file_of_its_own_is_read_there() {
    let path = "/var/lib/kubelet/pki/kubelet-client-current.pem";
    let data = format!("client-certificate-data: {}", STANDARD.encode(pem(NODE)));
    let mut node = with_client(NODE);
    node.edit(KUBECONFIG, &data, &format!("client-certificate: {path}"));
    node.assert("kubelet.certificate", Status::Skip, "not looked at");
    node.text(path, &pem(GROUPLESS))
        .assert("kubelet.certificate", Status::Fail, "system:nodes");
}

#[test]
fn a_certificate_that_the_cluster_gives_is_waited_for() {
    let mut node = Sample::worker();
    node.assert("kubelet.bootstrap", Status::Skip, "state store");
    node.text(
        FLAGS,
        "DAEMON_ARGS=\"--bootstrap-kubeconfig=/var/lib/kubelet/bootstrap-kubeconfig\"\n",
    );
    node.assert(
        "kubelet.bootstrap",
        Status::Fail,
        "which the node authorizer brings",
    );
    node.text("/var/lib/kubelet/bootstrap-kubeconfig", "x")
        .assert("kubelet.bootstrap", Status::Warn, "no kubeconfig yet");
    node.journal(
        "kubelet.service",
        &["Waiting for client certificate to be issued"],
    );
    node.assert("kubelet.bootstrap", Status::Fail, "nobody approved");
    node.text(KUBECONFIG, "x")
        .assert("kubelet.bootstrap", Status::Ok, "wrote");
}

#[test]
fn versions_too_far_apart_are_told() {
    for (kubelet, server, status, words) in [
        ("v1.29.3", "v1.29.9", Status::Ok, "v1.29.3"),
        ("v1.30.0", "v1.29.9", Status::Warn, "newer"),
        ("v1.25.0", "v1.29.9", Status::Warn, "more than 3"),
        ("v1.24.0", "v1.27.9", Status::Warn, "more than 2"),
        ("v1.28.0", "v1.29.9", Status::Warn, "the spec wants 1.29.3"),
    ] {
        let mut node = Sample::worker();
        node.object().kubelet_version = kubelet.to_owned();
        node.object().server_version = server.to_owned();
        node.assert("kubelet.skew", status, words);
    }
    let mut node = Sample::worker();
    node.survey.node = Seen::Yes(None);
    node.assert("kubelet.skew", Status::Skip, "does not know");
}

#[test]
fn pods_without_addresses_are_told() {
    let mut node = Sample::worker();
    node.assert("kubelet.max-pods", Status::Skip, "not written down");
    let network = |range: &str| {
        format!(
            "{{\"name\": \"q\", \"plugins\": [{{\"type\": \"bridge\", \"ipam\": {{\"type\": \"host-local\", \"ranges\": [[{{\"subnet\": \"{range}\"}}]]}}}}]}}"
        )
    };
    node.text(
        "/etc/cni/net.d/10-calico.conflist",
        &network("100.96.3.0/24"),
    );
    node.assert("kubelet.max-pods", Status::Ok, "253 addresses");
    node.text(
        "/etc/cni/net.d/10-calico.conflist",
        &network("100.96.3.0/26"),
    );
    node.assert("kubelet.max-pods", Status::Warn, "at most 61");
}

#[test]
fn the_way_to_the_api_server_is_read_from_the_kubeconfig() {
    let own = "https://api.internal.demo.example.com";
    let whole = kubeconfig(own, NODE);
    let access = crate::checks::api_access(&whole, |_| None).expect("it has all parts");
    assert_eq!(
        (access.server.as_str(), access.key.expose().as_slice()),
        (own, &b"key"[..])
    );
    assert_eq!(access.certificate, pem(NODE).into_bytes());
    let data = format!("client-certificate-data: {}", STANDARD.encode(pem(NODE)));
    let named = whole.replace(&data, "client-certificate: /x.pem");
    assert!(crate::checks::api_access(&named, |_| None).is_none());
    let read = |path: &str| (path == "/x.pem").then(|| b"pem".to_vec());
    let access = crate::checks::api_access(&named, read).expect("the file is there");
    assert_eq!(access.certificate, b"pem");
    assert!(
        !format!("{access:?}").contains("107, 101, 121"),
        "a key is never shown"
    );
}
