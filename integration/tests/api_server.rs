//! The stand-in of an API server, judged by a client of others: kubectl applies the add-ons of recorded clusters to it.

use quake_apisim::{Act, ApiServer, InjectedFault, Verb};
use quake_integration::api_server::{ApiStandIn, Client};
use quake_integration::ca::Ca;
use quake_integration::machine::program;
use quake_integration::real_api_server::RealApiServer;
use quake_integration::skip::{conformance, skipped, unless_missing};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Its kubectl is of 1.27 or later, which speaks with any of its version's neighbours.
const VERSION: &str = "v1.32.0";

/// kubectl, a stand-in over TLS, and a directory for its kubeconfig.
struct Bench {
    served: ApiStandIn,
    client: Client,
    folder: TempDir,
}

impl Bench {
    fn open() -> Option<Self> {
        if program("kubectl").is_none() || program("diff").is_none() {
            skipped("missing here: kubectl or diff");
            return None;
        }
        let ca = unless_missing(Ca::new())?;
        let served = unless_missing(ApiStandIn::by_tls(ApiServer::new(VERSION), ca))?;
        let client = served.client("/O=system:masters/CN=kubecfg");
        Some(Self {
            client: client.expect("a certificate"),
            served,
            folder: tempfile::tempdir().expect("a directory"),
        })
    }

    /// What kubectl says, and whether it is content.
    fn kubectl(&self, client: Option<&Client>, words: &[&str]) -> (bool, String) {
        let config = self.folder.path().join("kubeconfig");
        let mut text = self.served.kubeconfig(client);
        if client.is_none() {
            // It trusts the server, and shows nothing of itself.
            text = self.served.kubeconfig(Some(&self.client));
            let lines = text.lines().filter(|line| !line.contains("    client-"));
            text = lines
                .collect::<Vec<_>>()
                .join("\n")
                .replace("  user:\n", "  user: {token: nobody}\n");
        }
        std::fs::write(&config, text).expect("a file");
        let run = Command::new("kubectl")
            .env("HOME", self.folder.path())
            .env("KUBECONFIG", &config)
            .args(words)
            .output()
            .expect("kubectl runs");
        let said = [run.stdout, run.stderr].concat();
        (
            run.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    }

    fn applies(&self, manifest: &Path) -> (bool, String) {
        let manifest = manifest.to_str().expect("a plain name");
        let words = ["apply", "--server-side", "--validate=false", "-f", manifest];
        self.kubectl(Some(&self.client), &words)
    }

    fn writes(&self) -> usize {
        self.served
            .cluster(|cluster| cluster.journal().writes().len())
    }
}

/// The manifests of a recorded cluster's add-ons.
fn manifests(case: &str) -> Option<Vec<PathBuf>> {
    let store = conformance(&format!("kops/cases/{case}/statestore"))?;
    let (mut folders, mut found) = (vec![store], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a directory").flatten() {
            let path = entry.path();
            let is_manifest = path.components().any(|part| part.as_os_str() == "addons")
                && path.extension().is_some_and(|word| word == "yaml");
            if path.is_dir() {
                folders.push(path);
            } else if is_manifest && !path.ends_with("bootstrap-channel.yaml") {
                found.push(path);
            }
        }
    }
    found.sort();
    Some(found)
}

#[test]
fn kubectl_applies_the_addons_of_recorded_clusters_and_then_finds_no_difference() {
    for case in ["minimal-1.35", "ha", "privatecalico"] {
        let Some(manifests) = manifests(case) else {
            return;
        };
        let Some(bench) = Bench::open() else { return };
        for manifest in &manifests {
            let (is_content, said) = bench.applies(manifest);
            assert!(is_content, "{case} {}: {said}", manifest.display());
        }
        let wrote = bench.writes();
        assert!(wrote > 20, "{case}: {wrote} writes");
        for manifest in &manifests {
            let (is_content, said) = bench.applies(manifest);
            assert!(is_content, "{case} again {}: {said}", manifest.display());
            let named = manifest.to_str().expect("a plain name");
            let (is_same, said) =
                bench.kubectl(Some(&bench.client), &["diff", "--server-side", "-f", named]);
            assert!(is_same, "{case} differs {named}: {said}");
        }
        assert_eq!(
            bench.writes(),
            wrote,
            "{case}: the second time nothing is written"
        );
    }
}

#[test]
fn kubectl_reads_changes_and_deletes() {
    let Some(bench) = Bench::open() else { return };
    let kubectl = |words: &[&str]| bench.kubectl(Some(&bench.client), words);
    let (_, said) = kubectl(&["get", "namespaces", "-o", "name"]);
    assert!(said.contains("namespace/kube-system"), "{said}");
    let (is_content, said) = kubectl(&["annotate", "namespace", "kube-system", "a=b"]);
    assert!(is_content, "{said}");
    let at = "jsonpath={.metadata.annotations.a}";
    assert_eq!(
        kubectl(&["get", "namespace", "kube-system", "-o", at]).1,
        "b"
    );
    let (is_content, said) = kubectl(&["delete", "namespace", "kube-public"]);
    assert!(is_content, "{said}");
    let (_, said) = kubectl(&["get", "namespace", "kube-public"]);
    let words = "Error from server (NotFound): namespaces \"kube-public\" not found";
    assert!(said.contains(words), "{said}");
}

