//! Worlds and tables that an independent, executable model of the same rules made.

use flate2::read::GzDecoder;
use quake_volumes::{
    DeviceSignature, FilesystemContents, GateFacts, Scenario, decide_gate, read_scenarios,
    select_volumes,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;

/// The directory with the tables; `None`, with a printed reason, where it is not there.
pub(crate) fn shared(file: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/conformance/volumes"
    ));
    let path = folder.join(file);
    if path.is_file() {
        return Some(path);
    }
    println!("skipped: {file} is not beside this repository");
    None
}

/// The scenarios, where they are.
pub(crate) fn scenarios() -> Vec<Scenario> {
    let Some(path) = shared("scenarios.json") else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(path).expect("it can be read");
    read_scenarios(&text).expect("they are scenarios")
}

#[test]
fn every_recorded_world_leads_to_its_decision() {
    for scenario in scenarios() {
        let outcome = scenario.decide();
        assert_eq!(
            outcome.agrees,
            Some(true),
            "{}: {:#?}",
            outcome.name,
            outcome.decisions
        );
    }
}

type Row = HashMap<String, String>;

fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let row = |line: &str| {
        let names = header.iter().map(|name| (*name).to_owned());
        names.zip(line.split(',').map(str::to_owned)).collect()
    };
    lines.map(row).collect()
}

/// The world of a row: one volume for `main/a`, this instance and perhaps a holder.
fn world_of(row: &Row) -> Value {
    let is = |key: &str, value: &str| row[key] == value;
    let peer = |id: &str, state: &str, group: &str, launch: u64| json!({"id": id, "state": state, "ig": group, "az": "z1", "launch": launch});
    let mut instances = vec![peer("i-self", "running", "ig-a", 100)];
    if let Some((state, group)) = row["holder"].split_once('/') {
        instances.push(peer("i-other", state, group, 50));
    }
    let attach = |instance: &str, state: &str| json!({"instance": instance, "state": state, "device": "/dev/xvdu"});
    let attachments = match row["attachment"].split_once(':') {
        None => Vec::new(),
        Some(("self", state)) => vec![attach("i-self", state)],
        Some(("other", state)) => vec![attach("i-other", state)],
        Some((_, state)) => vec![attach("i-self", state), attach("i-other", state)],
    };
    let mut tags = json!({
        "kubernetes.io/cluster/c": "owned",
        "k8s.io/role/master": "1",
        "k8s.io/etcd/main": "a/a",
    });
    if !is("uid_tag", "absent") {
        tags["quake.io/cluster-uid"] = json!(row["uid_tag"]);
    }
    match row["operator_tag"].as_str() {
        "pin" => tags["quake.io/etcd-pin"] = json!("main/a"),
        "ignore" => tags["quake.io/etcd-ignore"] = json!("because"),
        "adopt" => tags["quake.io/etcd-adopt"] = json!("U"),
        _ => {}
    }
    let verified = is("locally_verified", "True");
    json!([{
        "name": "row",
        "self": peer("i-self", "running", "ig-a", 100),
        "cluster": "c",
        "cluster_uids": ["U"],
        "cluster_birth": 1000,
        "members": [{"etcd": "main", "name": "a", "ig": "ig-a", "az": "z1", "encrypted": false}],
        "instances": instances,
        "settled": true,
        "local": if verified { json!({"vol-1": "verified"}) } else { json!({}) },
        "volumes": [{
            "id": "vol-1",
            "az": if is("zone_ok", "True") { "z1" } else { "z2" },
            "state": row["volume_state"],
            "atts": attachments,
            "tags": tags,
            "created": if is("created", "old") { 500 } else { 2000 },
            "encrypted": true,
            "multi": is("multi_attach", "True"),
            "size": 20,
        }],
    }])
}

#[test]
fn every_row_of_the_single_volume_product_agrees() {
    let Some(path) = shared("decision_table.csv.gz") else {
        return;
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("it can be read");
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("it is text");
    let rows = rows(&text);
    assert!(rows.len() > 60_000, "{}", rows.len());
    for row in rows {
        let recorded = read_scenarios(&world_of(&row).to_string()).expect("a scenario");
        let world = recorded[0].world();
        let decision = select_volumes(&world);
        let found = decision.slots.first().expect("one slot");
        assert_eq!(
            (found.1.action.name(), found.1.rule.name()),
            (row["action"].as_str(), row["code"].as_str()),
            "{row:?}"
        );
    }
}

fn surface_of(name: &str) -> DeviceSignature {
    match name {
        "none" => DeviceSignature::Blank,
        "nonzero" => DeviceSignature::Unsigned,
        "ext4_clean" | "ext4_fixed" => DeviceSignature::Ext4,
        "fs_corrupt" => DeviceSignature::Damaged,
        "other_fs" | "ptable" => DeviceSignature::Foreign,
        "ambiguous" => DeviceSignature::Ambiguous,
        "io_error" => DeviceSignature::Unreadable,
        other => unreachable!("the table has no signature {other}"),
    }
}

fn inside_of(name: &str) -> FilesystemContents {
    match name {
        "none" => FilesystemContents::NoMarker,
        "match" => FilesystemContents::Match,
        "other_uid" => FilesystemContents::OtherUid,
        "other_slot" => FilesystemContents::OtherSlot,
        "other_volume" => FilesystemContents::OtherVolume,
        "legacy_match_ca" => FilesystemContents::LegacyMatch,
        "legacy_other_ca" => FilesystemContents::LegacyOther,
        "legacy_unknown" => FilesystemContents::LegacyUnknown,
        "empty_fs_ours" => FilesystemContents::EmptyOurs,
        "empty_fs_unknown" => FilesystemContents::EmptyUnknown,
        other => unreachable!("the table has no marker {other}"),
    }
}

#[test]
fn every_row_of_the_filesystem_gate_agrees() {
    let Some(path) = shared("fs_gate_table.csv") else {
        return;
    };
    let rows = rows(&std::fs::read_to_string(path).expect("it can be read"));
    assert!(rows.len() > 200, "{}", rows.len());
    for row in rows {
        let is = |key: &str| row[key] == "True";
        let decision = decide_gate(&GateFacts {
            surface: surface_of(&row["signature"]),
            inside: inside_of(&row["marker"]),
            from_snapshot: is("from_snapshot"),
            format_intent: is("format_intent"),
            data_expected: is("slot_already_initialised"),
            empty_consented: false,
            adopted: false,
        });
        assert_eq!(
            (decision.name(), decision.rule().name()),
            (row["action"].as_str(), row["code"].as_str()),
            "{row:?}"
        );
    }
}
