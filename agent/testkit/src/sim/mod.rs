//! The simulated host.

mod call;
mod cloud;
mod cluster;
mod controller;
mod disks;
mod dns;
mod environment;
mod etcd;
mod files;
mod images;
mod interference;
mod machine;
mod provision;
mod script;
mod shared;
mod signals;
mod store;

pub use controller::Controller;
pub(crate) use etcd::SimEtcd;
pub use interference::{Called, Fate, Interference, Machine};
pub use script::{Script, ScriptedFault, When};
pub use shared::SharedRegion;

use crate::region::Region;
use quake_apisim::ApiServer;
use quake_model::digest::Digest;
use quake_model::facts::{BucketFacts, DeviceContents, HostHealth, PodsSeen};
use quake_model::ports::{Clock, Meter};
use quake_model::spec::ImageSpec;
use quake_model::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How late the simulated world is, counted in looks: everything arrives, nothing arrives at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// Looks at this instance before its tags are shown.
    pub tags_after: u32,
    /// Looks at the role before it is there.
    pub role_after: u32,
    /// Looks at an attached volume before EC2 says `attached`.
    pub attached_after: u32,
    /// Looks at the devices before the kernel shows a new one.
    pub device_after: u32,
    /// Probes of a component before it is healthy.
    pub healthy_after: u32,
}

/// A file of the simulated machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SimFile {
    pub(crate) kind: quake_model::facts::EntryKind,
    pub(crate) mode: u32,
    pub(crate) owner: quake_model::facts::Owner,
    pub(crate) contents: Vec<u8>,
    pub(crate) modified_us: u64,
}

pub(crate) struct World {
    pub(crate) region: Region,
    pub(crate) timing: Timing,
    pub(crate) files: BTreeMap<String, SimFile>,
    pub(crate) objects: BTreeMap<String, Vec<u8>>,
    /// How buckets are kept, by name.
    pub(crate) buckets: BTreeMap<String, BucketFacts>,
    /// How long the state store takes for an object.
    pub(crate) read_takes: Duration,
    /// What mirrors serve, by URL; archives are lists of base names, one a line.
    pub(crate) upstream: BTreeMap<String, Vec<u8>>,
    pub(crate) store: BTreeMap<Digest, Vec<u8>>,
    /// Archives of images that a seed left.
    pub(crate) seeded: Vec<ImageSpec>,
    pub(crate) missing_modules: BTreeSet<String>,
    /// Looks at a prefix that was assigned before the metadata shows it.
    pub(crate) prefix_after: u32,
    /// Images that no registry has.
    pub(crate) unknown_images: BTreeSet<String>,
    /// Packages that no source has.
    pub(crate) unknown_packages: BTreeSet<String>,
    /// Who holds the package manager's lock, and for how many more tries.
    pub(crate) packages_held: Option<(String, u32)>,
    /// How many runs of a program will still fail.
    pub(crate) failing_commands: BTreeMap<String, u32>,
    /// Programs that the machine does not have.
    pub(crate) missing_programs: BTreeSet<String>,
    /// Keys of package sources, by URL.
    pub(crate) keyrings: BTreeMap<String, Vec<u8>>,
    /// Block devices beside those of volumes, and what is on each.
    pub(crate) devices: BTreeMap<String, DeviceContents>,
    /// kops-controller; `None` where there is none.
    pub(crate) controller: Option<Controller>,
    /// Commands that were run, in their order.
    pub(crate) commands: Vec<Vec<String>>,
    /// Pods that are not simply up, by the name that is asked for.
    pub(crate) pods: BTreeMap<String, PodsSeen>,
    /// How many starts of a unit will still fail.
    pub(crate) failing_starts: BTreeMap<String, u32>,
    /// Volumes whose filesystem has faults that the next check repairs.
    pub(crate) repairable: BTreeSet<String>,
    /// Volumes whose devices another program has alone.
    pub(crate) held: BTreeSet<String>,
    /// Volumes whose key EC2 may not use.
    pub(crate) locked: BTreeSet<String>,
    pub(crate) calls: BTreeMap<String, u64>,
    pub(crate) looks: BTreeMap<String, u32>,
    pub(crate) script: Script,
    /// Objects that are being read at this moment.
    pub(crate) reading: u32,
    /// How often reading began while nothing was being read.
    pub(crate) waves: u32,
    /// Servers of kops-controller and components that do not answer, by their URLs.
    pub(crate) silent: BTreeSet<String>,
    /// Servers of kops-controller that were asked.
    pub(crate) requested: Vec<String>,
    /// The cluster's API server; `None` where there is none.
    pub(crate) cluster: Option<ApiServer>,
    /// By how much the clock was set forward.
    pub(crate) ahead: Duration,
    /// What a look at the host's own disks and clock finds.
    pub(crate) health: HostHealth,
    /// By how much it was set back.
    pub(crate) behind: Duration,
    /// What the call under way is about, where its method says so.
    pub(crate) subject: String,
    /// Files of a batch that is under way, with what was there before: a power cut may undo each.
    pub(crate) unsynced: Vec<(String, Option<SimFile>)>,
    pub(crate) etcd: SimEtcd,
}

