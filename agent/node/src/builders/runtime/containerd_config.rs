//! containerd's configuration file.

use super::{NETWORK_TEMPLATE, REGISTRY_HOSTS, is_skipped};
use crate::builders::Context;
use crate::builders::layout::CONTAINERD_CONFIG;
use crate::config::current::Section;
use quake_formats::toml_text;
use quake_formats::yaml::{Key, Value as Node, Yaml};
use quake_model::fault::{Code, Fault};
use quake_model::item::{File, Item};
use serde_json::{Map, Value, json};

/// The platform that gVisor runs on where the spec names none.
const GVISOR_PLATFORM: &str = "systrap";

/// The plugin of version 2, and the two that it became.
const V1: &str = "io.containerd.grpc.v1.cri";
const IMAGES: &str = "io.containerd.cri.v1.images";
const RUNTIME: &str = "io.containerd.cri.v1.runtime";

/// The configuration: the operator's own where the spec has one, else what the spec asks for, with the operator's additions.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if is_skipped(context) {
        return Ok(Vec::new());
    }
    let section = &context.config.containerd;
    let text = match section.text("configOverride") {
        Some(text) => text.to_owned(),
        None => configuration(context)?,
    };
    let mut items = vec![Item::File(File::plain(CONTAINERD_CONFIG, text))];
    if context.runs_gvisor() {
        let requested = context.config.gvisor.as_ref();
        let platform = requested.and_then(|gvisor| gvisor.text("platform"));
        let table = json!({"runsc_config": {"platform": platform.unwrap_or(GVISOR_PLATFORM)}});
        let text = table.as_object().map(toml_text::document);
        let file = File::plain("/etc/containerd/runsc.toml", text.unwrap_or_default());
        items.push(Item::File(file));
    }
    Ok(items)
}

/// The version of the file for the containerd that the spec names.
///
/// 1.x reads version 2 at most, 2.0 split the plugin in two, and 2.1 and 2.2 refuse version 4; 2.3 reads
/// drop-ins of no newer version than the file's. Every containerd reads version 2, so a spec that names no
/// containerd gets it (`useContainerdConfigV3`, `nodeup/pkg/model/containerd.go`, kops v1.36.2). A
/// distribution may bring another containerd than the spec names; kops names 1.7 where Kubernetes is older
/// than 1.32, and such an image brings one that reads version 2, but perhaps not 4.
fn version(context: &Context<'_>) -> u32 {
    let named = context.config.containerd.text("version");
    match named.map(numbers) {
        None => 2,
        Some(Some(version)) if version < (2, 0) => 2,
        Some(Some(version)) if version >= (2, 3) && !context.distribution.brings_containerd() => 4,
        Some(_) => 3,
    }
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split(['.', '-', '+']);
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().map_or(Some(0), |minor| minor.parse().ok())?;
    Some((major, minor))
}

fn configuration(context: &Context<'_>) -> Result<String, Fault> {
    let section = &context.config.containerd;
    let version = version(context);
    let (images, runtime, sandbox): (_, _, &[&str]) = match version {
        2 => (V1, V1, &["sandbox_image"]),
        _ => (IMAGES, RUNTIME, &["pinned_images", "sandbox"]),
    };
    let mut root = Map::from_iter([("version".to_owned(), version.into())]);
    let mut add_plugin = |plugin: &str, path: &[&str], value: Value| {
        set(&mut root, &[&["plugins", plugin][..], path].concat(), value);
    };
    if let Some(image) = section.text("sandboxImage") {
        add_plugin(images, sandbox, image.into());
    }
    if !section.lists("registryMirrors").is_empty() {
        add_plugin(images, &["registry", "config_path"], REGISTRY_HOSTS.into());
    }
    if section.is_set("selinuxEnabled") {
        add_plugin(runtime, &["enable_selinux"], true.into());
    }
    if context.config.network.uses_kubenet {
        add_plugin(runtime, &["cni", "conf_template"], NETWORK_TEMPLATE.into());
    }
    let runtimes = json!({"default_runtime_name": "runc", "runtimes": runtimes(context)});
    add_plugin(runtime, &["containerd"], runtimes);
    if let Some(nri) = node_resource_interface(section) {
        add_plugin("io.containerd.nri.v1.nri", &[], nri);
    }
    add(&context.config.source, section, &mut root)?;
    let mark = "# Written by quake-agent; changes are lost at the next boot.\n";
    Ok(mark.to_owned() + &toml_text::document(&root))
}

