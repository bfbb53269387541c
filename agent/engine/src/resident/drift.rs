//! Notices what somebody changed of what the agent wrote or enabled, and tells it. It fixes nothing and makes no node unready.
//!
//! A look must cost next to nothing, for a node is looked at for years: every path is stamped in one call, and only what
//! has another stamp than at the look before is read.

use super::{LOOKS_APART, Reconciler, between};
use crate::boot::managed_files::{ManagedSnapshot, placed_differs};
use crate::context::Context;
use crate::ensure::{files, services};
use quake_model::drift::{Drifted, MOST_NAMED};
use quake_model::event::Event;
use quake_model::facts::FileStamp;
use quake_model::ports::{Assets, Files, Kernel, PortError, Units};
use quake_node::kernel_settings::path_of;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::Mutex;

/// Where systemd keeps the links by which units are enabled; each of its directories that ends so has some.
const UNIT_LINKS: &str = "/etc/systemd/system";
const LINKING: [&str; 2] = [".wants", ".requires"];

/// What the loop needs of the host.
pub(crate) trait DriftPorts: Files + Units + Assets + Kernel {}

impl<T: Files + Units + Assets + Kernel> DriftPorts for T {}

/// What was seen at the looks so far.
pub(crate) struct Drift<'a, H> {
    context: &'a Context<'a, H>,
    /// What is the agent's; it is locked while another loop writes of it.
    managed: &'a Mutex<ManagedSnapshot>,
    /// Every file and program, each with its stamp when it was last compared.
    paths: Vec<String>,
    stamps: Vec<Option<FileStamp>>,
    /// The directories of links, as they were when the units were last asked about.
    links: Vec<Option<FileStamp>>,
    /// Settings of the kernel that were as the boot wanted them when they were first looked at.
    settings: BTreeMap<String, String>,
    drifted: BTreeMap<String, String>,
    is_first: bool,
}

impl<H: DriftPorts> Reconciler for Drift<'_, H> {
    fn interval(&self, draw: f64) -> Duration {
        between(LOOKS_APART, draw)
    }

    /// Looks once, and tells if there is anything else to tell than before. What cannot be looked at stays as it was known.
    async fn reconcile(&mut self) {
        let managed = self.managed;
        let managed = managed.lock().await;
        let before = self.drifted.clone();
        if let Ok(stamps) = self.context.host.stamp_files(&self.paths).await {
            self.compare(&managed, &stamps).await;
        }
        if let Ok(links) = links(self.context).await {
            self.ask_units(&managed, links).await;
        }
        self.compare_settings().await;
        self.is_first = false;
        if self.drifted != before {
            self.context.emitter.emit(self.event());
        }
    }
}

impl<'a, H: DriftPorts> Drift<'a, H> {
    /// Watches what a boot left.
    pub(crate) fn new(
        context: &'a Context<'a, H>,
        managed: &'a Mutex<ManagedSnapshot>,
        left: &ManagedSnapshot,
    ) -> Self {
        let files = left.managed_files.files.keys();
        let paths: Vec<String> = files
            .chain(left.managed_files.programs.keys())
            .cloned()
            .collect();
        Self {
            context,
            managed,
            stamps: vec![None; paths.len()],
            paths,
            links: Vec::new(),
            settings: left.settings.clone(),
            drifted: BTreeMap::new(),
            is_first: true,
        }
    }

    /// Reads what has another stamp.
    async fn compare(&mut self, managed: &ManagedSnapshot, stamps: &[Option<FileStamp>]) {
        for (index, stamp) in stamps.iter().enumerate() {
            if *stamp == self.stamps[index] && !self.is_first {
                continue;
            }
            let path = self.paths[index].clone();
            let Ok(what) = self.differs(managed, &path, stamp.is_some()).await else {
                continue;
            };
            self.stamps[index] = *stamp;
            self.note(path, what);
        }
    }

    async fn differs(
        &self,
        managed: &ManagedSnapshot,
        path: &str,
        is_there: bool,
    ) -> Result<Option<String>, ()> {
        if let Some(file) = managed.managed_files.files.get(path) {
            let found = files::look(self.context, path).await.map_err(drop)?;
            let owners = self.context.host.sets_owners();
            return Ok(file.differs(found.as_ref(), owners));
        }
        // The boot has just compared the programs, and reading them again would take the disk's time. One that is gone since
        // is not read.
        let place = managed.places.iter().find(|place| place.path == path);
        let Some(place) = place.filter(|_| !self.is_first || !is_there) else {
            return Ok(None);
        };
        let found = self.context.host.look_placed(place).await.map_err(drop)?;
        Ok(placed_differs(found).map(str::to_owned))
    }

    /// Asks about the units if a link came or went; a bus is not to be troubled twice a minute for what is so seldom.
    async fn ask_units(&mut self, managed: &ManagedSnapshot, links: Vec<Option<FileStamp>>) {
        if links == self.links || self.is_first {
            self.links = links;
            return;
        }
        let units: Vec<String> = managed.managed_files.units.iter().cloned().collect();
        for unit in &units {
            let Ok(found) = services::look(self.context, unit).await else {
                return;
            };
            let what = match (found.found, found.installable && !found.enabled) {
                (false, _) => Some("removed or masked"),
                (true, true) => Some("not enabled at boot any more"),
                (true, false) => None,
            };
            self.note(unit.clone(), what.map(str::to_owned));
        }
        self.links = links;
    }

    /// Reads the settings of the kernel: they have no stamps. One that never took, because the kernel lacks it or another file
    /// has the last word, is as it was left.
    async fn compare_settings(&mut self) {
        for (key, wanted) in self.settings.clone() {
            let Ok(found) = self.context.host.read_sysctl(&key).await else {
                continue;
            };
            let is_same = found.as_ref() == Some(&wanted);
            if self.is_first {
                if !is_same {
                    self.settings.remove(&key);
                }
                continue;
            }
            let found = found.unwrap_or_else(|| "nothing".to_owned());
            let what = (!is_same).then(|| format!("{found} instead of {wanted}"));
            self.note(path_of(&key), what);
        }
    }

    fn note(&mut self, name: String, what: Option<String>) {
        match what {
            Some(what) => self.drifted.insert(name, what),
            None => self.drifted.remove(&name),
        };
    }

    fn event(&self) -> Event {
        let named = self.drifted.iter().take(MOST_NAMED);
        Event::DriftChanged {
            drifted: named
                .map(|(name, what)| Drifted {
                    name: name.clone(),
                    what: what.clone(),
                })
                .collect(),
            more: self.drifted.len().saturating_sub(MOST_NAMED),
        }
    }
}

/// Stamps the directories in which a link appears or vanishes when a unit is enabled, disabled or masked.
async fn links<H: Files>(context: &Context<'_, H>) -> Result<Vec<Option<FileStamp>>, PortError> {
    let names = context.host.list_directory(UNIT_LINKS).await?;
    let links = |name: &String| LINKING.iter().any(|ending| name.ends_with(ending));
    let below = names.into_iter().filter(links);
    let mut folders = vec![UNIT_LINKS.to_owned()];
    folders.extend(below.map(|name| format!("{UNIT_LINKS}/{name}")));
    context.host.stamp_files(&folders).await
}
