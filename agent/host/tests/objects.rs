//! The state store keeps the contract of every store of objects, on S3 as moto plays it.

mod node;

use node::aws_at;
use quake_host::aws::S3;
use quake_host::objects::{Past, StateStore};
use quake_integration::moto::Moto;
use quake_integration::skip::unless_missing;
use quake_model::facts::ObjectVersion;
use quake_model::location::Location;
use quake_model::ports::{Condition, Object, Objects as _};
use quake_testkit::contract;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread")]
async fn the_bucket_keeps_the_contract() {
    let Some(moto) = unless_missing(Moto::start()) else {
        return;
    };
    for (key, bytes) in [("x/a", b"a"), ("x/b/c", b"c")] {
        let put = moto.put_object("contract", key, bytes);
        put.expect("moto takes it");
    }
    let (aws, _imds) = aws_at(&format!("http://{}", moto.address()), "i-0123456789abcdef0");
    let store = StateStore::with_s3(S3::new(aws));
    let base: Location = "s3://contract".parse().expect("a literal");
    assert_eq!(contract::objects(&store, &base).await, Ok(()));
    assert_eq!(contract::written_objects(&store, &base).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_that_are_looked_at_keep_the_contract() {
    const AES: &str = "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>";
    const EVERYBODY_READS: &str = r#"<AccessControlPolicy xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Owner><ID>owner</ID></Owner><AccessControlList><Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="Group"><URI>http://acs.amazonaws.com/groups/global/AllUsers</URI></Grantee><Permission>READ</Permission></Grant></AccessControlList></AccessControlPolicy>"#;
    let Some(moto) = unless_missing(Moto::start()) else {
        return;
    };
    for (path, body) in [
        ("/closed", ""),
        ("/closed?encryption", AES),
        ("/open", ""),
        ("/open?acl", EVERYBODY_READS),
    ] {
        let put = moto.call_rest("s3", "PUT", path, body);
        put.expect("moto takes it");
    }
    let (aws, _imds) = aws_at(&format!("http://{}", moto.address()), "i-0123456789abcdef0");
    let store = StateStore::with_s3(S3::new(aws));
    let at = |text: &str| text.parse::<Location>().expect("a literal");
    let (closed, open, absent) = (at("s3://closed"), at("s3://open"), at("s3://absent"));
    let kept = contract::buckets(&store, &closed, &open, &absent).await;
    assert_eq!(kept, Ok(()));
}

const KEPT: &str = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";

#[tokio::test(flavor = "multi_thread")]
async fn versions_of_objects_are_listed_with_those_that_were_deleted_and_each_is_read() {
    let Some(moto) = unless_missing(Moto::start()) else {
        return;
    };
    let rest = |method: &str, path: &str, body: &str| {
        let answer = moto.call_rest("s3", method, path, body);
        answer.expect("moto takes it");
    };
    rest("PUT", "/kept", "");
    moto.put_object("kept", "c/before", b"0")
        .expect("moto takes it");
    rest("PUT", "/kept?versioning", KEPT);
    for (key, bytes) in [
        ("c/a", "1"),
        ("c/a", "2"),
        ("c/dir/b", "3"),
        ("c/dirt", "4"),
    ] {
        let put = moto.put_object("kept", key, bytes.as_bytes());
        put.expect("moto takes it");
    }
    rest("DELETE", "/kept/c/dir/b", "");
    let (aws, _imds) = aws_at(&format!("http://{}", moto.address()), "i-0123456789abcdef0");
    let s3 = S3::new(aws);
    let store = StateStore::with_s3(s3.clone());
    let base: Location = "s3://kept/c".parse().expect("a literal");
    let mut seen = Vec::new();
    for start in ["a", "before", "dir/"] {
        for version in store.list_versions(&base, start).await.expect("it lists") {
            let bytes = match version.is_deletion {
                true => None,
                false => {
                    let read = s3.read_version(&version.location, &version.id).await;
                    Some(read.expect("it is there").bytes)
                }
            };
            let key = version.location.key().to_owned();
            let is_kept = version.id != ObjectVersion::UNKEPT;
            seen.push((key, bytes, version.is_newest, is_kept));
        }
    }
    seen.sort();
    let row = |key: &str, bytes: Option<&str>, is_newest, is_kept| {
        let bytes = bytes.map(|bytes| bytes.as_bytes().to_vec());
        (key.to_owned(), bytes, is_newest, is_kept)
    };
    assert_eq!(
        seen,
        [
            row("c/a", Some("1"), false, true),
            row("c/a", Some("2"), true, true),
            row("c/before", Some("0"), true, false),
            row("c/dir/b", None, true, true),
            row("c/dir/b", Some("3"), false, true),
        ]
    );
}

#[tokio::test]
async fn a_directory_keeps_no_versions_and_what_was_is_not_written() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let store = StateStore::with_folder(folder.path());
    let base: Location = "s3://kept/c".parse().expect("a literal");
    let listed = store.list_versions(&base, "").await;
    assert_eq!(
        listed.map_err(|error| error.condition),
        Err(Condition::Impossible)
    );
    let (aws, _imds) = aws_at("http://127.0.0.1:1", "i-0123456789abcdef0");
    let objects = [("pki/a", "1"), ("pki/b/c", "2"), ("top", "3")];
    let objects = objects.map(|(key, id)| (base.join(key), id.to_owned()));
    let past = Past {
        base: base.clone(),
        objects: objects.into_iter().collect(),
    };
    let store = StateStore::with_s3(S3::new(aws)).at(Some(Arc::new(past)));
    let names = async |key: &str| store.list_objects(&base.join(key)).await;
    assert_eq!(
        names("").await,
        Ok(vec!["pki".to_owned(), "top".to_owned()])
    );
    assert_eq!(names("pki").await, Ok(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(names("gone").await, Ok(Vec::new()));
    let elsewhere: Location = "s3://kept/d/x".parse().expect("a literal");
    for (place, condition) in [
        (base.join("gone"), Condition::Missing),
        (elsewhere, Condition::Impossible),
    ] {
        let read = store.read_object(&place).await;
        assert_eq!(
            read.map_err(|error| error.condition),
            Err(condition),
            "{place}"
        );
    }
    let object = Object {
        location: base.join("top"),
        bytes: Vec::new(),
    };
    let written = store.write_object(&object, "text/plain").await;
    assert_eq!(
        written.map_err(|error| error.condition),
        Err(Condition::Impossible)
    );
}
