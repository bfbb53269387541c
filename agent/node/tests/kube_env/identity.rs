//! Which node it is: its documents, role, version and cluster.

use crate::support::{
    cluster_of, document, inline_cluster, instance, kube_env, lowered, place, refused, stored,
};
use quake_model::fault::Code;
use quake_model::spec::Role;
use quake_node::config::legacy::lower;

#[test]
fn a_node_without_its_documents_is_refused_by_name() {
    let mut sources = stored("Node", "", "");
    sources.instance_group = None;
    let fault = refused(&sources);
    assert_eq!(fault.code, Code::ConfigInstanceGroupMissing);
    let location = "s3://bucket/c.example/instancegroup/nodes";
    assert_eq!(fault.evidence_named("location"), Some(location));
    sources.cluster = None;
    assert_eq!(refused(&sources).code, Code::ConfigClusterSpecMissing);
}

#[test]
fn the_role_is_the_groups_and_the_tag_may_not_contradict_it() {
    let tag = "Tags: [_aws, _kubernetes_master]";
    for (role, more, wanted) in [
        ("Master", tag, Ok(Role::ControlPlane)),
        ("Master", "Tags: [_aws]", Ok(Role::ControlPlane)),
        ("Node", "Tags: [_aws]", Ok(Role::Worker)),
        ("Bastion", "", Ok(Role::Bastion)),
        ("APIServer", "", Ok(Role::ApiServer)),
        ("Node", tag, Err(Code::ConfigRoleDisagrees)),
        ("Bastion", tag, Err(Code::ConfigRoleDisagrees)),
        ("Mster", "", Err(Code::ConfigUnknownRole)),
    ] {
        let mut sources = stored(role, "", "");
        sources.kube_env = kube_env("nodes", more);
        let found = lower(&sources, &instance());
        let found = found
            .map(|found| found.spec.role)
            .map_err(|fault| fault.code);
        assert_eq!(found, wanted, "{role} {more}");
    }
}

#[test]
fn a_disagreement_about_the_role_names_its_place() {
    let mut sources = stored("Node", "", "");
    sources.kube_env = kube_env("nodes", "Tags: [_kubernetes_master]");
    let fault = refused(&sources);
    assert_eq!(place(&fault), ("8", "9"));
    sources.kube_env = kube_env("nodes", "");
    sources.inline_cluster = Some(inline_cluster("Master", ""));
    assert_eq!(refused(&sources).code, Code::ConfigRoleDisagrees);
}

#[test]
fn without_the_group_the_role_comes_from_the_tag_or_the_sections() {
    for (role, tag, wanted) in [
        ("Master", "", Role::ControlPlane),
        ("Master", "Tags: [_kubernetes_master]", Role::ControlPlane),
        ("Node", "", Role::Worker),
    ] {
        let mut sources = stored(role, "", "");
        sources.kube_env = kube_env("nodes", tag);
        sources.instance_group = None;
        sources.inline_cluster = Some(inline_cluster(role, ""));
        sources.inline_instance_group = Some(document("ig_spec.yaml", "kubelet: null\n"));
        let found = lowered(&sources).spec;
        assert_eq!(
            (found.role, found.is_control_plane()),
            (wanted, role == "Master")
        );
    }
}

#[test]
fn a_node_of_which_nothing_says_the_role_is_refused() {
    let mut sources = stored("Node", "", "");
    sources.instance_group = None;
    sources.inline_instance_group = Some(document("ig_spec.yaml", "kubelet: null\n"));
    assert_eq!(refused(&sources).code, Code::ConfigInstanceGroupMissing);
}

#[test]
fn the_version_is_the_clusters_then_the_kubelets_then_an_images() {
    let sha1 = "0f3a59e4c0aae8c2b2a0924d8ace010ebf39f48e";
    let asset = format!("Assets: [{sha1}@https://h/release/v1.11.7/bin/linux/amd64/kubelet]");
    let body = "networking: {kubenet: {}}\nkubelet: {}\nkubeProxy: {image: k/kube-proxy:v1.10.3}\n";
    for (first, asset, wanted) in [
        (
            "kubernetesVersion: 1.12.9\n",
            asset.as_str(),
            Some("1.12.9"),
        ),
        ("kubernetesVersion: v1.12.9\n", "", Some("1.12.9")),
        (
            "kubernetesVersion: https://h/ci/v1.9.0-beta.1/\n",
            "",
            Some("1.9.0"),
        ),
        ("", asset.as_str(), Some("1.11.7")),
        ("", "", Some("1.10.3")),
    ] {
        let mut sources = stored("Node", "", "");
        sources.kube_env = kube_env("nodes", asset);
        sources.cluster = Some(cluster_of(&format!("{first}{body}")));
        let found = lowered(&sources).spec.kubernetes.to_string();
        assert_eq!(Some(found.as_str()), wanted, "{first}");
    }
    let mut sources = stored("Node", "", "");
    sources.cluster = Some(cluster_of("networking: {kubenet: {}}\nkubelet: {}\n"));
    let fault = refused(&sources);
    assert_eq!(fault.code, Code::ConfigMissingKey);
    assert_eq!(fault.evidence_named("path"), Some("kubernetesVersion"));
}

#[test]
fn another_clusters_configuration_is_never_taken() {
    let mut sources = stored("Node", "", "");
    let text = sources
        .kube_env
        .text
        .replace("ClusterName: c.", "ClusterName: d.");
    sources.kube_env.text = text;
    assert_eq!(refused(&sources).code, Code::ConfigLocationUnusable);
}
