//! Proves to kops-controller which instance asks: a signed request to STS that is never sent by us. The server sends it,
//! and STS says whose it is (`pkg/bootstrap/awsbootstrap`, and `upup/pkg/fi/cloudup/awsup` before 1.37; read at v1.32.4 to
//! v1.36.2 and in the first source of 1.37).
//!
//! Version 1 is the headers of a POST. Version 2 is a presigned GET: its URL, its method and its headers. The server takes
//! that URL only with https, its own host of STS, the path `/` and the one action, and sends it as it is.

use super::Aws;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningInstructions, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use quake_http::Url;
use quake_model::ports::{Condition, PortError, TokenVersion};
use quake_model::redact::Secret;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::error::Error;
use std::time::{Duration, SystemTime};

/// What the value of the header begins with, by version.
const SCHEMES: [(TokenVersion, &str); 2] = [
    (TokenVersion::V1, "x-aws-sts "),
    (TokenVersion::V2, "x-aws-sts-v2 "),
];

/// How long a presigned request is good: as long as STS takes a signed one, which has no end of its own
/// (IAM user guide, "Elements of an AWS API request signature").
const GOOD_FOR: Duration = Duration::from_secs(15 * 60);

/// The query of the presigned request, before it is signed.
const QUERY: &str = "Action=GetCallerIdentity&Version=2011-06-15";

/// The body of the request of version 1, which the server writes anew, byte for byte.
const BODY: &str = "Action=GetCallerIdentity&Version=2011-06-15";

const CONTENT_TYPE: &str = "application/x-www-form-urlencoded; charset=utf-8";

