//! Compares what the node was launched with to what the state store says now.
//!
//! nodeup ran on every boot against whatever the store held, so a reboot applied changes that no launch had
//! shown. The documents in user data are the launch's, in part: what they never carry is no drift.

use super::additions::is_for;
use super::documents::KopsObject;
use super::fingerprint::{fingerprint, is_fingerprint};
use super::node::{Node, kubelet_version};
use quake_formats::yaml::{Key, Value, Yaml, shorten};
use quake_model::fault::{Code, Fault};
use quake_model::redact::MASK;
use quake_model::spec::Role;
use std::collections::BTreeSet;

/// The most fields one warning names.
const MOST_FIELDS: usize = 40;
/// The longest value shown.
const LONGEST_VALUE: usize = 160;
/// Keys whose absence from user data means that there were none.
const ADDITIONS: [&str; 2] = ["hooks", "fileAssets"];
/// What user data carries of an etcd cluster.
const ETCD_KEYS: [&str; 4] = ["image", "version", "cpuRequest", "memoryRequest"];

/// A field that changed: its path, and what the launch and the store have.
type Difference = (String, [String; 2]);

/// One warning that names every field in which the store differs from the launch; `None` where none does.
///
/// `cluster` and `group` are the documents of user data, where it has them and the store's were used.
/// Contents of files and hooks are compared and shown by fingerprint only.
pub(super) fn find_drift(
    node: &Node<'_>,
    cluster: Option<&KopsObject>,
    group: Option<&KopsObject>,
) -> Option<Fault> {
    let mut found = Vec::new();
    // The kubelet of the launch may be of another version than the cluster.
    let launched = cluster.and_then(|_| kubelet_version(node.environment));
    if let Some(launched) = launched.filter(|launched| *launched != node.version) {
        let versions = [launched, node.version].map(|version| version.to_string());
        found.push(("kubernetesVersion".to_owned(), versions));
    }
    for (launch, store) in [(cluster, node.cluster), (group, node.group)] {
        if let Some(launch) = launch {
            compare_specs(&launch.spec, &store.spec, node.role, &mut found);
        }
    }
    if found.is_empty() {
        return None;
    }
    let count = found.len();
    let settings = if count == 1 { "setting" } else { "settings" };
    let summary = format!("the state store changed {count} {settings} since the launch");
    let mut fault = Fault::new(Code::ConfigDrift, summary)
        .seen("cluster", &node.cluster.source)
        .seen("instance-group", &node.group.source);
    for (path, [launch, store]) in found.iter().take(MOST_FIELDS) {
        fault = fault.seen(path, format!("launch {launch}, store {store}"));
    }
    if count > MOST_FIELDS {
        fault = fault.seen("and-more", count - MOST_FIELDS);
    }
    Some(fault)
}

fn compare_specs(launch: &Yaml, store: &Yaml, role: Role, found: &mut Vec<Difference>) {
    let keys: BTreeSet<&str> = launch
        .entries()
        .iter()
        .map(|(key, _)| key.name.as_str())
        .chain(ADDITIONS)
        .collect();
    for key in keys {
        let launched = launch.get(key).map(|node| as_carried(key, node, role));
        let stored = store.get(key).map(|node| as_carried(key, node, role));
        let stored = match (key, &launched) {
            ("kubeAPIServer", Some(launched)) => stored.map(|s| narrow(&s, launched)),
            _ => stored,
        };
        compare(key, launched.as_ref(), stored.as_ref(), found);
    }
}

/// A section in the form in which user data carries it.
fn as_carried(key: &str, node: &Yaml, role: Role) -> Yaml {
    match (key, &node.value) {
        ("hooks" | "fileAssets", Value::List(items)) => {
            let items = items.iter().filter(|item| is_for(item, role));
            node.with(Value::List(items.map(addition_as_carried).collect()))
        }
        ("etcdClusters", Value::List(items)) => {
            let entry = |item: &Yaml| Some((key_of(item.get("name")?)?, etcd_as_carried(item)));
            node.with(Value::Map(items.iter().filter_map(entry).collect()))
        }
        _ => node.clone(),
    }
}

fn key_of(node: &Yaml) -> Option<Key> {
    Some(Key {
        name: node.text()?.to_owned(),
        line: node.line,
        column: node.column,
    })
}

fn etcd_as_carried(item: &Yaml) -> Yaml {
    let entries = item.entries().iter();
    let kept = entries.filter(|(key, _)| ETCD_KEYS.contains(&key.name.as_str()));
    item.with(Value::Map(kept.cloned().collect()))
}

