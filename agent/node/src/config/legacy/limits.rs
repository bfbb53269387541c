//! What kops could do and this agent does not: refused where half of it would leave a broken node, remarked
//! on where the node still works.

use super::node::{Node, unsupported};
use quake_formats::yaml::Yaml;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::spec::Role;

/// Refuses a spec this agent cannot carry out.
pub(super) fn refuse_unsupported(node: &Node<'_>) -> Result<(), Fault> {
    let spec = &node.cluster.spec;
    if let Some(cloud) = spec.get("cloudProvider")
        && !matches!(cloud.text(), Some("aws" | ""))
    {
        let summary = format!(
            "is {}, and this agent is for aws",
            cloud.text().unwrap_or_default()
        );
        return Err(node.unsupported(cloud, "cloudProvider", &summary));
    }
    let authentication = spec.get("authentication");
    let webhook = authentication.filter(|section| {
        node.runs_control_plane()
            && ["aws", "kopeio"]
                .iter()
                .any(|key| section.get(key).is_some())
    });
    let bootstrap = [&node.group.spec, spec]
        .into_iter()
        .filter(|_| !node.runs_control_plane())
        .find_map(|spec| spec.get("kubelet")?.get("bootstrapKubeconfig"));
    for (place, path, summary) in [
        (
            webhook,
            "authentication",
            "needs a webhook that this agent does not set up",
        ),
        (
            spec.get("nodeAuthorization"),
            "nodeAuthorization",
            "is not done: nodes get their credentials from the state store",
        ),
        (
            bootstrap,
            "kubelet.bootstrapKubeconfig",
            "is not made: nodes get their credentials from the state store",
        ),
    ] {
        if let Some(place) = place.filter(|place| !place.is_empty()) {
            return Err(node.unsupported(place, path, summary));
        }
    }
    let group = node.group;
    if let Some(mounts) = group
        .spec
        .get("volumeMounts")
        .filter(|list| !list.is_empty())
    {
        let summary = "are not mounted by this agent";
        return Err(unsupported(&group.source, mounts, "volumeMounts", summary));
    }
    refuse_other_stores(node)
}

/// Keys and secrets are read below the base; a cluster that keeps them elsewhere would be given the wrong ones.
/// A state store that was copied still names the base it had, and keeps both below it.
fn refuse_other_stores(node: &Node<'_>) -> Result<(), Fault> {
    let stated = node
        .section("configBase")
        .and_then(Yaml::text)
        .and_then(|text| text.parse().ok());
    let base: &Location = stated.as_ref().unwrap_or(&node.environment.config_base);
    for (key, folder) in [("keyStore", "pki"), ("secretStore", "secrets")] {
        let Some(place) = node.section(key).filter(|place| !place.is_empty()) else {
            continue;
        };
        let stated = place.text().and_then(|text| text.parse::<Location>().ok());
        if stated.as_ref() != Some(&base.join(folder)) {
            let summary = format!(
                "is not {}, the only place this agent reads",
                base.join(folder)
            );
            return Err(node.unsupported(place, key, &summary));
        }
    }
    Ok(())
}

/// Remarks on settings that are not carried out and do not keep the node from working.
pub(super) fn remark_unsupported(node: &Node<'_>, kubelet: &Yaml) -> Vec<Fault> {
    let mut remarks = Vec::new();
    let api_server = node.section("kubeAPIServer");
    let basic = api_server.and_then(|section| section.get("disableBasicAuth"));
    if let Some(place) = basic
        && node.runs_control_plane()
        && place.boolean() == Some(true)
    {
        let summary = "is not carried out: set no basic-auth users in the state store";
        remarks.push(node.unsupported(place, "kubeAPIServer.disableBasicAuth", summary));
    }
    let networking = node.section("networking");
    if let Some(place) = networking.and_then(|section| section.get("amazonvpc"))
        && kubelet.get("maxPods").is_none()
    {
        let summary = "limits pods by the instance type: set kubelet.maxPods for it";
        remarks.push(node.unsupported(place, "networking.amazonvpc", summary));
    }
    for cluster in node.section("etcdClusters").map_or(&[][..], Yaml::items) {
        if let Some(place) = cluster.get("backups")
            && node.role == Role::ControlPlane
            && cluster.text_of("provider") != Some("Manager")
        {
            let summary = "are made by etcd-manager only";
            remarks.push(node.unsupported(place, "etcdClusters.backups", summary));
        }
    }
    if node.version.at_least(1, 16) {
        let version = node.version;
        let summary = format!(
            "Kubernetes {version} is newer than kops 1.15 knows: flags that it removed are not taken out"
        );
        let fault = Fault::new(Code::ConfigUnsupported, summary).seen("path", "kubernetesVersion");
        remarks.push(fault.remedied_by(
            "check that this cluster's components take their flags; kops 1.32 and newer make clusters of this version",
        ));
    }
    if node.environment.preloaded_images > 0 {
        let count = node.environment.preloaded_images;
        let summary = format!("{count} images of kube_env.yaml are pulled when needed, not loaded");
        remarks.push(Fault::new(Code::ConfigUnsupported, summary).seen("path", "images"));
    }
    remarks
}
