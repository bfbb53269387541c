//! What every part of the lowering looks at: the documents, the role and the version, and the instance.

use super::documents::KopsObject;
use super::environment::KubeEnv;
use crate::config::reader::missing;
use quake_formats::yaml::Yaml;
use quake_model::facts::InstanceFacts;
use quake_model::fault::{Code, Fault};
use quake_model::spec::{KubernetesVersion, Role};

/// The tag kops up to 1.10 gave the launch of a control plane.
const MASTER_TAG: &str = "_kubernetes_master";

/// The documents of one node, read, and what was decided from them first.
pub(super) struct Node<'a> {
    /// `kube_env.yaml`.
    pub(super) environment: &'a KubeEnv,
    pub(super) cluster: &'a KopsObject,
    pub(super) group: &'a KopsObject,
    pub(super) instance: &'a InstanceFacts,
    pub(super) role: Role,
    pub(super) version: KubernetesVersion,
}

impl Node<'_> {
    /// The section `key` of the cluster's spec.
    pub(super) fn section(&self, key: &str) -> Option<&Yaml> {
        self.cluster.spec.get(key)
    }

    /// A fault for something the cluster's spec must have.
    pub(super) fn missing(&self, path: &str) -> Fault {
        missing(&self.cluster.source, &self.cluster.spec, path)
    }

    /// A fault for something the cluster's spec asks for at `place` that this agent does not do.
    pub(super) fn unsupported(&self, place: &Yaml, path: &str, summary: &str) -> Fault {
        unsupported(&self.cluster.source, place, path, summary)
    }

    /// Whether the node runs the control plane's components.
    pub(super) fn runs_control_plane(&self) -> bool {
        matches!(self.role, Role::ControlPlane | Role::ApiServer)
    }
}

/// A fault for something a spec asks for at `place` that this agent does not do.
pub(super) fn unsupported(source: &str, place: &Yaml, path: &str, summary: &str) -> Fault {
    place
        .fault(source, Code::ConfigUnsupported, format!("{path} {summary}"))
        .seen("path", path)
}

/// Decides the node's role.
///
/// The instance group says it. Where only the documents of user data are there, the launch's tag does, or
/// what kops wrote into them: only a control plane is given the sections of one.
///
/// # Errors
///
/// `config.role-disagrees` where the launch was one of a control plane and the instance group says otherwise;
/// the opposite is no contradiction: kops from 1.11 on sets no tag. `config.instance-group-missing` where
/// nothing says what the node is: a control plane must not come up as a worker for want of a document.
pub(super) fn decide_role(
    environment: &KubeEnv,
    group: &KopsObject,
    inline_cluster: Option<&Yaml>,
) -> Result<Role, Fault> {
    let sectioned = inline_cluster.is_some_and(|spec| {
        spec.get("masterKubelet").is_some() || spec.get("kubeControllerManager").is_some()
    });
    let launched = if environment.has_tag(MASTER_TAG) {
        Some("the tag _kubernetes_master in kube_env.yaml")
    } else if sectioned {
        Some("the control plane's sections in cluster_spec.yaml")
    } else {
        None
    };
    match (group.role, launched) {
        (Some(role), Some(launched)) if role != Role::ControlPlane => {
            Err(role_disagrees(group, role, launched))
        }
        (Some(role), _) => Ok(role),
        (None, Some(_)) => Ok(Role::ControlPlane),
        (None, None) if inline_cluster.is_some() => Ok(Role::Worker),
        (None, None) => {
            let summary = "nothing says which role this node has";
            let fault = Fault::new(Code::ConfigInstanceGroupMissing, summary);
            Err(fault.seen("location", environment.instance_group_location()))
        }
    }
}

fn role_disagrees(group: &KopsObject, role: Role, launched: &str) -> Fault {
    let role = role.name();
    let summary = format!("the instance group says {role}, and the launch says control-plane");
    let node = group.spec.get("role").unwrap_or(&group.spec);
    node.fault(&group.source, Code::ConfigRoleDisagrees, summary)
        .seen("instance-group", role)
        .seen("launch", launched)
}

/// Decides the Kubernetes version: the cluster's, else that of the kubelet's URL, else that of an image.
pub(super) fn decide_version(
    environment: &KubeEnv,
    cluster: &KopsObject,
) -> Result<KubernetesVersion, Fault> {
    let stated = cluster
        .spec
        .text_of("kubernetesVersion")
        .and_then(version_in);
    let images = ["kubeAPIServer", "kubeProxy", "kubeScheduler"];
    let tagged = || {
        let image = |key| cluster.spec.get(key)?.text_of("image")?.rsplit_once(':');
        images
            .iter()
            .filter_map(|key| image(key))
            .find_map(|(_, tag)| version_in(tag))
    };
    stated
        .or_else(|| kubelet_version(environment))
        .or_else(tagged)
        .ok_or_else(|| missing(&cluster.source, &cluster.spec, "kubernetesVersion"))
}

/// The version in the URL of the kubelet the launch pinned.
pub(super) fn kubelet_version(environment: &KubeEnv) -> Option<KubernetesVersion> {
    environment
        .assets
        .iter()
        .filter(|asset| asset.name == "kubelet")
        .flat_map(|asset| &asset.urls)
        .find_map(|url| version_in(url))
}

/// The version a text is, or that a segment of a URL is.
fn version_in(text: &str) -> Option<KubernetesVersion> {
    if !text.contains('/') {
        return text.parse().ok();
    }
    text.split('/')
        .filter(|segment| segment.starts_with('v'))
        .find_map(|segment| segment.parse().ok())
}

/// Decides the cluster's name.
///
/// # Errors
///
/// `config.location-unusable` where the launch and the object in the store name different clusters: the
/// base then points into somebody else's configuration. `config.missing-key` where nothing names one.
pub(super) fn decide_cluster_name(
    environment: &KubeEnv,
    cluster: &KopsObject,
) -> Result<String, Fault> {
    let launched = environment.cluster.as_deref();
    if let (Some(launched), Some(stored)) = (launched, cluster.name.as_deref())
        && launched != stored
    {
        let source = &cluster.source;
        let summary = format!("{source} is the cluster {stored}, and this node is of {launched}");
        let fault = cluster
            .spec
            .fault(source, Code::ConfigLocationUnusable, summary)
            .remedied_by("make ConfigBase and ClusterName agree: render the user data again");
        return Err(fault);
    }
    let managed = || {
        let controllers = cluster.spec.get("kubeControllerManager")?;
        controllers.text_of("clusterName")
    };
    let last = environment
        .config_base
        .key()
        .rsplit('/')
        .find(|segment| !segment.is_empty());
    launched
        .or(cluster.name.as_deref())
        .or_else(managed)
        .or(last)
        .map(str::to_owned)
        .ok_or_else(|| missing(&cluster.source, &cluster.spec, "ClusterName"))
}
