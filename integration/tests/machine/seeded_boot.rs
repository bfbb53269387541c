//! An image with a seed: it boots with no way to the assets' host, asks it for nothing, and is faster for it. Both
//! timelines are in docs/operations.md.

use quake_integration::http::Reply;
use quake_integration::machine::{BAKE, Kind, Lab, MachineBackend, Place};
use quake_integration::mirror::piece;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Where both timelines are told.
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md");
const BEGIN: &str = "<!-- written by the case seeded_boot: QUAKE_BLESS=1 cargo xtask integration machine seeded_boot -->\n";
const END: &str = "<!-- end -->\n";

/// The unseeded boot's mirror gives each connection 16 KiB after each such pause, which is a mebibyte a second.
const PACE: Duration = Duration::from_millis(16);

#[test]
fn seeded_boot() {
    let Some(lab) = Lab::open("seeded-boot", Kind::Containers) else {
        return;
    };
    let cluster = lab.cluster();
    let vpc = Arc::downgrade(lab.vpc());
    lab.vpc().interpose(Place::Mirror, move |_, request| {
        let file = vpc.upgrade()?.served(request.path())?;
        let pace = Some(PACE);
        Some(Reply {
            pace,
            ..piece(request, &file)
        })
    });
    let plain = lab.container(&cluster.launch("workers"), lab.baked());
    plain.becomes_ready(90).expect("a worker becomes ready");
    let unseeded = plain.ask_agent("/v1/timeline");
    drop(plain);
    let layer = lab
        .unprovisioned()
        .file("/root/kube_env.yaml", 0o600, cluster.kube_env("workers"));
    let mut machine = lab.container(&cluster.launch("workers"), layer);
    machine.output(&format!("{BAKE} -- --kube-env /root/kube_env.yaml"));
    lab.vpc()
        .interpose(Place::Mirror, |_, _| Some(Reply::nothing()));
    let requests = || {
        lab.vpc()
            .requests()
            .iter()
            .filter(|line| line.starts_with("Mirror "))
            .count()
    };
    let before = requests();
    machine.reboot().expect("the image boots");
    machine
        .becomes_ready(90)
        .expect("with no way to the assets' host");
    assert_eq!(requests(), before, "nothing is asked of the mirror");
    assert!(machine.console().contains("quake-agent: READY"));
    let status = machine.ask_agent("/v1/status");
    assert_eq!(
        status["assets"]["fetched"],
        Value::Array(Vec::new()),
        "{status}"
    );
    for program in ["/usr/local/bin/kubelet", "/opt/cni/bin/bridge"] {
        assert!(machine.holds(&format!("test -x {program}")), "{program}");
    }
    let table = side_by_side(&unseeded, &machine.ask_agent("/v1/timeline"));
    lab.evidence().write("timelines.md", &table);
    update_document(&table);
}

/// A row for each phase: when it began and how long it took, in both boots.
fn side_by_side(unseeded: &Value, seeded: &Value) -> String {
    let mut table =
        "| phase | unseeded: from | took | seeded: from | took |\n|---|---|---|---|---|\n"
            .to_owned();
    let of = |timeline: &Value, name: &Value| {
        let phases = timeline["phases"].as_array().cloned().unwrap_or_default();
        let phase = phases.into_iter().find(|it| it["phase"] == *name);
        let phase = phase.expect("both boots have the same phases");
        let at = |end: &str| phase[end].as_u64().expect("a time");
        (at("startMs"), at("endMs") - at("startMs"))
    };
    let names: Vec<&Value> = unseeded["phases"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| &it["phase"])
        .collect();
    for name in names {
        let ((from, took), (seeded_from, seeded_took)) = (of(unseeded, name), of(seeded, name));
        let name = name.as_str().expect("a name");
        table.push_str(&format!(
            "| {name} | {from} ms | {took} ms | {seeded_from} ms | {seeded_took} ms |\n"
        ));
    }
    let (all, of_it) = (&unseeded["elapsedMs"], &seeded["elapsedMs"]);
    table + &format!("| ready | | {all} ms | | {of_it} ms |\n")
}

/// Writes the table where it is told, or holds what is told to it: the same phases, in the same columns. Times are
/// this machine's and differ.
fn update_document(table: &str) {
    let document = std::fs::read_to_string(Path::new(DOCUMENT)).expect("it is ours");
    let (before, rest) = document
        .split_once(BEGIN)
        .expect("the block has a beginning");
    let (reported, after) = rest.split_once(END).expect("the block has an end");
    if std::env::var_os("QUAKE_BLESS").is_some_and(|it| it == "1") {
        let blessed = format!("{before}{BEGIN}\n{table}\n{END}{after}");
        std::fs::write(DOCUMENT, blessed).expect("it is ours");
        return;
    }
    assert_eq!(
        shape(reported),
        shape(table),
        "QUAKE_BLESS=1 writes it anew"
    );
}

/// The first cell of each row, and how many there are.
fn shape(table: &str) -> Vec<(String, usize)> {
    let rows = table.lines().filter(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    cells
        .map(|cells| (cells[1].to_owned(), cells.len()))
        .collect()
}
