//! Turns the service's answers into the instance's facts.

use quake_model::facts::InstanceFacts;
use quake_model::ports::{Condition, PortError};
use serde::Deserialize;

/// The signed document that says most in one read.
pub(super) const DOCUMENT: &str = "dynamic/instance-identity/document";

pub(super) const LOCAL_HOSTNAME: &str = "meta-data/local-hostname";

/// The primary interface's hardware address.
pub(super) const MAC: &str = "meta-data/mac";

/// What the agent reads of the identity document (EC2 user guide, "Instance identity documents").
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    instance_id: String,
    instance_type: String,
    availability_zone: String,
    pub(super) region: String,
    account_id: String,
    image_id: String,
    #[serde(default)]
    private_ip: Option<String>,
    architecture: String,
}

/// Reads the identity document.
///
/// # Errors
///
/// `Malformed` when it is not one, or a field the node depends on is empty.
pub(super) fn parse_document(text: &str) -> Result<Document, PortError> {
    let malformed = |what: &str| {
        let summary = format!("the instance identity document {what}");
        PortError::new(Condition::Malformed, summary)
            .seen("begins-with", text.chars().take(32).collect::<String>())
    };
    let document: Document =
        serde_json::from_str(text).map_err(|error| malformed("cannot be read").because(&error))?;
    let needed = [
        ("instanceId", &document.instance_id),
        ("availabilityZone", &document.availability_zone),
        ("region", &document.region),
        ("accountId", &document.account_id),
    ];
    if let Some((field, _)) = needed.iter().find(|(_, value)| value.is_empty()) {
        return Err(malformed(&format!("has an empty {field}")));
    }
    let names = [
        ("instanceType", &document.instance_type),
        ("imageId", &document.image_id),
        ("architecture", &document.architecture),
    ];
    match needed
        .iter()
        .chain(&names)
        .find(|(_, value)| !is_name(value))
    {
        Some((field, _)) => Err(malformed(&format!("has a {field} that is no name"))),
        None => Ok(document),
    }
}

/// Whether a text can be an id, a zone or a type. They become parts of paths and of the names of hosts to which requests go
/// that are signed.
fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.len() <= 64 && !text.contains("..") && text.chars().all(allowed)
}

/// The instance's facts from the document, the host name and the hardware address.
///
/// # Errors
///
/// `Malformed` when one of them is not what it should be.
pub(super) fn assemble(
    document: &str,
    hostname: &str,
    mac: &str,
) -> Result<InstanceFacts, PortError> {
    let document = parse_document(document)?;
    let not = |what: &str| {
        let summary = format!("the metadata service answered something that is not {what}");
        PortError::new(Condition::Malformed, summary)
    };
    // A DHCP option set with several domain names yields several words here; the first is the host's.
    let hostname = hostname.split_whitespace().next().unwrap_or_default();
    if !is_hostname(hostname) {
        return Err(not("a host name"));
    }
    let private_ip = document.private_ip.unwrap_or_default();
    if !private_ip.is_empty() && private_ip.parse::<std::net::IpAddr>().is_err() {
        return Err(not("an address"));
    }
    let mac = mac.trim();
    if !is_mac(mac) {
        return Err(not("a hardware address"));
    }
    Ok(InstanceFacts {
        instance_id: document.instance_id,
        instance_type: document.instance_type,
        zone: document.availability_zone,
        region: document.region,
        account_id: document.account_id,
        image_id: document.image_id,
        private_ip,
        local_hostname: hostname.to_owned(),
        mac: mac.to_ascii_lowercase(),
        architecture: document.architecture,
    })
}

/// Whether a text can be a role's name (IAM user guide: letters, digits and `+=,.@-_`, at most 64).
pub(super) fn is_role_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+=,.@-_".contains(c);
    !text.is_empty() && text.len() <= 64 && text.chars().all(allowed)
}

fn is_hostname(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == '_';
    !text.is_empty() && text.len() <= 253 && text.chars().all(allowed)
}

fn is_mac(text: &str) -> bool {
    let octet = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
    text.split(':').count() == 6 && text.split(':').all(octet)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT_TEXT: &str = r#"{"accountId":"123456789012","architecture":"x86_64",
        "availabilityZone":"us-west-2a","imageId":"ami-1","instanceId":"i-1","instanceType":"m5.large",
        "privateIp":null,"region":"us-west-2","kernelId":null,"version":"2017-09-30"}"#;

    #[test]
    fn an_ipv6_only_instance_has_an_empty_private_ip() {
        let facts = assemble(DOCUMENT_TEXT, "ip-1.ec2.internal", "0A:00:00:00:00:01");
        let facts = facts.expect("all three are valid");
        assert_eq!(
            (facts.private_ip.as_str(), facts.mac.as_str()),
            ("", "0a:00:00:00:00:01")
        );
    }

    #[test]
    fn of_several_host_names_the_first_is_taken() {
        let facts = assemble(
            DOCUMENT_TEXT,
            "ip-1.a.example ip-1.b.example\n",
            "0a:00:00:00:00:01",
        );
        assert_eq!(
            facts.map(|facts| facts.local_hostname),
            Ok("ip-1.a.example".to_owned())
        );
    }

    #[test]
    fn an_error_page_is_never_taken_for_metadata() {
        let page = "<html><body>blocked</body></html>";
        let mac = "0a:00:00:00:00:01";
        for (document, hostname, mac) in [
            (page, "ip-1", mac),
            (DOCUMENT_TEXT, page, mac),
            (DOCUMENT_TEXT, "ip-1", page),
        ] {
            let error = assemble(document, hostname, mac).expect_err("one of them is a page");
            assert_eq!(error.condition, Condition::Malformed);
        }
    }

    #[test]
    fn an_id_that_is_a_path_and_a_region_that_is_a_host_are_malformed() {
        for (was, is) in [
            ("i-1", "../../etc/cron.d/x"),
            ("us-west-2\"", "evil.example/\""),
            ("us-west-2a", "us-west-2a\\n"),
            ("m5.large", "m5 large"),
            ("ami-1", ".."),
        ] {
            let error = parse_document(&DOCUMENT_TEXT.replace(was, is));
            let error = error.expect_err(is);
            assert!(error.summary.contains("that is no name"), "{error}");
        }
        let text = DOCUMENT_TEXT.replace("\"privateIp\":null", "\"privateIp\":\"10.0.0.1/x\"");
        let error = assemble(&text, "ip-1", "0a:00:00:00:00:01");
        assert_eq!(
            error.map_err(|error| error.condition),
            Err(Condition::Malformed)
        );
    }

    #[test]
    fn a_document_without_a_region_is_malformed() {
        let text = DOCUMENT_TEXT.replace("\"region\":\"us-west-2\"", "\"region\":\"\"");
        let error = parse_document(&text).expect_err("the region is empty");
        assert!(error.summary.contains("region"), "{error}");
    }
}
