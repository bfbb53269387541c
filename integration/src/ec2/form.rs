//! The parameters of a request of EC2's query protocol, and its filters.

use crate::xml::Element;
use std::collections::BTreeMap;

/// The parameters of one request.
#[derive(Debug, Default)]
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    /// Reads a body of the type `application/x-www-form-urlencoded`.
    pub(super) fn read(body: &[u8]) -> Self {
        let body = String::from_utf8_lossy(body);
        Self(pairs(&body).into_iter().collect())
    }

    /// A parameter; empty where it is not there.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Whether a volume or an instance has a requested id, if any id is requested.
    fn names(&self, item: &Element) -> bool {
        [("InstanceId", "instanceId"), ("VolumeId", "volumeId")]
            .iter()
            .all(|(parameter, field)| {
                let requested = (1..).map(|number| self.get(&format!("{parameter}.{number}")));
                let requested: Vec<&str> = requested.take_while(|id| !id.is_empty()).collect();
                requested.is_empty() || requested.contains(&item.text_of(field))
            })
    }

    /// Whether a volume or an instance is requested, and passes all filters: each by one of its values.
    pub(super) fn admits(&self, item: &Element) -> bool {
        self.names(item) && self.passes(item)
    }

    fn passes(&self, item: &Element) -> bool {
        (1..)
            .map(|number| (number, self.get(&format!("Filter.{number}.Name"))))
            .take_while(|(_, name)| !name.is_empty())
            .all(|(number, name)| {
                let values = (1..)
                    .map(|index| self.get(&format!("Filter.{number}.Value.{index}")))
                    .take_while(|value| !value.is_empty());
                let found = values_of(item, name);
                values
                    .into_iter()
                    .any(|value| found.iter().any(|it| it == value))
            })
    }
}

/// What a filter looks at; nothing for one that is not known here, so that its caller finds nothing.
fn values_of(item: &Element, filter: &str) -> Vec<String> {
    if let Some(key) = filter.strip_prefix("tag:") {
        return tag_of(item, key).into_iter().collect();
    }
    match filter {
        "tag-key" => {
            let tags = item.set("tagSet").iter();
            tags.map(|tag| tag.text_of("key").to_owned()).collect()
        }
        "availability-zone" => vec![item.text_of("availabilityZone").to_owned()],
        "volume-id" => vec![item.text_of("volumeId").to_owned()],
        "instance-id" => vec![item.text_of("instanceId").to_owned()],
        "attachment.instance-id" => item
            .set("attachmentSet")
            .iter()
            .map(|attachment| attachment.text_of("instanceId").to_owned())
            .collect(),
        _ => Vec::new(),
    }
}

/// The value of a tag.
pub(super) fn tag_of(item: &Element, key: &str) -> Option<String> {
    let mut tags = item.set("tagSet").iter();
    let tag = tags.find(|tag| tag.text_of("key") == key)?;
    Some(tag.text_of("value").to_owned())
}

/// The pairs of a body or a query of that type, in their order.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|it| char::from(it).to_digit(16));
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => match (digit(), digit()) {
                (Some(high), Some(low)) => u8::try_from(high * 16 + low).unwrap_or_default(),
                _ => b'?',
            },
            plain => plain,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_admits_what_has_one_of_its_values() {
        let body = b"Action=DescribeVolumes&Filter.1.Name=tag%3Ak8s.io%2Fetcd%2Fmain&Filter.1.Value.1=b&Filter.1.Value.2=a%2Fa%2Cb";
        let form = Form::read(body);
        let volume = |value: &str| {
            let text = format!(
                "<item><tagSet><item><key>k8s.io/etcd/main</key><value>{value}</value></item></tagSet></item>"
            );
            Element::parse(&text).unwrap()
        };
        assert_eq!(form.get("Action"), "DescribeVolumes");
        assert!(form.admits(&volume("a/a,b")) && form.admits(&volume("b")));
        assert!(!form.admits(&volume("c")));
        let by_key = |key: &str| {
            let body = format!("Filter.1.Name=tag-key&Filter.1.Value.1={key}");
            Form::read(body.as_bytes()).admits(&volume("a"))
        };
        assert!(by_key("k8s.io%2Fetcd%2Fmain") && !by_key("k8s.io%2Fetcd%2Fevents"));
        assert!(!Form::read(b"Filter.1.Name=color&Filter.1.Value.1=red").admits(&volume("a/a,b")));
    }
}
