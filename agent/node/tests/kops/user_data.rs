//! The forms in which kops' user data carries the boot configuration, around the boot configurations of the corpus.

use crate::support::{base_name, boots, conformance, folders};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use quake_node::user_data::explain::explain;
use quake_node::user_data::find_documents;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A script as kops' is made up, without the download.
fn script(document: &str) -> String {
    format!(
        "#!/bin/bash\nset -o errexit\nNODEUP_URL_AMD64=https://a/nodeup,https://b/nodeup\n{document}\ndownload-release\n"
    )
}

fn here_document(kube_env: &str) -> String {
    script(&format!(
        "cat > conf/kube_env.yaml << '__EOF_KUBE_ENV'\n{kube_env}\n__EOF_KUBE_ENV\n"
    ))
}

fn packed(kube_env: &str) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(kube_env.as_bytes())
        .expect("memory takes it");
    let text = STANDARD.encode(encoder.finish().expect("memory takes it"));
    script(&format!(
        "echo \"{text}\" | base64 -d | gzip -d > conf/kube_env.yaml"
    ))
}

fn multipart(script: &str) -> String {
    format!(
        "Content-Type: multipart/mixed; boundary=\"MIMEBOUNDARY\"\nMIME-Version: 1.0\n\n--MIMEBOUNDARY\n\
         Content-Disposition: attachment; filename=\"nodeup.sh\"\nContent-Transfer-Encoding: 7bit\n\
         Content-Type: text/x-shellscript\nMime-Version: 1.0\n\n{script}\n--MIMEBOUNDARY\n\
         Content-Disposition: attachment; filename=\"extra.sh\"\nContent-Transfer-Encoding: 7bit\n\
         Content-Type: text/x-shellscript\nMime-Version: 1.0\n\n#!/bin/sh\ntrue\n\n--MIMEBOUNDARY--\n"
    )
}

#[test]
fn every_boot_configuration_is_found_in_every_form_of_user_data() {
    for boot in boots() {
        let text =
            fs::read_to_string(boot.folder.join("kube_env.yaml")).expect("the file is there");
        let kube_env = text.trim_end();
        let forms = [
            here_document(kube_env),
            packed(kube_env),
            multipart(&here_document(kube_env)),
            multipart(&packed(kube_env)),
        ];
        for form in forms {
            let found = find_documents(form.as_bytes());
            let found = found.unwrap_or_else(|fault| panic!("{}: {fault}", boot.name));
            assert_eq!(found.kube_env.trim_end(), kube_env, "{}", boot.name);
            let said = explain(form.as_bytes(), &|_| {
                Err("nothing is packed as a whole".into())
            });
            assert!(!said.is_broken(), "{}: {:?}", boot.name, said.problems);
            let reads = said.reads.expect("the agent reads it");
            assert!(boot.name.ends_with(&format!("/{}", reads.instance_group)));
        }
    }
}

/// The scripts below a directory.
fn scripts_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for inner in folders(folder) {
        let script = inner.join("nodeupscript.sh");
        found.extend(script.is_file().then_some(script));
        found.extend(scripts_below(&inner));
    }
    found
}

/// kops itself wrote these: Karpenter takes them from the state store, and gives them to instances as they are.
#[test]
fn scripts_that_kops_left_in_a_state_store_are_read_as_they_are() {
    let Some(store) = conformance("kops/cases/karpenter/statestore") else {
        return;
    };
    let scripts = scripts_below(&store);
    assert!(!scripts.is_empty(), "the case has some");
    for path in scripts {
        let script = fs::read(&path).expect("it is there");
        let found = find_documents(&script).expect("kops wrote it");
        let said = explain(&script, &|_| Err("it is plain".into()));
        assert_eq!(said.problems, [], "{}", path.display());
        assert!(found.kube_env.contains("NodeupConfigHash: "));
        let reads = said.reads.expect("the agent reads it");
        let group = path.parent().map(base_name);
        assert_eq!(Some(reads.instance_group), group);
        assert_eq!(said.fetches.len(), 2, "nodeup for each processor");
    }
}