/// Partitions by how the names of their regions begin, and the domain of their services
/// (`partitions.json` of the AWS SDKs, 2026-08). A longer beginning stands before a shorter one.
const DOMAINS: &[(&str, &str)] = &[
    ("cn-", "amazonaws.com.cn"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("us-isof-", "csp.hci.ic.gov"),
    ("us-iso-", "c2s.ic.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("eusc-", "amazonaws.eu"),
    ("", "amazonaws.com"),
];

/// What is signed, beside the credentials.
struct Signed<'a> {
    region: &'a str,
    host: &'a str,
    /// The body of the request to kops-controller, which the proof is bound to.
    body: &'a [u8],
    at: SystemTime,
}

impl Aws {
    /// The value of `Authorization`, in this version, for a request with this body to kops-controller.
    ///
    /// Its region is the instance's, whatever the environment says, as on both sides in kops: the signature is good in no other.
    ///
    /// # Errors
    ///
    /// Those of the metadata service, and `Malformed` when nothing can be signed.
    pub async fn prove_instance(
        &self,
        body: &[u8],
        version: TokenVersion,
    ) -> Result<Secret<String>, PortError> {
        let region = self.instance_region().await?;
        let credentials = self.credentials().await?;
        let signed = Signed {
            region: &region,
            host: &sts_host(&region),
            body,
            at: SystemTime::now(),
        };
        token(&credentials, &signed, version)
    }
}

/// The host of STS as a client of kops names it: the region's own, and neither dual stack nor FIPS, which kops sets on neither
/// side; the server takes the signature for its own host, so both must name the same.
fn sts_host(region: &str) -> String {
    let domain = DOMAINS
        .iter()
        .find(|(beginning, _)| region.starts_with(beginning));
    let domain = domain.map_or("amazonaws.com", |(_, domain)| domain);
    format!("sts.{region}.{domain}")
}

fn token(
    credentials: &Credentials,
    signed: &Signed<'_>,
    version: TokenVersion,
) -> Result<Secret<String>, PortError> {
    let made = match version {
        TokenVersion::V1 => headers(credentials, signed).map(Value::Object),
        TokenVersion::V2 => presigned(credentials, signed),
    };
    let made = made.map_err(|error| {
        let summary = "the proof for kops-controller cannot be signed";
        PortError::new(Condition::Malformed, summary).because(&*error)
    })?;
    let scheme = SCHEMES.iter().find(|(known, _)| *known == version);
    let scheme = scheme.map_or("", |(_, scheme)| scheme);
    let made = STANDARD.encode(made.to_string());
    Ok(Secret::new(format!("{scheme}{made}")))
}

/// The hash that binds a proof to the body of the request to kops-controller.
fn body_hash(signed: &Signed<'_>) -> String {
    STANDARD_NO_PAD.encode(Sha256::digest(signed.body))
}

fn presigned(credentials: &Credentials, signed: &Signed<'_>) -> Result<Value, Box<dyn Error>> {
    let hash = body_hash(signed);
    let sent = [("x-kops-request-sha", hash.as_str())];
    let mut url = Url::parse(&format!("https://{}/?{QUERY}", signed.host))?;
    let body = SignableBody::Bytes(b"");
    let request = SignableRequest::new("GET", url.as_str(), sent.into_iter(), body)?;
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(GOOD_FOR);
    let (_, parameters) = sign_with(credentials, signed, settings, request)?.into_parts();
    url.query_pairs_mut().extend_pairs(parameters);
    Ok(json!({
        "url": url.as_str(),
        "method": "GET",
        // Names as Go writes them, for the server looks them up by that very spelling.
        "headers": { "Host": [signed.host], "X-Kops-Request-Sha": [hash] },
    }))
}

fn sign_with(
    credentials: &Credentials,
    signed: &Signed<'_>,
    settings: SigningSettings,
    request: SignableRequest<'_>,
) -> Result<SigningInstructions, Box<dyn Error>> {
    let identity = credentials.clone().into();
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(signed.region)
        .name("sts")
        .time(signed.at)
        .settings(settings)
        .build()?
        .into();
    let (instructions, _) = sign(request, &parameters)?.into_parts();
    Ok(instructions)
}

/// The headers that the server sends along, by their names as Go writes them: not the host and the length, which it sets
/// itself, and which are signed too.
fn headers(
    credentials: &Credentials,
    signed: &Signed<'_>,
) -> Result<Map<String, Value>, Box<dyn Error>> {
    let hash = body_hash(signed);
    let length = BODY.len().to_string();
    let sent = [
        ("content-length", length.as_str()),
        ("content-type", CONTENT_TYPE),
        ("x-kops-request-sha", hash.as_str()),
    ];
    let url = format!("https://{}/", signed.host);
    let body = SignableBody::Bytes(BODY.as_bytes());
    let request = SignableRequest::new("POST", url.as_str(), sent.into_iter(), body)?;
    let added = sign_with(credentials, signed, SigningSettings::default(), request)?;
    let mut headers = Map::new();
    let (added, _) = added.into_parts();
    let added = added.iter().map(|header| (header.name(), header.value()));
    for (name, value) in sent.into_iter().skip(1).chain(added) {
        headers.insert(canonical(name), json!([value]));
    }
    Ok(headers)
}

/// A header's name in Go's spelling: each word begins with a capital and has no other.
fn canonical(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        format!(
            "{}{}",
            first.to_ascii_uppercase(),
            rest.to_ascii_lowercase()
        )
    });
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn read(token: &Secret<String>) -> Value {
        let rest = token.expose().strip_prefix("x-aws-sts ");
        let json = STANDARD.decode(rest.expect("its scheme"));
        serde_json::from_slice(&json.expect("base64")).expect("JSON")
    }

    /// The values are those that both of Go's SDKs give for these credentials, as kops' own test has them.
    #[test]
    fn what_is_signed_is_what_kops_signs() {
        let credentials = Credentials::new("fakeaccesskey", "fakesecretkey", None, None, "test");
        let signed = Signed {
            region: "us-east-1",
            host: "sts.amazonaws.com",
            body: b"test-body",
            at: UNIX_EPOCH + Duration::from_secs(1_716_038_342),
        };
        let token = token(&credentials, &signed, TokenVersion::V1).expect("it is signed");
        let authorization = "AWS4-HMAC-SHA256 Credential=fakeaccesskey/20240518/us-east-1/sts/aws4_request, SignedHeaders=content-length;content-type;host;x-amz-date;x-kops-request-sha, Signature=198684464845d2d52947df10171b6291e1b2223ce4bd82a380087761d91246f9";
        assert_eq!(
            read(&token),
            json!({
                "Authorization": [authorization],
                "Content-Type": ["application/x-www-form-urlencoded; charset=utf-8"],
                "X-Amz-Date": ["20240518T131902Z"],
                "X-Kops-Request-Sha": ["2dhlzFTsYGePGxGQhK15rn+TV9HEUZxkV94zFLf7uoo"],
            })
        );
    }

    #[test]
    fn the_token_of_a_session_is_signed_and_sent_along() {
        let session = Some("session-token".to_owned());
        let credentials = Credentials::new("ASIA", "secret", session, None, "test");
        let signed = Signed {
            region: "eu-central-1",
            host: "sts.eu-central-1.amazonaws.com",
            body: b"",
            at: SystemTime::now(),
        };
        let token = token(&credentials, &signed, TokenVersion::V1).expect("it is signed");
        let headers = read(&token);
        assert_eq!(headers["X-Amz-Security-Token"], json!(["session-token"]));
        let authorization = headers["Authorization"][0].as_str().unwrap_or_default();
        assert!(authorization.contains("x-amz-date;x-amz-security-token;x-kops-request-sha"));
        assert!(!format!("{token:?}").contains("eyJ"), "it is not shown");
    }

    /// The parts that kops' own test of version 2 looks at; the signature itself is checked by a stand-in for the server.
    #[test]
    fn the_second_version_is_a_presigned_request_for_one_action() {
        let session = Some("session/token+==".to_owned());
        let credentials = Credentials::new("fakeaccesskey", "fakesecretkey", session, None, "test");
        let signed = Signed {
            region: "us-east-1",
            host: "sts.us-east-1.amazonaws.com",
            body: b"test-body",
            at: UNIX_EPOCH + Duration::from_secs(1_716_038_342),
        };
        let token = token(&credentials, &signed, TokenVersion::V2).expect("it is signed");
        let rest = token.expose().strip_prefix("x-aws-sts-v2 ");
        let json = STANDARD.decode(rest.expect("its scheme")).expect("base64");
        let token: Value = serde_json::from_slice(&json).expect("JSON");
        assert_eq!(token["method"], "GET");
        assert_eq!(
            token["headers"],
            json!({
                "Host": ["sts.us-east-1.amazonaws.com"],
                "X-Kops-Request-Sha": ["2dhlzFTsYGePGxGQhK15rn+TV9HEUZxkV94zFLf7uoo"],
            })
        );
        let url = Url::parse(token["url"].as_str().expect("a text")).expect("a URL");
        let place = (url.scheme(), url.host_str(), url.path());
        assert_eq!(place, ("https", Some("sts.us-east-1.amazonaws.com"), "/"));
        let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let credential = "fakeaccesskey/20240518/us-east-1/sts/aws4_request";
        for (name, value) in [
            ("Action", "GetCallerIdentity"),
            ("Version", "2011-06-15"),
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", credential),
            ("X-Amz-Date", "20240518T131902Z"),
            ("X-Amz-SignedHeaders", "host;x-kops-request-sha"),
            ("X-Amz-Security-Token", "session/token+=="),
            ("X-Amz-Expires", "900"),
        ] {
            let of_name = query.iter().filter(|(known, _)| known == name);
            let values: Vec<&str> = of_name.map(|(_, value)| value.as_str()).collect();
            assert_eq!(values, [value], "{name}");
        }
    }

    #[test]
    fn each_partition_has_its_own_domain() {
        for (region, host) in [
            ("us-east-1", "sts.us-east-1.amazonaws.com"),
            ("us-gov-west-1", "sts.us-gov-west-1.amazonaws.com"),
            ("cn-north-1", "sts.cn-north-1.amazonaws.com.cn"),
            ("us-iso-east-1", "sts.us-iso-east-1.c2s.ic.gov"),
            ("us-isob-east-1", "sts.us-isob-east-1.sc2s.sgov.gov"),
            ("eusc-de-east-1", "sts.eusc-de-east-1.amazonaws.eu"),
        ] {
            assert_eq!(sts_host(region), host);
        }
    }
}
