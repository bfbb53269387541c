//! The state of the simulated machine and region, as plain data that can be saved and compared.

use crate::names::NameService;
use quake_model::digest::Digest;
use quake_model::facts::{ActiveState, AddressFacts, EniCapacity, OsFacts};
use quake_model::facts::{
    Attachment, AttachmentState, DeviceContents, InsideFacts, InstanceFacts, InstanceState,
    InstanceView, LinkFacts, MountFacts, NetworkFacts, RouteFacts, UnitFacts, VolumeFacts,
    VolumeState,
};
use quake_model::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that exists outside the agent's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Region {
    pub instance: InstanceFacts,
    /// Its role's name; `None` for an instance without a profile.
    pub role: Option<String>,
    pub user_data: Option<Vec<u8>>,
    /// Instances EC2 knows, this one among them.
    pub instances: Vec<InstanceView>,
    pub volumes: Vec<VolumeFacts>,
    /// What is on each volume.
    pub contents: BTreeMap<String, DeviceContents>,
    /// What is inside the filesystem of each volume that has one.
    #[serde(default)]
    pub inside: BTreeMap<String, InsideFacts>,
    pub mounts: Vec<MountFacts>,
    pub modules: BTreeSet<String>,
    pub sysctls: BTreeMap<String, String>,
    pub network: NetworkFacts,
    /// Units by name; a name that is not here has no file.
    pub units: BTreeMap<String, UnitFacts>,
    /// What the container runtime knows images by.
    #[serde(default)]
    pub images: BTreeSet<Digest>,
    /// Images that it pulled, by their names.
    #[serde(default)]
    pub pulled: BTreeSet<String>,
    /// Packages of the distribution that are installed.
    #[serde(default)]
    pub packages: BTreeSet<String>,
    /// The consoles of instances, in base64; an instance without one has no output yet.
    #[serde(default)]
    pub consoles: BTreeMap<String, String>,
    /// Instances that are not on Nitro, which have no latest console output.
    #[serde(default)]
    pub without_nitro: BTreeSet<String>,
    /// Values of the metadata service below `meta-data/`, beside the instance's facts.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// What instances of a type have for pods; a type that is not here has three interfaces of ten addresses.
    #[serde(default)]
    pub types: BTreeMap<String, EniCapacity>,
    pub os: OsFacts,
    /// Route 53.
    #[serde(default)]
    pub names: NameService,
    /// The Auto Scaling groups of the cluster's nodes.
    #[serde(default)]
    pub groups: Vec<GroupState>,
    /// Events that the API server took, by their names, as JSON.
    #[serde(default)]
    pub node_events: BTreeMap<String, String>,
}

/// An Auto Scaling group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GroupState {
    pub name: String,
    pub members: BTreeSet<String>,
    /// Those that it was told are unhealthy.
    pub unhealthy: BTreeSet<String>,
    /// The hooks at which each instance waits.
    pub waiting: BTreeMap<String, BTreeSet<String>>,
    /// Launches that went on, as `hook=result`.
    pub completed: Vec<String>,
    /// Those that are on their way out.
    #[serde(default)]
    pub leaving: BTreeSet<String>,
    /// How many it is to have; as many as there are where nothing is said.
    #[serde(default)]
    pub desired: Option<usize>,
    /// Processes that an operator suspended.
    #[serde(default)]
    pub suspended: BTreeSet<String>,
}

impl Region {
    /// A region with this one instance, running and tagged as a node of `cluster`.
    pub fn with_instance(instance: InstanceFacts, cluster: &str) -> Self {
        let own = InstanceView {
            private_ip: instance.private_ip.clone(),
            instance_id: instance.instance_id.clone(),
            state: InstanceState::Running,
            launched: Timestamp(1_577_836_800_000),
            zone: instance.zone.clone(),
            tags: BTreeMap::from([
                ("KubernetesCluster".to_owned(), cluster.to_owned()),
                (
                    format!("kubernetes.io/cluster/{cluster}"),
                    "owned".to_owned(),
                ),
            ]),
            device_names: vec!["/dev/xvda".to_owned()],
        };
        Self {
            network: network_of(&instance),
            instance,
            role: Some(format!("nodes.{cluster}")),
            user_data: None,
            instances: vec![own],
            volumes: Vec::new(),
            contents: BTreeMap::new(),
            inside: BTreeMap::new(),
            mounts: Vec::new(),
            modules: BTreeSet::new(),
            sysctls: BTreeMap::new(),
            units: BTreeMap::new(),
            images: BTreeSet::new(),
            pulled: BTreeSet::new(),
            packages: BTreeSet::new(),
            consoles: BTreeMap::new(),
            without_nitro: BTreeSet::new(),
            metadata: BTreeMap::new(),
            types: BTreeMap::new(),
            os: OsFacts {
                id: "debian".to_owned(),
                version: "12".to_owned(),
                like: Vec::new(),
            },
            names: NameService::default(),
            groups: Vec::new(),
            node_events: BTreeMap::new(),
        }
    }

