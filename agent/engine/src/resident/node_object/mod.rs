//! Sees to it that the cluster's object of this node says what the node is, once kubelet has registered it.
//!
//! It is beside the boot and after it, and holds it up in nothing: the API server of a control plane may be the one that this boot
//! just started, and a worker may be ready before it. Each object is brought there once: who takes a label or a taint away later
//! means it, and a new object, of a node that was deleted or came back, is a new one.

mod node_client;

#[cfg(test)]
mod tests;

use crate::access::access_by;
use crate::context::Context;
use crate::emit::Emitter;
use crate::ensure::files::look;
use crate::retry::millis;
use node_client::NodeClient;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::Host;
use quake_model::signal::ApiAccess;
use quake_model::step::WriteFile;
use quake_model::time::Timestamp;
use quake_node::node_identity::NodeIdentity;
use std::time::Duration;
use tokio::time::Instant;

/// How long after one look the next follows while something is missing; the watch looks no oftener than every twenty seconds.
const TRIES_APART: Duration = Duration::from_secs(15);

/// How long after one look the next follows once all is said, or refused. A guess: an object that was deleted and registered
/// anew lacks its labels for as long.
const LOOKS_APART: Duration = Duration::from_secs(30 * 60);

/// Where it is noted which object was brought to what.
const NOTE: &str = "/var/lib/quake-agent/node-identity";

/// Looks after the object of this node while it boots; ends when the boot is told to stop, whatever is under way.
pub(crate) async fn identify<H: Host>(context: &Context<'_, H>, wanted: &NodeIdentity) {
    let looking = async {
        let mut keeper = NodeKeeper::new(wanted, context.emitter);
        loop {
            keeper.look(context).await;
            if context.pause(TRIES_APART).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        _ = context.stopped() => {}
        () = looking => {}
    }
}

/// Looks after the object of this node.
pub(crate) struct NodeKeeper<'a> {
    wanted: &'a NodeIdentity,
    began: Instant,
    next: Timestamp,
    /// What was told last, while it is so.
    told: Option<Code>,
    /// How to come to the API server, read once for the looks that follow each other.
    access: Option<ApiAccess>,
}

impl<'a> NodeKeeper<'a> {
    /// One whose first look is the next; it goes on from what was told while the node booted.
    pub(crate) fn new(wanted: &'a NodeIdentity, emitter: &Emitter) -> Self {
        let warnings = emitter.record().warnings;
        let mut standing = warnings.iter().map(|fault| fault.code);
        Self {
            wanted,
            began: Instant::now(),
            next: Timestamp(0),
            told: standing.rfind(|code| is_of_object(*code)),
            access: None,
        }
    }

    /// Looks if it is time to, says what is missing, and tells.
    pub(crate) async fn look<H: Host>(&mut self, context: &Context<'_, H>) {
        let now = context.host.now();
        if now < self.next {
            return;
        }
        let ended = self.bring(context).await;
        // The boot itself may wait for what is refused, and an API server that comes up refuses what it soon allows.
        let is_over = context.emitter.has_ended() && ended.as_ref().is_err_and(is_refused);
        let is_settled = ended.is_ok() || is_over;
        if is_settled {
            // By the next look its certificate may be another.
            self.access = None;
        }
        let pause = if is_settled { LOOKS_APART } else { TRIES_APART };
        // Nodes that booted together do not look together.
        let pause = pause + pause.mul_f64(context.draw());
        self.next = Timestamp(now.0.saturating_add(millis(pause)));
        match ended {
            Ok(says) if says.is_empty() && self.told.is_none() => {}
            Ok(says) => {
                self.told = None;
                let node = self.wanted.node.clone();
                context.emitter.emit(Event::NodeLabelled {
                    node,
                    changes: says,
                });
            }
            Err(fault) if self.is_early(context, &fault) || self.told == Some(fault.code) => {}
            Err(fault) => {
                self.told = Some(fault.code);
                context.emitter.emit(Event::NodeNotLabelled { fault });
            }
        }
    }

    /// Whether it is too early to say that the node is not registered; a boot says itself what it waits for.
    fn is_early<H>(&self, context: &Context<'_, H>, fault: &Fault) -> bool {
        let is_young = self.began.elapsed() < Phase::Ready.row().deadline;
        fault.code == Code::ReadyNodeUnregistered && (is_young || !context.emitter.has_ended())
    }

    /// Brings the object to what it should say; what was said.
    async fn bring<H: Host>(&mut self, context: &Context<'_, H>) -> Result<Vec<String>, Fault> {
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

/// Whether a warning of this code is of the node's object, and over once that says what it should.
fn is_of_object(code: Code) -> bool {
    matches!(
        code,
        Code::ReadyNodeUnregistered
            | Code::ReadyNodeIdentityDenied
            | Code::ReadyNodeIdentityMissing
            | Code::ReadyNodeForeign
    )
}

/// Whether asking again soon is of no use.
fn is_refused(fault: &Fault) -> bool {
    matches!(
        fault.code,
        Code::ReadyNodeIdentityDenied | Code::ReadyNodeForeign
    )
}

async fn noted<H: Host>(context: &Context<'_, H>) -> Option<String> {
    let found = look(context, NOTE).await.ok()??;
    String::from_utf8(found.contents?).ok()
}
