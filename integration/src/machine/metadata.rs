//! What the metadata service tells an instance of itself, as much of it as an operating system reads at its start.

use crate::imds::{ACCESS_KEY_ID, Metadata, ROLE, SECRET_ACCESS_KEY};
use serde_json::{Value, json};
use std::net::Ipv4Addr;

/// The region of every machine, and its zone.
pub const REGION: &str = "us-east-1";
pub const ZONE: &str = "us-east-1a";

/// An instance, as far as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub instance: String,
    /// Its address, which also tells its MAC.
    pub address: Ipv4Addr,
}

impl Facts {
    /// Its hardware address: `06:00` and then the octets of its address.
    pub fn mac(&self) -> String {
        let [a, b, c, d] = self.address.octets();
        format!("06:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
    }

    /// Its name, as EC2 makes it of its address.
    pub fn host_name(&self) -> String {
        let [a, b, c, d] = self.address.octets();
        format!("ip-{a}-{b}-{c}-{d}.ec2.internal")
    }

    /// The service of this instance, whose credentials have this session token.
    pub fn service(&self, user_data: &[u8], session: &str) -> Metadata {
        let (mac, address, name) = (self.mac(), self.address.to_string(), self.host_name());
        let credentials = json!({
            "Code": "Success", "Type": "AWS-HMAC", "LastUpdated": "2020-01-01T00:00:00Z",
            "AccessKeyId": ACCESS_KEY_ID, "SecretAccessKey": SECRET_ACCESS_KEY, "Token": session,
            "Expiration": "2099-01-01T00:00:00Z",
        });
        let document = self.document(REGION);
        let profile = json!({
            "Code": "Success", "LastUpdated": "2020-01-01T00:00:00Z",
            "InstanceProfileArn": format!("arn:aws:iam::123456789012:instance-profile/{ROLE}"),
            "InstanceProfileId": "AIPAEXAMPLE",
        });
        let mut paths: Vec<(String, Vec<u8>)> = Vec::new();
        let mut add = |path: &str, value: &str| paths.push((path.to_owned(), value.into()));
        add("dynamic/instance-identity/document", &document.to_string());
        for (path, value) in [
            ("ami-id", "ami-12c6146b"),
            ("ami-launch-index", "0"),
            ("hostname", &name),
            ("instance-id", &self.instance),
            ("instance-life-cycle", "on-demand"),
            ("instance-type", "m5.large"),
            ("local-hostname", &name),
            ("local-ipv4", &address),
            ("mac", &mac),
            ("placement/availability-zone", ZONE),
            ("placement/region", REGION),
            ("services/domain", "amazonaws.com"),
            ("services/partition", "aws"),
            ("iam/info", &profile.to_string()),
            (
                &format!("iam/security-credentials/{ROLE}"),
                &credentials.to_string(),
            ),
        ] {
            add(&format!("meta-data/{path}"), value);
        }
        for (path, value) in [
            ("device-number", "0"),
            ("interface-id", "eni-0123456789abcdef0"),
            ("local-hostname", &name),
            ("local-ipv4s", &address),
            ("mac", &mac),
            ("owner-id", "123456789012"),
            ("subnet-id", "subnet-0123456789abcdef0"),
            ("subnet-ipv4-cidr-block", "172.20.0.0/16"),
            ("vpc-id", "vpc-0123456789abcdef0"),
            ("vpc-ipv4-cidr-block", "172.20.0.0/16"),
        ] {
            add(
                &format!("meta-data/network/interfaces/macs/{mac}/{path}"),
                value,
            );
        }
        if !user_data.is_empty() {
            paths.push(("user-data".to_owned(), user_data.to_vec()));
        }
        Metadata::with(paths)
    }

    fn document(&self, region: &str) -> Value {
        json!({
            "accountId": "123456789012", "architecture": "x86_64", "availabilityZone": ZONE,
            "imageId": "ami-12c6146b", "instanceId": self.instance, "instanceType": "m5.large",
            "privateIp": self.address.to_string(), "region": region, "version": "2017-09-30",
        })
    }
}
