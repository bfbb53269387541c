//! Applies one add-on: its objects in waves, then the removal of what it no longer has, then the note that it is applied.

use super::cluster_client::ClusterClient;
use super::places::{namespace_place, nodes};
use crate::resident::addons::AddonPorts;
use crate::retry::arrives;
use futures_util::future::join_all;
use quake_addons::{
    Addon, CA_OBJECTS, FieldChange, Manifest, changes, defined_kind, fault_of_change,
    is_established, needs_update_nodes, needs_update_patch, not_established, prune_queries,
    to_prune, waves,
};
use quake_model::addon::AddonVersion;
use quake_model::cluster_object::{ClusterObject, ObjectPlace, ServedKind};
use quake_model::fault::{Code, Fault};
use quake_model::ports::{ObjectQuery, Watched};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long a definition may take until the server serves its kind. It takes a second; an API server that has just started, some.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// How long one watch of a definition lasts.
const WATCHED_FOR: Duration = Duration::from_secs(5);

/// What applying an add-on came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AddonApplied {
    /// How many objects it has: its manifest's, where that is applied, and those of its CA.
    pub objects: usize,
    /// How many of them are other than before.
    pub changed: usize,
    /// How many objects were removed.
    pub pruned: usize,
    /// What could not be done, with the object it is about; the add-on is applied when there is none.
    pub failed: Vec<ObjectFailed>,
}

/// An object that could not be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectFailed {
    /// The object, as `Kind/namespace/name`.
    pub object: String,
    pub fault: Fault,
}

/// What applying one object would change.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectPlanned {
    /// The object, as `Kind/namespace/name`.
    pub object: String,
    /// What is there to be done.
    pub what: Planned,
}

/// What there is to be done about an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Planned {
    Nothing,
    Create,
    Change(Vec<FieldChange>),
    /// It is removed, for the manifest has it no more.
    Remove,
    /// The server refuses it, or cannot say yet.
    Unknown(Fault),
}

