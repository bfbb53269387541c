//! Which pod applies the cluster's add-ons, from which channels, and where it tells whether it is well: all of it as the pod
//! itself says, for kops writes it.

use super::protokube;
use crate::builders::Context;
use quake_formats::yaml;
use quake_model::spec::AddonsPod;
use serde_json::Value;
use std::collections::BTreeMap;

/// The pod and its channels; `None` on a node without one.
pub(in crate::builders) fn addons_pod(context: &Context<'_>) -> Option<(AddonsPod, Vec<String>)> {
    if !context.is_control_plane() {
        return None;
    }
    if protokube::is_wanted(context) {
        let pod = AddonsPod {
            name: "protokube".to_owned(),
            health: None,
            labels: BTreeMap::new(),
        };
        return Some((pod, context.config.channels.clone()));
    }
    let location = context.config.channels_manifest.as_ref()?;
    let bytes = context.objects.manifest(location).ok()?;
    // One that cannot be read is laid down as it is, and told of by kubelet.
    let pod = yaml::parse_bytes(&location.to_string(), bytes)
        .ok()?
        .to_json();
    let name = pod.pointer("/metadata/name").and_then(Value::as_str);
    let container = pod.pointer("/spec/containers/0");
    let found = AddonsPod {
        name: name.unwrap_or("kops-channels").to_owned(),
        health: container.and_then(health),
        labels: container.map(labels).unwrap_or_default(),
    };
    Some((found, container.map(channels).unwrap_or_default()))
}

/// What follows the words `apply channel` and is no flag.
fn channels(container: &Value) -> Vec<String> {
    let words = container.get("args").and_then(Value::as_array);
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    let words = words.skip_while(|word| *word != "channel").skip(1);
    let named = words.filter(|word| !word.starts_with('-'));
    named.map(str::to_owned).collect()
}

/// The labels that the pod gives its node on its command line: `--node-labels=a,b=c`, as it reads them (kubernetes/kops
/// `channels/pkg/cmd/apply_channel.go`, v1.36.2). A control plane's is `node-role.kubernetes.io/control-plane` alone. What is
/// no pair the pod ends at, and is left out here.
fn labels(container: &Value) -> BTreeMap<String, String> {
    let words = container.get("args").and_then(Value::as_array);
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    let mut given = words.filter_map(|word| word.strip_prefix("--node-labels="));
    let pairs = given.next_back().unwrap_or_default().split(',');
    let pairs = pairs.filter(|pair| !pair.is_empty() && pair.matches('=').count() < 2);
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn health(container: &Value) -> Option<String> {
    let get = container.pointer("/readinessProbe/httpGet")?;
    let word = |key: &str| get.get(key).and_then(Value::as_str);
    let host = word("host").unwrap_or("127.0.0.1");
    let scheme = word("scheme").unwrap_or("HTTP").to_ascii_lowercase();
    let port = get.get("port")?.as_u64()?;
    let path = word("path").unwrap_or("/");
    Some(format!("{scheme}://{host}:{port}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    const POD: &str = "metadata: {name: kops-channels}\nspec:\n  containers:\n  - args: [apply, channel, --v=4, --yes, s3://b/c/addons/bootstrap-channel.yaml]\n    \
                       readinessProbe: {httpGet: {host: 127.0.0.1, path: /readyz, port: 3986}}\n";

    fn sample(keys: &str, manifest: &str) -> Sample {
        let mut sample = Sample::control_plane(&format!("CAs: {{kubernetes-ca: CA}}\n{keys}"));
        if let Some(location) = sample.config.channels_manifest.clone() {
            let bytes = manifest.as_bytes().to_vec();
            sample.objects.manifests.insert(location, bytes);
        }
        sample
    }

    #[test]
    fn the_pod_says_what_it_applies_and_where_it_tells_that_it_is_well() {
        let sample = sample("channelsManifest: s3://b/c/kops-channels.yaml\n", POD);
        let found = sample.with(addons_pod);
        let pod = AddonsPod {
            name: "kops-channels".to_owned(),
            health: Some("http://127.0.0.1:3986/readyz".to_owned()),
            labels: BTreeMap::new(),
        };
        let channels = vec!["s3://b/c/addons/bootstrap-channel.yaml".to_owned()];
        assert_eq!(found, Some((pod, channels)));
    }

    #[test]
    fn the_labels_of_the_pods_command_line_are_read_as_it_reads_them() {
        for (given, wanted) in [
            ("role", vec![("role", "")]),
            ("a,b=c,,d=", vec![("a", ""), ("b", "c"), ("d", "")]),
            ("a=b=c,d", vec![("d", "")]),
            ("", Vec::new()),
        ] {
            let pod = POD.replace("--v=4", &format!("'--node-labels={given}'"));
            let sample = sample("channelsManifest: s3://b/c/kops-channels.yaml\n", &pod);
            let (found, channels) = sample.with(addons_pod).expect("it is read");
            let wanted = wanted.into_iter();
            let wanted = wanted.map(|(key, value)| (key.to_owned(), value.to_owned()));
            assert_eq!(found.labels, wanted.collect(), "{given}");
            assert_eq!(channels.len(), 1, "{given}");
        }
    }

    #[test]
    fn a_pod_that_cannot_be_read_is_no_failed_boot() {
        let sample = sample("channelsManifest: s3://b/c/kops-channels.yaml\n", "[");
        assert_eq!(sample.with(addons_pod), None);
    }
}