/// Called with the region after each change of it.
pub type OnChange = Box<dyn Fn(&Region) + Send + Sync>;

/// The simulated host: every port, in memory.
pub struct SimHost {
    world: Mutex<World>,
    started: Instant,
    epoch: Timestamp,
    on_change: Option<OnChange>,
    interference: Option<Arc<dyn Interference>>,
    /// The region that it shares with other machines, where it does.
    shared: Option<SharedRegion>,
    /// Something of the cluster may have changed.
    cluster_changed: Arc<Notify>,
    /// Files may have changed.
    files_changed: Notify,
}

impl SimHost {
    /// A host in this region whose clock starts at `epoch`.
    pub fn new(region: Region, timing: Timing, epoch: Timestamp) -> Self {
        let world = World {
            region,
            timing,
            files: BTreeMap::new(),
            objects: BTreeMap::new(),
            buckets: BTreeMap::new(),
            read_takes: Duration::ZERO,
            upstream: BTreeMap::new(),
            store: BTreeMap::new(),
            seeded: Vec::new(),
            missing_modules: BTreeSet::new(),
            prefix_after: 0,
            unknown_images: BTreeSet::new(),
            unknown_packages: BTreeSet::new(),
            packages_held: None,
            failing_commands: BTreeMap::new(),
            missing_programs: BTreeSet::new(),
            keyrings: BTreeMap::new(),
            devices: BTreeMap::new(),
            controller: None,
            commands: Vec::new(),
            pods: BTreeMap::new(),
            failing_starts: BTreeMap::new(),
            repairable: BTreeSet::new(),
            held: BTreeSet::new(),
            locked: BTreeSet::new(),
            calls: BTreeMap::new(),
            looks: BTreeMap::new(),
            script: Script::default(),
            reading: 0,
            waves: 0,
            silent: BTreeSet::new(),
            requested: Vec::new(),
            cluster: None,
            ahead: Duration::ZERO,
            health: HostHealth::default(),
            behind: Duration::ZERO,
            subject: String::new(),
            unsynced: Vec::new(),
            etcd: SimEtcd::default(),
        };
        Self {
            world: Mutex::new(world),
            started: Instant::now(),
            epoch,
            on_change: None,
            interference: None,
            shared: None,
            cluster_changed: Arc::default(),
            files_changed: Notify::new(),
        }
    }

    /// Calls `on_change` after each change of the region, such as to save it.
    #[must_use]
    pub fn reporting_to(mut self, on_change: OnChange) -> Self {
        self.on_change = Some(on_change);
        self
    }

    /// Sets the script of faults.
    #[must_use]
    pub fn with_script(self, script: Script) -> Self {
        self.lock().script = script;
        self
    }

    /// Puts an object into the state store.
    pub fn put_object(&self, location: &str, bytes: impl Into<Vec<u8>>) {
        self.lock()
            .objects
            .insert(location.to_owned(), bytes.into());
    }

    /// The bytes of an object of the state store.
    pub fn object(&self, location: &str) -> Option<Vec<u8>> {
        self.lock().objects.get(location).cloned()
    }

    /// Serves bytes at a URL.
    pub fn serve(&self, url: &str, bytes: impl Into<Vec<u8>>) {
        self.lock().upstream.insert(url.to_owned(), bytes.into());
    }

