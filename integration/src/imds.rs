//! An instance metadata service of our own: version 2 alone, as EC2's user guide describes it.

use crate::http::{Reply, Request};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest a token may be asked for, in seconds (EC2 user guide, "Use IMDSv2").
const LONGEST_TOKEN: u64 = 21_600;

/// Credentials that are told from any other text in whatever the agent shows.
pub const ACCESS_KEY_ID: &str = "ASIAPLANTEDKEYID0001";
/// The secret part of the credentials.
pub const SECRET_ACCESS_KEY: &str = "plantedSecretAccessKey/0123456789abcdefg";
/// The session token of the credentials.
pub const SESSION_TOKEN: &str = "plantedSessionToken//////////0123456789abcdef==";
/// What every token of the service begins with.
pub const TOKEN: &str = "plantedMetadataToken";

/// The role of the instance.
pub const ROLE: &str = "nodes.demo.quake.example";

/// What the service knows of its instance.
#[derive(Debug)]
pub struct Metadata {
    paths: BTreeMap<String, Vec<u8>>,
    tokens: AtomicU64,
}

impl Metadata {
    /// The service of this instance.
    pub fn new(instance: &str, user_data: &str) -> Self {
        let credentials = json!({
            "Code": "Success", "Type": "AWS-HMAC", "LastUpdated": "2020-01-01T00:00:00Z",
            "AccessKeyId": ACCESS_KEY_ID, "SecretAccessKey": SECRET_ACCESS_KEY, "Token": SESSION_TOKEN,
            "Expiration": "2099-01-01T00:00:00Z",
        });
        let role = format!("meta-data/iam/security-credentials/{ROLE}");
        let paths = [
            (
                "dynamic/instance-identity/document",
                identity_document(instance),
            ),
            (
                "meta-data/local-hostname",
                "ip-10-0-0-10.ec2.internal".to_owned(),
            ),
            ("meta-data/mac", "02:00:00:00:00:01".to_owned()),
            ("meta-data/iam/security-credentials/", ROLE.to_owned()),
            (role.as_str(), credentials.to_string()),
            ("user-data", user_data.to_owned()),
        ];
        Self::with(paths.map(|(path, text)| (path, text.into_bytes())))
    }

    /// The same for an instance with another private address.
    #[must_use]
    pub fn at(mut self, address: &str) -> Self {
        let document = self.paths.get_mut("dynamic/instance-identity/document");
        if let Some(bytes) = document {
            let text = String::from_utf8_lossy(bytes).replace("10.0.0.10", address);
            *bytes = text.into_bytes();
        }
        self
    }

    /// A service with these values at their paths, such as `meta-data/mac`.
    pub fn with<P: Into<String>>(paths: impl IntoIterator<Item = (P, Vec<u8>)>) -> Self {
        let paths = paths.into_iter();
        Self {
            paths: paths.map(|(path, value)| (path.into(), value)).collect(),
            tokens: AtomicU64::new(0),
        }
    }

    /// Answers a request.
    pub fn answer(&self, request: &Request) -> Reply {
        if request.path() == "/latest/api/token" {
            return self.grant(request);
        }
        let token = request
            .header("x-aws-ec2-metadata-token")
            .unwrap_or_default();
        let number = token
            .strip_prefix(TOKEN)
            .and_then(|text| text.parse::<u64>().ok());
        if request.method != "GET"
            || number.is_none_or(|number| number >= self.tokens.load(Ordering::SeqCst))
        {
            return Reply::new(401, "");
        }
        // Each version of the service is a tree of its own; here they are all the same.
        let path = request.path().trim_start_matches('/');
        let path = path.split_once('/').map_or("", |(_version, path)| path);
        match self.paths.get(path).cloned().or_else(|| self.list(path)) {
            Some(value) => Reply::new(200, value).with("content-type", "text/plain"),
            None => Reply::new(404, ""),
        }
    }

    /// The names in a directory, a line each; those of directories end with a slash.
    fn list(&self, path: &str) -> Option<Vec<u8>> {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let below = |at: &String| {
            let rest = at.strip_prefix(&folder)?;
            let name = rest.split_inclusive('/').next()?;
            (!name.is_empty()).then(|| name.to_owned())
        };
        let names: BTreeSet<String> = self.paths.keys().filter_map(below).collect();
        let names: Vec<String> = names.into_iter().collect();
        (!names.is_empty()).then(|| names.join("\n").into_bytes())
    }

