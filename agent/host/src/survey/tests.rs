use super::*;
use quake_model::facts::{EntryKind, SURVEY_FILE, WantedFile, WantedPart};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const WANTED: &[WantedFile] = &[
    WantedFile {
        path: "/etc/*.conf",
        part: WantedPart::Text(16),
    },
    WantedFile {
        path: "/etc/key",
        part: WantedPart::Entry,
    },
];

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
    std::fs::write(path, text).expect("it can be written");
}

#[test]
fn texts_are_read_and_keys_are_only_looked_at() {
    let root = tempfile::tempdir().expect("a scratch directory");
    write(root.path(), "etc/a.conf", "a\n");
    write(root.path(), "etc/long.conf", "0123456789abcdefg");
    write(root.path(), "etc/key", "secret");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(root.path().join("etc/key"), mode).expect("it is ours");
    let survey = read_captured(root.path(), WANTED).expect("a tree");
    assert_eq!(survey.texts["/etc/a.conf"], Seen::Yes("a\n".into()));
    assert!(matches!(survey.texts["/etc/long.conf"], Seen::Failed(_)));
    assert!(!survey.texts.contains_key("/etc/key"));
    let key = &survey.entries["/etc/key"];
    assert_eq!((key.kind, key.mode, key.size), (EntryKind::File, 0o600, 6));
    assert!(!capture_text(&survey).contains("secret"));
}

#[test]
fn a_link_of_a_captured_tree_does_not_lead_out_of_it() {
    let root = tempfile::tempdir().expect("a scratch directory");
    write(root.path(), "etc/there.conf", "inside\n");
    symlink("/etc/there.conf", root.path().join("etc/in.conf")).expect("a link");
    symlink("/proc/version", root.path().join("etc/out.conf")).expect("a link");
    let survey = read_captured(root.path(), WANTED).expect("a tree");
    assert_eq!(survey.texts["/etc/in.conf"], Seen::Yes("inside\n".into()));
    assert!(!survey.texts.contains_key("/etc/out.conf"));
    let out = &survey.entries["/etc/out.conf"];
    assert_eq!(out.target.as_deref(), Some("/proc/version"));
}

#[test]
fn what_a_document_says_of_an_entry_stands() {
    let root = tempfile::tempdir().expect("a scratch directory");
    write(root.path(), "etc/key", "");
    let document = r#"{"entries": {"/etc/key": {"kind": "file", "mode": 256, "owner": {"uid": 7, "gid": 7}, "size": 9, "modified": 1}}}"#;
    write(root.path(), SURVEY_FILE, document);
    let survey = read_captured(root.path(), WANTED).expect("a tree");
    assert_eq!(
        (
            survey.entries["/etc/key"].mode,
            survey.entries["/etc/key"].size
        ),
        (256, 9)
    );
}

#[test]
fn a_document_of_another_form_is_refused_and_not_half_read() {
    let root = tempfile::tempdir().expect("a scratch directory");
    for text in ["{", "7", r#"{"schemaVersion": "quake-agent/survey/v9"}"#] {
        write(root.path(), SURVEY_FILE, text);
        let error = read_captured(root.path(), WANTED).expect_err("no survey");
        assert_eq!(error.condition, Condition::Malformed, "{text}");
    }
    let error = read_captured(&root.path().join("nowhere"), WANTED).expect_err("no directory");
    assert_eq!(error.condition, Condition::Missing);
}

#[test]
fn a_filesystem_is_counted_once() {
    let root = tempfile::tempdir().expect("a scratch directory");
    write(root.path(), "var/log/x", "");
    let spaces = read_spaces(root.path(), &["/", "/var/log", "/nowhere"]).expect("a look");
    assert_eq!(spaces.len(), 1);
    assert!(spaces[0].bytes >= spaces[0].bytes_free);
}

#[tokio::test]
async fn a_look_that_does_not_end_is_not_an_empty_one() {
    let limit = Duration::from_millis(50);
    let seen: Seen<()> = limited(limit, std::future::pending()).await;
    assert_eq!(seen, Seen::TimedOut(50));
}
