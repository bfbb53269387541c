//! `diagnose` over captured trees: broken nodes, of which it has to name the cause first, and healthy ones, of which it
//! has nothing to say.

use quake_integration::agent::{self, Ended};
use quake_integration::broken_nodes::{FOLDER, names, read_case, write_base, write_case};
use quake_integration::schema::Schema;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A directory for one tree: a scratch one, or one that stays where `QUAKE_BROKEN_NODES` says.
fn folder(scratch: &tempfile::TempDir, name: &str) -> PathBuf {
    let kept = std::env::var_os("QUAKE_BROKEN_NODES").map(PathBuf::from);
    let root = kept.unwrap_or_else(|| scratch.path().to_owned()).join(name);
    // What an earlier run left is not part of this one.
    let _ = std::fs::remove_dir_all(&root);
    root
}

fn diagnose(root: &Path) -> (Ended, Value) {
    let root = root.to_str().expect("a plain path");
    let ended = agent::run(&["diagnose", "--root", root, "--output", "json"]);
    let report = serde_json::from_str(&ended.stdout).unwrap_or(Value::Null);
    (ended, report)
}

/// The schema of the report, as the agent itself prints it.
fn published_schema() -> Schema {
    let ended = agent::run(&["diagnose", "--schema"]);
    assert_eq!(ended.status, 0, "{}", ended.text());
    let schema = serde_json::from_str(&ended.stdout).expect("it is JSON");
    Schema::new(schema).expect("it is a schema")
}

/// What went wrong with a case, if anything did.
fn wrong_with(name: &str, schema: &Schema, scratch: &tempfile::TempDir) -> Result<(), String> {
    let case = read_case(name)?;
    let root = folder(scratch, name);
    write_case(name, &case, &root)?;
    let (ended, report) = diagnose(&root);
    schema.check(&report)?;
    let found = report["findings"].as_array().ok_or_else(|| {
        format!(
            "no report: status {}, {}{}",
            ended.status, ended.stdout, ended.stderr
        )
    })?;
    let first = found.first().and_then(Value::as_str).unwrap_or("nothing");
    let checks = report["checks"].as_array().cloned().unwrap_or_default();
    let of = |id: &str| {
        checks
            .iter()
            .find(|check| check["id"] == id)
            .cloned()
            .unwrap_or_default()
    };
    let reported = of(first);
    let code = reported["finding"]["code"].as_str();
    let (status, exit) = if case.expect.warns {
        ("warn", 0)
    } else {
        ("fail", 1)
    };
    let missing = case
        .expect
        .also
        .iter()
        .find(|id| !found.contains(&Value::from(id.as_str())));
    let text = |key: &str| reported["finding"][key].as_str().unwrap_or_default();
    let unsaid = case.expect.unsaid(text("summary"), text("remedy"));
    if first == case.expect.first && !unsaid.is_empty() {
        return Err(unsaid.join("\n    "));
    }
    if first == case.expect.first
        && code == case.expect.code.as_deref()
        && reported["status"] == status
        && ended.status == exit
        && missing.is_none()
    {
        return Ok(());
    }
    let all: Vec<String> = found
        .iter()
        .filter_map(Value::as_str)
        .map(|id| format!("\n    {id}: {}", of(id)["note"]))
        .collect();
    Err(format!(
        "wanted {} ({:?}, {status}), and {missing:?} among them; exit status {}; the first has code {code:?}; found:{}",
        case.expect.first,
        case.expect.code,
        ended.status,
        all.concat()
    ))
}

#[test]
fn the_cause_comes_first_in_every_broken_node() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (all, schema) = (
        names(Path::new(FOLDER)).expect("the cases"),
        published_schema(),
    );
    let wrong: Vec<String> = all
        .iter()
        .filter_map(|name| {
            Some(format!(
                "{name}: {}",
                wrong_with(name, &schema, &scratch).err()?
            ))
        })
        .collect();
    println!("{} broken nodes", all.len());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_healthy_node_gives_no_alarm() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let schema = published_schema();
    for base in names(&Path::new(FOLDER).join("base")).expect("the bases") {
        let root = folder(&scratch, &format!("healthy-{base}"));
        write_base(&base, &root).expect("its layers are sound");
        let (ended, report) = diagnose(&root);
        let checks = report["checks"].as_array().cloned().unwrap_or_default();
        let alarms: Vec<String> = checks
            .iter()
            .filter(|check| !matches!(check["status"].as_str(), Some("ok" | "skip")))
            .map(|check| format!("{} {}: {}", check["id"], check["status"], check["note"]))
            .collect();
        assert!(alarms.is_empty(), "{base}: {alarms:#?}");
        assert_eq!(ended.status, 0, "{base}: {}", ended.stderr);
        assert_eq!(schema.check(&report), Ok(()), "{base}");
        assert!(
            report["summary"]["ok"].as_u64() >= Some(1),
            "{base}: {report}"
        );
    }
}

