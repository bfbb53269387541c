//! `kube_env.yaml`: what the launch gave the node, and where the rest is.

use super::SCHEMA;
use super::asset::{read_asset, weak_digests};
use crate::config::current::MARKS;
use crate::config::node_path::{has_plain_letters, is_name};
use crate::config::reader::{location, missing, texts};
use crate::config::validate::{tolerate, validate};
use quake_formats::yaml::{Yaml, parse};
use quake_model::boot_report::ReportFolder;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::spec::AssetSpec;

/// What `kube_env.yaml` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeEnv {
    /// The model tags, such as `_kubernetes_master`.
    pub tags: Vec<String>,
    /// Pinned files, in order.
    pub assets: Vec<AssetSpec>,
    /// Where the cluster's objects are.
    pub config_base: Location,
    pub instance_group: String,
    /// The cluster's name, where it is given.
    pub cluster: Option<String>,
    pub channels: Vec<String>,
    pub etcd_manifests: Vec<Location>,
    /// How many container images were to be loaded before the node starts.
    pub preloaded_images: usize,
}

impl KubeEnv {
    /// Whether the launch was tagged `tag`.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|given| given == tag)
    }

    /// Where the cluster's object is.
    pub fn cluster_location(&self) -> Location {
        self.config_base.join("cluster.spec")
    }

    /// Where the instance group's object is.
    pub fn instance_group_location(&self) -> Location {
        self.config_base
            .join("instancegroup")
            .join(&self.instance_group)
    }
}

/// Reads `kube_env.yaml`; the faults beside it are findings that stop nothing (unknown keys, weak digests).
///
/// # Errors
///
/// `config.yaml-syntax`, `config.yaml-too-large`, `config.wrong-type`, `config.missing-key` for `ConfigBase`
/// and `InstanceGroupName`, `config.location-unusable`, `config.digest-refused`, `config.asset-malformed`;
/// each with `source`, and with line and column where there is a place.
pub fn read_kube_env(source: &str, text: &str) -> Result<(KubeEnv, Vec<Fault>), Fault> {
    let root = parse(source, text)?;
    refuse_newer(source, &root)?;
    let mut findings = tolerate(validate(&SCHEMA, source, &root, "KubeEnv"))?;
    let assets = root
        .items_of("Assets")
        .iter()
        .map(|entry| read_asset(source, entry))
        .collect::<Result<Vec<_>, _>>()?;
    findings.extend(weak_digests(source, &assets));
    let etcd_manifests = root
        .items_of("etcdManifests")
        .iter()
        .map(|entry| location(source, entry))
        .collect::<Result<Vec<_>, _>>()?;
    let environment = KubeEnv {
        tags: texts(&root, "Tags"),
        assets,
        config_base: config_base(source, &root)?,
        instance_group: instance_group(source, &root)?,
        cluster: root.text_of("ClusterName").map(str::to_owned),
        channels: texts(&root, "channels"),
        etcd_manifests,
        preloaded_images: root.items_of("images").len(),
    };
    Ok((environment, findings))
}

/// Where reports of the node's boots belong, whatever else is wrong with its `kube_env.yaml`: so that it can be told there.
/// `None` when the document does not say.
pub fn read_report_folder(source: &str, text: &str) -> Option<ReportFolder> {
    let root = parse(source, text).ok()?;
    refuse_newer(source, &root).ok()?;
    Some(ReportFolder {
        config_base: config_base(source, &root).ok()?,
        instance_group: instance_group(source, &root).ok()?,
    })
}

/// Everything wrong with a `kube_env.yaml` that was read as YAML, errors and findings alike.
pub(super) fn survey(source: &str, root: &Yaml) -> Vec<Fault> {
    if let Err(fault) = refuse_newer(source, root) {
        return vec![fault];
    }
    let mut found = validate(&SCHEMA, source, root, "KubeEnv");
    let mut assets = Vec::new();
    for entry in root.items_of("Assets") {
        match read_asset(source, entry) {
            Ok(asset) => assets.push(asset),
            Err(fault) => found.push(fault),
        }
    }
    found.extend(weak_digests(source, &assets));
    found.extend(config_base(source, root).err());
    found.extend(instance_group(source, root).err());
    let manifests = root.items_of("etcdManifests").iter();
    found.extend(manifests.filter_map(|entry| location(source, entry).err()));
    found
}

/// Refuses the boot configuration of a newer kops by its name, and not key by key as a misspelt old one.
fn refuse_newer(source: &str, root: &Yaml) -> Result<(), Fault> {
    let newer = root
        .entries()
        .iter()
        .find(|(key, _)| MARKS.contains(&key.name.as_str()));
    match newer {
        None => Ok(()),
        Some((key, value)) => {
            let summary = format!(
                "{} is set, which only kops 1.19 and newer does: this agent reads kops 1.8 to 1.15",
                key.name
            );
            Err(value.fault(source, Code::ConfigUnsupported, summary))
        }
    }
}

fn config_base(source: &str, root: &Yaml) -> Result<Location, Fault> {
    if let Some(base) = root.get("ConfigBase").filter(|base| !base.is_empty()) {
        return location(source, base);
    }
    match root
        .get("ClusterLocation")
        .filter(|place| !place.is_empty())
    {
        Some(place) => Ok(location(source, place)?.parent()),
        None => Err(missing(source, root, "ConfigBase")),
    }
}

