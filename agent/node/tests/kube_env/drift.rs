//! Drift: what the store changed since the launch, and nothing else.

use crate::support::{document, inline_cluster, instance, kube_env, stored};
use quake_model::fault::{Code, Fault};
use quake_node::config::legacy::{Sources, lower};

/// A node whose store and launch agree.
fn agreed(role: &str, cluster: &str, group: &str) -> Sources {
    let mut sources = stored(role, cluster, group);
    sources.inline_cluster = Some(inline_cluster(role, ""));
    let text = "kubelet: null\nnodeLabels: null\ntaints: null\n";
    sources.inline_instance_group = Some(document("ig_spec.yaml", text));
    sources
}

fn drift(sources: &Sources) -> Option<Fault> {
    let lowered = lower(sources, &instance()).expect("the documents lower");
    let mut drift = lowered.warnings;
    drift.retain(|fault| fault.code == Code::ConfigDrift);
    assert!(drift.len() <= 1, "one warning");
    drift.pop()
}

/// The fields named, with what is said of each.
fn fields(sources: &Sources) -> Vec<(String, String)> {
    let evidence = drift(sources).map(|fault| fault.evidence);
    let evidence = evidence.unwrap_or_default().into_iter().skip(2);
    evidence.map(|piece| (piece.name, piece.value)).collect()
}

fn paths(sources: &Sources) -> Vec<String> {
    let fields = fields(sources).into_iter();
    fields.map(|(path, _)| path).collect()
}

fn field(path: &str, value: &str) -> (String, String) {
    (path.to_owned(), value.to_owned())
}

#[test]
fn documents_that_agree_show_no_drift() {
    for role in ["Master", "Node"] {
        assert_eq!(drift(&agreed(role, "", "")), None, "{role}");
    }
}

#[test]
fn what_user_data_never_carries_is_no_drift() {
    let cluster = "sshAccess: [0.0.0.0/0]\nmasterPublicName: api.c.example\netcdClusters:\n- name: main\n  etcdMembers: [{name: a}]\n";
    let group = "maxSize: 3\nmachineType: m5.large\nzones: [us-west-2a]\n";
    assert_eq!(drift(&agreed("Master", cluster, group)), None);
}

#[test]
fn null_absent_and_empty_are_the_same() {
    let group = "kubelet: {}\nnodeLabels: {}\ntaints: []\n";
    assert_eq!(drift(&agreed("Node", "cloudConfig: {}\n", group)), None);
}

#[test]
fn each_changed_field_is_named_with_both_values() {
    let mut sources = agreed(
        "Node",
        "",
        "nodeLabels: {team: a}\ntaints: [x=y:NoSchedule]\n",
    );
    let text = inline_cluster("Node", "").text;
    let text = text
        .replace("18.06.3", "17.03.2")
        .replace("overlay2,overlay", "overlay");
    sources.inline_cluster = Some(document("cluster_spec.yaml", &text));
    let wanted = [
        field(
            "docker.storage",
            "launch overlay,aufs, store overlay2,overlay,aufs",
        ),
        field("docker.version", "launch 17.03.2, store 18.06.3"),
        field("nodeLabels.team", "launch nothing, store a"),
        field("taints", "launch nothing, store x=y:NoSchedule"),
    ];
    assert_eq!(fields(&sources), wanted);
    let summary = drift(&sources).map(|fault| fault.summary);
    let wanted = "the state store changed 4 settings since the launch";
    assert_eq!(summary.as_deref(), Some(wanted));
}

#[test]
fn a_cluster_upgraded_since_the_launch_is_drift() {
    let mut sources = agreed("Node", "", "");
    let sha1 = "0f3a59e4c0aae8c2b2a0924d8ace010ebf39f48e";
    let asset = format!("Assets: [{sha1}@https://h/release/v1.11.7/bin/linux/amd64/kubelet]");
    sources.kube_env = kube_env("nodes", &asset);
    let wanted = [field("kubernetesVersion", "launch 1.11.7, store 1.12.9")];
    assert_eq!(fields(&sources), wanted);
}

