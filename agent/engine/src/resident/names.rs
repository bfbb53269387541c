//! Reconciles the DNS names of a running node: a query now and then, and a change where a name does not lead to it.
//!
//! It has an interval of its own, because a name service that does not answer must not delay the other reconcilers. Drift of
//! the node's own `/etc/hosts` is reported like that of other files, and not fixed.

use super::{Reconciler, between};
use crate::context::Context;
use crate::ensure::dns::{Upheld, upheld};
use crate::request::Request;
use quake_model::event::Event;
use quake_model::fault::{Class, Code, Fault};
use quake_model::ports::{Cloud, Dns, Metadata, Meter};
use quake_node::dns::Upkeep;
use std::time::Duration;

/// How long after one look the next follows at least, and at most twice as long: 24 to 48 questions to Route 53 a day. A guess: an
/// account's nodes share five requests a second, and a name that somebody took away is missed by a peer that starts, seldom.
const LOOKS_APART: Duration = Duration::from_secs(30 * 60);

/// Where the metadata has the instance's own address.
const ADDRESS: &str = "local-ipv4";

/// What the loop needs of the host.
pub(crate) trait NamesPorts: Metadata + Cloud + Dns + Meter {}

impl<T: Metadata + Cloud + Dns + Meter> NamesPorts for T {}

/// Keeps them. The boot has just published them: the first round does nothing.
pub(crate) struct Names<'a, H> {
    context: &'a Context<'a, H>,
    upkeep: &'a Upkeep,
    reporter: DnsReporter,
    is_first: bool,
}

impl<'a, H> Names<'a, H> {
    pub(crate) fn new(context: &'a Context<'a, H>, upkeep: &'a Upkeep) -> Self {
        Self {
            context,
            upkeep,
            reporter: DnsReporter::new(context, upkeep),
            is_first: true,
        }
    }
}

impl<H: NamesPorts> Reconciler for Names<'_, H> {
    fn interval(&self, draw: f64) -> Duration {
        between((LOOKS_APART, 2 * LOOKS_APART), draw)
    }

    async fn reconcile(&mut self) {
        if std::mem::take(&mut self.is_first) {
            return;
        }
        let ended = look(self.context, self.upkeep).await;
        self.reporter.report(self.context, ended);
    }
}

async fn look<H: NamesPorts>(node: &Context<'_, H>, upkeep: &Upkeep) -> Result<Upheld, Fault> {
    let request = Request {
        budget: node.request.budget.beyond(&node.host.calls()),
        ..node.request.clone()
    };
    let context = Context::new(node.host, node.emitter, &request, node.stop.clone());
    let read = context.host.read_metadata(ADDRESS).await;
    let address = read.ok().flatten().filter(|address| !address.is_empty());
    // Where the metadata has no address, the one of the boot is used.
    let address = address.unwrap_or_else(|| upkeep.publication.address.clone());
    upheld(&context, upkeep, &address).await
}

/// Reports the node's names: only what changed since the last report.
struct DnsReporter {
    zone: String,
    /// The fault that was reported last.
    code: Option<Code>,
    /// Whether the look before failed by what may pass by itself.
    was_unclear: bool,
}

impl DnsReporter {
    /// Starts from what the boot reported.
    fn new<H>(context: &Context<'_, H>, upkeep: &Upkeep) -> Self {
        let warnings = context.emitter.record().warnings.into_iter();
        let mut codes = warnings.map(|fault| fault.code);
        Self {
            zone: upkeep.publication.zone.to_string(),
            code: codes.rfind(|code| code.area() == "dns"),
            was_unclear: false,
        }
    }

    fn report<H>(&mut self, context: &Context<'_, H>, ended: Result<Upheld, Fault>) {
        let (names, fault) = match ended {
            Ok(upheld) => (upheld.names, upheld.left),
            Err(fault) => (Vec::new(), Some(fault)),
        };
        let passes = |fault: &Fault| {
            matches!(
                fault.class(),
                Class::NotYet | Class::Transient | Class::Conflict
            )
        };
        let is_fixed = fault.is_none() && self.code.is_some();
        if is_fixed || !names.is_empty() {
            self.code = None;
            let zone = self.zone.clone();
            context.emitter.emit(Event::DnsPublished { zone, names });
        }
        let is_unclear = fault.as_ref().is_some_and(passes);
        // A failure that may pass by itself is reported at the second look.
        let is_early = is_unclear && !self.was_unclear;
        self.was_unclear = is_unclear;
        match fault {
            Some(fault) if is_early || fault.code == Code::BootInterrupted => {}
            Some(fault) if self.code != Some(fault.code) => {
                self.code = Some(fault.code);
                context.emitter.emit(Event::DnsNotPublished { fault });
            }
            Some(_) | None => {}
        }
    }
}
