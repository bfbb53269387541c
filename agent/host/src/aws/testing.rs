//! AWS as a local server plays it, with the metadata service on the same port.

use super::{Aws, AwsSettings, Calls, Environment};
use crate::imds::{Imds, MetadataEndpoint};
use quake_http::HttpSettings;
use quake_http::testing::{Reply, Seen, Server};

/// The credentials that the metadata service of the tests gives out.
const CREDENTIALS: &str = r#"{"Code":"Success","AccessKeyId":"ASIAEXAMPLEEXAMPLE12","SecretAccessKey":"s3cr3t","Token":"t0ken","Expiration":"2099-01-01T00:00:00Z"}"#;

/// A server that answers for the metadata service itself and for AWS by `answer`, and AWS at it.
pub(super) async fn aws_at<F>(answer: F) -> (Aws, Calls, Server)
where
    F: Fn(&Seen) -> Reply + Send + Sync + 'static,
{
    aws_under(HttpSettings::default(), answer).await
}

/// The same, asked under other settings of the client.
pub(super) async fn aws_under<F>(http: HttpSettings, answer: F) -> (Aws, Calls, Server)
where
    F: Fn(&Seen) -> Reply + Send + Sync + 'static,
{
    let server = Server::start(move |seen| metadata(seen).unwrap_or_else(|| answer(seen))).await;
    let calls = Calls::new();
    let endpoint = MetadataEndpoint::At(server.url(""));
    let imds = Imds::new(&endpoint, calls.clone());
    let url = server.url("");
    let lookup = |name: &str| match name {
        "AWS_ENDPOINT_URL" => Some(url.clone()),
        "AWS_REGION" => Some("us-west-2".to_owned()),
        _ => None,
    };
    let settings = AwsSettings::from_lookup(Environment::Node, http, lookup);
    (Aws::new(settings, imds, calls.clone()), calls, server)
}

fn metadata(seen: &Seen) -> Option<Reply> {
    let role = "/latest/meta-data/iam/security-credentials/";
    match seen.path.strip_prefix(role) {
        Some("") => Some(Reply::text(200, "nodes")),
        Some(_) => Some(Reply::text(200, CREDENTIALS)),
        None if seen.path == "/latest/api/token" => Some(Reply::text(200, "token")),
        None => None,
    }
}

/// An error in S3's words.
pub(super) fn s3_error(status: u16, code: &str) -> Reply {
    let body = format!(
        "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>text of {code}</Message><RequestId>R1</RequestId></Error>"
    );
    Reply::text(status, &body).with("x-amz-request-id", "R1")
}

/// An error in EC2's words.
pub(super) fn ec2_error(status: u16, code: &str, message: &str) -> Reply {
    let body = format!(
        "<?xml version=\"1.0\"?><Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors><RequestID>R2</RequestID></Response>"
    );
    Reply::text(status, &body)
}
