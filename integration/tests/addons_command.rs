//! `addons` against a stand-in for the API server: what the channels of real state stores want is listed, planned, applied,
//! and then held; what changes is shown field by field, and what fails is named with its exit status.

use quake_apisim::ApiServer;
use quake_integration::agent::{self, Ended};
use quake_integration::api_server::ApiStandIn;
use quake_integration::authority::Authority;
use quake_integration::skip::{conformance, unless_missing};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A cluster without add-ons, and a copy of the folder with its channel.
struct Ground {
    folder: TempDir,
    served: ApiStandIn,
}

/// The clusters, and where each has its add-ons.
const CLUSTERS: [(&str, &str); 3] = [
    ("minimal-1.35", "tests/minimal.example.com"),
    ("ha", "tests/ha.example.com"),
    (
        "privatecalico",
        "clusters.example.com/privatecalico.example.com",
    ),
];

impl Ground {
    fn make(cluster: &str, store: &str) -> Option<Self> {
        let cases = conformance("kops/cases")?;
        let addons = cases
            .join(cluster)
            .join("statestore")
            .join(store)
            .join("addons");
        let authority = Authority::new();
        let served = authority
            .and_then(|authority| ApiStandIn::by_tls(ApiServer::new("v1.35.0"), authority));
        let served = unless_missing(served)?;
        let client = served
            .client("/O=system:masters/CN=kops")
            .expect("it speaks TLS");
        let ground = Self {
            folder: tempfile::tempdir().expect("a temporary directory"),
            served,
        };
        copy(&addons, &ground.at("addons"));
        let kubeconfig = ground.served.kubeconfig(Some(&client));
        std::fs::write(ground.at("kubeconfig"), kubeconfig).expect("the folder is ours");
        Some(ground)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Ended {
        let (kubeconfig, channel) = (
            self.at("kubeconfig"),
            self.at("addons/bootstrap-channel.yaml"),
        );
        let (kubeconfig, channel) = (kubeconfig.to_string_lossy(), channel.to_string_lossy());
        let place = ["--kubeconfig", &kubeconfig, "--channel", &channel];
        agent::run(&[&["addons"], words, place.as_slice()].concat())
    }

    fn json(&self, words: &[&str], status: i32) -> Value {
        let ended = self.run(&[words, ["--output", "json"].as_slice()].concat());
        assert_eq!(ended.status, status, "{words:?}\n{}", ended.text());
        ended.summary()
    }

    /// Writes another text into a file of the channel's folder.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.at("addons").join(file);
        let text = std::fs::read_to_string(&path).expect("the copy is there");
        assert!(text.contains(from), "{file} has no {from}");
        std::fs::write(path, text.replacen(from, to, 1)).expect("the folder is ours");
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the folder is ours");
    for entry in std::fs::read_dir(from)
        .expect("the corpus is there")
        .flatten()
    {
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            std::fs::copy(path, copied).expect("the folder is ours");
        }
    }
}

fn sum(value: &Value, of: &str) -> u64 {
    let addons = value["addons"].as_array().expect("a list of add-ons");
    addons.iter().filter_map(|addon| addon[of].as_u64()).sum()
}

#[test]
fn what_the_channels_want_is_planned_applied_and_then_held() {
    for (cluster, store) in CLUSTERS {
        let Some(ground) = Ground::make(cluster, store) else {
            return;
        };
        let before = ground.json(&["list"], 0);
        let addons = before["addons"].as_array().expect("a list of add-ons");
        assert!(addons.len() >= 9, "{cluster}: {before}");
        assert!(
            addons.iter().all(|addon| addon["state"] == "waiting"),
            "{before}"
        );

        let planned = ground.json(&["plan", "--detailed-exitcode"], 2);
        assert!(
            planned["changes"].as_u64() > Some(20),
            "{cluster}: {planned}"
        );

        let applied = ground.json(&["apply", "--all"], 0);
        assert_eq!(applied["allApplied"], true, "{cluster}: {applied}");
        assert_eq!(
            sum(&applied, "changed"),
            sum(&applied, "objects"),
            "{cluster}"
        );

        let after = ground.json(&["list"], 0);
        assert_eq!(after["allApplied"], true, "{cluster}: {after}");
        let again = ground.json(&["apply", "--all"], 0);
        assert_eq!(
            (sum(&again, "changed"), sum(&again, "pruned")),
            (0, 0),
            "{cluster}: {again}"
        );
        let held = ground.json(&["plan", "--detailed-exitcode"], 0);
        assert_eq!(held["addons"], serde_json::json!([]), "{cluster}");
    }
}

