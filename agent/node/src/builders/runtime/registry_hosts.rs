//! Mirrors of image registries, one file for each registry.

use super::{REGISTRY_HOSTS, is_skipped};
use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::{File, Item};
use serde_json::Value;

/// The files; none where the operator writes the whole configuration.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let section = &context.config.containerd;
    if is_skipped(context) || section.has("configOverride") {
        return Ok(Vec::new());
    }
    let mirrors = section.lists("registryMirrors");
    let files = mirrors.iter().map(|(registry, endpoints)| {
        // containerd's own word for all registries that have no directory.
        let folder = if *registry == "*" {
            "_default"
        } else {
            registry
        };
        let path = format!("{REGISTRY_HOSTS}/{folder}/hosts.toml");
        Item::File(File::plain(&path, hosts(endpoints)))
    });
    Ok(files.collect())
}

/// The mirrors in the order of the spec, in which containerd asks them.
fn hosts(endpoints: &[&str]) -> String {
    let mut text = String::from("# Written by quake-agent; changes are lost at the next boot.\n");
    for endpoint in endpoints {
        // A JSON string is a TOML basic string.
        let name = Value::from(*endpoint);
        text.push_str(&format!(
            "\n[host.{name}]\ncapabilities = [\"pull\", \"resolve\"]\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_formats::syntax;

    const MIRRORS: &str =
        "registryMirrors: {docker.io: [\"https://z\", \"https://a\"], \"*\": [\"https://all\"]}";

    #[test]
    fn mirrors_are_asked_in_the_order_of_the_spec() {
        let sample = Sample::worker(&format!("containerdConfig: {{{MIRRORS}}}\n"));
        let text = sample.file(build, "/etc/containerd/certs.d/docker.io/hosts.toml");
        let (first, second) = (text.find("https://z"), text.find("https://a"));
        assert!(first.is_some() && first < second, "{text}");
        let all = sample.file(build, "/etc/containerd/certs.d/_default/hosts.toml");
        assert!(syntax::toml(&all).is_ok(), "{all}");
    }

    #[test]
    fn a_configuration_that_is_the_operators_own_names_its_own_mirrors() {
        let keys = format!("containerdConfig: {{configOverride: x, {MIRRORS}}}\n");
        assert_eq!(Sample::worker(&keys).items(build), []);
    }
}
