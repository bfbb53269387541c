//! Holds the node's names in a hosted zone: look, decide, change, look again; and at last whether every name server has them.
//!
//! All changes of one look are one batch, which Route 53 does whole or not at all: a boot that is killed leaves the records as
//! they were, or as they should be.

use crate::boot::facts::BootFacts;
use crate::boot::observe::cloud::{describe_instances, describe_volumes};
use crate::context::{Context, lock};
use crate::fault_mapping::{Operation, to_fault};
use quake_model::dns::{
    AddressRecord, ChangeProgress, Publication, ZoneFacts, ZoneKind, ZoneReference,
};
use quake_model::event::Event;
use quake_model::fault::{Class, Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::ports::Condition::Missing;
use quake_model::ports::{Cloud, Dns, InstanceQuery, Metadata, Meter, PortError, VolumeQuery};
use quake_model::step::Step;
use quake_node::dns::{self, Decision, Due, Upkeep};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

/// How long Route 53 may refuse for being asked too often, or not answer. A guess: an account's nodes share five requests a
/// second, and a control plane that starts anew asks some twenty in all.
const DEADLINE: Duration = Duration::from_secs(5 * 60);

/// How long a change may take to come to all name servers before that is remarked on: "generally within 60 seconds" (Route 53
/// API reference, `ChangeResourceRecordSets`, read 2026-11), and as long again.
const SYNC_DEADLINE: Duration = Duration::from_secs(2 * 60);

/// The tag that kops puts on instances of control planes (`pkg/model/context.go`, release-1.15).
const CONTROL_PLANE_TAG: &str = "k8s.io/role/master";

/// Publishes names, which takes one question where all are right.
pub(crate) async fn published<H: Metadata + Cloud + Dns + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    publication: &Publication,
) -> Result<Outcome, Fault> {
    let wait = context.wait(step.phase, &step.id, DEADLINE);
    let zone = context
        .retry(&wait, || zone_id(context, publication))
        .await?;
    context.learn(|knowledge| knowledge.names_zone = Some(zone.clone()));
    let publisher = Publisher::new(context, publication, zone);
    let decision = context.retry(&wait, || publisher.look()).await?;
    for (name, steer) in &decision.left {
        let fault = foreign_record(&publisher.zone, name, steer);
        context.emitter.emit(Event::Warning { fault });
    }
    if decision.changes.is_empty() {
        return Ok(Outcome::Unchanged);
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    *lock(&publisher.decided) = Some(decision);
    context.retry(&wait, || publisher.apply_change()).await?;
    Ok(Outcome::Changed)
}

/// Awaits that what was published is everywhere. One that is late is a warning: resolvers ask again within a minute.
pub(crate) async fn in_sync<H: Dns + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    zone: &str,
) -> Result<Outcome, Fault> {
    let Some(change) = context.know(|knowledge| knowledge.names_change.clone()) else {
        return Ok(Outcome::Unchanged);
    };
    let wait = context.wait(step.phase, &step.id, SYNC_DEADLINE);
    let look = || async {
        let looked = context.host.look_change(&change).await;
        let looked = looked.map_err(|error| match error.condition {
            // It is the batch that is not there, and not the zone.
            Missing => error.into_fault(Code::DnsPending).seen("change", &change),
            _ => to_fault(Operation::UseZone, error),
        });
        match looked? {
            ChangeProgress::InSync => Ok(()),
            ChangeProgress::Pending => {
                let summary =
                    format!("the change {change} has not come to all name servers of {zone}");
                Err(Fault::new(Code::DnsPending, summary).seen("change", &change))
            }
        }
    };
    match context.retry(&wait, look).await {
        Ok(()) => Ok(Outcome::Unchanged),
        Err(fault) if fault.code == Code::BootInterrupted || fault.class() == Class::Bug => {
            Err(fault)
        }
        Err(fault) => {
            context.emitter.emit(Event::Warning { fault });
            Ok(Outcome::Skipped)
        }
    }
}

/// What came of a look at the names of a node that runs.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Upheld {
    /// The names that were put back.
    pub(crate) names: Vec<String>,
    /// What was left as it is, and why.
    pub(crate) left: Option<Fault>,
}