/// A check that is skipped gives no alarm either.
#[test]
fn every_check_of_etcd_and_of_its_volumes_is_made_where_etcd_manager_runs_it() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let root = folder(&scratch, "of-three");
    write_base("kops-control-plane-of-three", &root).expect("its layers are sound");
    let root = root.to_str().expect("a plain path");
    let only = ["--only", "etcd,volumes", "--output", "json"];
    let ended = agent::run(&[&["diagnose", "--root", root], &only[..]].concat());
    let report: Value = serde_json::from_str(&ended.stdout).expect("it is JSON");
    let checks = report["checks"].as_array().cloned().unwrap_or_default();
    let skipped: Vec<String> = checks
        .iter()
        .filter(|check| check["status"] != "ok")
        .map(|check| format!("{} {}: {}", check["id"], check["status"], check["note"]))
        .collect();
    assert!(skipped.is_empty(), "{skipped:#?}");
    assert_eq!((checks.len(), ended.status), (14, 0), "{}", ended.stderr);
}

/// A name, and what spoils a report.
type Spoiled = (&'static str, fn(&mut Value));

/// Without this the schema might take anything, and would say nothing.
#[test]
fn a_report_that_lacks_a_field_or_has_another_type_is_not_taken() {
    let schema = published_schema();
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let all = names(Path::new(FOLDER)).expect("the cases");
    let case = read_case(&all[0]).expect("it is sound");
    let root = folder(&scratch, "schema");
    write_case(&all[0], &case, &root).expect("the directory is ours");
    let (_, report) = diagnose(&root);
    assert_eq!(schema.check(&report), Ok(()));
    let spoiled: [Spoiled; 5] = [
        ("no summary", |it| drop(it["summary"].take())),
        ("a number for a note", |it| {
            it["checks"][0]["note"] = 1.into();
        }),
        ("an unknown status", |it| {
            it["checks"][0]["status"] = "fine".into();
        }),
        ("a finding of what is ok", |it| {
            let finding = Value::Object(serde_json::Map::new());
            it["checks"][0]["status"] = "ok".into();
            it["checks"][0]["finding"] = finding;
        }),
        ("another version", |it| it["schemaVersion"] = "v2".into()),
    ];
    for (what, spoil) in spoiled {
        let mut report = report.clone();
        spoil(&mut report);
        assert!(schema.check(&report).is_err(), "{what} is taken");
    }
}

/// What a report says of each check, without the times of this run.
fn said_of_checks(report: &Value) -> Vec<(Value, Value, Value)> {
    let checks = report["checks"].as_array().cloned().unwrap_or_default();
    let each = checks.into_iter().map(|check| {
        let code = check["finding"]["code"].clone();
        (check["id"].clone(), check["status"].clone(), code)
    });
    each.collect()
}

/// Unpacks what a bundle has of the node's tree.
fn unpack_tree(bundle: &Path, target: &Path) -> std::io::Result<()> {
    let packed = std::fs::File::open(bundle)?;
    tar::Archive::new(zstd::Decoder::new(packed)?).unpack(target)
}

#[test]
fn a_masked_bundle_of_each_healthy_node_is_diagnosed_like_the_node() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    for base in names(&Path::new(FOLDER).join("base")).expect("the bases are there") {
        let root = scratch.path().join(&base);
        write_base(&base, &root).expect("its layers are right");
        let bundle = scratch.path().join(format!("{base}.tar.zst"));
        let path = |path: &Path| path.to_str().expect("a plain path").to_owned();
        let arguments = [
            "diagnose",
            "--root",
            &path(&root),
            "--bundle",
            &path(&bundle),
        ];
        let ended = agent::run(&arguments);
        assert!(bundle.is_file(), "{base}: {}", ended.text());
        let unpacked = scratch.path().join(format!("{base}.unpacked"));
        unpack_tree(&bundle, &unpacked).expect("it can be unpacked");
        let (_, before) = diagnose(&root);
        let (_, after) = diagnose(&unpacked.join("node"));
        assert_eq!(said_of_checks(&before), said_of_checks(&after), "{base}");
    }
}
