//! Bundles as whoever unpacks them finds them.

use super::age::tests::{SECRET, decrypt};
use super::{Bundle, Existing, Recipients, Redaction};
use quake_integration::planted::planted_secrets;
use quake_model::ports::Condition;
use quake_model::redact::KnownSecrets;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

fn unpack(bytes: &[u8]) -> BTreeMap<String, String> {
    let mut archive = tar::Archive::new(zstd::Decoder::new(bytes).unwrap());
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        assert_eq!(entry.header().mtime().unwrap(), 0);
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (entry.path().unwrap().display().to_string(), text)
    });
    entries.collect()
}

fn json(files: &BTreeMap<String, String>, path: &str) -> Value {
    serde_json::from_str(&files[path]).unwrap()
}

#[test]
fn the_same_files_give_the_same_bytes_in_whatever_order_they_come() {
    let files = [("b/two.txt", "2"), ("a.txt", "1"), ("b/one.json", "{}")];
    let pack = |order: &[usize]| {
        let mut bundle = Bundle::new(Redaction::Masked, KnownSecrets::default());
        bundle.add_failed("c.txt", "not there");
        for at in order {
            bundle.add(files[*at].0, files[*at].1.as_bytes());
        }
        bundle.pack().unwrap()
    };
    assert_eq!(pack(&[0, 1, 2]), pack(&[2, 0, 1]));
}