/// What containers can be run by.
fn runtimes(context: &Context<'_>) -> Value {
    let runc = "io.containerd.runc.v2";
    let mut all = json!({"runc": {"runtime_type": runc, "options": {"SystemdCgroup": true}}});
    if context.runs_nvidia() {
        all["nvidia"] = json!({
            "privileged_without_host_devices": false,
            "runtime_engine": "",
            "runtime_root": "",
            "runtime_type": runc,
            "options": {"SystemdCgroup": true, "BinaryName": "/usr/bin/nvidia-container-runtime"},
        });
    }
    if context.runs_gvisor() {
        all["runsc"] = json!({"runtime_type": "io.containerd.runsc.v1"});
    }
    all
}

/// The node resource interface, where the spec has a section for it that does not turn it off.
fn node_resource_interface(section: &Section) -> Option<Value> {
    let nri = section.section("nri")?;
    if nri.boolean("enabled") == Some(false) {
        return None;
    }
    let mut table = json!({"disable": false});
    for (key, name) in [
        ("pluginRequestTimeout", "plugin_request_timeout"),
        ("pluginRegistrationTimeout", "plugin_registration_timeout"),
    ] {
        if let Some(duration) = nri.duration(key) {
            table[name] = duration.into();
        }
    }
    Some(table)
}

/// Lays the operator's additions over the configuration, in the order of their keys.
fn add(source: &str, section: &Section, root: &mut Map<String, Value>) -> Result<(), Fault> {
    let additions = section.node().get("configAdditions");
    let mut entries: Vec<&(Key, Yaml)> = additions.map_or(&[][..], Yaml::entries).iter().collect();
    entries.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    for (key, node) in entries {
        let done = split(&key.name).is_some_and(|path| set(root, &path, addition(node)));
        if !done {
            let summary = format!("{:?} is not a path of containerd's configuration", key.name);
            let fault = key.fault(source, Code::ConfigWrongType, summary);
            return Err(fault.seen("path", "containerdConfig.configAdditions"));
        }
    }
    Ok(())
}

/// A value: a whole number, true or false, or a text.
fn addition(node: &Yaml) -> Value {
    let text = node.text().unwrap_or_default();
    let is_quoted = matches!(node.value, Node::Scalar { quoted: true, .. });
    match (text, text.parse::<i64>()) {
        ("true", _) => true.into(),
        ("false", _) => false.into(),
        (_, Ok(number)) if !is_quoted => number.into(),
        _ => text.into(),
    }
}

/// Splits a path at its dots but for those within quotes, which stand around a whole part; `None` where they do not.
fn split(path: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut rest = path;
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if part.is_empty() || part.contains('"') {
            return None;
        }
        parts.push(part);
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None => return after.is_empty().then_some(parts),
        }
    }
}

