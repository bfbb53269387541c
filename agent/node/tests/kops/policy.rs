//! What `iam policy --with-newer-kops` allows of the state store, against what every boot of the corpus reads.

use crate::policies;
use crate::support::boots;
use quake_model::iam::policy::{Policy, Request, policy};
use quake_model::iam::{Caller, NEWER_GRANTS, Reach};
use quake_model::location::Location;
use quake_model::pattern::matches;
use quake_node::builders::{WantedObject, wanted_objects};
use quake_node::config::current::Origin;
use quake_node::keyset::fallback_name;

fn policy_of(caller: Caller, cluster: &str, base: &Location) -> Policy {
    let request = Request {
        with_newer_kops: true,
        ..policies::request(caller, cluster, base.clone())
    };
    policy(&request).expect("the request is good")
}

/// Whether it may be read, and listed: S3 judges an object that is not there as if its key were listed.
fn may_read(policy: &Policy, location: &Location) -> bool {
    let arn = format!("arn:aws:s3:::{}/{}", location.bucket(), location.key());
    policies::may_read(policy, &arn) && policies::may_list(policy, location.key())
}

/// Everything that the boots of control planes read, and under which cluster's directory.
fn read_by_control_planes() -> Vec<(Location, String, Vec<Location>)> {
    let mut all = Vec::new();
    for boot in boots() {
        let config = boot.boot_config();
        let Origin::Store(base) = &config.origin else {
            continue;
        };
        let nodeup = boot.nodeup_config(&boot.nodeup_config_bytes(&config), "amd64");
        let mut read = vec![config.nodeup_config_location(base)];
        for wanted in wanted_objects(&config, &nodeup) {
            match wanted {
                WantedObject::Keyset { name, location } => {
                    let folder = location.parent().parent();
                    let older = fallback_name(&name);
                    read.extend(older.map(|older| folder.join(older).join("keyset.yaml")));
                    read.push(location);
                }
                WantedObject::Secret { location, .. }
                | WantedObject::Cluster { location }
                | WantedObject::Manifest { location } => {
                    read.push(location);
                }
            }
        }
        all.push((base.clone(), config.cluster.clone(), read));
    }
    all
}

#[test]
fn the_policy_of_a_control_plane_allows_whatever_one_of_the_corpus_reads() {
    for (base, cluster, read) in read_by_control_planes() {
        let policy = policy_of(Caller::ControlPlane, &cluster, &base);
        for location in read {
            assert!(may_read(&policy, &location), "{location}");
        }
    }
}

#[test]
fn the_policy_of_a_control_plane_allows_no_key_and_no_secret_that_none_of_the_corpus_reads() {
    let read = read_by_control_planes();
    if read.is_empty() {
        return;
    }
    let read: Vec<String> = read
        .into_iter()
        .flat_map(|(base, _, read)| {
            let folder = format!("{}/", base.key());
            let below = move |one: Location| one.key().strip_prefix(&folder).map(str::to_owned);
            read.into_iter().filter_map(below).collect::<Vec<_>>()
        })
        .collect();
    // No cluster of the corpus encrypts secrets or has API servers without a control plane.
    let others = ["secrets/encryptionconfig", "igconfig/apiserver/*"];
    for grant in NEWER_GRANTS {
        let Reach::Objects(paths) = grant.reach else {
            continue;
        };
        for path in paths.iter().filter(|path| !others.contains(path)) {
            assert!(
                read.iter().any(|key| matches(path, key)),
                "nobody reads {path}"
            );
        }
    }
}

#[test]
fn the_policy_of_a_worker_has_nothing_of_the_store_but_its_boot_report() {
    let base: Location = "s3://b/c.example.com".parse().expect("a location");
    let policy = policy_of(Caller::Worker, "c.example.com", &base);
    let statements = policy.statement.iter();
    let of_store: Vec<&String> = statements
        .filter(|one| one.action.iter().any(|action| action.starts_with("s3:")))
        .flat_map(|one| &one.action)
        .collect();
    assert_eq!(of_store, ["s3:PutObject"]);
}
