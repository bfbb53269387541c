//! Metadata and EC2, simulated.

mod consoles;

use super::SimHost;
use quake_model::facts::{
    Attachment, AttachmentState, EniCapacity, InstanceFacts, InstanceView, VolumeFacts, VolumeState,
};
use quake_model::ports::{Cloud, Condition, InstanceQuery, Metadata, PortError, VolumeQuery};
use std::collections::BTreeMap;

impl Metadata for SimHost {
    async fn read_instance(&self) -> Result<InstanceFacts, PortError> {
        self.call("read_instance", |world| {
            world.count("imds:GetMetadata");
            Ok(world.region.instance.clone())
        })
        .await
    }

    async fn read_user_data(&self) -> Result<Option<Vec<u8>>, PortError> {
        self.call("read_user_data", |world| {
            world.count("imds:GetMetadata");
            Ok(world.region.user_data.clone())
        })
        .await
    }

    async fn read_role(&self) -> Result<String, PortError> {
        self.call("read_role", |world| {
            world.count("imds:GetMetadata");
            let after = world.timing.role_after;
            let arrived = world.has_arrived("role", after);
            let role = world.region.role.clone().filter(|_| arrived);
            role.ok_or_else(|| {
                PortError::new(Condition::Missing, "no role is attached to this instance")
            })
        })
        .await
    }

    async fn read_metadata(&self, key: &str) -> Result<Option<String>, PortError> {
        self.call("read_metadata", |world| {
            world.count("imds:GetMetadata");
            let after = world.prefix_after;
            if key.ends_with("/ipv6-prefix") && world.region.metadata.contains_key(key) {
                let arrived = world.has_arrived("ipv6-prefix", after);
                return Ok(world.region.metadata.get(key).filter(|_| arrived).cloned());
            }
            let known = world.region.metadata.get(key).cloned();
            Ok(known.or_else(|| {
                let own = interface_key(&world.region.instance.mac, "interface-id");
                (key == own).then(|| INTERFACE.to_owned())
            }))
        })
        .await
    }
}

impl Cloud for SimHost {
    async fn describe_instances(
        &self,
        query: &InstanceQuery,
    ) -> Result<Vec<InstanceView>, PortError> {
        self.call("describe_instances", |world| {
            world.count("ec2:DescribeInstances");
            let after = world.timing.tags_after;
            let tagged = world.has_arrived("own-tags", after);
            let ours = world.region.instance.instance_id.clone();
            let wanted = world.region.instances.iter().filter(|view| match query {
                InstanceQuery::Ids(ids) => ids.contains(&view.instance_id),
                InstanceQuery::Tagged { key, value } => view.tags.get(key) == Some(value),
            });
            let shown = wanted.cloned().map(|mut view| {
                if view.instance_id == ours && !tagged {
                    view.tags.clear();
                }
                view
            });
            Ok(shown.collect())
        })
        .await
    }

    async fn describe_volumes(&self, query: &VolumeQuery) -> Result<Vec<VolumeFacts>, PortError> {
        self.call("describe_volumes", |world| {
            world.count("ec2:DescribeVolumes");
            let mut shown: Vec<VolumeFacts> = world
                .region
                .volumes
                .iter()
                .filter(|volume| matches(volume, query))
                .cloned()
                .collect();
            for volume in &mut shown {
                let key = format!("attached/{}", volume.volume_id);
                let attached = volume
                    .attachments
                    .iter()
                    .any(|a| a.state == AttachmentState::Attached);
                let after = world.timing.attached_after;
                if attached && !world.has_arrived(&key, after) {
                    volume
                        .attachments
                        .iter_mut()
                        .for_each(|a| a.state = AttachmentState::Attaching);
                }
            }
            Ok(shown)
        })
        .await
    }

