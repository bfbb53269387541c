//! Proves to kops-controller which instance asks: the headers of a signed request to STS that is never sent by us. The
//! server sends it, and STS says whose it is (`pkg/bootstrap/awsbootstrap`, and `upup/pkg/fi/cloudup/awsup` before 1.37;
//! read at v1.32.4 to v1.36.2).

use super::Aws;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::Secret;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::error::Error;
use std::time::SystemTime;

/// What the value of the header begins with; the second form, `x-aws-sts-v2`, is taken by servers and sent by nobody yet.
const SCHEME: &str = "x-aws-sts ";

/// The body of the request, which the server writes anew, byte for byte.
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
    /// The value of `Authorization` for a request with this body to kops-controller.
    ///
    /// Its region is the instance's, whatever the environment says, as on both sides in kops: the signature is good in no other.
    ///
    /// # Errors
    ///
    /// Those of the metadata service, and `Malformed` when nothing can be signed.
    pub async fn prove_instance(&self, body: &[u8]) -> Result<Secret<String>, PortError> {
        let region = self.instance_region().await?;
        let credentials = self.credentials().await?;
        let signed = Signed {
            region: &region,
            host: &sts_host(&region),
            body,
            at: SystemTime::now(),
        };
        token(&credentials, &signed)
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

fn token(credentials: &Credentials, signed: &Signed<'_>) -> Result<Secret<String>, PortError> {
    let headers = headers(credentials, signed).map_err(|error| {
        let summary = "the proof for kops-controller cannot be signed";
        PortError::new(Condition::Malformed, summary).because(&*error)
    })?;
    // Names as Go writes them, for the server looks them up by that very spelling.
    let headers = STANDARD.encode(Value::Object(headers).to_string());
    Ok(Secret::new(format!("{SCHEME}{headers}")))
}

/// The headers that the server sends along: not the host and the length, which it sets itself, and which are signed too.
fn headers(
    credentials: &Credentials,
    signed: &Signed<'_>,
) -> Result<Map<String, Value>, Box<dyn Error>> {
    let hash = STANDARD_NO_PAD.encode(Sha256::digest(signed.body));
    let length = BODY.len().to_string();
    let sent = [
        ("content-length", length.as_str()),
        ("content-type", CONTENT_TYPE),
        ("x-kops-request-sha", hash.as_str()),
    ];
    let url = format!("https://{}/", signed.host);
    let body = SignableBody::Bytes(BODY.as_bytes());
    let request = SignableRequest::new("POST", url.as_str(), sent.into_iter(), body)?;
    let identity = credentials.clone().into();
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(signed.region)
        .name("sts")
        .time(signed.at)
        .settings(SigningSettings::default())
        .build()?
        .into();
    let (added, _) = sign(request, &parameters)?.into_parts();
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
    use std::time::{Duration, UNIX_EPOCH};

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
        let token = token(&credentials, &signed).expect("it is signed");
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
        let token = token(&credentials, &signed).expect("it is signed");
        let headers = read(&token);
        assert_eq!(headers["X-Amz-Security-Token"], json!(["session-token"]));
        let authorization = headers["Authorization"][0].as_str().unwrap_or_default();
        assert!(authorization.contains("x-amz-date;x-amz-security-token;x-kops-request-sha"));
        assert!(!format!("{token:?}").contains("eyJ"), "it is not shown");
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
