//! What several simulated machines of one region share: EC2, Route 53, the Auto Scaling groups, the state store and the
//! cluster's API server. While a machine does something, the shared parts are in its own world; between two calls they are here.

use super::{SimHost, World};
use crate::names::NameService;
use crate::region::{GroupState, Region};
use quake_apisim::ApiServer;
use quake_model::facts::{DeviceContents, InsideFacts, InstanceView, VolumeFacts};
use std::collections::BTreeMap;
use std::mem::swap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// A region that several machines share.
#[derive(Clone, Default)]
pub struct SharedRegion {
    parts: Arc<Mutex<Parts>>,
    pub(super) cluster_changed: Arc<Notify>,
}

#[derive(Default)]
struct Parts {
    instances: Vec<InstanceView>,
    volumes: Vec<VolumeFacts>,
    contents: BTreeMap<String, DeviceContents>,
    inside: BTreeMap<String, InsideFacts>,
    names: NameService,
    groups: Vec<GroupState>,
    node_events: BTreeMap<String, String>,
    objects: BTreeMap<String, Vec<u8>>,
    cluster: Option<ApiServer>,
}

impl Parts {
    fn exchange(&mut self, world: &mut World) {
        let region = &mut world.region;
        swap(&mut self.instances, &mut region.instances);
        swap(&mut self.volumes, &mut region.volumes);
        swap(&mut self.contents, &mut region.contents);
        swap(&mut self.inside, &mut region.inside);
        swap(&mut self.names, &mut region.names);
        swap(&mut self.groups, &mut region.groups);
        swap(&mut self.node_events, &mut region.node_events);
        swap(&mut self.objects, &mut world.objects);
        swap(&mut self.cluster, &mut world.cluster);
    }
}

impl SharedRegion {
    /// Shares what this region has, with these objects of the state store and this API server.
    pub fn new(
        region: Region,
        objects: BTreeMap<String, Vec<u8>>,
        cluster: Option<ApiServer>,
    ) -> Self {
        let parts = Parts {
            instances: region.instances,
            volumes: region.volumes,
            contents: region.contents,
            inside: region.inside,
            names: region.names,
            groups: region.groups,
            node_events: region.node_events,
            objects,
            cluster,
        };
        Self {
            parts: Arc::new(Mutex::new(parts)),
            cluster_changed: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SimHost {
    /// Lives in a region that it shares; what its own region had of the shared parts is gone.
    #[must_use]
    pub fn sharing(mut self, region: &SharedRegion) -> Self {
        self.cluster_changed = Arc::clone(&region.cluster_changed);
        self.shared = Some(region.clone());
        self
    }

    pub(crate) fn lock(&self) -> WorldGuard<'_> {
        let world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = self.shared.as_ref().map(SharedRegion::lock);
        let mut guard = WorldGuard { world, shared };
        guard.exchange();
        guard
    }
}

/// The world of a machine while it is looked at or changed.
pub(crate) struct WorldGuard<'a> {
    world: MutexGuard<'a, World>,
    shared: Option<MutexGuard<'a, Parts>>,
}

impl WorldGuard<'_> {
    fn exchange(&mut self) {
        if let Some(parts) = &mut self.shared {
            parts.exchange(&mut self.world);
        }
    }
}

impl Deref for WorldGuard<'_> {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for WorldGuard<'_> {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

impl Drop for WorldGuard<'_> {
    fn drop(&mut self) {
        self.exchange();
    }
}
