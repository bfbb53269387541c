//! What is said of user data in every form, and of user data that was damaged on its way.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use proptest::prelude::*;
use quake_model::digest::{Algorithm, Digest};
use quake_node::user_data::explain::{Explanation, Weight, explain};
use quake_node::user_data::render::{Delivery, Form, render};
use quake_node::user_data::{LIMIT_BYTES, find_documents};
use std::io::Read;

const KUBE_ENV: &str = "Assets:\n- 359c1f30d1aa90ba25041a702a6330da30bf99a0b117087a9b979bbd45029aae@https://a/kubelet\nClusterName: c.example\nConfigBase: s3://b/c.example\nInstanceGroupName: nodes\n";
const FORMS: [Form; 3] = [Form::Script, Form::Mime, Form::CloudConfig];

fn rendered(form: Form, kube_env: &str) -> String {
    let digest = |digit: &str| Digest::new(Algorithm::Sha256, &digit.repeat(64)).ok();
    let delivery = Delivery {
        urls: vec![
            "s3://releases/quake-agent-{arch}".to_owned(),
            "https://m/x-{arch}?version=1".to_owned(),
        ],
        amd64: digest("a"),
        arm64: digest("b"),
        region: None,
        documents: vec![("kube_env.yaml".to_owned(), kube_env.to_owned())],
    };
    render(&delivery, form).expect("a good delivery")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut encoder = GzEncoder::new(bytes, Compression::best());
    encoder.read_to_end(&mut packed).expect("memory takes it");
    packed
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut unpacked = Vec::new();
    let read = GzDecoder::new(bytes).read_to_end(&mut unpacked);
    read.map(|_| unpacked).map_err(|error| error.to_string())
}

fn explained(bytes: &[u8]) -> Explanation {
    explain(bytes, &gunzip)
}

/// What is wrong for certain, joined.
fn wrong(said: &Explanation) -> String {
    let wrong = said
        .problems
        .iter()
        .filter(|problem| problem.weight == Weight::Wrong);
    let whats: Vec<&str> = wrong.map(|problem| problem.what.as_str()).collect();
    whats.join("; ")
}

#[test]
fn the_agent_finds_its_document_in_every_form_that_is_rendered() {
    for (form, wrapped) in FORMS.into_iter().zip([
        "shell script",
        "MIME message, shell script",
        "cloud-config, shell script",
    ]) {
        let text = rendered(form, KUBE_ENV);
        for (name, bytes) in [
            ("as it is", text.clone().into_bytes()),
            ("in base64", STANDARD.encode(&text).into_bytes()),
            ("with CR LF", text.replace('\n', "\r\n").into_bytes()),
        ] {
            let found = find_documents(&bytes).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            let read = found.kube_env.replace('\r', "");
            assert_eq!(read, KUBE_ENV, "{form:?} {name}");
            assert!(
                found.form.ends_with(wrapped),
                "{form:?} {name}: {}",
                found.form
            );
        }
    }
}

#[test]
fn a_document_is_found_however_a_cloud_config_writes_it() {
    let text = |file: &str| format!("#cloud-config\npackages: [jq]\nwrite_files:\n{file}");
    let base64 = STANDARD.encode(KUBE_ENV);
    let block = KUBE_ENV.replace('\n', "\n    ");
    for file in [
        format!(
            "- path: /etc/x/kube_env.yaml\n  content: |\n    {}\n",
            block.trim_end()
        ),
        format!("- path: /kube_env.yaml\n  encoding: b64\n  content: {base64}\n"),
        format!("- {{encoding: base64, content: {base64}, path: kube_env.yaml}}\n"),
    ] {
        let found = find_documents(text(&file).as_bytes());
        let found = found.unwrap_or_else(|fault| panic!("{file}: {fault}"));
        assert_eq!(
            (found.kube_env.as_str(), found.form.as_str()),
            (KUBE_ENV, "cloud-config")
        );
    }
}

#[test]
fn a_cloud_config_that_cannot_be_read_does_not_hide_the_script_beside_it() {
    let broken = "#cloud-config\na: [\n";
    let message = format!(
        "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/cloud-config\n\n{broken}\n--b\n\
         Content-Type: text/x-shellscript\n\n{}\n--b--\n",
        rendered(Form::Script, KUBE_ENV)
    );
    let found = find_documents(message.as_bytes()).expect("the script is whole");
    assert_eq!(found.kube_env, KUBE_ENV);
    let alone = find_documents(broken.as_bytes()).expect_err("nothing is in it");
    let parts = alone.evidence_named("parts").unwrap_or_default();
    assert!(
        parts.contains("line ") && parts.contains("column "),
        "{parts}"
    );
    assert!(wrong(&explained(message.as_bytes())).contains("config.yaml-syntax"));
}