fn instance_group(source: &str, root: &Yaml) -> Result<String, Fault> {
    const KEY: &str = "InstanceGroupName";
    let name = root.text_of(KEY);
    let name = name.ok_or_else(|| missing(source, root, KEY))?;
    // The name becomes part of a path in the state store.
    if has_plain_letters(name) && is_name(name) {
        return Ok(name.to_owned());
    }
    let summary = format!("{name:?} cannot be the name of an instance group");
    let node = root.get(KEY).unwrap_or(root);
    Err(node.fault(source, Code::ConfigLocationUnusable, summary))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "ConfigBase: s3://bucket/c.example\nInstanceGroupName: nodes\n";

    #[test]
    fn the_configuration_of_a_newer_kops_is_refused_by_its_name() {
        let text = "CloudProvider: aws\nInstanceGroupName: nodes\nNodeupConfigHash: abc\n";
        let fault = read_kube_env("kube_env.yaml", text).expect_err("it is another kops");
        assert_eq!(fault.code, Code::ConfigUnsupported);
        assert!(fault.summary.contains("CloudProvider"), "{fault}");
        assert_eq!(survey("x", &parse("x", text).expect("it is YAML")).len(), 1);
    }

    #[test]
    fn the_objects_of_the_store_are_found_from_the_base() {
        let (environment, findings) =
            read_kube_env("kube_env.yaml", GOOD).expect("a good document");
        assert_eq!(findings, []);
        assert_eq!(
            environment.cluster_location().to_string(),
            "s3://bucket/c.example/cluster.spec"
        );
        assert_eq!(
            environment.instance_group_location().to_string(),
            "s3://bucket/c.example/instancegroup/nodes"
        );
    }

    #[test]
    fn the_base_is_beside_the_cluster_where_only_that_is_given() {
        for base in ["", "ConfigBase: \"\"\n", "ConfigBase: null\n"] {
            let text =
                format!("{base}ClusterLocation: s3://b/c/cluster.spec\nInstanceGroupName: nodes\n");
            let base = read_kube_env("x", &text).map(|(found, _)| found.config_base.to_string());
            assert_eq!(base, Ok("s3://b/c".to_owned()), "{text}");
        }
    }

    #[test]
    fn a_missing_key_is_named() {
        for (text, key) in [
            ("InstanceGroupName: nodes", "ConfigBase"),
            ("ConfigBase: s3://b/c", "InstanceGroupName"),
            (
                "ConfigBase: s3://b/c\nInstanceGroupName: \"\"",
                "InstanceGroupName",
            ),
            ("{}", "ConfigBase"),
            ("", "ConfigBase"),
        ] {
            let fault = read_kube_env("x", text).expect_err(text);
            assert_eq!(fault.code, Code::ConfigMissingKey, "{text}");
            assert_eq!(fault.evidence_named("path"), Some(key), "{text}");
            assert_eq!(fault.evidence_named("source"), Some("x"));
        }
    }

    #[test]
    fn where_reports_belong_is_known_although_the_rest_is_wrong() {
        let text = "ConfigBase: s3://b/c\nInstanceGroupName: n\nAssets: [nothing]\nTagz: []\n";
        assert!(read_kube_env("x", text).is_err());
        let folder = read_report_folder("x", text).expect("both are named");
        assert_eq!(folder.config_base.to_string(), "s3://b/c");
        assert_eq!(folder.instance_group, "n");
        for text in [
            "",
            "ConfigBase: s3://b/c",
            "InstanceGroupName: n",
            "ConfigBase: [",
        ] {
            assert_eq!(read_report_folder("x", text), None, "{text}");
        }
    }

    #[test]
    fn an_unusable_location_is_an_error_at_its_place() {
        for (text, place) in [
            ("ConfigBase: gs://b/c\nInstanceGroupName: n", ("1", "13")),
            ("ConfigBase: s3://b/../c\nInstanceGroupName: n", ("1", "13")),
            ("ConfigBase: s3://b\nInstanceGroupName: ../n", ("2", "20")),
            (
                "ConfigBase: s3://b\nInstanceGroupName: n\netcdManifests:\n- main.yaml",
                ("4", "3"),
            ),
        ] {
            let fault = read_kube_env("x", text).expect_err(text);
            assert_eq!(fault.code, Code::ConfigLocationUnusable, "{text}");
            let seen = |name| fault.evidence_named(name).unwrap_or_default();
            assert_eq!((seen("line"), seen("column")), place, "{text}");
        }
    }

    #[test]
    fn a_survey_goes_on_after_the_first_error() {
        let text = "Assets: [nothing, \"md5:00@https://a/b\"]\nTagz: []\n";
        let root = parse("x", text).expect("a literal document");
        let codes: Vec<Code> = survey("x", &root).iter().map(|fault| fault.code).collect();
        let wanted = [
            Code::ConfigUnknownKey,
            Code::ConfigAssetMalformed,
            Code::ConfigDigestRefused,
            Code::ConfigMissingKey,
            Code::ConfigMissingKey,
        ];
        assert_eq!(codes, wanted);
    }
}
