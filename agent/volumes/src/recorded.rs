//! Reads what `aws ec2 describe-volumes` and `describe-instances` printed, for a decision after the fact.
//!
//! A document has `Volumes`, `Reservations` or both; pages may be put together as an array of documents. Keys that
//! EC2 leaves out may be missing; a key that is there and is not what EC2 writes is an error that names its place.

use super::tags::instant;
use quake_model::facts::{
    Attachment, AttachmentState, InstanceState, InstanceView, VolumeFacts, VolumeState,
};
use quake_model::time::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a recording holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recorded {
    /// Volumes, in the order of the recording.
    pub volumes: Vec<VolumeFacts>,
    /// Instances, in the order of the recording.
    pub instances: Vec<InstanceView>,
}

/// Why a text is no recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordedError {
    /// It is not JSON; the message has line and column.
    #[error("not JSON: {0}")]
    Json(String),
    /// A key that must be there is not.
    #[error("{place} is missing")]
    Missing {
        /// Such as `Volumes[3].VolumeId`.
        place: String,
    },
    /// A value is of another kind.
    #[error("{place} is {found}, and should be {wanted}")]
    Wrong {
        /// Such as `Volumes[3].Size`.
        place: String,
        found: String,
        wanted: &'static str,
    },
    /// It holds neither volumes nor instances.
    #[error(
        "{place} has neither Volumes nor Reservations: it is no output of aws ec2 describe-volumes"
    )]
    Foreign { place: String },
}

/// Reads a recording.
///
/// # Errors
///
/// Returns the first place that is not as EC2 writes it.
pub fn read_recorded(text: &str) -> Result<Recorded, RecordedError> {
    let root: Value =
        serde_json::from_str(text).map_err(|error| RecordedError::Json(error.to_string()))?;
    let mut recorded = Recorded::default();
    match root.as_array() {
        Some(pages) => {
            for (index, page) in pages.iter().enumerate() {
                read_page(&At::new(&format!("[{index}]"), page), &mut recorded)?;
            }
        }
        None => read_page(&At::new("", &root), &mut recorded)?,
    }
    Ok(recorded)
}

fn read_page(page: &At<'_>, recorded: &mut Recorded) -> Result<(), RecordedError> {
    let (volumes, reservations) = (page.get("Volumes"), page.get("Reservations"));
    if volumes.is_none() && reservations.is_none() {
        let place = match page.place.as_str() {
            "" => "the document".to_owned(),
            place => place.to_owned(),
        };
        return Err(RecordedError::Foreign { place });
    }
    for volume in page.list("Volumes")? {
        recorded.volumes.push(read_volume(&volume)?);
    }
    for reservation in page.list("Reservations")? {
        for instance in reservation.list("Instances")? {
            recorded.instances.push(read_instance(&instance)?);
        }
    }
    Ok(())
}

fn read_volume(volume: &At<'_>) -> Result<VolumeFacts, RecordedError> {
    let attachments = volume.list("Attachments")?;
    let snapshot = volume.text("SnapshotId")?.filter(|id| !id.is_empty());
    Ok(VolumeFacts {
        volume_id: volume.needed("VolumeId")?,
        zone: volume.needed("AvailabilityZone")?,
        state: known(&volume.needed("State")?).unwrap_or(VolumeState::Unknown),
        size_gib: volume.number("Size")?,
        created: volume
            .instant("CreateTime")?
            .ok_or_else(|| volume.missing("CreateTime"))?,
        encrypted: volume.flag("Encrypted")?,
        multi_attach: volume.flag("MultiAttachEnabled")?,
        snapshot_id: snapshot,
        tags: read_tags(volume)?,
        attachments: attachments
            .iter()
            .map(read_attachment)
            .collect::<Result<_, _>>()?,
    })
}

fn read_attachment(attachment: &At<'_>) -> Result<Attachment, RecordedError> {
    let state = attachment.text("State")?.unwrap_or_default();
    Ok(Attachment {
        instance_id: attachment.needed("InstanceId")?,
        device_name: attachment.text("Device")?.unwrap_or_default(),
        state: known(&state).unwrap_or(AttachmentState::Unknown),
        since: attachment.instant("AttachTime")?,
        delete_on_termination: attachment.flag("DeleteOnTermination")?,
    })
}