/// A hook or file without its roles, every text in it by fingerprint.
fn addition_as_carried(item: &Yaml) -> Yaml {
    let entries = item.entries().iter();
    let kept = entries.filter(|(key, _)| key.name != "roles");
    let kept = kept.map(|(key, value)| {
        let value = match key.name.as_str() {
            "manifest" | "content" => carried_text(value, value.text().unwrap_or_default()),
            "execContainer" => container_as_carried(value),
            _ => value.clone(),
        };
        (key.clone(), value)
    });
    item.with(Value::Map(kept.collect()))
}

fn container_as_carried(container: &Yaml) -> Yaml {
    let entries = container.entries().iter().map(|(key, value)| {
        if key.name != "command" || value.items().is_empty() {
            return (key.clone(), value.clone());
        }
        let words: Vec<&str> = value.items().iter().filter_map(Yaml::text).collect();
        (key.clone(), carried_text(value, &words.join(" ")))
    });
    container.with(Value::Map(entries.collect()))
}

fn carried_text(node: &Yaml, text: &str) -> Yaml {
    let text = if text.is_empty() || is_fingerprint(text) {
        text.to_owned()
    } else {
        fingerprint(text)
    };
    node.with(Value::Scalar { text, quoted: true })
}

/// On workers user data carries one key of `kubeAPIServer`, by a name of its own.
fn narrow(store: &Yaml, launch: &Yaml) -> Yaml {
    const CARRIED: &str = "enableBootstrapAuthToken";
    const STORED: &str = "enableBootstrapTokenAuth";
    if !launch.has(CARRIED) {
        return store.clone();
    }
    let entries = store.entries().iter();
    let kept = entries.filter(|(key, _)| key.name == STORED);
    let renamed = kept.map(|(key, value)| {
        let name = CARRIED.to_owned();
        (
            Key {
                name,
                ..key.clone()
            },
            value.clone(),
        )
    });
    store.with(Value::Map(renamed.collect()))
}

/// Compares two values; null, absent and empty are the same.
fn compare(path: &str, launch: Option<&Yaml>, store: Option<&Yaml>, found: &mut Vec<Difference>) {
    let launch = launch.filter(|node| !node.is_empty());
    let store = store.filter(|node| !node.is_empty());
    let sides = [launch, store];
    let any = |test: fn(&Yaml) -> bool| sides.iter().flatten().any(|node| test(node));
    let all = |test: fn(&Yaml) -> bool| sides.iter().flatten().all(|node| test(node));
    if sides.iter().all(Option::is_none) {
        return;
    }
    if all(|node| matches!(node.value, Value::Map(_))) {
        let entries = sides.iter().flatten().flat_map(|node| node.entries());
        let keys: BTreeSet<&str> = entries.map(|(key, _)| key.name.as_str()).collect();
        for key in keys {
            let [launch, store] = sides.map(|side| side.and_then(|node| node.get(key)));
            compare(&format!("{path}.{key}"), launch, store, found);
        }
        return;
    }
    let lists = all(|node| matches!(node.value, Value::List(_)));
    if lists && any(|node| node.items().iter().any(|item| item.text().is_none())) {
        let longest = sides.iter().flatten().map(|node| node.items().len()).max();
        for index in 0..longest.unwrap_or_default() {
            let [launch, store] = sides.map(|side| side.and_then(|node| node.items().get(index)));
            compare(&format!("{path}[{index}]"), launch, store, found);
        }
        return;
    }
    let values = sides.map(|side| side.map_or_else(|| "nothing".to_owned(), show));
    if values[0] != values[1] {
        let hide = is_secret(path);
        let values = values.map(|text| match hide {
            true => MASK.to_owned(),
            false => shorten(&text, LONGEST_VALUE),
        });
        found.push((path.to_owned(), values));
    }
}

fn show(node: &Yaml) -> String {
    match &node.value {
        Value::Null => "nothing".to_owned(),
        Value::Scalar { text, .. } => text.clone(),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(show).collect();
            items.join(",")
        }
        Value::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}={}", key.name, show(value)))
                .collect();
            entries.join(",")
        }
    }
}

/// Whether the values at `path` may be secrets.
fn is_secret(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let words = [".environment", "password", "secret", "token"];
    words.iter().any(|word| path.contains(word)) && !path.ends_with("file")
}