/// Looks once at the names of a node that runs, and puts back what is its own: one question where all are right.
///
/// # Errors
///
/// Why they cannot be looked at, at once; or why they cannot be put back, when that was tried for a while.
pub(crate) async fn upheld<H: Cloud + Dns + Meter>(
    context: &Context<'_, H>,
    upkeep: &Upkeep,
    address: &str,
) -> Result<Upheld, Fault> {
    let zone = upkeep.publication.zone.to_string();
    let looking = Publisher::new(context, &upkeep.publication, zone);
    let found = Mutex::new(Some(looking.read().await?));
    let sent = Mutex::new(BTreeSet::new());
    let wait = context.wait(Phase::Ready, "names", DEADLINE);
    let attempt = || async {
        let seen = lock(&found).take();
        let found = match seen {
            Some(found) => found,
            None => looking.read().await?,
        };
        looking.put_back(upkeep, address, &found, &sent).await
    };
    context.retry(&wait, attempt).await
}

fn foreign_record(zone: &str, name: &str, steer: &str) -> Fault {
    let summary = format!("{name} is {steer}");
    Fault::new(Code::DnsRecordForeign, summary).seen("zone", zone)
}

struct Publisher<'a, 'b, H> {
    context: &'a Context<'b, H>,
    publication: &'a Publication,
    zone: String,
    /// What was just decided, and not tried yet.
    decided: Mutex<Option<Decision>>,
    /// Whether the zone was seen to hold the names.
    checked: Mutex<bool>,
}

impl<'a, 'b, H: Cloud + Dns> Publisher<'a, 'b, H> {
    fn new(context: &'a Context<'b, H>, publication: &'a Publication, zone: String) -> Self {
        Self {
            context,
            publication,
            zone,
            decided: Mutex::new(None),
            checked: Mutex::new(false),
        }
    }

    /// The records of the names: one question.
    async fn read(&self) -> Result<Vec<AddressRecord>, Fault> {
        let names = self.publication.names();
        let read = self.context.host.read_records(&self.zone, &names).await;
        read.map_err(|error| self.fault(error))
    }

    async fn look(&self) -> Result<Decision, Fault> {
        let found = self.read().await?;
        let peers = self.peers(self.publication, &found).await?;
        Ok(dns::decide(self.publication, &found, &peers))
    }

    /// Changes what is not as wanted, and looks again. An attempt after the first begins with a look, which shows the effect of an
    /// answer that was lost.
    async fn apply_change(&self) -> Result<(), Fault> {
        let decided = lock(&self.decided).take();
        let decision = match decided {
            Some(decision) => decision,
            None => self.look().await?,
        };
        if decision.changes.is_empty() {
            return Ok(());
        }
        self.check_zone().await?;
        let changed = self
            .context
            .host
            .change_records(&self.zone, &decision.changes)
            .await;
        let change = changed.map_err(|error| self.fault(error))?;
        self.context
            .learn(|knowledge| knowledge.names_change = Some(change));
        let left = self.look().await?.changes;
        match left.first() {
            None => Ok(()),
            Some(change) => {
                let name = &change.record.name;
                let summary = format!("{name} was changed by somebody else in the meantime");
                Err(Fault::new(Code::DnsConflict, summary).seen("zone", &self.zone))
            }
        }
    }

    /// Puts back, once, what these records have wrong and is this node's own now: names that are right are not written, and of a
    /// member's name that is not, its volume is asked about last of all, at each try anew. `sent` are the names of the tries so far.
    async fn put_back(
        &self,
        upkeep: &Upkeep,
        address: &str,
        found: &[AddressRecord],
        sent: &Mutex<BTreeSet<String>>,
    ) -> Result<Upheld, Fault> {
        let Due {
            publication,
            steered,
        } = upkeep.due(found, address);
        let mut left = steered.map(|(name, steer)| foreign_record(&self.zone, &name, &steer));
        let wrong = publication.names();
        // What an earlier try sent and is right now came of it, though its answer was lost.
        let came = || lock(sent).difference(&wrong).cloned().collect();
        if wrong.is_empty() {
            return Ok(Upheld {
                names: came(),
                left,
            });
        }
        let peers = self.peers(&publication, found).await?;
        let (due, lost) = self.held(upkeep, publication).await?;
        left = lost.or(left);
        let names = due.names();
        if !names.is_empty() {
            self.check_zone().await?;
            let decision = dns::decide(&due, found, &peers);
            lock(sent).extend(names.iter().cloned());
            let publisher = Publisher {
                context: self.context,
                publication: &due,
                zone: self.zone.clone(),
                decided: Mutex::new(Some(decision)),
                checked: Mutex::new(true),
            };
            publisher.apply_change().await?;
        }
        let mut put_back: Vec<String> = came();
        put_back.extend(names);
        put_back.sort();
        Ok(Upheld {
            names: put_back,
            left,
        })
    }