#[test]
fn every_form_is_explained_without_a_complaint() {
    for form in FORMS {
        let text = rendered(form, KUBE_ENV);
        for bytes in [text.clone().into_bytes(), gzip(text.as_bytes())] {
            let said = explained(&bytes);
            assert_eq!(said.problems, [], "{form:?}");
            let last = said.layers.last().map(|layer| layer.form.as_str());
            assert_eq!(last, Some("shell script that delivers quake-agent"));
            let reads = said.reads.expect("the agent reads it");
            assert_eq!(reads.instance_group, "nodes");
            assert_eq!(
                (reads.config_base.as_str(), reads.assets),
                ("s3://b/c.example", Some(1))
            );
            let names: Vec<&str> = said
                .fetches
                .iter()
                .map(|fetch| fetch.name.as_str())
                .collect();
            assert_eq!(names, ["quake-agent for amd64", "quake-agent for arm64"]);
            let urls = ["s3://releases/quake-agent-arm64", "https://m/x-arm64"];
            assert_eq!(said.fetches[1].urls, urls);
        }
    }
}

/// The part of `text` before `end`.
fn cut(text: &str, end: &str) -> Vec<u8> {
    let (before, _) = text.split_once(end).expect("it is there");
    before.as_bytes().to_vec()
}

fn assert_wrong(name: &str, bytes: &[u8], expected: &str) {
    let said = explained(bytes);
    let found = wrong(&said);
    assert!(
        said.is_broken() && found.contains(expected),
        "{name}: {found}"
    );
}

#[test]
fn what_happened_to_a_script_on_its_way_is_named() {
    let script = rendered(Form::Script, KUBE_ENV);
    let changed = |from: &str, to: &str| script.replace(from, to).into_bytes();
    let large = format!("{script}# {}\n", "x".repeat(LIMIT_BYTES));
    let missing = "line 10 begins (__EOF_KUBE_ENV is missing)";
    let last = "its last line";
    for (name, bytes, expected) in [
        ("no shebang", changed("#!/bin/sh\n", ""), "no `#!`"),
        ("CR LF", changed("\n", "\r\n"), "CR LF"),
        (
            "a blank line",
            [b"\n", script.as_bytes()].concat(),
            "before its first `#`",
        ),
        ("cut in a document", cut(&script, "InstanceGroup"), missing),
        ("cut in its code", cut(&script, "chmod 755"), last),
        // Behind the name of the function that its last line calls.
        ("cut behind a name", cut(&script, "() {\n  umask"), last),
        ("cut at its end", cut(&script, "\ndeliver\n"), last),
        ("too large", large.into_bytes(), "EC2 takes 16384"),
    ] {
        assert_wrong(name, &bytes, expected);
    }
}

#[test]
fn what_happened_to_a_wrapper_on_its_way_is_named() {
    let mime = rendered(Form::Mime, KUBE_ENV);
    let cloud = rendered(Form::CloudConfig, KUBE_ENV);
    let packed = gzip(mime.as_bytes());
    let twice = STANDARD.encode(STANDARD.encode(&mime));
    let half = &packed[..packed.len() / 2];
    let short = cut(&mime, "--==quake-agent==--");
    let unbound = mime.replace("boundary", "bound");
    let marked = format!("\u{feff}{cloud}");
    let broken = cloud.replace("runcmd:", "runcmd: [");
    for (name, bytes, expected) in [
        ("nothing", &b""[..], "it is empty"),
        ("bytes", &[0xff, 0xfe, 0, 1], "neither text nor gzip"),
        ("gzip", half, "gzip cannot be unpacked"),
        ("base64", twice.as_bytes(), "base64 twice"),
        ("message", &short, "MIME message is cut short"),
        ("boundary", unbound.as_bytes(), "no boundary"),
        ("byte order mark", marked.as_bytes(), "before its first `#`"),
        ("YAML", broken.as_bytes(), "config.yaml-syntax"),
        ("cloud-config", &cut(&cloud, "runcmd:"), "does not run it"),
    ] {
        assert_wrong(name, bytes, expected);
    }
}

#[test]
fn what_is_wrong_with_a_document_is_named_with_its_place() {
    let script = |kube_env| rendered(Form::Script, kube_env).into_bytes();
    let place = "kube_env.yaml line 1, column 13";
    assert_wrong("YAML", &script("ConfigBase: [\n"), place);
    let missing = "InstanceGroupName is not given";
    assert_wrong("a key", &script("ConfigBase: s3://b/c\n"), missing);
    assert_wrong("alone", KUBE_ENV.as_bytes(), "bare kube_env.yaml");
    let other = b"#!/bin/sh\necho hello\n";
    assert_wrong("none", other, "holds no kube_env.yaml");
}

#[test]
fn what_may_be_meant_is_no_error() {
    let script = rendered(Form::Script, KUBE_ENV);
    let near = format!("#!/bin/sh\n#{}{script}", "x".repeat(11_000));
    let unpinned = rendered(Form::Script, "ConfigBase: s3://b/c\nInstanceGroupName: n\n");
    let unknown = rendered(Form::Script, &format!("{KUBE_ENV}Colour: red\n"));
    for (bytes, expected) in [
        (STANDARD.encode(&script), "it is base64"),
        (near, "of the 16384 bytes"),
        (unpinned, "it pins no assets"),
        (unknown, "config.unknown-key"),
    ] {
        let said = explained(bytes.as_bytes());
        assert_eq!(wrong(&said), "", "{expected}");
        let whats: Vec<&str> = said
            .problems
            .iter()
            .map(|problem| problem.what.as_str())
            .collect();
        assert!(whats.join("; ").contains(expected), "{whats:?}");
    }
}

