//! The policies of `quake-agent iam policy`: against goldens, and against what nodes of each role ask for.

use crate::goldens;
use crate::nodes::{self, Node};
use crate::policies::{self, may_list, may_read};
use quake_model::iam::policy::{Policy, Request, policy};
use quake_model::iam::{Caller, GRANTS, Grant, Reach};
use quake_model::pattern::matches;
use quake_node::credentials;

const BUCKET: &str = "arn:aws:s3:::state.example.com";

fn request(caller: Caller, cluster: &str) -> Request {
    let store = "s3://state.example.com".parse().expect("a location");
    Request {
        region: Some("us-west-2".to_owned()),
        account: Some("111122223333".to_owned()),
        ..policies::request(caller, cluster, store)
    }
}

fn policy_of(caller: Caller) -> Policy {
    policy(&request(caller, "c.example.com")).expect("the request is good")
}

fn check_request(case: &str, request: &Request) {
    let policy = policy(request).expect("the request is good");
    let actual = serde_json::to_string_pretty(&policy).expect("it is plain data");
    goldens::check(&format!("iam/{case}.json"), &format!("{actual}\n"));
}

#[test]
fn the_iam_policy_of_each_role_is_as_its_golden() {
    for (case, caller) in [
        ("control-plane", Caller::ControlPlane),
        ("worker", Caller::Worker),
        ("operator", Caller::Operator),
    ] {
        check_request(case, &request(caller, "c.example.com"));
    }
}

/// What a policy is asked to allow beside the usual.
type More = fn(&mut Request);

#[test]
fn the_iam_policy_with_more_is_as_its_golden_and_others_have_none_of_it() {
    const BOTH: &[Caller] = &[Caller::ControlPlane, Caller::Worker];
    let table: [(&str, More, &[Caller], Caller); 4] = [
        (
            "signals",
            |it| it.with_signals = true,
            &BOTH[1..],
            Caller::Operator,
        ),
        (
            "repair",
            |it| it.with_repair = true,
            &BOTH[1..],
            Caller::Operator,
        ),
        (
            "newer-kops",
            |it| it.with_newer_kops = true,
            BOTH,
            Caller::Operator,
        ),
        (
            "zone",
            |it| it.zone = Some("/hostedzone/Z1D633PJN98FT9".to_owned()),
            &BOTH[..1],
            Caller::Worker,
        ),
    ];
    for (more, change, callers, without) in table {
        let with = |caller| {
            let mut request = request(caller, "c.example.com");
            change(&mut request);
            request
        };
        for caller in callers {
            let role = if *caller == Caller::Worker {
                "worker"
            } else {
                "control-plane"
            };
            check_request(&format!("{role}-with-{more}"), &with(*caller));
        }
        let others = policy(&with(without)).expect("the request is good");
        assert_eq!(others, policy_of(without), "{more}");
    }
}

/// The nodes of a role, each also with what else a spec of the role can ask for.
fn nodes_of(caller: Caller) -> Vec<Node> {
    let mut found = Vec::new();
    for (_, node) in nodes::all() {
        if node.spec.is_control_plane() == (caller == Caller::ControlPlane) {
            let mut all = node.clone();
            if let Some(control_plane) = &mut all.spec.control_plane {
                control_plane.encryption_config = true;
                let manifest = all.spec.config_base.join("manifests/etcd/main.yaml");
                all.spec.etcd_manifests.push(manifest);
            }
            found.extend([node, all]);
        }
    }
    assert!(!found.is_empty(), "no node is a {caller:?}");
    found
}

