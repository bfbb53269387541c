use crate::checks::Status;
use crate::checks::node_sample::{Sample, manifest};
use quake_model::facts::{EntryKind, Seen};
use quake_model::phase::Phase;

const PROXY: &str = "/etc/kubernetes/manifests/kube-proxy.manifest";

#[test]
fn a_manifest_that_kubelet_cannot_read_is_told_with_its_place() {
    for (from, to, words) in [
        ("kind: Pod", "kind: [Pod", "line"),
        ("kind: Pod", "kind: Deployment", "no Pod but Deployment"),
        ("  name: kube-proxy\n", "", "no metadata.name"),
        (
            "name: kube-proxy\n  namespace",
            "name: proxy\n  namespace",
            "no manifest of kube-proxy",
        ),
    ] {
        let mut node = Sample::worker();
        node.edit(PROXY, from, to)
            .assert("staticpods.manifests", Status::Fail, words);
    }
}

#[test]
fn kubelet_reads_copies_and_ignores_files_with_a_dot() {
    let mut node = Sample::worker();
    node.assert("staticpods.manifests", Status::Ok, "1 manifests");
    node.text(&format!("{PROXY}~"), &manifest("kube-proxy"));
    node.assert(
        "staticpods.manifests",
        Status::Fail,
        "mv /etc/kubernetes/manifests/kube-proxy.manifest~",
    );
    let mut node = Sample::worker();
    node.text("/etc/kubernetes/manifests/.kube-proxy.manifest.swp", "x");
    node.assert("staticpods.manifests", Status::Ok, "1 manifests");
    node.remove(PROXY).assert(
        "staticpods.manifests",
        Status::Fail,
        ".kube-proxy.manifest.swp",
    );
    node.in_phase(Phase::Files)
        .assert("staticpods.manifests", Status::Skip, "not come so far");
}

#[test]
fn a_directory_in_a_files_place_is_told() {
    let mut node = Sample::worker();
    node.entry(
        "/var/lib/kube-proxy/kubeconfig",
        EntryKind::Directory,
        0o755,
    );
    node.assert(
        "staticpods.manifests",
        Status::Fail,
        "rmdir /var/lib/kube-proxy/kubeconfig",
    );
    node.entry("/var/lib/kube-proxy/kubeconfig", EntryKind::File, 0o400);
    node.assert("staticpods.manifests", Status::Ok, "1 manifests");
    node.edit(PROXY, "/kubeconfig\n", "/kubeconfig\n      type: File\n")
        .remove("/var/lib/kube-proxy/kubeconfig");
    node.assert("staticpods.manifests", Status::Fail, "is not there");
}

#[test]
fn a_kubelet_that_reads_another_directory_is_told() {
    let mut node = Sample::worker();
    node.edit(
        "/etc/sysconfig/kubelet",
        "/etc/kubernetes/manifests",
        "/etc/kubelet.d",
    );
    node.assert(
        "staticpods.manifests",
        Status::Fail,
        "kubelet reads /etc/kubelet.d",
    );
    node.expected().manifest_directory = "/etc/kubelet.d".to_owned();
    node.assert("staticpods.manifests", Status::Skip, "not looked at");
}