#[test]
fn the_size_that_counts_is_that_before_base64() {
    let script = rendered(Form::Script, KUBE_ENV);
    let said = explained(STANDARD.encode(&script).as_bytes());
    assert_eq!(said.launch_bytes, script.len());
    assert!(said.size_bytes > script.len());
}

#[test]
fn the_scripts_of_kops_are_told_apart() {
    let old = "#!/bin/bash\nNODEUP_URL=https://h/kops/1.12.3/linux/amd64/nodeup\nNODEUP_HASH=abc\ncat > kube_env.yaml << '__EOF_KUBE_ENV'\nConfigBase: s3://b/c\nInstanceGroupName: n\n__EOF_KUBE_ENV\ndownload-release\n";
    let said = explained(old.as_bytes());
    assert_eq!(said.layers[0].form, "shell script of kops 1.8 to 1.18");
    assert_eq!(
        said.fetches[0].urls,
        ["https://h/kops/1.12.3/linux/amd64/nodeup"]
    );
    assert_eq!(said.fetches[0].digest.as_deref(), Some("abc"));
    assert!(said.reads.is_some() && !said.is_broken());
    let new = "#!/bin/bash\nNODEUP_URL_AMD64=https://h/a,https://h/b\nNODEUP_HASH_AMD64=abc\ncat > conf/kube_env.yaml << '__EOF_KUBE_ENV'\nCloudProvider: aws\nClusterName: c\nConfigBase: s3://b/c\nInstanceGroupName: n\nInstanceGroupRole: Node\nNodeupConfigHash: x\n__EOF_KUBE_ENV\n";
    let said = explained(new.as_bytes());
    assert!(
        said.layers[0].form.contains("1.19 or newer"),
        "{:?}",
        said.layers
    );
    assert_eq!(said.fetches[0].urls, ["https://h/a", "https://h/b"]);
    let reads = said.reads.as_ref().expect("the agent reads it");
    assert_eq!(
        (reads.config_base.as_str(), reads.assets),
        ("s3://b/c", None)
    );
    assert!(!said.is_broken(), "{:?}", said.problems);
    let packed = "#!/bin/bash\nNODEUP_URL_AMD64=https://h/a\necho \"H4sI\" | base64 -d | gzip -d > conf/kube_env.yaml\n";
    let said = explained(packed.as_bytes());
    assert!(
        wrong(&said).contains("is not gzip, or is cut short"),
        "{:?}",
        said.problems
    );
}

#[test]
fn nothing_secret_is_repeated() {
    let secrets = [
        "AKIAIOSFODNN7EXAMPLE",
        "plantedsignature",
        "plantedpassword",
        "MIIplantedkey",
    ];
    let planted = format!(
        "AWS_ACCESS_KEY_ID={}\nNODEUP_URL=https://u:plantedpassword@h/x?X-Amz-Signature=plantedsignature\n-----BEGIN RSA PRIVATE KEY-----\nMIIplantedkey\n-----END RSA PRIVATE KEY-----\n",
        secrets[0]
    );
    let kube_env = format!("{KUBE_ENV}Password: plantedpassword\n");
    for text in [
        format!("#!/bin/sh\n{planted}"),
        format!("{planted}\nset -e\n"),
        format!("{}{planted}", rendered(Form::Script, &kube_env)),
        format!(
            "#cloud-config\nwrite_files:\n- path: /x\n  content: {}\n",
            secrets[0]
        ),
        format!("#cloud-config\na: *{}\n", secrets[0]),
        format!(
            "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Transfer-Encoding: base64\n\n{planted}"
        ),
    ] {
        let said = format!("{:?}", explained(text.as_bytes()));
        for secret in secrets {
            assert!(!said.contains(secret), "{secret} in {said}");
        }
    }
    let said = explained(format!("#!/bin/sh\n{planted}").as_bytes());
    assert!(format!("{:?}", said.problems).contains("looks like a credential"));
}

/// Cuts a form at every place: what is left may happen to end as the whole does, which one place of thousands shows.
fn assert_no_cut_goes_unnoticed(form: Form) {
    let text = rendered(form, KUBE_ENV);
    for at in 0..text.trim_end().len() {
        let said = explained(&text.as_bytes()[..at]);
        assert!(said.is_broken(), "{form:?} cut at {at}: {said:?}");
    }
}

#[test]
fn no_cut_goes_unnoticed() {
    std::thread::scope(|scope| {
        for form in FORMS {
            scope.spawn(move || assert_no_cut_goes_unnoticed(form));
        }
    });
}

proptest! {
    #[test]
    fn no_bytes_make_the_explanation_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = explained(&bytes);
    }
}