impl<H: AddonPorts> ClusterClient<'_, H> {
    /// Applies an add-on: its manifest, unless `manifest` is `None`, for one that is noted as applied and lacks only its
    /// CA; then that. One does not hold up the other, as to kops.
    pub async fn apply_addon(
        &self,
        addon: &Addon,
        manifest: Option<&Manifest>,
        existing: Option<&AddonVersion>,
    ) -> AddonApplied {
        let mut applied = AddonApplied::default();
        if let Some(manifest) = manifest {
            applied = self.apply_manifest(addon, manifest, existing).await;
        }
        if addon.needs_pki {
            applied.objects += CA_OBJECTS;
            self.make_ca(addon, &mut applied).await;
        }
        applied
    }

    /// Applies a manifest. An object that fails holds up none that does not need it; the note that the add-on is applied is
    /// written when all else is done, so that whoever is stopped before begins anew and finds most of it held.
    async fn apply_manifest(
        &self,
        addon: &Addon,
        manifest: &Manifest,
        existing: Option<&AddonVersion>,
    ) -> AddonApplied {
        let objects = &manifest.objects;
        let mut applied = AddonApplied {
            objects: objects.len(),
            ..AddonApplied::default()
        };
        for wave in waves(objects) {
            let wave: Vec<&ClusterObject> = wave.into_iter().map(|index| &objects[index]).collect();
            self.apply_wave(&wave, &mut applied).await;
        }
        if applied.failed.is_empty() {
            let ended = self.finish(addon, manifest, existing, &mut applied).await;
            if let Err(failed) = ended {
                applied.failed.push(failed);
            }
        }
        applied
    }

    async fn apply_wave(&self, wave: &[&ClusterObject], applied: &mut AddonApplied) {
        // The session bounds how many requests are under way.
        let tried = wave
            .iter()
            .map(|object| async move { (*object, self.apply(object, false).await) });
        let mut definitions = Vec::new();
        for (object, ended) in join_all(tried).await {
            match ended {
                Ok(done) => {
                    applied.changed += usize::from(done.is_changed());
                    if defined_kind(object).is_some() {
                        definitions.push(done.place);
                    }
                }
                Err(fault) => applied.failed.push(ObjectFailed {
                    object: shown(object),
                    fault,
                }),
            }
        }
        let waits = definitions
            .iter()
            .map(|place| async move { (place, self.established(place).await) });
        for (place, ended) in join_all(waits).await {
            if let Err(fault) = ended {
                applied.failed.push(ObjectFailed {
                    object: place.to_string(),
                    fault,
                });
            }
        }
        if !definitions.is_empty() {
            self.forget_kinds();
        }
    }

    /// Waits until the server serves what a definition defines.
    async fn established(&self, place: &ObjectPlace) -> Result<(), Fault> {
        let seconds = ESTABLISHED_WITHIN.as_secs();
        let late = |said: Option<&str>| not_established(place, seconds, said);
        let judged = |found: Option<&ClusterObject>| match found.map(is_established) {
            Some(Ok(true)) => Ok(()),
            Some(Ok(false)) => Err(late(None)),
            Some(Err(refused)) => Err(late(Some(&refused))),
            None => Err(late(Some("it is gone"))),
        };
        arrives(&place.name, ESTABLISHED_WITHIN, || async {
            let (host, access) = (self.host(), self.access());
            let found = host.get_object(access, place).await;
            let found = found.map_err(|error| fault_of_change(place, error))?;
            let held = judged(found.as_ref());
            let Some(found) = found.filter(|_| held.is_err()) else {
                return held;
            };
            let version = found.resource_version();
            match host.watch_object(access, place, version, WATCHED_FOR).await {
                Ok(Watched::Changed(found)) => judged(Some(&found)),
                // A watch that breaks is no worse than one that saw nothing.
                Ok(Watched::Deleted | Watched::Nothing) | Err(_) => held,
            }
        })
        .await
    }

    async fn finish(
        &self,
        addon: &Addon,
        manifest: &Manifest,
        existing: Option<&AddonVersion>,
        applied: &mut AddonApplied,
    ) -> Result<(), ObjectFailed> {
        for (served, objects) in self.superfluous(addon, manifest).await? {
            let objects: Vec<&ClusterObject> = objects.iter().collect();
            let deleted = self.delete(&served, &objects).await;
            applied.pruned += deleted.map_err(|fault| failed(&fault, &addon.name))?;
        }
        for selector in needs_update_nodes(addon, existing) {
            let marked = self.mark_nodes(selector).await;
            marked.map_err(|fault| failed(&fault, &addon.name))?;
        }
        let noted = self.note(addon, existing).await;
        noted.map_err(|fault| failed(&fault, &namespace_place(&addon.namespace).to_string()))
    }

    /// The objects that the channel says are to be removed, by kind.
    async fn superfluous(
        &self,
        addon: &Addon,
        manifest: &Manifest,
    ) -> Result<Vec<(ServedKind, Vec<ClusterObject>)>, ObjectFailed> {
        let mut superfluous = Vec::new();
        for rule in &addon.prune {
            let served = self.served_in_group(&rule.group, &rule.kind).await;
            let served = match served {
                Ok(served) => served,
                // There are no objects of a kind that is not served.
                Err(fault) if fault.code == Code::AddonsKindUnserved => continue,
                Err(fault) => return Err(failed(&fault, &rule.kind)),
            };
            for query in prune_queries(rule, &served) {
                let listed = self.list(&query).await;
                let listed = listed.map_err(|fault| failed(&fault, &rule.kind))?;
                let goes = to_prune(rule, &listed, &manifest.objects);
                let goes: Vec<ClusterObject> = goes.into_iter().cloned().collect();
                if !goes.is_empty() {
                    superfluous.push((served.clone(), goes));
                }
            }
        }
        Ok(superfluous)
    }

    /// Marks the nodes that have to be replaced for the add-on to take effect, as `kops rolling-update` looks for it.
    async fn mark_nodes(&self, selector: &str) -> Result<(), Fault> {
        let served = nodes();
        let query = ObjectQuery {
            served: served.clone(),
            namespace: None,
            labels: selector.to_owned(),
            fields: String::new(),
        };
        for node in self.list(&query).await? {
            let place = ObjectPlace {
                served: served.clone(),
                namespace: None,
                name: node.name().to_owned(),
            };
            self.patch(&place, needs_update_patch()).await?;
        }
        Ok(())
    }

    /// What applying an add-on would change, object by object; nothing is changed.
    ///
    /// Objects of kinds that the manifest itself defines, and that are not served yet, are of an unknown outcome.
    pub async fn plan_addon(&self, addon: &Addon, manifest: &Manifest) -> Vec<ObjectPlanned> {
        let objects = &manifest.objects;
        let order = waves(objects).concat().into_iter();
        let tried = order.map(|index| async move {
            let object = &objects[index];
            let what = match self.apply(object, true).await {
                Ok(done) if done.before.is_none() => Planned::Create,
                Ok(done) => match changes(done.before.as_ref(), &done.after) {
                    changes if changes.is_empty() => Planned::Nothing,
                    changes => Planned::Change(changes),
                },
                Err(fault) => Planned::Unknown(fault),
            };
            let object = shown(object);
            ObjectPlanned { object, what }
        });
        let mut planned = join_all(tried).await;
        match self.superfluous(addon, manifest).await {
            Ok(superfluous) => {
                let goes = superfluous.iter().flat_map(|(_, objects)| objects);
                // Two rules may mean one object.
                let goes: BTreeSet<String> = goes.map(shown).collect();
                planned.extend(goes.into_iter().map(|object| ObjectPlanned {
                    object,
                    what: Planned::Remove,
                }));
            }
            Err(ObjectFailed { object, fault }) => planned.push(ObjectPlanned {
                object,
                what: Planned::Unknown(fault),
            }),
        }
        planned.extend(self.plan_ca(addon).await);
        planned
    }
}

fn failed(fault: &Fault, object: &str) -> ObjectFailed {
    ObjectFailed {
        object: object.to_owned(),
        fault: fault.clone(),
    }
}

/// An object of a manifest, as it is named to an operator.
fn shown(object: &ClusterObject) -> String {
    let (kind, name) = (object.kind().kind, object.name());
    match object.namespace() {
        Some(namespace) => format!("{kind}/{namespace}/{name}"),
        None => format!("{kind}/{name}"),
    }
}
