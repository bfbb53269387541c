//! Lowers a node's documents to the one normal form: what the node is to be.

use super::additions::lower_additions;
use super::cluster::lower_networking;
use super::components::{lower_control_plane, lower_kube_proxy, lower_runtime};
use super::documents::{Document, Form, KopsObject, read_cluster, read_instance_group};
use super::drift::find_drift;
use super::environment::{KubeEnv, read_kube_env};
use super::etcd::lower_etcd;
use super::kubelet::{kubelet_section, lower_kubelet};
use super::limits::{refuse_unsupported, remark_unsupported};
use super::names::lower_names;
use super::node::{Node, decide_cluster_name, decide_role, decide_version};
use crate::config::EgressProxy;
use crate::config::reader::text_map;
use quake_model::digest::{Algorithm, Digest};
use quake_model::facts::InstanceFacts;
use quake_model::fault::{Code, Fault};
use quake_model::spec::{KopsGeneration, NodeSpec};
use sha2::{Digest as _, Sha256};

/// The documents of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// `kube_env.yaml`.
    pub kube_env: Document,
    /// The cluster's object, from `<ConfigBase>/cluster.spec`.
    pub cluster: Option<Document>,
    /// The instance group's object, from `<ConfigBase>/instancegroup/<name>`.
    pub instance_group: Option<Document>,
    /// `cluster_spec.yaml`, from user data.
    pub inline_cluster: Option<Document>,
    /// `ig_spec.yaml`, from user data.
    pub inline_instance_group: Option<Document>,
}

/// What came of the documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lowered {
    pub spec: NodeSpec,
    /// Findings that stop nothing: unknown keys, weak digests, drift, settings that are not carried out.
    pub warnings: Vec<Fault>,
    /// The documents the spec was made from, by name.
    pub source: String,
    /// The SHA-256 of their bytes, `sha256:…`; two boots with the same digest had the same documents.
    pub digest: String,
}

/// Lowers a node's documents.
///
/// The store's objects are the source. The documents of user data stand in for those the store lacks, and are
/// otherwise compared with them: what differs is one `config.drift` warning.
///
/// # Errors
///
/// `config.cluster-spec-missing` and `config.instance-group-missing` where neither place has the document;
/// every error of reading them; `config.role-disagrees`, `config.unsupported`, `config.missing-key` and
/// `config.location-unusable` from what they say together.
pub fn lower(sources: &Sources, instance: &InstanceFacts) -> Result<Lowered, Fault> {
    let mut warnings = Vec::new();
    let (environment, findings) = read_kube_env(&sources.kube_env.source, &sources.kube_env.text)?;
    warnings.extend(findings);
    let clusters = (sources.cluster.as_ref(), sources.inline_cluster.as_ref());
    let clusters = choose(clusters, read_cluster, &mut warnings)?;
    let clusters = clusters.ok_or_else(|| no_cluster(&environment))?;
    let groups = (
        sources.instance_group.as_ref(),
        sources.inline_instance_group.as_ref(),
    );
    let groups = choose(groups, read_instance_group, &mut warnings)?;
    let groups = groups.ok_or_else(|| no_instance_group(&environment))?;
    let inline = match clusters.used.form {
        Form::Inline => Some(&clusters.used.spec),
        Form::Stored => clusters.launch.as_ref().map(|launch| &launch.spec),
    };
    let node = Node {
        environment: &environment,
        cluster: &clusters.used,
        group: &groups.used,
        instance,
        role: decide_role(&environment, &groups.used, inline)?,
        version: decide_version(&environment, &clusters.used)?,
    };
    warnings.extend(find_drift(
        &node,
        clusters.launch.as_ref(),
        groups.launch.as_ref(),
    ));
    let spec = lower_node(&node, &mut warnings)?;
    let used = [&sources.kube_env, clusters.document, groups.document];
    Ok(Lowered {
        spec,
        warnings,
        source: used.map(|document| document.source.as_str()).join(", "),
        digest: digest(&used),
    })
}

fn no_cluster(environment: &KubeEnv) -> Fault {
    Fault::new(Code::ConfigClusterSpecMissing, "there is no cluster spec")
        .seen("location", environment.cluster_location())
        .seen("instance-group", &environment.instance_group)
}