#[test]
fn kubectl_is_told_who_holds_a_field_and_what_a_webhook_says() {
    let Some(bench) = Bench::open() else { return };
    let manifest = bench.folder.path().join("config-map.json");
    let config_map = |value: &str| {
        let text = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a","namespace":"default"}},"data":{{"x":"{value}"}}}}"#
        );
        std::fs::write(&manifest, text).expect("a file");
    };
    config_map("1");
    assert!(bench.applies(&manifest).0);
    let named = manifest.to_str().expect("a plain name");
    config_map("2");
    let other = [
        "apply",
        "--server-side",
        "--validate=false",
        "--field-manager=other",
        "-f",
        named,
    ];
    let (is_content, said) = bench.kubectl(Some(&bench.client), &other);
    assert!(!is_content);
    let words = "Apply failed with 1 conflict: conflict with \"kubectl\": .data.x";
    assert!(said.contains(words), "{said}");
    let deny = Act::Deny {
        webhook: "deny.example.com".to_owned(),
        code: 403,
        why: "not here".to_owned(),
    };
    let inject = InjectedFault::new(deny).verb(Verb::Apply);
    bench.served.cluster(|cluster| cluster.inject(inject));
    let (_, said) = bench.applies(&manifest);
    let words = "admission webhook \"deny.example.com\" denied the request: not here";
    assert!(said.contains(words), "{said}");
}

#[test]
fn who_shows_no_certificate_is_nobody_and_a_server_that_is_down_comes_back() {
    let Some(bench) = Bench::open() else { return };
    let words = ["get", "namespaces", "-o", "name"];
    let (is_content, said) = bench.kubectl(None, &words);
    assert!(
        !is_content && said.contains("You must be logged in"),
        "{said}"
    );
    bench.served.take_down();
    let (is_content, said) = bench.kubectl(Some(&bench.client), &words);
    assert!(!is_content && said.contains("refused"), "{said}");
    bench.served.bring_back().expect("its port is free");
    let (is_content, said) = bench.kubectl(Some(&bench.client), &words);
    assert!(is_content, "{said}");
}

#[test]
fn kubectl_watches() {
    let Some(bench) = Bench::open() else { return };
    let words = [
        "get",
        "namespaces",
        "--watch-only",
        "--request-timeout=2s",
        "-o",
        "name",
    ];
    let seen = std::thread::scope(|scope| {
        let watching = scope.spawn(|| bench.kubectl(Some(&bench.client), &words).1);
        let begun =
            quake_integration::waiting::wait_until(std::time::Duration::from_secs(15), || {
                bench
                    .served
                    .cluster(|cluster| cluster.journal().calls_of(Verb::Watch) > 0)
            });
        assert!(begun, "the watch begins");
        let made = quake_apisim::Request::new("PATCH", "/api/v1/namespaces/default").with_body(
            "application/merge-patch+json",
            &serde_json::json!({ "metadata": { "annotations": { "seen": "yes" } } }),
        );
        let now = quake_model::time::Timestamp(1_800_000_000_000);
        bench.served.cluster(|cluster| cluster.answer(&made, now));
        watching.join().expect("kubectl ends")
    });
    assert!(seen.contains("namespace/default"), "{seen}");
}

#[test]
fn a_real_server_takes_the_addons_as_the_stand_in_does() {
    let Some(server) = unless_missing(RealApiServer::start()) else {
        return;
    };
    if program("kubectl").is_none() {
        skipped("missing here: kubectl");
        return;
    }
    let Some(manifests) = manifests("minimal-1.35") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a directory");
    let config = folder.path().join("kubeconfig");
    std::fs::write(&config, server.kubeconfig()).expect("a file");
    let kubectl = |words: &[&str]| {
        let mut command = Command::new("kubectl");
        command
            .env("HOME", folder.path())
            .env("KUBECONFIG", &config);
        let run = command.args(words).output().expect("kubectl runs");
        let said = [run.stdout, run.stderr].concat();
        (
            run.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    };
    let longest = std::time::Duration::from_secs(60);
    let is_ready = || kubectl(&["get", "namespace", "kube-system"]).0;
    assert!(quake_integration::waiting::wait_until(longest, is_ready));
    for manifest in &manifests {
        let named = manifest.to_str().expect("a plain name");
        let apply = ["apply", "--server-side", "-f", named];
        let (is_content, said) = kubectl(&apply);
        assert!(is_content, "{named}: {said}");
        let (is_same, said) = kubectl(&["diff", "--server-side", "-f", named]);
        assert!(is_same, "{named}: {said}");
    }
}