    async fn attach_volume(
        &self,
        volume_id: &str,
        instance_id: &str,
        device_name: &str,
    ) -> Result<(), PortError> {
        self.call("attach_volume", |world| {
            world.count("ec2:AttachVolume");
            volume_id.clone_into(&mut world.subject);
            // kops' policy lets an instance attach by its own tags.
            let after = world.timing.tags_after;
            if after > 0 && world.looks_at("own-tags") <= after {
                let summary = "AttachVolume is denied: the instance has no tags yet";
                return Err(PortError::new(Condition::Denied, summary));
            }
            require_key(world, volume_id)?;
            let zone = world.region.instance.zone.clone();
            let in_use = world.region.instances.iter().any(|view| {
                view.instance_id == instance_id
                    && view.device_names.iter().any(|name| name == device_name)
            });
            if in_use {
                let summary = format!("attachment point {device_name} is already in use");
                return Err(PortError::new(Condition::Occupied, summary));
            }
            let found = world
                .region
                .volumes
                .iter_mut()
                .find(|volume| volume.volume_id == volume_id);
            let Some(volume) = found else {
                return Err(PortError::new(
                    Condition::Missing,
                    format!("{volume_id} does not exist"),
                ));
            };
            if volume.state != VolumeState::Available || !volume.attachments.is_empty() {
                let summary = format!("{volume_id} is already attached to an instance");
                return Err(PortError::new(Condition::Conflict, summary));
            }
            if volume.zone != zone {
                let summary = format!("{volume_id} is not in the zone of {instance_id}");
                return Err(PortError::new(Condition::Impossible, summary));
            }
            volume.state = VolumeState::InUse;
            volume.attachments.push(Attachment {
                instance_id: instance_id.to_owned(),
                device_name: device_name.to_owned(),
                state: AttachmentState::Attached,
                since: None,
                delete_on_termination: false,
            });
            for view in world
                .region
                .instances
                .iter_mut()
                .filter(|view| view.instance_id == instance_id)
            {
                view.device_names.push(device_name.to_owned());
            }
            Ok(())
        })
        .await
    }

    async fn keep_on_termination(
        &self,
        instance_id: &str,
        device_name: &str,
    ) -> Result<(), PortError> {
        self.call("keep_on_termination", |world| {
            world.count("ec2:ModifyInstanceAttribute");
            let volumes = world.region.volumes.iter_mut();
            let attachments = volumes.flat_map(|volume| &mut volume.attachments);
            attachments
                .filter(|a| a.instance_id == instance_id && a.device_name == device_name)
                .for_each(|a| a.delete_on_termination = false);
            Ok(())
        })
        .await
    }

    async fn tag_volume(
        &self,
        volume_id: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), PortError> {
        self.call("tag_volume", |world| {
            world.count("ec2:CreateTags");
            volume_in(&mut world.region, volume_id)?
                .tags
                .extend(tags.clone());
            Ok(())
        })
        .await
    }

    async fn assign_prefix(&self, interface_id: &str) -> Result<(), PortError> {
        self.call("assign_prefix", |world| {
            world.count("ec2:AssignIpv6Addresses");
            if interface_id != INTERFACE {
                let summary = format!("{interface_id} does not exist");
                return Err(PortError::new(Condition::Missing, summary));
            }
            let key = interface_key(&world.region.instance.mac, "ipv6-prefix");
            let prefixes = world.region.metadata.entry(key).or_default();
            let next = prefixes.lines().count();
            if next > 0 {
                prefixes.push('\n');
            }
            prefixes.push_str(&format!("2001:db8:1234:1a00:{next:x}::/80"));
            Ok(())
        })
        .await
    }

    async fn describe_type(&self, instance_type: &str) -> Result<EniCapacity, PortError> {
        self.call("describe_type", |world| {
            world.count("ec2:DescribeInstanceTypes");
            let known = world.region.types.get(instance_type).copied();
            Ok(known.unwrap_or(EniCapacity {
                interfaces: 3,
                addresses_per_interface: 10,
            }))
        })
        .await
    }

    async fn untag_volume(&self, volume_id: &str, keys: &[String]) -> Result<(), PortError> {
        self.call("untag_volume", |world| {
            world.count("ec2:DeleteTags");
            volume_in(&mut world.region, volume_id)?
                .tags
                .retain(|key, _| !keys.contains(key));
            Ok(())
        })
        .await
    }
}

const INTERFACE: &str = "eni-0123456789abcdef0";

/// Where the metadata has something of a network interface.
fn interface_key(mac: &str, what: &str) -> String {
    format!("network/interfaces/macs/{mac}/{what}")
}

/// A volume whose key is locked cannot be attached.
fn require_key(world: &super::World, volume_id: &str) -> Result<(), PortError> {
    if !world.locked.contains(volume_id) {
        return Ok(());
    }
    let summary = format!("the key of {volume_id} cannot be used");
    Err(PortError::new(Condition::Denied, summary).seen("kms", "simulated"))
}

fn volume_in<'a>(
    region: &'a mut crate::region::Region,
    volume_id: &str,
) -> Result<&'a mut VolumeFacts, PortError> {
    let found = region
        .volumes
        .iter_mut()
        .find(|volume| volume.volume_id == volume_id);
    found.ok_or_else(|| PortError::new(Condition::Missing, format!("{volume_id} does not exist")))
}

fn matches(volume: &VolumeFacts, query: &VolumeQuery) -> bool {
    match query {
        VolumeQuery::Tagged { key, value } => volume.tags.get(key) == Some(value),
        VolumeQuery::Ids(ids) => ids.contains(&volume.volume_id),
        VolumeQuery::AttachedTo(instance) => volume
            .attachments
            .iter()
            .any(|attachment| attachment.instance_id == *instance),
    }
}