/// Sets the value at a path; false where something on the way is no table.
fn set(table: &mut Map<String, Value>, path: &[&str], value: Value) -> bool {
    match path {
        [] => false,
        [key] => {
            table.insert((*key).to_owned(), value);
            true
        }
        [key, rest @ ..] => {
            let inner = table.entry(*key).or_insert_with(|| Map::new().into());
            inner
                .as_object_mut()
                .is_some_and(|inner| set(inner, rest, value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;
    use quake_formats::syntax;

    fn read(sample: &Sample) -> Value {
        let text = sample.file(build, CONTAINERD_CONFIG);
        syntax::toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn config(keys: &str) -> Value {
        read(&Sample::worker(&format!("containerdConfig: {{{keys}}}\n")))
    }

    #[test]
    fn the_version_of_the_file_is_one_that_containerd_reads() {
        // What the spec names, the file's version where kops installs containerd, and where Flatcar brings it.
        for (keys, installed, brought) in [
            ("version: 1.6.20", 2, 2),
            ("version: 1.7.32", 2, 2),
            ("version: v1.7.0", 2, 2),
            ("version: 2.0.0-rc.1", 3, 3),
            ("version: 2.1.6", 3, 3),
            ("version: 2.2.4", 3, 3),
            ("version: 2.3.4", 4, 3),
            ("version: 3.0", 4, 3),
            ("version: latest", 3, 3),
            ("version: \"\"", 2, 2),
            ("", 2, 2),
        ] {
            let mut sample = Sample::worker(&format!("containerdConfig: {{{keys}}}\n"));
            assert_eq!(read(&sample)["version"], installed, "{keys}");
            sample = sample.on(Project::Flatcar, (0, 0));
            assert_eq!(read(&sample)["version"], brought, "{keys} on Flatcar");
        }
    }

    #[test]
    fn the_sandbox_image_is_where_the_version_wants_it() {
        let old = config("version: 1.7.32, sandboxImage: pause");
        assert_eq!(
            old["plugins"]["io.containerd.grpc.v1.cri"]["sandbox_image"],
            "pause"
        );
        let new = config("version: 2.2.4, sandboxImage: pause");
        let images = &new["plugins"]["io.containerd.cri.v1.images"];
        assert_eq!(images["pinned_images"]["sandbox"], "pause");
    }

    #[test]
    fn an_addition_that_is_no_path_is_refused_at_its_place() {
        for key in ["a..b", "'\"a.b'", "'a\"b.c'", "version.a", "'\"a\"b'"] {
            let keys = format!("containerdConfig:\n  configAdditions:\n    {key}: x\n");
            let fault = Sample::worker(&keys).try_items(build).expect_err(key);
            assert_eq!(fault.code, Code::ConfigWrongType, "{key}");
            assert_eq!(fault.evidence_named("line"), Some("5"), "{key}");
        }
    }

    #[test]
    fn an_override_is_the_whole_file() {
        let sample = Sample::worker(
            "containerdConfig: {configOverride: \"version = 9\", sandboxImage: x}\n",
        );
        assert_eq!(sample.file(build, CONTAINERD_CONFIG), "version = 9");
    }

    #[test]
    fn the_node_resource_interface_is_on_where_its_section_does_not_say_otherwise() {
        let nri = |keys: &str| config(keys)["plugins"]["io.containerd.nri.v1.nri"].clone();
        assert_eq!(nri(""), Value::Null);
        assert_eq!(nri("nri: {enabled: false}"), Value::Null);
        let wanted = json!({"disable": false, "plugin_request_timeout": "5s"});
        assert_eq!(nri("nri: {pluginRequestTimeout: 5s}"), wanted);
    }

    #[test]
    fn gpus_and_sandboxes_are_runtimes_of_their_own_where_they_are_asked_for_and_there() {
        let named = "containerdConfig: {version: 2.2.4}\n";
        let names = |sample: &Sample| {
            let found = read(sample);
            let runtimes =
                &found["plugins"]["io.containerd.cri.v1.runtime"]["containerd"]["runtimes"];
            let names = runtimes
                .as_object()
                .map(|all| all.keys().cloned().collect::<Vec<_>>());
            names.unwrap_or_default()
        };
        let mut sample = Sample::worker(&format!("{named}NvidiaGPU: {{enabled: true}}\n"));
        assert_eq!(names(&sample), ["runc"], "there is no GPU");
        sample.machine.has_nvidia_gpu = true;
        assert_eq!(names(&sample), ["nvidia", "runc"]);
        let sample = Sample::worker(&format!("{named}GVisor: {{enabled: true}}\n"));
        assert_eq!(names(&sample), ["runc", "runsc"]);
        let shim = sample.file(build, "/etc/containerd/runsc.toml");
        assert_eq!(shim, "[runsc_config]\nplatform = \"systrap\"\n");
    }

    #[test]
    fn additions_are_laid_over_the_configuration_and_keep_their_types() {
        let found = config(
            "version: 2.2.4, configAdditions: {'plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.x.n': 5, a.b: \"true\", a.c: \"5\"}",
        );
        let runtimes = &found["plugins"]["io.containerd.cri.v1.runtime"]["containerd"]["runtimes"];
        assert_eq!(runtimes["x"]["n"], 5);
        assert_eq!(runtimes["runc"]["options"]["SystemdCgroup"], true);
        assert_eq!(found["a"], json!({"b": true, "c": "5"}));
    }
}
