//! Reads channels and manifests from the state store, and only what changed.

use crate::resident::addons::AddonPorts;
use quake_addons::{
    Addon, Channel, Manifest, fault_of_read, hash_matches, mismatch, parse_channel, parse_manifest,
};
use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_model::ports::{Objects, TaggedObject};
use std::collections::BTreeMap;
use tokio::time::Instant;

/// How often a manifest that is not the one its channel names is waited for, before it is applied as it is: whoever wrote it by
/// hand is waited for as long as a store that is being written.
const MISMATCHES: u32 = 4;

/// Channels and manifests, as they were read last.
#[derive(Debug, Default)]
pub(crate) struct Store {
    channels: Vec<Kept>,
    manifests: BTreeMap<(String, String), Manifest>,
    /// How often the manifest of an add-on was another than its channel names.
    mismatches: BTreeMap<String, u32>,
    /// How often they were looked at.
    turn: usize,
}

#[derive(Debug)]
struct Kept {
    location: Location,
    tag: Option<String>,
    channel: Option<Channel>,
    /// Why what was read last is no channel.
    fault: Option<Fault>,
    /// When it was asked for, the last time that it was read.
    read_at: Option<Instant>,
}

impl Store {
    /// A store of these channels, of which nothing was read yet.
    pub(crate) fn new(channels: &[Location]) -> Self {
        let kept = channels.iter().map(|location| Kept {
            location: location.clone(),
            tag: None,
            channel: None,
            fault: None,
            read_at: None,
        });
        Self {
            channels: kept.collect(),
            ..Self::default()
        }
    }

    /// The channels that were read, in their order.
    pub(crate) fn channels(&self) -> Vec<Channel> {
        let read = self.channels.iter().filter_map(|kept| kept.channel.clone());
        read.collect()
    }

    /// Whether each channel was read once.
    pub(crate) fn is_read(&self) -> bool {
        self.channels.iter().all(|kept| kept.channel.is_some())
    }

    /// Reads every channel the first time; from then on asks for one, which is the next in turn, of those that were never read
    /// while there are any: one request.
    ///
    /// # Errors
    ///
    /// The fault of the first that cannot be read; what was read of it before stays.
    pub(crate) async fn look<H: AddonPorts>(&mut self, host: &H) -> Result<(), Fault> {
        let turn = self.turn;
        self.turn = turn + 1;
        if turn == 0 {
            return self.look_at_all(host).await;
        }
        let is_read = self.is_read();
        let wanted = self.channels.iter_mut();
        let mut wanted: Vec<&mut Kept> = wanted
            .filter(|kept| is_read || kept.channel.is_none())
            .collect();
        let index = turn % wanted.len().max(1);
        match wanted.get_mut(index) {
            Some(kept) => kept.look(host).await,
            None => Ok(()),
        }
    }

    /// Reads every channel: one request for each.
    ///
    /// # Errors
    ///
    /// The fault of the first that cannot be read; what was read of it before stays.
    pub(crate) async fn look_at_all<H: AddonPorts>(&mut self, host: &H) -> Result<(), Fault> {
        let mut ended = Ok(());
        for kept in &mut self.channels {
            let looked = kept.look(host).await;
            ended = ended.and(looked);
        }
        ended
    }

    /// When a channel was asked for, the last time that it was read.
    pub(crate) fn read_at(&self, channel: &str) -> Option<Instant> {
        let mut all = self.channels.iter();
        all.find(|kept| kept.location.to_string() == channel)?
            .read_at
    }

    /// Reads every channel with the next look: what was read before may be old.
    pub(crate) fn begin_anew(&mut self) {
        self.turn = 0;
    }

    /// The manifest of an add-on. One that is applied although it is not the one that its channel names says so in its warnings.
    ///
    /// # Errors
    ///
    /// `addons.channel-unreadable`, `addons.manifest-invalid`, or `addons.manifest-mismatch` the first few times that it is
    /// another than the channel names.
    pub(crate) async fn manifest<H: Objects>(
        &mut self,
        host: &H,
        addon: &Addon,
    ) -> Result<Manifest, Fault> {
        let key = (
            addon.manifest.to_string(),
            addon.version.manifest_hash.clone(),
        );
        if let Some(manifest) = self.manifests.get(&key) {
            return Ok(manifest.clone());
        }
        let (mut manifest, fault) = read_manifest(host, addon).await?;
        if let Some(fault) = fault {
            let times = self.mismatches.entry(addon.name.clone()).or_default();
            *times += 1;
            // What is read next may be the one that is named: nothing is kept.
            if *times < MISMATCHES {
                return Err(fault);
            }
            manifest.warnings.insert(0, fault);
            return Ok(manifest);
        }
        self.mismatches.remove(&addon.name);
        // An add-on has one manifest at a time.
        self.manifests.retain(|(location, _), _| *location != key.0);
        self.manifests.insert(key, manifest.clone());
        Ok(manifest)
    }
}

impl Kept {
    async fn look<H: Objects>(&mut self, host: &H) -> Result<(), Fault> {
        let asked_at = Instant::now();
        let read = host.read_object_unless(&self.location, self.tag.as_deref());
        let read = read
            .await
            .map_err(|error| fault_of_read(&self.location, error))?;
        self.read_at = Some(asked_at);
        // A channel that cannot be understood is read again only once it has changed, and what it was before counts.
        if let Some(TaggedObject { object, tag }) = read {
            self.tag = tag;
            let parsed = parse_channel(&self.location, &object.bytes);
            self.fault = parsed.as_ref().err().cloned();
            self.channel = parsed.ok().or(self.channel.take());
        }
        self.fault.clone().map_or(Ok(()), Err)
    }
}

/// Reads a manifest, and tells whether it is another than its channel names.
pub(crate) async fn read_manifest<H: Objects>(
    host: &H,
    addon: &Addon,
) -> Result<(Manifest, Option<Fault>), Fault> {
    let read = host.read_object(&addon.manifest).await;
    let object = read.map_err(|error| fault_of_read(&addon.manifest, error))?;
    let fault = (!hash_matches(addon, &object.bytes)).then(|| mismatch(addon, &object.bytes));
    match (parse_manifest(&addon.manifest, &object.bytes), fault) {
        (Ok(manifest), fault) => Ok((manifest, fault)),
        // One that is being written is not judged.
        (Err(_), Some(fault)) => Err(fault),
        (Err(fault), None) => Err(fault),
    }
}
