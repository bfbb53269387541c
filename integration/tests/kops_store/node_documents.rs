//! `user-data render`, `user-data explain` and `check` of the documents of a node.

use quake_integration::kops_copy::{CLUSTERS, Copied, SHAPES, Shape, run};
use std::fs;

const BINARY: [&str; 4] = [
    "--binary-url",
    "https://releases.example.com/quake-agent",
    "--sha256",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

#[test]
fn user_data_is_rendered_from_the_store_and_explained() {
    for (case, shape) in CLUSTERS.into_iter().zip(SHAPES.into_iter().cycle()) {
        let Some(copied) = Copied::new(case, shape) else {
            return;
        };
        for group in ["master-us-test-1a", "nodes"] {
            let out = copied.at(group);
            let of = ["--state-store", &copied.store, "--instance-group", group];
            let render = ["user-data", "render", "--out", &out];
            let words = [&render[..], &of, &BINARY].concat();
            if case == "minimal-dns-none" && group == "nodes" {
                let refused = run(&words, 64);
                assert!(refused.stderr.contains("has no DNS"), "{}", refused.stderr);
                continue;
            }
            let rendered = run(&words, 0);
            assert!(rendered.stderr.contains("assumed: "), "{}", rendered.stderr);
            let explained = run(&["user-data", "explain", &out], 0).stdout;
            for part in [
                &format!("  cluster: {}", copied.cluster),
                &format!("  instance group: {group}"),
                "the node's configuration",
                "nothing is wrong with it",
            ] {
                assert!(
                    explained.contains(part),
                    "{case} {group}: {part} in {explained}"
                );
            }
        }
    }
}

#[test]
fn user_data_is_rendered_from_a_recorded_boot_configuration() {
    for case in CLUSTERS {
        let Some(copied) = Copied::new(case, Shape::Buckets) else {
            return;
        };
        for group in ["master-us-test-1a", "nodes"] {
            let (out, kube_env) = (copied.at(group), copied.kube_env(group));
            let words = [
                "user-data",
                "render",
                "--out",
                &out,
                "--kube-env",
                &kube_env,
            ];
            run(&[&words[..], &BINARY].concat(), 0);
            let given = fs::read_to_string(&kube_env).expect("the file is there");
            let made = fs::read_to_string(&out).expect("it was written");
            assert!(made.contains(&given), "{made}");
            let other = ["--instance-group", "others"];
            let refused = run(&[&words[..], &BINARY, &other].concat(), 64);
            assert!(refused.stderr.contains("not others"), "{}", refused.stderr);
        }
    }
}

#[test]
fn every_document_of_a_cluster_is_checked() {
    for case in CLUSTERS {
        let Some(copied) = Copied::new(case, Shape::Cluster) else {
            return;
        };
        let spec = copied.base.join("cluster-completed.spec");
        let spec = spec.to_str().expect("a plain path");
        let mut files = vec![spec.to_owned()];
        for (role, group) in copied.groups() {
            files.push(format!(
                "{}/igconfig/{role}/{group}/nodeupconfig.yaml",
                copied.store
            ));
            files.push(copied.kube_env(&group));
        }
        let words: Vec<&str> = files.iter().map(String::as_str).collect();
        let checked = run(&[&["check"], &words[..]].concat(), 0);
        assert_eq!(checked.stdout.lines().count(), files.len());
        let text = fs::read_to_string(spec).expect("the file is there");
        let wrong = text.replacen("  etcdClusters:", "  etcdCluster:", 1);
        fs::write(spec, wrong).expect("a directory of ours");
        let found = run(&["check", spec], 78);
        assert!(
            found.stdout.contains("did you mean etcdClusters"),
            "{}",
            found.stdout
        );
    }
}

#[test]
fn the_group_of_a_store_of_either_generation_is_checked() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("nodes");
    let file = file.to_str().expect("a plain path");
    for (version, spec) in [
        (
            "kops.k8s.io/v1alpha2",
            "role: Node, instanceMetadata: {httpTokens: required}",
        ),
        (
            "kops/v1alpha2",
            "role: Node, suspendProcesses: [AZRebalance]",
        ),
    ] {
        let head =
            format!("apiVersion: {version}\nkind: InstanceGroup\nmetadata: {{name: nodes}}\n");
        fs::write(file, format!("{head}spec: {{{spec}}}\n")).expect("a directory of ours");
        run(&["check", file], 0);
    }
    // As kops 1.9 and 1.10 put it into user data.
    let inline = folder.path().join("ig_spec.yaml");
    let text = "kubelet: null\nnodeLabels: {a: b}\nsuspendProcesses: [AZRebalance]\ntaints: null\n";
    fs::write(&inline, text).expect("a directory of ours");
    run(&["check", inline.to_str().expect("a plain path")], 0);
}