    /// What of `publication` this instance holds the volumes of, as EC2 shows them now, and why not all.
    async fn held(
        &self,
        upkeep: &Upkeep,
        publication: Publication,
    ) -> Result<(Publication, Option<Fault>), Fault> {
        let requested = upkeep.volumes_of(&publication);
        let volumes = match requested.is_empty() {
            true => Vec::new(),
            false => {
                let query = VolumeQuery::Ids(requested);
                describe_volumes(self.context, &query).await?
            }
        };
        Ok(upkeep.without_lost(publication, &volumes))
    }

    /// The addresses of the cluster's living control planes, where it matters.
    async fn peers(
        &self,
        publication: &Publication,
        found: &[AddressRecord],
    ) -> Result<BTreeSet<String>, Fault> {
        if !dns::peers_matter(publication, found) {
            return Ok(BTreeSet::new());
        }
        let query = InstanceQuery::Tagged {
            key: quake_formats::tags::CLUSTER_TAG.to_owned(),
            value: publication.cluster.clone(),
        };
        let views = describe_instances(self.context, &query).await?;
        let living = views
            .into_iter()
            .filter(|view| view.state.is_alive() && view.tags.contains_key(CONTROL_PLANE_TAG));
        Ok(living.map(|view| view.private_ip).collect())
    }

    /// Whether the zone that is to be changed holds the names, looked at once: a batch with others is refused without saying why.
    async fn check_zone(&self) -> Result<(), Fault> {
        if *lock(&self.checked) {
            return Ok(());
        }
        let read = self.context.host.read_zone(&self.zone).await;
        let zone = read.map_err(|error| self.fault(error))?;
        let zone = zone.ok_or_else(|| missing(&self.zone))?;
        dns::holds_names(&zone, self.publication)?;
        *lock(&self.checked) = true;
        Ok(())
    }

    fn fault(&self, error: PortError) -> Fault {
        let fault = to_fault(Operation::UseZone, error);
        fault
            .seen("zone", &self.zone)
            .seen("address", &self.publication.address)
    }
}

/// The id of the zone: as the operator gives it, or that of the zone they name.
async fn zone_id<H: Metadata + Dns>(
    context: &Context<'_, H>,
    publication: &Publication,
) -> Result<String, Fault> {
    let name = match &publication.zone {
        ZoneReference::Id(id) => return Ok(id.clone()),
        ZoneReference::Name(name) => name,
    };
    let fault = |error| to_fault(Operation::UseZone, error).seen("zone", name);
    let mut zones = context.host.list_zones(name).await.map_err(fault)?;
    let private = zones.iter().filter(|zone| zone.kind == ZoneKind::Private);
    let mut vpc = None;
    if private.count() > 1 && publication.kind != Some(ZoneKind::Public) {
        vpc = own_vpc(context).await?;
        zones = with_vpcs(context, zones).await.map_err(fault)?;
    }
    let chosen = dns::choose_zone(name, publication.kind, &zones, vpc.as_deref())?;
    Ok(chosen.id.clone())
}

/// Which VPC this instance is in; `None` where the metadata does not tell.
async fn own_vpc<H: Metadata>(context: &Context<'_, H>) -> Result<Option<String>, Fault> {
    let mac = context.know(BootFacts::instance)?.mac;
    let key = format!("network/interfaces/macs/{mac}/vpc-id");
    let read = context.host.read_metadata(&key).await;
    read.map_err(|error| to_fault(Operation::ReadMetadata, error).seen("key", &key))
}

/// The zones with the VPCs of the private ones, which a list does not tell.
async fn with_vpcs<H: Dns>(
    context: &Context<'_, H>,
    zones: Vec<ZoneFacts>,
) -> Result<Vec<ZoneFacts>, PortError> {
    let mut reported = Vec::new();
    for zone in zones {
        match zone.kind {
            ZoneKind::Public => reported.push(zone),
            ZoneKind::Private => reported.extend(context.host.read_zone(&zone.id).await?),
        }
    }
    Ok(reported)
}

fn missing(zone: &str) -> Fault {
    Fault::new(
        Code::DnsZoneMissing,
        format!("there is no hosted zone {zone}"),
    )
}