const STORED: &str = "fileAssets:
- {name: f, path: /f, content: abc, roles: [Node]}
- {name: m, path: /m, content: only masters, roles: [Master]}
hooks:
- {name: h, manifest: abc, roles: [Node, Master]}
- {execContainer: {image: i, command: [a, b], environment: {TOKEN: t}}}
";

/// What kops makes of [`STORED`] for a worker; `printf 'a b' | openssl dgst -sha1 -binary | base64`.
const CARRIED: &str = "fileAssets:
- {name: f, path: /f, content: qZk+NkcGgWq6PiVxeFDCbJzQ2J0= (fingerprint)}
hooks:
- {name: h, manifest: qZk+NkcGgWq6PiVxeFDCbJzQ2J0= (fingerprint)}
- execContainer:
    command: [fb3pNQQSKnB/hJ8sEr3Z3nG0GSk= (fingerprint)]
    environment: {TOKEN: t}
    image: i
";

fn with_additions(carried: &str) -> Sources {
    let mut sources = agreed("Node", STORED, "");
    sources.inline_cluster = Some(inline_cluster("Node", carried));
    sources
}

#[test]
fn hooks_and_files_agree_by_fingerprint() {
    assert_eq!(fields(&with_additions(CARRIED)), []);
}

#[test]
fn a_changed_hook_or_file_is_drift_and_its_text_is_not_shown() {
    let other = "xYagtQLwBAAi3V8Wc2Jrojz28I0= (fingerprint)";
    let same = "qZk+NkcGgWq6PiVxeFDCbJzQ2J0= (fingerprint)";
    let carried = CARRIED
        .replacen(same, other, 1)
        .replace("TOKEN: t", "TOKEN: u");
    let wanted = [
        field(
            "fileAssets[0].content",
            &format!("launch {other}, store {same}"),
        ),
        field(
            "hooks[1].execContainer.environment.TOKEN",
            "launch ***, store ***",
        ),
    ];
    assert_eq!(fields(&with_additions(&carried)), wanted);
}

#[test]
fn a_hook_added_since_a_launch_without_any_is_drift() {
    let paths = paths(&with_additions(""));
    assert!(paths.contains(&"hooks[0].manifest".to_owned()), "{paths:?}");
    assert!(
        paths.contains(&"fileAssets[0].content".to_owned()),
        "{paths:?}"
    );
    let shown = format!("{:?}", drift(&with_additions("")));
    assert!(!shown.contains("abc"), "{shown}");
}

#[test]
fn etcd_of_the_launch_is_compared_by_name_and_by_what_it_carries() {
    let cluster = "etcdClusters:
- {name: main, version: 3.2.24, enableEtcdTLS: true, etcdMembers: [{name: a}]}
- {name: events, version: 3.2.24}
";
    let mut sources = agreed("Master", cluster, "");
    let carried = "etcdClusters: {main: {version: 3.2.24}, events: {version: 2.2.1}}\n";
    sources.inline_cluster = Some(inline_cluster("Master", carried));
    let wanted = [field(
        "etcdClusters.events.version",
        "launch 2.2.1, store 3.2.24",
    )];
    assert_eq!(fields(&sources), wanted);
}

#[test]
fn a_worker_is_told_one_thing_about_the_api_server() {
    let mut sources = agreed("Node", "", "");
    let carried = "kubeAPIServer: {enableBootstrapAuthToken: true}\n";
    sources.inline_cluster = Some(inline_cluster("Node", carried));
    assert_eq!(paths(&sources), ["kubeAPIServer.enableBootstrapAuthToken"]);
}

#[test]
fn an_unreadable_document_of_the_launch_is_a_warning_only() {
    let mut sources = agreed("Node", "", "");
    sources.inline_cluster = Some(document("cluster_spec.yaml", "docker: ["));
    let lowered = lower(&sources, &instance()).expect("the store's documents are enough");
    let codes: Vec<Code> = lowered.warnings.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, [Code::ConfigYamlSyntax]);
}