#[test]
fn a_pod_that_does_not_run_is_told_with_how_it_ended() {
    let mut node = Sample::control_plane();
    node.assert("staticpods.running", Status::Ok, "kube-scheduler");
    node.pod("kube-scheduler", "running").restarts = 9;
    node.assert(
        "staticpods.running",
        Status::Warn,
        "kube-scheduler was started again 9 times",
    );
    let pod = node.pod("kube-apiserver", "exited");
    pod.exit_code = Some(1);
    pod.restarts = 3;
    node.assert(
        "staticpods.running",
        Status::Fail,
        "kube-apiserver ended with 1, started again 3 times",
    );
    let pod = node.pod("kube-apiserver", "exited");
    (pod.exit_code, pod.restarts) = (Some(1), 3);
    pod.log = vec![
        "Error while dialing: dial tcp 127.0.0.1:2379: connect: connection refused".to_owned(),
        "exiting".to_owned(),
    ];
    node.assert(
        "staticpods.running",
        Status::Fail,
        "started again 3 times: the API server does not reach etcd",
    );
    let pod = node.pod("kube-apiserver", "exited");
    pod.reason = "OOMKilled".to_owned();
    node.assert(
        "staticpods.running",
        Status::Fail,
        "beyond its own memory limit (OOMKilled)",
    );
    let pod = node.pod("kube-apiserver", "exited");
    pod.exit_code = Some(137);
    node.assert("staticpods.running", Status::Fail, "liveness");
    node.pods().retain(|pod| pod.container != "kube-apiserver");
    node.assert(
        "staticpods.running",
        Status::Fail,
        "has not started kube-apiserver",
    );
    node.in_phase(Phase::Ready)
        .assert("staticpods.running", Status::Warn, "has not started");
    node.runtime().pods = None;
    node.assert("staticpods.running", Status::Skip, "not listed");
    node.survey.runtime = Seen::default();
    node.assert("staticpods.running", Status::Skip, "");
}

#[test]
fn a_run_that_ended_beside_one_that_goes_on_is_no_trouble() {
    let mut node = Sample::worker();
    let mut old = node.pod("kube-proxy", "running").clone();
    old.state = "exited".to_owned();
    old.exit_code = Some(2);
    node.pods().push(old);
    node.assert("staticpods.running", Status::Ok, "kube-proxy");
}

#[test]
fn a_wrong_version_of_a_configuration_is_told_apart_from_bad_syntax() {
    let with = |line: &str| {
        let mut node = Sample::control_plane();
        let pod = node.pod("kube-apiserver", "exited");
        (pod.exit_code, pod.log) = (Some(1), vec![line.to_owned()]);
        node
    };
    let id = "staticpods.running";
    for (line, words) in [
        (
            "Error: error while parsing file: error decoding encryption provider configuration file \"/x\": no kind \"EncryptionConfig\" is registered for version \"v1\" in scheme",
            "encryption configuration has a version or kind",
        ),
        (
            "Error: error while parsing file: error decoding encryption provider configuration file \"/x\": error converting YAML to JSON: yaml: line 3: mapping values",
            "encryption configuration has a syntax error",
        ),
        (
            "Error: loading audit policy file: unknown group version field {audit.k8s.io/v1beta1 Policy} in policy",
            "audit policy is of a version",
        ),
        (
            "Error: unknown flag: --insecure-port",
            "does not know one of its flags",
        ),
    ] {
        with(line).assert(id, Status::Fail, words);
    }
    let path = "/etc/kubernetes/manifests/kube-proxy.manifest";
    let mut node = Sample::worker();
    node.edit(path, "apiVersion: v1", "apiVersion: v1beta1");
    node.assert(
        "staticpods.manifests",
        Status::Fail,
        "of another version than kubelet knows",
    );
}

#[test]
fn a_component_that_the_host_had_no_memory_for_is_told_apart_from_one_beyond_its_limit() {
    let mut node = Sample::control_plane();
    let pod = node.pod("kube-scheduler", "exited");
    (pod.exit_code, pod.reason) = (Some(137), "OOMKilled".to_owned());
    node.assert(
        "staticpods.running",
        Status::Fail,
        "raise resources.limits.memory of kube-scheduler",
    );
    node.survey.kernel_log = Seen::Yes(vec![
        "Out of memory: Killed process 5 (kube-scheduler) total-vm:1kB".to_owned(),
    ]);
    node.assert(
        "staticpods.running",
        Status::Fail,
        "because the host ran out of memory",
    );
}