    /// Adds a blank, free volume in the instance's zone, tagged for an etcd member as kops tags it.
    pub fn add_etcd_volume(&mut self, cluster: &str, slot: &EtcdSlot<'_>) {
        let EtcdSlot {
            volume_id,
            etcd,
            member,
            members,
            created,
            encrypted,
        } = *slot;
        let tags = [
            ("Name".to_owned(), format!("{member}.etcd-{etcd}.{cluster}")),
            ("KubernetesCluster".to_owned(), cluster.to_owned()),
            (
                format!("kubernetes.io/cluster/{cluster}"),
                "owned".to_owned(),
            ),
            ("k8s.io/role/master".to_owned(), "1".to_owned()),
            (
                format!("k8s.io/etcd/{etcd}"),
                format!("{member}/{}", members.join(",")),
            ),
        ];
        self.volumes.push(VolumeFacts {
            volume_id: volume_id.to_owned(),
            zone: self.instance.zone.clone(),
            state: VolumeState::Available,
            size_gib: 20,
            created,
            encrypted,
            multi_attach: false,
            snapshot_id: None,
            tags: tags.into_iter().collect(),
            attachments: Vec::new(),
        });
        self.contents
            .insert(volume_id.to_owned(), DeviceContents::Blank);
    }

    /// The unit of this name, which systemd finds on disk if nobody named it before.
    pub(crate) fn unit(&mut self, name: &str) -> &mut UnitFacts {
        let at_rest = || unit_at_rest(name);
        self.units.entry(name.to_owned()).or_insert_with(at_rest)
    }

    /// The device path of a volume attached here. It follows from the device name asked for, so that it stays the
    /// same whatever else is attached; on a Nitro instance it would follow the order of attachment.
    pub fn device_of(&self, volume_id: &str) -> Option<String> {
        let here = |a: &&Attachment| {
            a.instance_id == self.instance.instance_id && a.state == AttachmentState::Attached
        };
        let mut volumes = self.volumes.iter();
        let volume = volumes.find(|volume| volume.volume_id == volume_id)?;
        let attachment = volume.attachments.iter().find(here)?;
        let letters = attachment.device_name.bytes().rev().take(2);
        let index = letters.enumerate().fold(0, |index, (place, letter)| {
            let digit = u32::from(letter.to_ascii_lowercase().wrapping_sub(b'a'));
            index + digit * if place == 0 { 1 } else { 26 }
        });
        Some(format!("/dev/nvme{index}n1"))
    }
}

/// An etcd member's volume, for [`Region::add_etcd_volume`].
#[derive(Debug, Clone, Copy)]
pub struct EtcdSlot<'a> {
    /// `vol-…`.
    pub volume_id: &'a str,
    /// The etcd cluster, such as `main`.
    pub etcd: &'a str,
    pub member: &'a str,
    pub members: &'a [&'a str],
    /// When the volume was made.
    pub created: Timestamp,
    pub encrypted: bool,
}

fn network_of(instance: &InstanceFacts) -> NetworkFacts {
    let address = AddressFacts {
        address: instance.private_ip.clone(),
        prefix: 24,
    };
    let link = LinkFacts {
        index: 2,
        name: "ens5".to_owned(),
        mac: instance.mac.clone(),
        mtu: 9001,
        up: true,
        addresses: vec![address],
    };
    let route = RouteFacts {
        destination: "default".to_owned(),
        gateway: None,
        interface: "ens5".to_owned(),
    };
    NetworkFacts {
        links: vec![link],
        routes: vec![route],
    }
}

/// The instance a rehearsal takes when it is given none.
pub fn example_instance(zone: &str) -> InstanceFacts {
    let region = zone.trim_end_matches(|c: char| c.is_ascii_lowercase());
    InstanceFacts {
        instance_id: "i-0123456789abcdef0".to_owned(),
        instance_type: "m5.large".to_owned(),
        zone: zone.to_owned(),
        region: region.to_owned(),
        account_id: "123456789012".to_owned(),
        image_id: "ami-0123456789abcdef0".to_owned(),
        private_ip: "10.0.0.10".to_owned(),
        local_hostname: format!("ip-10-0-0-10.{region}.compute.internal"),
        mac: "02:00:00:00:00:01".to_owned(),
        architecture: "x86_64".to_owned(),
    }
}

/// A unit that systemd found on disk and nobody started.
pub(crate) fn unit_at_rest(name: &str) -> UnitFacts {
    UnitFacts {
        name: name.to_owned(),
        found: true,
        active: ActiveState::Inactive,
        sub_state: "dead".to_owned(),
        installable: true,
        result: "success".to_owned(),
        ..UnitFacts::default()
    }
}