fn read_instance(instance: &At<'_>) -> Result<InstanceView, RecordedError> {
    let state = instance.child("State")?.text("Name")?.unwrap_or_default();
    let placement = instance.child("Placement")?;
    let devices = instance.list("BlockDeviceMappings")?;
    let mut device_names = Vec::new();
    for device in devices {
        device_names.extend(device.text("DeviceName")?);
    }
    Ok(InstanceView {
        private_ip: String::new(),
        instance_id: instance.needed("InstanceId")?,
        state: known(&state).unwrap_or(InstanceState::Unknown),
        launched: instance.instant("LaunchTime")?.unwrap_or(Timestamp(0)),
        zone: placement.text("AvailabilityZone")?.unwrap_or_default(),
        tags: read_tags(instance)?,
        device_names,
    })
}

fn read_tags(of: &At<'_>) -> Result<BTreeMap<String, String>, RecordedError> {
    let mut tags = BTreeMap::new();
    for tag in of.list("Tags")? {
        tags.insert(tag.needed("Key")?, tag.text("Value")?.unwrap_or_default());
    }
    Ok(tags)
}

/// A state by EC2's word for it; `None` for a word that this agent does not know.
fn known<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(Value::from(word)).ok()
}

/// A value and the place it is at.
struct At<'a> {
    place: String,
    value: &'a Value,
}

impl<'a> At<'a> {
    fn new(place: &str, value: &'a Value) -> Self {
        Self {
            place: place.to_owned(),
            value,
        }
    }