#[test]
fn what_a_component_ended_with_is_told_in_its_own_words() {
    let mut node = Sample::control_plane();
    for line in [
        "E1122 03:57:12.0 1 run.go:72] \"command failed\" err=\"gizmo \\\"Flux\\\" is unknown\"",
        "E1122 03:57:12.0 1 gizmo.go:72] \"Gizmo broke\" err=\"gizmo \\\"Flux\\\" is unknown\"",
    ] {
        let pod = node.pod("kube-apiserver", "exited");
        (pod.exit_code, pod.log) = (Some(1), vec![line.to_owned()]);
        let summary = node.judge("staticpods.running").note;
        assert!(summary.ends_with("gizmo \"Flux\" is unknown"), "{summary}");
    }
}

#[test]
fn why_kubelet_did_not_start_a_component_is_told() {
    let mut node = Sample::worker();
    node.pods().retain(|pod| pod.container != "kube-proxy");
    let line = "E1122 03:57:12.0 1 x.go:1] RunPodSandbox failed: rpc error: code = Unknown desc = failed to start sandbox for pod \"kube-proxy-x\": no gizmo";
    node.journal("kubelet.service", &[line, "I1122 kube-proxy"]);
    let summary = node.judge("staticpods.running").note;
    assert!(
        summary.contains("has not started kube-proxy: "),
        "{summary}"
    );
    assert!(summary.ends_with("no gizmo"), "{summary}");
}

#[test]
fn why_the_runtime_could_not_start_a_container_is_told_and_not_that_kubelet_waits() {
    let cause = "E1125 19:13:36.0 336 pod_workers.go:191] Error syncing pod f7 (\"kube-proxy-x_kube-system(f7)\"), skipping: failed to \"StartContainer\" for \"kube-proxy\" with RunContainerError: \"failed to start container \\\"6ad\\\": OCI runtime create failed: unable to apply caps: no gizmo: unknown\"";
    let waits = "E1125 19:13:49.9 336 pod_workers.go:191] Error syncing pod f7 (\"kube-proxy-x_kube-system(f7)\"), skipping: failed to \"StartContainer\" for \"kube-proxy\" with CrashLoopBackOff: \"back-off 20s restarting failed container=kube-proxy\"";
    for (state, reason) in [("created", ""), ("exited", "StartError")] {
        let mut node = Sample::worker();
        let pod = node.pod("kube-proxy", state);
        pod.reason = reason.to_owned();
        pod.log.clear();
        pod.restarts = 2;
        node.assert("staticpods.running", Status::Fail, "kube-proxy");
        node.journal("kubelet.service", &[cause, waits]);
        let summary = node.judge("staticpods.running").note;
        assert!(
            summary.contains("has not started kube-proxy: "),
            "{summary}"
        );
        assert!(summary.contains("no gizmo"), "{summary}");
        node.in_phase(Phase::Ready)
            .assert("staticpods.running", Status::Fail, "no gizmo");
    }
}

/// The manifest of the sample's static pod with a container that has this flag, and these mounts and volumes.
fn with_flag(flag: &str, mounts: &str, volumes: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: kube-proxy\n  namespace: kube-system\nspec:\n  containers:\n  - name: kube-proxy\n    command:\n    - /bin/x\n    - {flag}\n    volumeMounts:{mounts}\n  volumes:{volumes}\n"
    )
}

#[test]
fn a_file_that_a_flag_names_is_mounted_and_on_the_host() {
    const MOUNT: &str = "\n    - name: srv\n      mountPath: /srv/kubernetes";
    const VOLUME: &str = "\n  - name: srv\n    hostPath:\n      path: /srv/kubernetes";
    for (flag, mounts, volumes, status, words) in [
        (
            "--audit-policy-file=/etc/audit/policy.yaml",
            MOUNT,
            VOLUME,
            Status::Fail,
            "/etc/audit/policy.yaml, which is not mounted",
        ),
        (
            "--audit-policy-file=/srv/kubernetes/policy.yaml",
            MOUNT,
            VOLUME,
            Status::Fail,
            "/srv/kubernetes/policy.yaml is not there",
        ),
        (
            "--kubeconfig=/srv/kubernetes/there",
            MOUNT,
            VOLUME,
            Status::Ok,
            "1 manifests",
        ),
        ("--log-file=/var/log/x.log", MOUNT, VOLUME, Status::Ok, "1"),
        ("--v=2", MOUNT, " []", Status::Fail, "has no such volume"),
    ] {
        let mut node = Sample::worker();
        node.survey.schema_version = quake_model::facts::SURVEY_SCHEMA.to_owned();
        node.entry("/srv/kubernetes/there", EntryKind::File, 0o400);
        if let Seen::Yes(runtime) = &mut node.survey.runtime {
            runtime.pods = Some(Vec::new());
        }
        node.text(PROXY, &with_flag(flag, mounts, volumes));
        node.assert("staticpods.manifests", status, words);
    }
}