    fn grant(&self, request: &Request) -> Reply {
        let seconds = request.header("x-aws-ec2-metadata-token-ttl-seconds");
        let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(0);
        if request.method != "PUT" || !(1..=LONGEST_TOKEN).contains(&seconds) {
            return Reply::new(400, "");
        }
        if request.header("x-forwarded-for").is_some() {
            return Reply::new(403, "");
        }
        let number = self.tokens.fetch_add(1, Ordering::SeqCst);
        let granted = seconds.to_string();
        Reply::new(200, format!("{TOKEN}{number}"))
            .with("x-aws-ec2-metadata-token-ttl-seconds", &granted)
    }
}

/// The identity document of this instance, in zone `us-east-1a`.
pub fn identity_document(instance: &str) -> String {
    json!({
        "accountId": "123456789012",
        "architecture": "x86_64",
        "availabilityZone": "us-east-1a",
        "imageId": "ami-12c6146b",
        "instanceId": instance,
        "instanceType": "m5.large",
        "privateIp": "10.0.0.10",
        "region": "us-east-1",
        "version": "2017-09-30",
    })
    .to_string()
}

/// The script that the cluster's tool gives an instance as user data, as far as a node reads it: its
/// documents as heredocs.
pub fn user_data(kube_env: &str, cluster_spec: &str, ig_spec: &str) -> String {
    format!(
        "#!/bin/bash\nset -o errexit\n\ncat > cluster_spec.yaml << '__EOF_CLUSTER_SPEC'\n{cluster_spec}\n__EOF_CLUSTER_SPEC\n\ncat > ig_spec.yaml << '__EOF_IG_SPEC'\n{ig_spec}\n__EOF_IG_SPEC\n\ncat > kube_env.yaml << '__EOF_KUBE_ENV'\n{kube_env}\n__EOF_KUBE_ENV\n\ndownload-release\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, target: &str, headers: &[(&str, &str)]) -> Request {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Request {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: headers.collect(),
            body: Vec::new(),
        }
    }

    #[test]
    fn nothing_is_told_without_a_token_of_this_service() {
        let service = Metadata::new("i-1", "");
        let mac = "/latest/meta-data/mac";
        let forged = ("x-aws-ec2-metadata-token", "plantedMetadataToken7");
        assert_eq!(service.answer(&request("GET", mac, &[])).status, 401);
        assert_eq!(service.answer(&request("GET", mac, &[forged])).status, 401);
        let requested = ("x-aws-ec2-metadata-token-ttl-seconds", "60");
        let granted = service.answer(&request("PUT", "/latest/api/token", &[requested]));
        let token = String::from_utf8(granted.body).unwrap();
        let good = ("x-aws-ec2-metadata-token", token.as_str());
        assert_eq!(
            service.answer(&request("GET", mac, &[good])).body,
            b"02:00:00:00:00:01"
        );
        assert_eq!(
            service
                .answer(&request("PUT", "/latest/api/token", &[]))
                .status,
            400
        );
    }

    #[test]
    fn a_folder_lists_its_names_in_every_version() {
        let at = |path: &str| (path.to_owned(), Vec::new());
        let service = Metadata::with([
            at("meta-data/mac"),
            at("meta-data/iam/info"),
            at("user-data"),
        ]);
        let requested = ("x-aws-ec2-metadata-token-ttl-seconds", "60");
        let granted = service.answer(&request("PUT", "/latest/api/token", &[requested]));
        let token = String::from_utf8(granted.body).unwrap();
        let good = ("x-aws-ec2-metadata-token", token.as_str());
        for folder in ["/latest/meta-data/", "/2021-03-23/meta-data"] {
            let listed = service.answer(&request("GET", folder, &[good]));
            assert_eq!(listed.body, b"iam/\nmac", "{folder}");
        }
        assert_eq!(
            service
                .answer(&request("GET", "/latest/nothing", &[good]))
                .status,
            404
        );
    }
}
