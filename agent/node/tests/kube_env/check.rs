//! Checking a file, whatever it is.

use crate::support::{cluster, group};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use quake_model::fault::{Code, Fault};
use quake_node::config::check;

const SCRIPT: &str = include_str!("../common/kops-1.15.txt");

fn codes(found: &[Fault]) -> Vec<Code> {
    found.iter().map(|fault| fault.code).collect()
}

#[test]
fn user_data_is_recognised_in_its_wrappings() {
    let mime = format!(
        "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/x-shellscript\n\n{SCRIPT}\n--b--\n"
    );
    for text in [
        SCRIPT.to_owned(),
        mime.clone(),
        STANDARD.encode(SCRIPT),
        STANDARD.encode(mime),
    ] {
        assert_eq!(check("x", text.as_bytes()), [], "{text}");
        let wrong = check("x", text.replace("nodes", "../n").as_bytes());
        let plain = text.contains("nodes");
        let wanted: &[Code] = if plain {
            &[Code::ConfigLocationUnusable]
        } else {
            &[]
        };
        assert_eq!(codes(&wrong), wanted, "{text}");
    }
}

#[test]
fn user_data_that_holds_nothing_is_one_finding() {
    let found = check("x", b"#!/bin/sh\ntrue\n");
    assert_eq!(codes(&found), [Code::ConfigUserDataUnusable]);
    assert_eq!(found[0].evidence_named("source"), Some("x"));
}

#[test]
fn objects_of_the_store_are_recognised_and_searched_whole() {
    let good = cluster("");
    assert_eq!(check("x", good.text.as_bytes()), []);
    let bad = group("Mster", "taintz: []\nkubelet: {logLevel: x}\n");
    let wanted = [
        Code::ConfigUnknownKey,
        Code::ConfigWrongType,
        Code::ConfigUnknownRole,
    ];
    assert_eq!(codes(&check("x", bad.text.as_bytes())), wanted);
}

#[test]
fn a_file_that_is_no_document_of_a_node_is_one_finding() {
    for text in [
        "kind: Deployment\napiVersion: apps/v1\n",
        "a: 1\n",
        "[]",
        "",
        "hello",
    ] {
        let codes: Vec<Code> = check("x", text.as_bytes()).iter().map(|f| f.code).collect();
        assert_eq!(codes, [Code::ConfigWrongType], "{text}");
    }
}

#[test]
fn the_findings_of_every_document_in_user_data_are_listed() {
    let text = SCRIPT
        .replace("docker:", "dockre:")
        .replace("kubelet: null", "kubelet: 1");
    let found = check("user-data", text.as_bytes());
    let seen: Vec<_> = found
        .iter()
        .map(|fault| {
            (
                fault.code,
                fault.evidence_named("source").unwrap_or_default(),
            )
        })
        .collect();
    let wanted = [
        (Code::ConfigUnknownKey, "user-data (cluster_spec.yaml)"),
        (Code::ConfigWrongType, "user-data (ig_spec.yaml)"),
    ];
    assert_eq!(seen, wanted);
}

proptest! {
    #[test]
    fn no_bytes_make_the_check_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = check("x", &bytes);
    }
}