/// What a node reads and what it lists, below its cluster's directory.
fn asked_by(node: &Node) -> (Vec<String>, Vec<String>) {
    let group = &node.spec.instance_group;
    let mut read = vec!["cluster.spec".to_owned(), format!("instancegroup/{group}")];
    let mut listed = Vec::new();
    for keypair in credentials::wanted(&node.spec) {
        let mut folders = vec![format!("pki/issued/{}", keypair.name)];
        if keypair.key {
            folders.push(format!("pki/private/{}", keypair.name));
        }
        for folder in folders {
            read.push(format!("{folder}/keyset.yaml"));
            listed.push(format!("{folder}/"));
        }
    }
    let secrets = credentials::wanted_secrets(&node.spec);
    read.extend(
        secrets
            .iter()
            .map(|secret| format!("secrets/{}", secret.name)),
    );
    for manifest in &node.spec.etcd_manifests {
        let base = format!("{}/", node.spec.config_base.key());
        read.extend(manifest.key().strip_prefix(&base).map(str::to_owned));
    }
    if node.spec.is_control_plane() {
        listed.push("backups/etcd/main/".to_owned());
        read.push("backups/etcd/main/control/etcd-cluster-created".to_owned());
    }
    (read, listed)
}

#[test]
fn an_iam_policy_allows_whatever_a_node_of_its_role_reads_and_lists() {
    for caller in [Caller::ControlPlane, Caller::Worker] {
        let policy = policy_of(caller);
        for node in nodes_of(caller) {
            let (read, listed) = asked_by(&node);
            for path in &read {
                let arn = format!("{BUCKET}/c.example.com/{path}");
                assert!(may_read(&policy, &arn), "{caller:?} may not read {path}");
            }
            // S3 judges an object that is not there as if its key were listed.
            for path in read.iter().chain(&listed) {
                let path = format!("c.example.com/{path}");
                assert!(may_list(&policy, &path), "{caller:?} may not list {path}");
            }
        }
    }
}

#[test]
fn an_iam_policy_allows_no_key_and_no_secret_that_no_node_of_its_role_reads() {
    for caller in [Caller::ControlPlane, Caller::Worker] {
        let read: Vec<String> = nodes_of(caller)
            .iter()
            .flat_map(|node| asked_by(node).0)
            .collect();
        let grants = GRANTS
            .iter()
            .filter(|grant| grant.callers.contains(&caller))
            .filter(|grant| matches!(grant.reach, Reach::Objects(_)))
            .filter(|grant| grant.actions == ["s3:GetObject"]);
        for path in grants.flat_map(Grant::paths) {
            let used = read.iter().any(|key| matches(path, key));
            assert!(used, "no {caller:?} reads {path}");
        }
    }
}

#[test]
fn an_iam_policy_fits_into_what_iam_takes() {
    // The quota of a managed policy is 6,144 characters, white space apart (IAM quotas, as of 2026-11).
    for caller in [Caller::ControlPlane, Caller::Worker, Caller::Operator] {
        let request = request(caller, "production.eu-central-1.kubernetes.example.com");
        let newer = Request {
            with_newer_kops: true,
            ..request.clone()
        };
        for request in [request, newer] {
            let policy = policy(&request).expect("the request is good");
            let text = serde_json::to_string(&policy).expect("it is plain data");
            let (length, newer) = (text.len(), request.with_newer_kops);
            assert!(
                length <= 6144,
                "{caller:?}, newer kops {newer}: {length} characters"
            );
        }
    }
}

#[test]
fn an_iam_policy_lets_nobody_detach_delete_or_create() {
    for caller in [Caller::ControlPlane, Caller::Worker, Caller::Operator] {
        for statement in policy_of(caller).statement {
            for action in &statement.action {
                assert!(!action.contains('*'), "{action}");
                let (_, verb) = action.split_once(':').expect("a service and a verb");
                let harmless = ["Describe", "Attach", "Modify", "Get", "List"];
                let own_tags = ["CreateTags", "DeleteTags"].contains(&verb);
                let report = action == "s3:PutObject"
                    && statement
                        .resource
                        .iter()
                        .all(|arn| arn.ends_with("/c.example.com/boot-reports/*"));
                let may =
                    own_tags || report || harmless.iter().any(|start| verb.starts_with(start));
                assert!(may, "{caller:?}: {action}");
            }
        }
    }
}
