//! The state store keeps the contract of every store of objects, on S3 as moto plays it.

mod node;

use node::aws_at;
use quake_host::aws::S3;
use quake_host::objects::StateStore;
use quake_integration::moto::Moto;
use quake_integration::skip::unless_missing;
use quake_model::location::Location;
use quake_testkit::contract;

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