#[test]
fn the_manifest_has_the_digest_of_every_other_file() {
    let mut bundle = Bundle::new(Redaction::Masked, KnownSecrets::default());
    bundle.add("a.txt", b"1");
    let files = unpack(&bundle.pack().unwrap());
    let manifest = json(&files, "manifest.json");
    let paths: Vec<&str> = manifest["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["a.txt", "errors.json", "redaction.json"]);
    let one = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";
    assert_eq!(
        (
            &manifest["files"][0]["sha256"],
            &manifest["files"][0]["size"]
        ),
        (&one.into(), &1.into())
    );
}

#[test]
fn no_planted_secret_is_in_a_bundle_and_its_report_names_rules_alone() {
    let planted = planted_secrets();
    let mut bundle = Bundle::new(Redaction::Masked, KnownSecrets::default());
    for (number, planted) in planted.iter().enumerate() {
        bundle.add(&format!("node/{number}.yaml"), planted.text.as_bytes());
        let lines = serde_json::json!({"message": planted.text}).to_string();
        bundle.add(
            &format!("{number}.jsonl"),
            format!("{lines}\n{lines}\n").as_bytes(),
        );
        bundle.add_failed(&format!("{number}.txt"), &planted.text);
    }
    let files = unpack(&bundle.pack().unwrap());
    let all: String = files
        .iter()
        .map(|(path, text)| format!("{path}\n{text}\n"))
        .collect();
    let seen: Vec<&str> = planted
        .iter()
        .filter(|planted| planted.is_seen_in(&all))
        .map(|planted| planted.name.as_str())
        .collect();
    assert!(seen.is_empty(), "{seen:?}");
    let report = json(&files, "redaction.json");
    assert!(report["redacted"] == true && report["total"].as_u64() > Some(1000));
    assert!(report["byRule"]["private-key"].as_u64() > Some(1));
    let kinds = report["kinds"].as_array().unwrap();
    assert!(
        kinds
            .iter()
            .any(|kind| kind["name"] == "private-key" && kind["masked"] != 0)
    );
    assert!(report["note"].as_str().unwrap().contains("may remain"));
    assert_eq!(report["byFile"]["node/0.yaml"]["aws-secret"], 1, "{report}");
}

#[test]
fn what_one_file_shows_to_be_a_secret_is_masked_in_all_and_in_their_names() {
    let mut bundle = Bundle::new(Redaction::Masked, KnownSecrets::default());
    bundle.add("node/a.log", b"relay said Sommer2024x twice\n");
    bundle.add("node/b.yaml", b"password: Sommer2024x\nsize: 3\n");
    bundle.add("node/Sommer2024x.json", b"{\"note\": \"Sommer2024x\"}");
    bundle.add_failed("node/c", "no file Sommer2024x");
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.tar.zst");
    let none = Recipients::default();
    bundle.write(&target, Existing::Keep, &none).unwrap();
    let files = unpack(&std::fs::read(&target).unwrap());
    assert_eq!(files["node/a.log"], "relay said *** twice\n");
    assert_eq!(json(&files, "node/***.json")["note"], "***");
    assert!(files["errors.json"].contains("no file ***"));
    let report = json(&files, "redaction.json");
    assert_eq!(report["byFile"]["node/a.log"]["masked-elsewhere"], 1);
    let all: Vec<&String> = files.values().chain(files.keys()).collect();
    assert!(all.iter().all(|text| !text.contains("Sommer2024x")));
}

#[test]
fn a_masked_document_can_still_be_read() {
    let mut bundle = Bundle::new(Redaction::Masked, KnownSecrets::default());
    let number =
        br#"{"token": 123456, "list": [{"password": "a\"b", "port": 1}], "x": "token: y"}"#;
    bundle.add("a.json", number);
    bundle.add(
        "b.yaml",
        b"a: 1\ntoken: some words # why\nsecret: |\n  x\n  y\nb: 2\n",
    );
    let files = unpack(&bundle.pack().unwrap());
    let read = json(&files, "a.json");
    assert_eq!(
        (&read["token"], &read["list"][0]["port"]),
        (&"***".into(), &1.into())
    );
    assert_eq!(read["list"][0]["password"], "***");
    assert_eq!(
        files["b.yaml"],
        "a: 1\ntoken: \"***\" # why\nsecret: \"***\"\nb: 2\n"
    );
}

#[test]
fn a_secret_of_several_lines_is_masked_where_a_document_is_masked_value_by_value() {
    let begin = ["-----BEGIN PRIVATE", "KEY-----"].join(" ");
    let end = ["-----END PRIVATE", "KEY-----"].join(" ");
    let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    // A number that is masked is no number any more: such a document is masked value by value.
    let text =
        serde_json::json!({"password": 48_151_623, "lines": [begin, key, end, "all is well"]});
    let mut bundle = Bundle::new(Redaction::Masked, KnownSecrets::default());
    bundle.add("survey.json", text.to_string().as_bytes());
    let files = unpack(&bundle.pack().unwrap());
    let masked = &files["survey.json"];
    assert!(!masked.contains(key), "{masked}");
    let read = json(&files, "survey.json");
    assert_eq!(
        (&read["password"], &read["lines"][3]),
        (&"***".into(), &"all is well".into())
    );
}

#[test]
fn variables_of_other_services_are_masked_whole_and_ours_stay() {
    let mut bundle = Bundle::new(Redaction::Masked, KnownSecrets::default());
    bundle.add("node/etc/environment", b"PATH=/bin\nSETTING=words\n");
    bundle.add(
        "node/etc/systemd/system/other.service",
        b"[Service]\nEnvironment=\"SETTING=words\"\n",
    );
    bundle.add("node/etc/sysconfig/kubelet", b"DAEMON_ARGS=\"--v=2\"\n");
    let files = unpack(&bundle.pack().unwrap());
    assert_eq!(files["node/etc/environment"], "PATH=/bin\nSETTING=***\n");
    assert_eq!(
        files["node/etc/systemd/system/other.service"],
        "[Service]\nEnvironment=\"SETTING=***\"\n"
    );
    assert_eq!(
        files["node/etc/sysconfig/kubelet"],
        "DAEMON_ARGS=\"--v=2\"\n"
    );
}

#[test]
fn what_is_no_text_stays_out_and_is_told() {
    let mut bundle = Bundle::new(Redaction::Masked, KnownSecrets::default());
    bundle.add("core", &[0xff, 0xfe, 0]);
    let files = unpack(&bundle.pack().unwrap());
    assert!(!files.contains_key("core"));
    let errors = json(&files, "errors.json");
    let error = &errors["errors"][0];
    assert!(
        error["path"] == "core" && error["inBundle"] == false,
        "{errors}"
    );
    assert!(
        error["why"]
            .as_str()
            .unwrap()
            .starts_with("3 bytes that are no text"),
        "{errors}"
    );
}

#[test]
fn asked_for_as_it_is_a_file_is_as_it_is_and_the_report_says_so() {
    let mut bundle = Bundle::new(Redaction::AsIs, KnownSecrets::default());
    bundle.add("a.txt", b"password=hunter2");
    let files = unpack(&bundle.pack().unwrap());
    assert_eq!(files["a.txt"], "password=hunter2");
    assert_eq!(json(&files, "redaction.json")["redacted"], false);
}

#[test]
fn a_path_never_leads_out_of_the_folder_it_is_unpacked_in() {
    let mut bundle = Bundle::new(Redaction::Masked, KnownSecrets::default());
    for path in [
        "/etc/x",
        "../x",
        "a/../../x",
        "a//b",
        "",
        "a\nb",
        "manifest.json",
    ] {
        bundle.add(path, b"x");
    }
    assert!(bundle.is_empty());
    let files = unpack(&bundle.pack().unwrap());
    assert_eq!(
        json(&files, "errors.json")["errors"]
            .as_array()
            .unwrap()
            .len(),
        7
    );
}

fn small() -> Bundle {
    let mut bundle = Bundle::new(Redaction::Masked, KnownSecrets::default());
    bundle.add("a.txt", b"1");
    bundle
}

#[test]
fn a_bundle_is_its_owners_alone_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.tar.zst");
    let written = small()
        .write(&target, Existing::Keep, &Recipients::default())
        .unwrap();
    let found = target.metadata().unwrap();
    assert_eq!(
        (found.permissions().mode() & 0o777, found.len()),
        (0o600, written.bytes)
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_is_in_the_way_stays_unless_it_is_asked_to_go() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.tar.zst");
    std::fs::write(&target, "mine").unwrap();
    let everybody = Recipients::default();
    let error = small()
        .write(&target, Existing::Keep, &everybody)
        .unwrap_err();
    assert_eq!(error.condition, Condition::Occupied);
    assert_eq!(std::fs::read(&target).unwrap(), b"mine");
    small()
        .write(&target, Existing::Replace, &everybody)
        .unwrap();
    assert_eq!(unpack(&std::fs::read(&target).unwrap())["a.txt"], "1");
    assert_eq!(
        target.metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn a_link_in_the_way_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.tar.zst");
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &target).unwrap();
    for existing in [Existing::Keep, Existing::Replace] {
        let error = small()
            .write(&target, existing, &Recipients::default())
            .unwrap_err();
        assert_eq!(error.condition, Condition::Occupied);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_bundle_for_a_recipient_is_read_with_that_key_alone() {
    // The public key of the tests' secret key, as age writes it.
    let key = "age1zwlyl6h27gzv0lfntr7fcqrjrzqazap8sy5zylkxwneh7llf0dksu37mwt".to_owned();
    let recipients = Recipients::parse(&[key]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.tar.zst.age");
    small().write(&target, Existing::Keep, &recipients).unwrap();
    let sealed = std::fs::read(&target).unwrap();
    assert!(sealed.starts_with(b"age-encryption.org/v1\n-> X25519 "));
    assert_eq!(decrypt(&sealed, &[9; 32]), None);
    assert_eq!(unpack(&decrypt(&sealed, &SECRET).unwrap())["a.txt"], "1");
}

#[test]
fn what_is_no_public_key_is_refused_and_not_shown() {
    let secret = format!("AGE-SECRET-KEY-1{}", "Q".repeat(58));
    for wrong in [secret.as_str(), "age1", "", "age1qqqq", "ssh-ed25519 AAAA"] {
        let error = Recipients::parse(&[wrong.to_owned()]).unwrap_err();
        assert_eq!(error.summary, "recipient 1 of 1 is no public key of age");
    }
}
