//! One bucket at two instants: its versions are compared where it keeps them, and where it keeps none the command says so.

use crate::stores::{Pair, edit_file};
use quake_integration::agent::{self, Ended};
use quake_integration::moto::Moto;
use quake_integration::node::CLUSTER;
use quake_integration::skip::unless_missing;
use quake_integration::waiting::wait_until;
use quake_model::time::Timestamp;
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const KEPT: &str = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";

fn preview(moto: &Moto, old: &str, new: &str, words: &[&str]) -> Ended {
    let mut line = vec!["preview", old, new, "--output", "json"];
    line.extend(words);
    let mut command = agent::command(&line);
    command.env("AWS_ENDPOINT_URL", format!("http://{}", moto.address()));
    command.env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "test");
    command.env("AWS_SECRET_ACCESS_KEY", "test");
    agent::run_command(command)
}

/// The second that is now, once it is over: S3 says of a version only in which second it was written.
fn next_second() -> Timestamp {
    let second = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.expect("the clock is set").as_secs()
    };
    let now = second();
    assert!(wait_until(Duration::from_secs(5), || second() > now));
    Timestamp(now * 1000 + 999)
}

/// What an object is deleted by, as the bucket keeps versions.
fn delete(moto: &Moto, key: &str) {
    let deleted = moto.call_rest("s3", "DELETE", &format!("/kept/{CLUSTER}/{key}"), "");
    deleted.expect("moto takes it");
}

/// The store of kops legacy as it was, and after its pod range changed, a group was removed and another one added.
fn changed(moto: &Moto) -> (Pair, Timestamp) {
    let pair = Pair::of_kops_legacy();
    for path in ["/kept", "/kept?versioning"] {
        let made = moto.call_rest("s3", "PUT", path, if path == "/kept" { "" } else { KEPT });
        made.expect("moto takes it");
    }
    moto.put_folder("kept", CLUSTER, &pair.old)
        .expect("moto takes it");
    let then = next_second();
    edit_file(&pair.new.join("cluster.spec"), &|text| {
        text.replace("clusterCIDR: 100.96.0.0/11", "clusterCIDR: 10.96.0.0/11")
    });
    let group = pair.new.join("instancegroup/workers");
    std::fs::copy(&group, pair.new.join("instancegroup/more")).expect("a copy of ours");
    std::fs::remove_file(&group).expect("a copy of ours");
    moto.put_folder("kept", CLUSTER, &pair.new)
        .expect("moto takes it");
    delete(moto, "instancegroup/workers");
    (pair, then)
}

fn answer(ended: &Ended) -> Value {
    let read = serde_json::from_str(&ended.stdout);
    assert!(read.is_ok(), "{}", ended.text());
    read.unwrap_or_default()
}

#[test]
fn a_bucket_at_an_instant_is_compared_as_the_copy_of_that_time_is() {
    let Some(moto) = unless_missing(Moto::start()) else {
        return;
    };
    let (pair, then) = changed(&moto);
    let bucket = format!("s3://kept/{CLUSTER}");
    let at = format!("{bucket}@{then}");
    let of_versions = preview(&moto, &at, &bucket, &[]);
    let [old, new] = [&pair.old, &pair.new].map(|path| path.to_str().expect("a plain path"));
    let of_copies = preview(&moto, old, new, &[]);
    let [mut of_versions, mut of_copies] = [&of_versions, &of_copies].map(answer);
    assert_eq!(of_versions["old"]["store"], at.as_str(), "{of_versions}");
    for answer in [&mut of_versions, &mut of_copies] {
        for side in ["old", "new"] {
            answer[side]["store"] = Value::Null;
        }
    }
    assert_eq!(of_versions, of_copies);
    let found = of_copies["findings"].to_string();
    for id in ["network.pod-range-changed", "group.removed"] {
        assert!(found.contains(id), "{found}");
    }
    // The same instant on both sides, and the name of the cluster apart from the bucket.
    let apart = format!("s3://kept@{then}");
    let same = preview(
        &moto,
        &at,
        &apart,
        &["--cluster", CLUSTER, "--detailed-exitcode"],
    );
    assert_eq!(same.status, 0, "{}", same.text());
}

#[test]
fn an_instant_before_the_cluster_and_one_that_is_none_are_refused() {
    let Some(moto) = unless_missing(Moto::start()) else {
        return;
    };
    let (pair, _) = changed(&moto);
    let bucket = format!("s3://kept/{CLUSTER}");
    let folder = pair.old.to_str().expect("a plain path");
    for (old, said) in [
        (
            format!("{bucket}@2020-01-01T00:00:00Z"),
            "there was no cluster in",
        ),
        (format!("{bucket}@yesterday"), "is no instant"),
        (
            "s3://kept@2026-01-01T00:00:00Z".to_owned(),
            "may have several clusters",
        ),
        (
            format!("{folder}@2026-01-01T00:00:00Z"),
            "keeps no versions",
        ),
    ] {
        let ended = preview(&moto, &old, &bucket, &[]);
        assert_eq!(ended.status, 64, "{old}: {}", ended.text());
        assert!(ended.stderr.contains(said), "{old}: {}", ended.stderr);
    }
}

#[test]
fn a_bucket_without_versions_is_refused_with_what_turns_them_on() {
    let Some(moto) = unless_missing(Moto::start()) else {
        return;
    };
    let pair = Pair::of_kops_legacy();
    moto.put_folder("plain", CLUSTER, &pair.old)
        .expect("moto takes it");
    let bucket = format!("s3://plain/{CLUSTER}");
    let ended = preview(&moto, &format!("{bucket}@{}", next_second()), &bucket, &[]);
    assert_eq!(ended.status, 78, "{}", ended.text());
    for part in [
        "config.location-unusable",
        "keeps no versions",
        "put-bucket-versioning --bucket plain ",
    ] {
        assert!(ended.stderr.contains(part), "{part} in {}", ended.stderr);
    }
}