#[test]
fn a_newer_manifest_changes_what_it_says_and_nothing_else() {
    let (cluster, store) = CLUSTERS[0];
    let Some(ground) = Ground::make(cluster, store) else {
        return;
    };
    ground.json(&["apply", "--all"], 0);
    ground.edit(
        "coredns.addons.k8s.io/k8s-1.12.yaml",
        "coredns:v1.14.2",
        "coredns:v1.14.3",
    );
    ground.edit(
        "bootstrap-channel.yaml",
        "manifestHash: c89f00f9",
        "manifestHash: 0123abcd",
    );
    let listed = ground.run(&["list"]);
    assert!(
        listed.stdout.contains("coredns.addons.k8s.io"),
        "{}",
        listed.text()
    );
    let planned = ground.run(&["plan", "--detailed-exitcode"]);
    assert_eq!(planned.status, 2, "{}", planned.text());
    assert!(
        planned
            .stdout
            .contains("coredns:v1.14.2 -> registry.k8s.io/coredns/coredns:v1.14.3"),
        "{}",
        planned.text()
    );
    assert!(
        planned
            .stdout
            .contains("Plan: 0 to create, 1 to change, 0 to remove"),
        "{}",
        planned.text()
    );
    let applied = ground.json(&["apply", "coredns"], 0);
    assert_eq!(sum(&applied, "changed"), 1, "{applied}");
}

#[test]
fn what_cannot_be_is_named_with_its_exit_status() {
    let (cluster, store) = CLUSTERS[0];
    let Some(ground) = Ground::make(cluster, store) else {
        return;
    };
    let unknown = ground.run(&["apply", "no-such-add-on"]);
    assert_eq!(unknown.status, 64, "{}", unknown.text());
    assert!(
        unknown.stderr.contains("there are: aws-cloud-controller"),
        "{}",
        unknown.text()
    );

    ground.edit(
        "limit-range.addons.k8s.io/v1.5.0.yaml",
        "kind: LimitRange",
        "kond: LimitRange",
    );
    // Without a hash of its own, or the store would be taken to be being written.
    let hash = "manifestHash: 686cc69e559a1c6f5e8b94e38de54a575a25c432ed5ceec565244b965fb5f07f";
    ground.edit("bootstrap-channel.yaml", hash, "id: ''");
    let partly = ground.run(&["apply", "--all"]);
    assert_eq!(partly.status, 78, "{}", partly.text());
    assert!(
        partly.stdout.contains("addons.manifest-invalid"),
        "{}",
        partly.text()
    );
    let listed = ground.json(&["list"], 0);
    let addons = listed["addons"].as_array().expect("a list of add-ons");
    let waiting = addons.iter().filter(|addon| addon["state"] != "applied");
    let waiting: Vec<_> = waiting.map(|addon| addon["name"].as_str()).collect();
    assert_eq!(waiting, [Some("limit-range.addons.k8s.io")]);

    std::fs::write(ground.at("kubeconfig"), ground.served.kubeconfig(None)).expect("ours");
    let nobody = ground.run(&["list"]);
    assert!([75, 77].contains(&nobody.status), "{}", nobody.text());
    std::fs::remove_file(ground.at("kubeconfig")).expect("ours");
    let nowhere = ground.run(&["list"]);
    assert_eq!(nowhere.status, 75, "{}", nowhere.text());
    assert!(
        nowhere.stderr.contains("addons.api-unreachable"),
        "{}",
        nowhere.text()
    );
}
