//! Sees to it that the cluster's object of this node says what the node is, once kubelet has registered it.
//!
//! It is beside the boot and after it, and holds it up in nothing: the API server of a control plane may be the one that this boot
//! just started, and a worker may be ready before it. Each object is brought there once: who takes a label or a taint away later
//! means it, and a new object, of a node that was deleted or came back, is a new one.

mod node_client;

#[cfg(test)]
mod tests;

use super::{Reconciler, between};
use crate::access::access_by;
use crate::context::Context;
use crate::ensure::files::look;
use node_client::NodeClient;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::{ClusterApi, Files};
use quake_model::record::is_of_node_object;
use quake_model::signal::ApiAccess;
use quake_model::step::WriteFile;
use quake_node::node_identity::NodeIdentity;
use std::time::Duration;
use tokio::time::Instant;

/// How long after one look the next follows while something is missing, and at most twice as long.
const TRIES_APART: Duration = Duration::from_secs(15);

/// How long after one look the next follows once all is said, or refused. A guess: an object that was deleted and registered
/// anew lacks its labels for as long.
const LOOKS_APART: Duration = Duration::from_secs(30 * 60);

/// Where it is noted which object was brought to what.
const NOTE: &str = "/var/lib/quake-agent/node-identity";

/// What the loop needs of the host.
pub(crate) trait NodePorts: Files + ClusterApi {}

impl<T: Files + ClusterApi> NodePorts for T {}

/// Looks after the object of this node.
pub(crate) struct NodeObject<'a, H> {
    context: &'a Context<'a, H>,
    wanted: &'a NodeIdentity,
    began: Instant,
    /// Whether all is said, or refused for good.
    is_settled: bool,
    /// What was reported last, while it is so.
    reported: Option<Code>,
    /// How to come to the API server, read once for the looks that follow each other.
    access: Option<ApiAccess>,
}

impl<H: NodePorts> Reconciler for NodeObject<'_, H> {
    fn interval(&self, draw: f64) -> Duration {
        let shortest = match self.is_settled {
            true => LOOKS_APART,
            false => TRIES_APART,
        };
        between((shortest, 2 * shortest), draw)
    }

    /// Says what is missing, and reports it.
    async fn reconcile(&mut self) {
        let emitter = self.context.emitter;
        let ended = self.bring().await;
        // The boot itself may wait for what is refused, and an API server that comes up refuses what it soon allows.
        let is_over = emitter.has_ended() && ended.as_ref().is_err_and(is_refused);
        self.is_settled = ended.is_ok() || is_over;
        if self.is_settled {
            // By the next look its certificate may be another.
            self.access = None;
        }
        match ended {
            Ok(changes) if changes.is_empty() && self.reported.is_none() => {}
            Ok(changes) => {
                self.reported = None;
                let node = self.wanted.node.clone();
                emitter.emit(Event::NodeLabelled { node, changes });
            }
            Err(fault) if self.is_early(&fault) || self.reported == Some(fault.code) => {}
            Err(fault) => {
                self.reported = Some(fault.code);
                emitter.emit(Event::NodeNotLabelled { fault });
            }
        }
    }
}

impl<'a, H: NodePorts> NodeObject<'a, H> {
    /// Goes on from what was reported while the node booted.
    pub(crate) fn new(context: &'a Context<'a, H>, wanted: &'a NodeIdentity) -> Self {
        let warnings = context.emitter.record().warnings;
        let mut codes = warnings.iter().map(|fault| fault.code);
        Self {
            context,
            wanted,
            began: Instant::now(),
            is_settled: false,
            reported: codes.rfind(|code| is_of_node_object(*code)),
            access: None,
        }
    }

    /// Whether it is too early to say that the node is not registered; a boot says itself what it waits for.
    fn is_early(&self, fault: &Fault) -> bool {
        let is_young = self.began.elapsed() < Phase::Ready.row().deadline;
        fault.code == Code::ReadyNodeUnregistered && (is_young || !self.context.emitter.has_ended())
    }

    /// Brings the object to what it should say; what was said.
    async fn bring(&mut self) -> Result<Vec<String>, Fault> {
        let context = self.context;
        let kubeconfig = &self.wanted.kubeconfig;
        if self.access.is_none() {
            self.access = access_by(context.host, kubeconfig).await;
        }
        let Some(access) = &self.access else {
            let summary = format!("{kubeconfig} leads to no API server yet");
            return Err(self.unregistered(summary));
        };
        let talk = NodeClient {
            api: context.host,
            access,
            wanted: self.wanted,
        };
        let node = talk.node().await?;
        let mut said = talk.grant().await?;
        let note = format!("{} {}", node.uid().unwrap_or_default(), self.wanted.words());
        if noted(context).await.as_deref() == Some(note.as_str()) {
            return Ok(said);
        }
        said.extend(talk.mark(&node).await?);
        // Where it cannot be noted, the next boot looks at the labels once more.
        let file = WriteFile::plain(NOTE, 0o644, note);
        let _ = context.host.write_file(&file).await;
        Ok(said)
    }

    fn unregistered(&self, summary: String) -> Fault {
        Fault::new(Code::ReadyNodeUnregistered, summary).seen("node", &self.wanted.node)
    }
}

/// Whether asking again soon is of no use.
fn is_refused(fault: &Fault) -> bool {
    matches!(
        fault.code,
        Code::ReadyNodeIdentityDenied | Code::ReadyNodeForeign
    )
}

async fn noted<H: Files>(context: &Context<'_, H>) -> Option<String> {
    let found = look(context, NOTE).await.ok()??;
    String::from_utf8(found.contents?).ok()
}
