//! What commands print for programs: one object with the name of its published schema, and keys in one case.
//! The harness checks every other output of the agent, in every test, against its schema, too.

use quake_integration::agent;
use quake_integration::node::{kube_env, write_state_store};
use quake_integration::published;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Maps whose keys are data: names of calls, tags, settings.
const KEYED_BY_DATA: [&str; 4] = ["calls", "evidence", "sets", "tags"];

/// Commands that read a node, an image, the catalogue or a file.
const COMMANDS: &[&str] = &[
    "version",
    "status",
    "timeline",
    "plan {state}",
    "explain assets.no-space",
    "explain no-such-code",
    "explain cgroup: fork rejected by pids controller",
    "diagnose --offline",
    "diagnose --list",
    "store list",
    "store verify",
    "store gc",
    "seed verify",
    "seed show --list {list}",
    "check {check}",
];

/// What is not as it should be in a document, by the path of the key.
fn odd_keys(at: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => {
            let of_data = KEYED_BY_DATA.iter().any(|it| at.ends_with(it));
            let mut odd = Vec::new();
            for (key, value) in members {
                let is_camel = key.starts_with(|first: char| first.is_ascii_lowercase())
                    && key.chars().all(|it| it.is_ascii_alphanumeric());
                if !of_data && !is_camel {
                    odd.push(format!("{at}.{key}"));
                }
                odd.extend(odd_keys(&format!("{at}.{key}"), value));
            }
            odd
        }
        Value::Array(values) => values.iter().flat_map(|it| odd_keys(at, it)).collect(),
        _ => Vec::new(),
    }
}

/// Documents that are files of the agent's own: an operator has no need to read them.
const NOT_PRINTED: [&str; 2] = ["owned", "survey"];

/// Names in `schemaVersion` that the agent's source writes.
fn names_in_source(directory: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(directory)
        .expect("the source is there")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            names.extend(names_in_source(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&path).expect("it is text");
            let parts = text.split("quake-agent/").skip(1);
            let named = parts.filter_map(|part| part.split_once("/v1"));
            let word = |it: &&str| it.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            names.extend(named.map(|(name, _)| name).filter(word).map(str::to_owned));
        }
    }
    names
}

#[test]
fn everything_that_the_agent_prints_has_a_published_schema() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent");
    let mut printed = names_in_source(&source);
    printed.retain(|name| !NOT_PRINTED.contains(&name.as_str()));
    let files = std::fs::read_dir(published::directory()).expect("the schemas are there");
    let names = files
        .flatten()
        .map(|file| file.file_name().to_string_lossy().into_owned());
    let schemas = names.filter_map(|name| Some(name.strip_suffix(".schema.json")?.to_owned()));
    assert_eq!(printed, schemas.collect::<BTreeSet<String>>());
}

#[test]
fn every_command_prints_an_object_with_its_schema_and_camel_case_keys() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let root = path("root");
    let rehearsed = agent::run(&["rehearse", "--root", &root, "--exit-when-ready"]);
    assert_eq!(rehearsed.status, 0, "{}", rehearsed.text());
    let list = format!("{}@http://127.0.0.1:1/tool\n", "ab".repeat(32));
    std::fs::write(path("list"), list).expect("the directory is ours");
    std::fs::write(path("check"), "kind: Cluster\n").expect("the directory is ours");
    write_state_store(&folder.path().join("state")).expect("the directory is ours");
    std::fs::write(path("state/kube_env.yaml"), kube_env("workers", &[])).expect("ours");
    for command in COMMANDS {
        let words = command.replace("{list}", &path("list"));
        let words = words.replace("{check}", &path("check"));
        let words = words.replace("{state}", &path("state"));
        let mut words: Vec<&str> = words.split(' ').collect();
        if ["status", "timeline", "store", "seed", "diagnose"].contains(&words[0]) {
            words.extend(["--root", &root]);
        }
        words.extend(["--output", "json"]);
        let ended = agent::run(&words);
        let mut documents = ended.stdout.lines().peekable();
        assert!(documents.peek().is_some(), "{command}: {}", ended.text());
        for line in documents {
            let document: Value = serde_json::from_str(line).expect(command);
            let schema = document["schemaVersion"].as_str().unwrap_or_default();
            assert!(schema.starts_with("quake-agent/"), "{command}: {line}");
            published::check(&document).expect(command);
            let odd = odd_keys("", &document);
            assert!(odd.is_empty(), "{command}: {odd:?}");
        }
    }
}
