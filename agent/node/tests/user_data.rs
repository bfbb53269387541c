//! User data in every wrapping, and what is said of user data that holds nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use quake_model::fault::Code;
use quake_node::user_data::{UserDataDocuments, find_documents};

const SCRIPT: &str = include_str!("common/kops-1.15.txt");

const OTHER: &str = "#cloud-config\npackages: [jq]\n";

fn mime(boundary: &str, parts: &[(&str, &str, &str)]) -> String {
    let mut text = format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed;\n boundary=\"{boundary}\"\n\nignored\n"
    );
    for (kind, encoding, body) in parts {
        text.push_str(&format!(
            "--{boundary}\nContent-Type: {kind}; charset=\"us-ascii\"\nContent-Transfer-Encoding: {encoding}\n\n{body}\n"
        ));
    }
    text.push_str(&format!("--{boundary}--\n"));
    text
}

fn quoted_printable(text: &str) -> String {
    let escaped = text.replace('=', "=3D").replace('\'', "=27");
    escaped.replace("storage", "stor=\nage")
}

/// Base64 in lines, as mail has it.
fn folded(text: &str) -> String {
    let digits = STANDARD.encode(text).into_bytes();
    let lines = digits.chunks(76).map(String::from_utf8_lossy);
    lines.collect::<Vec<_>>().join("\n")
}

fn holds_all(found: &UserDataDocuments) -> bool {
    let spec = "docker:\n  storage: \"$HOME `x`\"\n\n";
    found.kube_env == "ConfigBase: s3://b/c\nInstanceGroupName: nodes\n"
        && found.cluster_spec.as_deref() == Some(spec)
        && found.ig_spec.as_deref() == Some("kubelet: null\n")
}

#[test]
fn the_documents_are_found_in_every_wrapping() {
    let base64 = |text: &str| STANDARD.encode(text);
    let script = "text/x-shellscript";
    let other = ("text/cloud-config", "7bit", OTHER);
    let plain = (script, "7bit", SCRIPT);
    let seven = mime("MIMEBOUNDARY", &[plain, other]);
    let turned = mime("==x==", &[other, plain]);
    let encoded = mime("b", &[(script, "base64", &folded(SCRIPT))]);
    let printable = quoted_printable(SCRIPT);
    let quoted = mime("b", &[(script, "quoted-printable", &printable)]);
    let nested = mime("a", &[("multipart/mixed; boundary=b", "7bit", &encoded)]);
    let windows = seven.replace('\n', "\r\n");
    for (name, text, wrappings) in [
        ("script", SCRIPT.to_owned(), ""),
        ("7bit", seven.clone(), "MIME message, "),
        ("another order", turned, "MIME message, "),
        ("base64 part", encoded, "MIME message, "),
        ("quoted-printable part", quoted, "MIME message, "),
        ("nested", nested, "MIME message, MIME message, "),
        ("CRLF", windows, "MIME message, "),
        ("base64 of a script", base64(SCRIPT), "base64, "),
        ("base64 in lines", folded(SCRIPT), "base64, "),
        ("base64 of MIME", base64(&seven), "base64, MIME message, "),
    ] {
        let found =
            find_documents(text.as_bytes()).unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
        assert!(holds_all(&found), "{name}: {found:?}");
        assert_eq!(found.form, format!("{wrappings}shell script"), "{name}");
    }
}

#[test]
fn here_documents_are_read_however_they_are_spelt() {
    for line in [
        "cat > kube_env.yaml << '__EOF_KUBE_ENV'",
        "cat > kube_env.yaml <<'__EOF_KUBE_ENV'",
        "cat >kube_env.yaml <<\"__EOF_KUBE_ENV\"",
        "  cat > \"/var/cache/kubernetes-install/kube_env.yaml\" << __EOF_KUBE_ENV",
        "cat << '__EOF_KUBE_ENV' > conf/kube_env.yaml",
        "cat > kube_env.yaml <<- '__EOF_KUBE_ENV'",
    ] {
        let text = SCRIPT.replace("cat > kube_env.yaml << '__EOF_KUBE_ENV'", line);
        let found =
            find_documents(text.as_bytes()).unwrap_or_else(|fault| panic!("{line}: {fault:?}"));
        assert!(holds_all(&found), "{line}");
    }
}

#[test]
fn user_data_without_the_document_is_refused_with_what_was_seen() {
    let start = "cat > kube_env.yaml << '__EOF_KUBE_ENV'";
    let shell = SCRIPT.replace(start, "cat > kube_env.yaml << __EOF_KUBE_ENV");
    let shell = shell.replace("s3://b/c", "s3://$BUCKET/c");
    let twice = format!("{SCRIPT}{}", SCRIPT.replace("nodes", "masters"));
    let cut = SCRIPT.split("InstanceGroupName").next().unwrap_or_default();
    for (text, form) in [
        ("", "nothing"),
        ("#!/bin/sh\necho hello\n", "script"),
        (OTHER, "cloud-config"),
        (
            mime("b", &[("text/cloud-config", "7bit", OTHER)]).as_str(),
            "MIME message",
        ),
        (&STANDARD.encode("#!/bin/sh\necho hello hello\n"), "base64"),
        (cut, "script"),
        (&shell, "script"),
        (&twice, "script"),
        (
            &SCRIPT.replace(start, "# cat > kube_env.yaml << '__EOF_KUBE_ENV'"),
            "script",
        ),
    ] {
        let fault = find_documents(text.as_bytes()).expect_err(text);
        assert_eq!(fault.code, Code::ConfigUserDataUnusable, "{text}");
        let size = text.len().to_string();
        assert_eq!(fault.evidence_named("size"), Some(size.as_str()), "{text}");
        assert_eq!(fault.evidence_named("form"), Some(form), "{text}");
    }
    let fault = find_documents(cut.as_bytes()).expect_err("it is cut");
    let line = cut.lines().count() + 1;
    assert_eq!(
        fault.evidence_named("line"),
        Some(line.to_string().as_str())
    );
    assert_eq!(fault.evidence_named("column"), Some("1"));
    let gzip = find_documents(b"\x1f\x8b\x08").expect_err("gzip is not taken off here");
    assert_eq!(gzip.evidence_named("form"), Some("gzip"));
}

#[test]
fn the_parts_seen_are_named() {
    let text = mime(
        "b",
        &[
            ("text/cloud-config", "7bit", OTHER),
            ("text/x-shellscript", "7bit", "#!/bin/sh"),
        ],
    );
    let fault = find_documents(text.as_bytes()).expect_err("no document");
    let parts = fault.evidence_named("parts").unwrap_or_default();
    assert!(
        parts.contains("text/cloud-config, ") && parts.contains("text/x-shellscript, "),
        "{parts}"
    );
}

#[test]
fn a_document_that_is_not_utf8_is_refused() {
    let mut bytes = SCRIPT.as_bytes().to_vec();
    let at = SCRIPT.find("s3://").expect("the base");
    bytes[at] = 0xff;
    let fault = find_documents(&bytes).expect_err("not UTF-8");
    assert_eq!(fault.code, Code::ConfigYamlSyntax);
}

proptest! {
    #[test]
    fn no_bytes_make_the_search_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = find_documents(&bytes);
    }

    #[test]
    fn no_message_makes_the_search_panic(
        text in "(Content-Type: |multipart/mixed; |boundary=b|\n|\r\n|--b|--|=3|cat > kube_env.yaml << |E|'|a| ){0,60}"
    ) {
        let _ = find_documents(text.as_bytes());
    }
}
