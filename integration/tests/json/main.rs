//! What commands print for programs: objects of published schemas, with keys in one case. Every command with
//! `--output json` is run, and every published schema is that of an output. The harness checks every other output
//! of the agent, in every test, against its schema, too.

mod elsewhere;
mod etcd;
mod ground;
mod node;
mod volumes;

use ground::Ground;
use quake_integration::published;
use std::collections::BTreeSet;
use std::path::Path;

/// Documents that agents leave for themselves and for each other: an operator has no need to read them.
const NOT_PRINTED: [&str; 3] = ["health-note", "owned", "survey"];

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
    let schemas = published::names().expect("the schemas are there");
    assert_eq!(printed, schemas);
}

#[test]
fn every_command_prints_objects_of_a_published_schema_and_every_schema_is_one_of_theirs() {
    let ground = Ground::new();
    node::rehearsed_booted_and_reported(&ground);
    node::read_from_a_node_an_image_and_files(&ground);
    node::answered_by_the_endpoint(&ground);
    volumes::listed_explained_and_changed(&ground);
    etcd::backups_listed_and_one_restored(&ground);
    etcd::restores_refused(&ground);
    elsewhere::addons_listed_planned_and_applied(&ground);
    elsewhere::seeds_built_bundled_and_loaded(&ground);
    elsewhere::fleets_read_from_reports_and_from_consoles(&ground);

    let schemas = published::names().expect("the schemas are there");
    assert_eq!(published::matched(), schemas, "which documents were seen");
    let commands = ground.commands_with_json();
    assert!(commands.len() > 25, "the commands are seen: {commands:?}");
    let missed: Vec<_> = commands.difference(&ground.run_so_far()).cloned().collect();
    assert_eq!(missed, Vec::<String>::new(), "commands without a run here");
}