fn no_instance_group(environment: &KubeEnv) -> Fault {
    let name = &environment.instance_group;
    let summary = format!("there is no instance group {name}");
    Fault::new(Code::ConfigInstanceGroupMissing, summary)
        .seen("location", environment.instance_group_location())
}

/// A document that is used, and the launch's where another is used.
struct Chosen<'a> {
    used: KopsObject,
    document: &'a Document,
    launch: Option<KopsObject>,
}

/// A function that reads a document of one form.
type Reader = fn(&Document, Form) -> Result<(KopsObject, Vec<Fault>), Fault>;

/// Reads the stored document, or the inline one where there is none; `None` where there is neither.
///
/// An inline document that cannot be read is a warning while it is only compared: nodeup never read it.
fn choose<'a>(
    (stored, inline): (Option<&'a Document>, Option<&'a Document>),
    read: Reader,
    warnings: &mut Vec<Fault>,
) -> Result<Option<Chosen<'a>>, Fault> {
    let (document, form) = match (stored, inline) {
        (Some(stored), _) => (stored, Form::Stored),
        (None, Some(inline)) => (inline, Form::Inline),
        (None, None) => return Ok(None),
    };
    let (used, findings) = read(document, form)?;
    warnings.extend(findings);
    let compared = inline.filter(|_| form == Form::Stored);
    let launch = match compared.map(|inline| read(inline, Form::Inline)) {
        Some(Ok((launch, findings))) => {
            warnings.extend(findings);
            Some(launch)
        }
        Some(Err(fault)) => {
            warnings.push(fault);
            None
        }
        None => None,
    };
    Ok(Some(Chosen {
        used,
        document,
        launch,
    }))
}

fn lower_node(node: &Node<'_>, warnings: &mut Vec<Fault>) -> Result<NodeSpec, Fault> {
    refuse_unsupported(node)?;
    let environment = node.environment;
    let cluster = decide_cluster_name(environment, node.cluster)?;
    let section = kubelet_section(node)?;
    let (kubelet, finding) = lower_kubelet(node, &section)?;
    warnings.extend(finding);
    let additions = lower_additions(node)?;
    warnings.extend(additions.findings);
    warnings.extend(remark_unsupported(node, &section));
    let control_plane = lower_control_plane(node, &cluster)?;
    let proxy = EgressProxy::of_section(&node.cluster.spec).into_iter();
    let proxy = proxy.flat_map(|proxy| proxy.variables());
    let proxy = proxy.map(|(name, value)| (name.to_owned(), value));
    let external_updates = node.cluster.spec.text_of("updatePolicy") == Some("external");
    Ok(NodeSpec {
        generation: KopsGeneration::Legacy,
        instance_group: environment.instance_group.clone(),
        role: node.role,
        kubernetes: node.version,
        config_base: environment.config_base.clone(),
        bootstrap_servers: Vec::new(),
        assets: environment.assets.clone(),
        // kops legacy knows of none; its nodes may have some by a seed.
        images: Vec::new(),
        channels: environment.channels.clone(),
        addons_pod: None,
        node_object: None,
        etcd_manifests: environment.etcd_manifests.clone(),
        runtime: lower_runtime(node),
        kubelet,
        kube_proxy: lower_kube_proxy(node)?,
        names: lower_names(node, &cluster, control_plane.as_ref()),
        control_plane,
        etcd: lower_etcd(node)?,
        networking: lower_networking(node, &section)?,
        // Where the spec has one, be it empty.
        cloud_config: node.section("cloudConfig").map(text_map),
        proxy: proxy.collect(),
        file_assets: additions.files,
        hooks: additions.hooks,
        automatic_upgrades: environment.has_tag("_automatic_upgrades") && !external_updates,
        items: Vec::new(),
        start_conditions: Vec::new(),
        ready_conditions: Vec::new(),
        cluster,
    })
}

/// The digest of documents, each with its length before it, so that no two lists of documents look alike.
fn digest(documents: &[&Document]) -> String {
    let mut hasher = Sha256::new();
    for document in documents {
        hasher.update(format!("{}\n", document.text.len()));
        hasher.update(document.text.as_bytes());
    }
    Digest::from_bytes(Algorithm::Sha256, &hasher.finalize()).to_string()
}
