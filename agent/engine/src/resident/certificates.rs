//! Issues certificates anew before they end, on a node that runs: a boot issues them for a year and some, and nobody else
//! does.
//!
//! What is done is what a boot would do, and only that: the orders that came of age, the files around them, and a restart of
//! what reads those only once. Killed on any line, the next look or the next boot goes on, for a key and its certificate are
//! one file. Certificates of kops-controller are not renewed: it refuses a node that is Ready.

use super::{LOOKS_APART, Reconciler, between};
use crate::boot::ManagedSnapshot;
use crate::boot::facts::BootFacts;
use crate::boot::managed_files::{keep_owned, recall_owned};
use crate::context::Context;
use crate::emit::Emitter;
use crate::ensure::{certificates, files, services};
use crate::fault_mapping::{Operation, to_fault};
use crate::retry::millis;
use quake_model::certificates::CertificateDates;
use quake_model::event::Event;
use quake_model::facts::InstanceFacts;
use quake_model::fault::{Code, Fault};
use quake_model::item::{CertificateOrder, Issuer};
use quake_model::outcome::Outcome;
use quake_model::phase::Phase;
use quake_model::ports::{Clock, Files, Keys, Provision, Units};
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step, WriteFile};
use quake_model::time::Timestamp;
use quake_node::builders::{Node, renewal};
use quake_node::managed_files::ManagedFile;
use quake_node::pki::{ends_at, renew_at};
use quake_node::steps;
use quake_node::steps::{Owners, orders};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long after one look at the certificates the next follows at least, and at most twice as long, whether it failed or not. A
/// guess: what comes of age has months left, and an hour is soon enough for an operator who made room on a full disk.
const RENEWALS_APART: Duration = Duration::from_secs(60 * 60);

/// What a boot leaves for certificates to be renewed by. It holds the keys of the CAs, as the node's disk does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    node: Arc<Node>,
    spec: Arc<NodeSpec>,
    instance: InstanceFacts,
}

impl Renewal {
    /// What certificates are renewed by; `None` for a node that has none of its own or of kops-controller's.
    pub(crate) fn from_facts(facts: &BootFacts) -> Option<Self> {
        let spec = facts.spec.clone()?;
        orders(&spec).next()?;
        Some(Self {
            node: facts.kops().ok()?,
            spec,
            instance: facts.instance.clone()?,
        })
    }
}

/// What the loop needs of the host.
pub(crate) trait CertificatePorts: Keys + Provision + Files + Units + Clock {}

impl<T: Keys + Provision + Files + Units + Clock> CertificatePorts for T {}

/// Looks after the certificates of a node that is ready.
pub(crate) struct Certificates<'a, H> {
    node: &'a Context<'a, H>,
    renewal: &'a Renewal,
    /// What the agent wrote; what is written here is noted in it.
    managed: &'a Mutex<ManagedSnapshot>,
    next: Timestamp,
    /// Issued anew, and not yet in every file that holds them.
    unfinished: BTreeSet<String>,
    /// What was reported of them last.
    reported: Vec<CertificateDates>,
}

impl<H: CertificatePorts> Reconciler for Certificates<'_, H> {
    fn interval(&self, draw: f64) -> Duration {
        between(LOOKS_APART, draw)
    }

    /// Renews what came of age, and reports it.
    async fn reconcile(&mut self) {
        let node = self.node;
        let now = node.host.now();
        // The time of day decides, and not the pauses: no timer runs on an instance that hibernates.
        if now < self.next {
            return;
        }
        let pause = between((RENEWALS_APART, 2 * RENEWALS_APART), node.draw());
        self.next = Timestamp(now.0.saturating_add(millis(pause)));
        // What a boot's steps report is of a boot; here only the end is reported.
        let quiet = Emitter::new(Box::new(move || now), Vec::new());
        let context = Context::new(node.host, &quiet, node.request, node.stop.clone());
        context.learn(|knowledge| {
            let node = Arc::clone(&self.renewal.node);
            knowledge.node = Some(quake_node::node::Node::Current(node));
            knowledge.spec = Some(Arc::clone(&self.renewal.spec));
            knowledge.instance = Some(self.renewal.instance.clone());
        });
        let managed = self.managed;
        let mut managed = managed.lock().await;
        let mut written = Vec::new();
        let ended = self.renew(&context, now, &mut written).await;
        for file in written {
            let left = ManagedFile::left(&file);
            managed.managed_files.files.insert(file.path, left);
        }
        drop(managed);
        match ended {
            Ok(Some(event)) => node.emitter.emit(event),
            Ok(None) => {}
            Err(fault) if fault.code == Code::BootInterrupted => {}
            Err(fault) => node.emitter.emit(Event::CertificatesNotRenewed { fault }),
        }
        // What could not be read now is reported after the next look.
        if let Ok(certificates) = self.dates(&context).await
            && certificates != self.reported
        {
            self.reported.clone_from(&certificates);
            node.emitter.emit(Event::CertificatesHeld { certificates });
        }
    }
}