    /// The value of a key; `null` is as good as none.
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.value.get(key).filter(|value| !value.is_null())
    }

    fn below(&self, key: &str) -> String {
        match self.place.as_str() {
            "" => key.to_owned(),
            place => format!("{place}.{key}"),
        }
    }

    fn missing(&self, key: &str) -> RecordedError {
        let place = self.below(key);
        RecordedError::Missing { place }
    }

    fn wrong(&self, key: &str, found: &Value, wanted: &'static str) -> RecordedError {
        let found = match found {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "a boolean".to_owned(),
            Value::Number(number) => format!("the number {number}"),
            Value::String(text) => format!("the string {text:?}"),
            Value::Array(_) => "an array".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        RecordedError::Wrong {
            place: self.below(key),
            found,
            wanted,
        }
    }

    fn read<T>(
        &self,
        key: &str,
        wanted: &'static str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, RecordedError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match read(value) {
            Some(read) => Ok(Some(read)),
            None => Err(self.wrong(key, value, wanted)),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, RecordedError> {
        self.read(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    fn needed(&self, key: &str) -> Result<String, RecordedError> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    fn number(&self, key: &str) -> Result<u32, RecordedError> {
        let number = |value: &Value| value.as_u64().and_then(|number| number.try_into().ok());
        Ok(self.read(key, "a whole number", number)?.unwrap_or(0))
    }

    fn flag(&self, key: &str) -> Result<bool, RecordedError> {
        Ok(self
            .read(key, "true or false", Value::as_bool)?
            .unwrap_or(false))
    }

    fn instant(&self, key: &str) -> Result<Option<Timestamp>, RecordedError> {
        let read = |value: &Value| value.as_str().and_then(instant);
        self.read(key, "an instant (RFC 3339)", read)
    }

    fn child(&self, key: &str) -> Result<At<'a>, RecordedError> {
        const NOTHING: &Value = &Value::Null;
        let object = |value: &'a Value| value.is_object().then_some(value);
        let value = self.read(key, "an object", object)?;
        Ok(At {
            place: self.below(key),
            value: value.unwrap_or(NOTHING),
        })
    }

    fn list(&self, key: &str) -> Result<Vec<At<'a>>, RecordedError> {
        let items = self.read(key, "an array", Value::as_array)?;
        let place = self.below(key);
        let items = items.into_iter().flatten().enumerate();
        let mut found = Vec::new();
        for (index, value) in items {
            let item = At {
                place: format!("{place}[{index}]"),
                value,
            };
            if !value.is_object() {
                return Err(RecordedError::Wrong {
                    place: item.place,
                    found: value.to_string(),
                    wanted: "an object",
                });
            }
            found.push(item);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As AWS CLI 2 prints it; `MultiAttachEnabled` and `SnapshotId` come only with newer ones.
    const VOLUMES: &str = r#"{
    "Volumes": [
        {
            "Attachments": [
                {
                    "AttachTime": "2020-01-03T10:20:00+00:00",
                    "Device": "/dev/xvdu",
                    "InstanceId": "i-0aa",
                    "State": "attached",
                    "VolumeId": "vol-0aa",
                    "DeleteOnTermination": false
                }
            ],
            "AvailabilityZone": "us-east-1a",
            "CreateTime": "2020-01-03T10:11:12.345000+00:00",
            "Encrypted": true,
            "Size": 20,
            "SnapshotId": "",
            "State": "in-use",
            "VolumeId": "vol-0aa",
            "Iops": 100,
            "Tags": [
                {"Key": "KubernetesCluster", "Value": "c.example"},
                {"Key": "k8s.io/etcd/main", "Value": "a/a"}
            ],
            "VolumeType": "gp2"
        },
        {
            "AvailabilityZone": "us-east-1a",
            "CreateTime": "2019-11-20T08:00:00.000Z",
            "State": "available",
            "VolumeId": "vol-0bb"
        }
    ]
}"#;

    #[test]
    fn the_output_of_the_aws_cli_is_read_with_keys_missing() {
        let read = read_recorded(VOLUMES).expect("it is a recording");
        let [first, second] = read.volumes.as_slice() else {
            unreachable!("there are two");
        };
        assert_eq!(first.created.to_string(), "2020-01-03T10:11:12.345Z");
        assert_eq!(first.attachments[0].state, AttachmentState::Attached);
        assert_eq!((first.size_gib, first.encrypted), (20, true));
        assert_eq!(first.snapshot_id, None);
        assert_eq!(first.tags["k8s.io/etcd/main"], "a/a");
        assert_eq!(second.state, VolumeState::Available);
        assert_eq!((second.size_gib, second.multi_attach), (0, false));
        assert!(second.tags.is_empty() && second.attachments.is_empty());
    }

    #[test]
    fn pages_and_instances_are_read_from_an_array_of_documents() {
        let instances = r#"{"Reservations": [{"Instances": [{
            "InstanceId": "i-0aa", "LaunchTime": "2020-01-03T10:00:00+00:00",
            "Placement": {"AvailabilityZone": "us-east-1a", "Tenancy": "default"},
            "State": {"Code": 48, "Name": "terminated"},
            "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {}}]
        }]}]}"#;
        let text = format!("[{VOLUMES}, {{\"Volumes\": []}}, {instances}]");
        let read = read_recorded(&text).expect("it is a recording");
        assert_eq!((read.volumes.len(), read.instances.len()), (2, 1));
        let instance = &read.instances[0];
        assert_eq!(instance.state, InstanceState::Terminated);
        assert_eq!(instance.zone, "us-east-1a");
        assert_eq!(instance.device_names, ["/dev/xvda"]);
    }

    #[test]
    fn an_error_names_the_element_and_the_key() {
        let volume = |body: &str| format!(r#"{{"Volumes": [{{"VolumeId": "vol-1", {body}}}]}}"#);
        let zone = r#""AvailabilityZone": "z", "State": "available""#;
        for (text, wanted) in [
            (volume(zone), "Volumes[0].CreateTime is missing"),
            (
                volume(&format!(r#"{zone}, "CreateTime": "yesterday""#)),
                "Volumes[0].CreateTime is the string \"yesterday\", and should be an instant (RFC 3339)",
            ),
            (
                volume(&format!(
                    r#"{zone}, "CreateTime": "2020-01-03T10:11:12Z", "Tags": [{{"Value": "x"}}]"#
                )),
                "Volumes[0].Tags[0].Key is missing",
            ),
            (
                r#"[{"Volumes": []}, {"Volumes": [7]}]"#.to_owned(),
                "[1].Volumes[0] is 7, and should be an object",
            ),
            (
                r#"{"Snapshots": []}"#.to_owned(),
                "the document has neither Volumes nor Reservations: it is no output of aws ec2 describe-volumes",
            ),
        ] {
            let error = read_recorded(&text).expect_err("it is no recording");
            assert_eq!(error.to_string(), wanted);
        }
        let cut = read_recorded("{\n \"Volumes\": [").expect_err("it is cut");
        assert!(cut.to_string().contains("line 2 column"), "{cut}");
    }

    #[test]
    fn states_that_ec2_may_grow_are_unknown_and_no_error() {
        let text = VOLUMES.replace("in-use", "hibernating");
        let read = read_recorded(&text).expect("it is a recording");
        assert_eq!(read.volumes[0].state, VolumeState::Unknown);
    }
}
