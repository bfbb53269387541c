//! Seeds of assets that are in a private bucket.

use crate::fixtures::{Fixture, STORE, kept_files, outcomes};
use quake_integration::agent::{Ended, command, run_command};
use quake_integration::imds::{ACCESS_KEY_ID, SECRET_ACCESS_KEY};
use quake_integration::moto::Moto;
use quake_integration::skip::unless_missing;
use std::path::Path;

const BUCKET: &str = "private-assets";

/// The agent of a person with credentials, whose AWS is this moto.
fn run_with(moto: &Moto, arguments: &[&str]) -> Ended {
    let mut command = command(arguments);
    command.env("AWS_ENDPOINT_URL", format!("http://{}", moto.address()));
    command.env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID);
    command.env("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY);
    run_command(command)
}

#[test]
fn a_seed_of_a_private_bucket_boots_when_the_bucket_cannot_be_reached() {
    let fixture = Fixture::new();
    let Some(moto) = unless_missing(Moto::start()) else {
        return;
    };
    for (path, bytes) in fixture.files.all() {
        let put = moto.put_object(BUCKET, path.trim_start_matches('/'), bytes);
        put.expect("moto takes it");
    }
    fixture.pin_only(&fixture.files.pins(&format!("s3://{BUCKET}")));
    let (root, state) = (fixture.path("root"), fixture.path("state"));
    let arguments = [
        "seed",
        "build",
        "--state-store",
        &state,
        "--instance-group",
        "control-plane",
        "--root",
        &root,
        "--output",
        "json",
    ];
    let built = run_with(&moto, &arguments);
    assert_eq!(built.status, 0, "{}", built.text());
    assert_eq!(outcomes(&built.summary(), "fetched"), 3);
    assert!(
        built.text().contains(&format!("s3://{BUCKET}/bin/")),
        "{}",
        built.text()
    );
    drop(moto);
    fixture.becomes_ready(&root);
}

#[test]
fn a_folder_that_stands_for_the_buckets_has_their_assets_too() {
    let fixture = Fixture::new();
    let bucket = fixture.folder.path().join("state").join(BUCKET);
    for (path, bytes) in fixture.files.all() {
        let file = bucket.join(path.trim_start_matches('/'));
        std::fs::create_dir_all(file.parent().expect("it has one")).expect("ours");
        std::fs::write(file, bytes).expect("ours");
    }
    fixture.pin_only(&fixture.files.pins(&format!("s3://{BUCKET}")));
    let root = fixture.path("root");
    fixture.becomes_ready(&root);
    assert!(kept_files(&root).len() >= 5, "they are in {STORE}");
    assert!(Path::new(&root).join("usr/local/bin/kubelet").is_file());
}

#[test]
fn a_list_names_objects_of_buckets_and_no_other_scheme_but_https() {
    let fixture = Fixture::new();
    let (root, list) = (fixture.path("root"), fixture.path("list"));
    for scheme in ["gs", "azureblob", "ftp"] {
        let pin = fixture.files.pins(&format!("{scheme}://files")).remove(0);
        std::fs::write(&list, pin).expect("ours");
        let refused = command(&["seed", "build", "--list", &list, "--root", &root]);
        let refused = run_command(refused);
        assert_eq!(refused.status, 78, "{}", refused.text());
        let reported = refused.text();
        assert!(reported.contains("config.unsupported"), "{reported}");
        assert!(reported.contains(&format!("{scheme}://")), "{reported}");
        assert!(reported.contains("https, http, s3"), "{reported}");
    }
}