impl<'a, H: CertificatePorts> Certificates<'a, H> {
    pub(crate) fn new(
        node: &'a Context<'a, H>,
        renewal: &'a Renewal,
        managed: &'a Mutex<ManagedSnapshot>,
    ) -> Self {
        Self {
            node,
            renewal,
            managed,
            next: Timestamp(0),
            unfinished: BTreeSet::new(),
            reported: Vec::new(),
        }
    }

    async fn renew(
        &mut self,
        context: &Context<'_, H>,
        now: Timestamp,
        written: &mut Vec<WriteFile>,
    ) -> Result<Option<Event>, Fault> {
        let mut theirs = None;
        for order in orders(&self.renewal.spec) {
            let held = certificates::held(context, &order.name).await?;
            // One that is not there is the next boot's to issue, and a finding of `diagnose`.
            let Some(held) = held else { continue };
            let is_due = renew_at(&held).is_some_and(|due| due <= now);
            match order.issuer {
                Issuer::Ca { .. } if is_due => self.issue(context, order).await?,
                Issuer::Controller { .. } if is_due => {
                    theirs = theirs.into_iter().chain(ends_at(&held.certificate)).min();
                }
                Issuer::Ca { .. } | Issuer::Controller { .. } => {}
            }
        }
        if !self.unfinished.is_empty() {
            self.put_to_use(context, written).await?;
            let names: Vec<String> = std::mem::take(&mut self.unfinished).into_iter().collect();
            let until = context.know(|knowledge| {
                let issued = names.iter().filter_map(|name| knowledge.issued.get(name));
                issued.filter_map(|held| ends_at(&held.certificate)).min()
            });
            let until = until.unwrap_or(now);
            return Ok(Some(Event::CertificatesRenewed { names, until }));
        }
        theirs.map_or(Ok(None), |ends| Err(not_ours(ends)))
    }

    /// Until when each is valid, and from when on it is renewed.
    async fn dates(&self, context: &Context<'_, H>) -> Result<Vec<CertificateDates>, Fault> {
        let mut dates = Vec::new();
        for order in orders(&self.renewal.spec) {
            let held = certificates::held(context, &order.name).await?;
            let Some(held) = held else { continue };
            let Some(ends) = ends_at(&held.certificate) else {
                continue;
            };
            let renewed_from = match order.issuer {
                Issuer::Ca { .. } => renew_at(&held),
                Issuer::Controller { .. } => None,
            };
            dates.push(CertificateDates {
                name: order.name.clone(),
                ends,
                renewed_from,
            });
        }
        dates.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(dates)
    }

    async fn issue(
        &mut self,
        context: &Context<'_, H>,
        order: &CertificateOrder,
    ) -> Result<(), Fault> {
        let step = Step::new(Phase::Credentials, Action::IssueCertificate(order.clone()));
        let outcome = certificates::issued(context, &step, order).await?;
        if outcome == Outcome::Changed {
            self.unfinished.insert(order.name.clone());
            // What the order brought is read once more, for the files around it.
            certificates::held(context, &order.name).await?;
        }
        Ok(())
    }

    /// Writes the files around what was issued, and restarts what reads them only once.
    async fn put_to_use(
        &self,
        context: &Context<'_, H>,
        written: &mut Vec<WriteFile>,
    ) -> Result<(), Fault> {
        let spec = &self.renewal.spec;
        let paths = renewal::files(spec, &self.unfinished);
        let owners = Owners::read(
            spec,
            &files::text(context, "/etc/passwd").await?,
            &files::text(context, "/etc/group").await?,
        );
        let issued = context.know(|knowledge| knowledge.issued.clone());
        let mut planned = steps::files(spec, &issued, &owners, false)?;
        planned.retain(|step| match &step.action {
            Action::WriteFile(file) => paths.contains(&file.path),
            _ => false,
        });
        recall_owned(context, &planned).await;
        for step in &planned {
            if let Action::WriteFile(file) = &step.action {
                let outcome = files::written(context, step, file).await?;
                context.ownership.note(step, outcome);
                written.push(file.clone());
            }
        }
        keep_owned(context, false).await;
        for unit in renewal::units(spec, &paths) {
            services::restart(context, unit).await?;
        }
        for container in renewal::containers(spec, &paths) {
            let words = renewal::end_container(&container);
            let ran = context.host.run_command(&words).await;
            ran.map_err(|error| to_fault(Operation::UseUnit, error).seen("container", &container))?;
        }
        Ok(())
    }
}

/// The fault of certificates that only kops-controller signs.
fn not_ours(ends: Timestamp) -> Fault {
    let summary = format!(
        "a certificate that kops-controller signed ends at {ends}, and it signs none for a node that is Ready"
    );
    Fault::new(Code::CredentialsNotRenewed, summary).seen("ends", ends)
}