    /// Leaves an archive of images in the store, as a seed does.
    pub fn seed_image(&self, image: ImageSpec, bytes: impl Into<Vec<u8>>) {
        let mut world = self.lock();
        let digest = image.archive.digest.clone();
        world.store.insert(digest, bytes.into());
        world.seeded.push(image);
    }

    /// Lets this much time pass between two boots.
    pub fn pass(&self, time: Duration) {
        self.lock().ahead += time;
    }

    /// The commands that were run, in their order.
    pub fn commands(&self) -> Vec<Vec<String>> {
        self.lock().commands.clone()
    }

    /// Makes the kernel lack a module.
    pub fn lack_module(&self, name: &str) {
        self.lock().missing_modules.insert(name.to_owned());
    }

    /// Makes the next starts of a unit end at once; systemd starts it again before each look.
    pub fn fail_starts(&self, unit: &str, times: u32) {
        self.lock().failing_starts.insert(unit.to_owned(), times);
    }

    /// Leaves faults in the filesystem of a volume, which the next check repairs without loss.
    pub fn scratch_filesystem(&self, volume_id: &str) {
        self.lock().repairable.insert(volume_id.to_owned());
    }

    /// Keeps EC2 from the key that encrypts a volume, until it is unlocked.
    pub fn lock_key(&self, volume_id: &str) {
        self.lock().locked.insert(volume_id.to_owned());
    }

    /// Lets EC2 use the key of a volume again.
    pub fn unlock_key(&self, volume_id: &str) {
        self.lock().locked.remove(volume_id);
    }

    /// Takes an object out of the state store.
    pub fn remove_object(&self, location: &str) {
        self.lock().objects.remove(location);
    }

    /// Changes the region, as someone outside would.
    pub fn change<T>(&self, change: impl FnOnce(&mut Region) -> T) -> T {
        let mut world = self.lock();
        let changed = change(&mut world.region);
        self.report(&world);
        changed
    }

    /// The region as it is.
    pub fn region(&self) -> Region {
        self.lock().region.clone()
    }

    /// The paths and contents of the machine's files.
    pub fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        let world = self.lock();
        world
            .files
            .iter()
            .map(|(path, file)| (path.clone(), file.contents.clone()))
            .collect()
    }

    /// How many port calls were made.
    pub fn port_calls(&self) -> u64 {
        self.lock().script.made()
    }

    /// How many calls of one port method were made, such as `reload_units`.
    pub fn port_calls_of(&self, operation: &str) -> u64 {
        self.lock().script.made_of(operation)
    }

    /// Begins a new boot on the same machine: counts start again, the script is replaced.
    pub fn next_boot(&self, script: Script) {
        let mut world = self.lock();
        world.script = script;
        world.calls.clear();
        world.requested.clear();
        (world.reading, world.waves) = (0, 0);
    }

    pub(crate) fn report(&self, world: &World) {
        if let Some(on_change) = &self.on_change {
            on_change(&world.region);
        }
    }

    pub(crate) fn micros(&self) -> u64 {
        self.now().0 * 1000
    }
}

impl World {
    /// Counts a request to a cloud service.
    pub(crate) fn count(&mut self, call: &str) {
        *self.calls.entry(call.to_owned()).or_default() += 1;
    }

    /// How often something has been looked at.
    pub(crate) fn looks_at(&self, what: &str) -> u32 {
        self.looks.get(what).copied().unwrap_or_default()
    }

    /// Whether something has been looked at more than `after` times; counts this look.
    pub(crate) fn has_arrived(&mut self, what: &str, after: u32) -> bool {
        let looks = self.looks.entry(what.to_owned()).or_default();
        *looks += 1;
        *looks > after
    }
}

impl Clock for SimHost {
    fn now(&self) -> Timestamp {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (ahead, behind) = {
            // Of this machine alone: what it shares with others is not looked at.
            let world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
            (world.ahead, world.behind)
        };
        let now = self
            .epoch
            .0
            .saturating_add(millis(self.started.elapsed() + ahead));
        Timestamp(now.saturating_sub(millis(behind)))
    }
}

impl Meter for SimHost {
    fn calls(&self) -> BTreeMap<String, u64> {
        self.lock().calls.clone()
    }

    fn throttled(&self) -> BTreeMap<String, u64> {
        self.lock().script.throttled().clone()
    }
}
