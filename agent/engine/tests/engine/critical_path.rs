//! What the end of a boot of kops (1.32 and newer) waits for: the table in docs/operations.md.

use crate::common::strike;
use crate::kops::{conformance, node};
use quake_diagnose::timeline::{BootSpans, critical_path};
use quake_engine::{Emitter, boot, stop_signal};
use quake_model::event::Envelope;
use quake_model::phase::Phase;
use quake_model::ports::{Clock, Condition, Sink, SinkError};
use quake_model::record::Record;
use quake_testkit::{Script, SimHost};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PAGE: &str = include_str!("../../../../docs/operations.md");

struct KeepEnvelopes(Arc<Mutex<Vec<Envelope>>>);

impl Sink for KeepEnvelopes {
    fn accept(&mut self, envelope: &Envelope, _: &Record) -> Result<(), SinkError> {
        let mut kept = self.0.lock().expect("no other holder panics");
        kept.push(envelope.clone());
        Ok(())
    }
}

/// What comes late in the simulated world, and when.
type Late<'a> = (u64, &'a (dyn Fn(&SimHost) + Sync));

/// Boots a node whose world comes about piece by piece.
async fn spans(root: &Path, group: &str, silent: &[&str], late: &[Late<'_>]) -> BootSpans {
    let (host, request) = node(root, "minimal-1.35", group);
    host.remove_file(NETWORK);
    silent.iter().for_each(|url| host.silence(url));
    let away = ["ask_bootstrap", "fetch_asset", "look_node"];
    let strikes = away.map(|operation| strike(operation, 1..=2, Condition::Unreachable));
    host.next_boot(Script::new(strikes.into()));
    let kept = Arc::new(Mutex::new(Vec::new()));
    let clock = Arc::clone(&host);
    let sink = KeepEnvelopes(Arc::clone(&kept));
    let emitter = Emitter::new(Box::new(move || clock.now()), vec![Box::new(sink)]);
    let (_handle, stop) = stop_signal();
    let comes = async {
        for (second, come) in late {
            passes(Duration::from_secs(*second)).await;
            come(&host);
        }
    };
    let (verdict, ()) = tokio::join!(boot(host.as_ref(), &emitter, &request, stop), comes);
    assert_eq!(verdict.fault, None, "{group}");
    let events = kept.lock().expect("no other holder panics");
    BootSpans::new(&emitter.record(), &events)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the world changes while the agent waits; the clock is paused"
)]
async fn passes(time: Duration) {
    tokio::time::sleep(time).await;
}

const NETWORK: &str = "/etc/cni/net.d/10-containerd-net.conflist";
const KUBELET: &str = "http://127.0.0.1:10248/healthz";
const API_SERVER: &str = "http://127.0.0.1:3990/livez";

/// The rows of the table: what took more than a moment, in the order of the path.
fn rows(node: &str, boot: &BootSpans) -> Vec<String> {
    let mut rows = Vec::new();
    for link in critical_path(boot) {
        let phase = link.phase.map_or("", Phase::name);
        let steps = boot.steps.iter().map(|step| step.step.as_str());
        let place = |name: &str| steps.clone().position(|step| step == name);
        let mut parts = link.parts;
        parts.sort_by_key(|part| place(&part.step));
        for part in parts.iter().filter(|part| part.took_ms >= 50) {
            let waits: u64 = part.waits.values().sum();
            assert!(waits <= part.took_ms, "{node}: {part:?}");
            // Which of the assets comes last is chance.
            let step = match link.phase {
                Some(Phase::Assets) => "assets:NAME",
                _ => &part.step,
            };
            let codes = part.waits.keys().map(|code| format!("`{code}`"));
            let codes: Vec<String> = codes.collect();
            let codes = codes.join(", ");
            rows.push(format!("| {node} | {phase} | `{step}` | {codes} |"));
        }
    }
    rows
}

#[tokio::test(start_paused = true)]
async fn the_critical_path_of_both_kinds_of_node_is_the_table_of_the_page() {
    let Some(root) = conformance() else { return };
    let network: &(dyn Fn(&SimHost) + Sync) = &|host| host.put_file(NETWORK, "{}");
    let kubelet: &(dyn Fn(&SimHost) + Sync) = &|host| host.answer_again(KUBELET);
    let api_server: &(dyn Fn(&SimHost) + Sync) = &|host| host.answer_again(API_SERVER);
    let worker = [(15, kubelet), (20, network)];
    let worker = spans(&root, "nodes", &[KUBELET], &worker).await;
    let control_plane = [(15, kubelet), (20, api_server), (20, network)];
    let silent = [KUBELET, API_SERVER];
    let control_plane = spans(&root, "master-us-test-1a", &silent, &control_plane).await;
    let mut wanted = rows("worker", &worker);
    wanted.extend(rows("control plane", &control_plane));
    let table = PAGE.lines().filter(|line| {
        let cells = ["| worker | ", "| control plane | "];
        cells.iter().any(|cell| line.starts_with(cell)) && line.contains("| `")
    });
    let found: Vec<&str> = table.collect();
    assert_eq!(found, wanted, "write these rows:\n{}", wanted.join("\n"));
}
