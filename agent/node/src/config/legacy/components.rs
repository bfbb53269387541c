//! docker, kube-proxy and the control plane's components.

use super::SCHEMA;
use super::kubelet::substitute_hostname;
use super::node::Node;
use crate::config::flags::flags_of;
use crate::config::reader;
use quake_model::fault::Fault;
use quake_model::spec::{Component, ControlPlane, DockerRuntime, Role, Runtime};

/// The container runtime, which is docker in every cluster of this kops generation.
pub(super) fn lower_runtime(node: &Node<'_>) -> Runtime {
    let section = node.section("docker");
    Runtime::Docker(DockerRuntime {
        version: section
            .and_then(|section| section.text_of("version"))
            .map(str::to_owned),
        flags: section.map_or_else(Vec::new, |section| {
            flags_of(&SCHEMA, section, "DockerConfig")
        }),
    })
}

/// kube-proxy; `None` where it is turned off, where kube-router stands in for it, on isolated masters and
/// on bastions.
pub(super) fn lower_kube_proxy(node: &Node<'_>) -> Result<Option<Component>, Fault> {
    let spec = &node.cluster.spec;
    let section = node.section("kubeProxy");
    let enabled = section.and_then(|section| section.boolean_of("enabled"));
    let replaced = node
        .section("networking")
        .is_some_and(|networking| networking.get("kuberouter").is_some());
    let isolated = node.runs_control_plane() && spec.boolean_of("isolateMasters") == Some(true);
    if enabled == Some(false) || replaced || isolated || node.role == Role::Bastion {
        return Ok(None);
    }
    let section = section.ok_or_else(|| node.missing("kubeProxy"))?;
    let mut component = component(node, "kubeProxy")?;
    substitute_hostname(node, section, &mut component.flags)?;
    for flag in &mut component.flags {
        if flag.name == "bind-address" && flag.value == "@aws" {
            flag.value.clone_from(&node.instance.private_ip);
        }
    }
    Ok(Some(component))
}

/// The control plane; `None` on other nodes.
pub(super) fn lower_control_plane(
    node: &Node<'_>,
    cluster: &str,
) -> Result<Option<ControlPlane>, Fault> {
    if !node.runs_control_plane() {
        return Ok(None);
    }
    let spec = &node.cluster.spec;
    let internal = spec.text_of("masterInternalName");
    Ok(Some(ControlPlane {
        api_server: component(node, "kubeAPIServer")?,
        controller_manager: component(node, "kubeControllerManager")?,
        scheduler: component(node, "kubeScheduler")?,
        encryption_config: spec.boolean_of("encryptionConfig").unwrap_or_default(),
        internal_name: internal.map_or_else(|| format!("api.internal.{cluster}"), str::to_owned),
        public_name: spec.text_of("masterPublicName").map(str::to_owned),
    }))
}

fn component(node: &Node<'_>, key: &str) -> Result<Component, Fault> {
    let section = node.section(key).ok_or_else(|| node.missing(key))?;
    let shape = SCHEMA.shape_at("ClusterSpec", key).unwrap_or_default();
    let component = reader::component(section, flags_of(&SCHEMA, section, shape));
    if component.image.is_empty() {
        let path = format!("{key}.image");
        return Err(reader::missing(&node.cluster.source, section, &path));
    }
    Ok(component)
}