#[test]
fn a_pod_that_runs_found_its_files() {
    let mut node = Sample::worker();
    let flag = "--audit-policy-file=/etc/audit/policy.yaml";
    node.text(PROXY, &with_flag(flag, " []", " []"));
    node.assert("staticpods.manifests", Status::Ok, "1 manifests");
}

#[test]
fn an_issuer_that_was_changed_is_not_the_one_whose_keys_are_published() {
    let keys = "--service-account-jwks-uri=https://a.example/openid/v1/jwks";
    for (issuers, status) in [
        ("--service-account-issuer=https://a.example", Status::Ok),
        ("--service-account-issuer=https://b.example", Status::Fail),
        (
            "--service-account-issuer=https://b.example --service-account-issuer=https://a.example",
            Status::Ok,
        ),
    ] {
        let mut node = Sample::worker();
        let flags = format!("{keys} {issuers}");
        node.text(PROXY, &with_flag(&flags, " []", " []"));
        let report = node.judge("staticpods.manifests");
        assert_eq!(report.status, status, "{issuers}: {}", report.note);
    }
}

#[test]
fn an_api_server_of_one_issuer_that_refuses_tokens_had_another_one() {
    for (issuer, lines, status) in [
        ("https://b.example", 6, Status::Fail),
        ("https://b.example", 2, Status::Ok),
        ("https://api.internal.demo.example.com", 6, Status::Ok),
    ] {
        let mut node = Sample::worker();
        let flag = format!("--service-account-issuer={issuer}");
        node.text(PROXY, &with_flag(&flag, " []", " []"));
        let line = r#"E1122 03:57:19.2 1 authentication.go:74] "Unable to authenticate the request" err="invalid bearer token""#;
        node.pod("kube-apiserver-i-1", "running").log = vec![line.to_owned(); lines];
        let report = node.judge("staticpods.manifests");
        assert_eq!(
            report.status,
            Status::Ok,
            "nobody else was refused: {issuer}"
        );
        let client = "E1122 03:57:20.2 1 reflector.go:1] Failed to watch: Unauthorized";
        node.pod("calico-kube-controllers-x", "running").log = vec![client.to_owned()];
        let report = node.judge("staticpods.manifests");
        assert_eq!(report.status, status, "{issuer}: {}", report.note);
    }
}

#[test]
fn tokens_of_a_key_that_the_api_server_was_not_given_are_refused() {
    let refusal = "[invalid bearer token, square/go-jose: error in cryptographic primitive]";
    for (accepted, log, status) in [
        ("/srv/kubernetes/oidc-issuer.pub", refusal, Status::Fail),
        ("/srv/kubernetes/oidc-issuer.pub", "all is well", Status::Ok),
        ("/srv/kubernetes/server.pub", refusal, Status::Ok),
    ] {
        let mut node = Sample::worker();
        let flags = format!(
            "--service-account-key-file={accepted} --service-account-private-key-file=/srv/kubernetes/server.key"
        );
        node.text(PROXY, &with_flag(&flags, " []", " []"));
        node.pod("kube-apiserver-i-1", "running").log = vec![log.to_owned()];
        let report = node.judge("staticpods.manifests");
        assert_eq!(report.status, status, "{accepted}: {}", report.note);
    }
}
