//! One world from its beginning to its end.

use crate::bugs::Bug;
use crate::conduct::{Conductor, add_volumes};
use crate::hub::{Hub, Status};
use crate::instance::Node;
use crate::interfere::lock;
use crate::laws::Violation;
use crate::plan::{KopsGeneration, Plan};
use crate::trace::Trace;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use quake_apisim::ApiServer;
use quake_testkit::SharedRegion;
use quake_testkit::region::{Region, example_instance};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Builder;

/// What a world came to.
#[derive(Debug, Clone)]
pub struct WorldEnd {
    /// The first law that was broken.
    pub violation: Option<Violation>,
    /// Boots that were started.
    pub boots: u64,
    /// How long the world lasted by its own clock.
    pub simulated: Duration,
    /// Nodes that were ready at the end.
    pub ready: usize,
    pub trace: Trace,
}

/// How a world is run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The bug that is planted.
    pub bug: Option<Bug>,
    /// Whether the lines of the trace are kept.
    pub keeps_lines: bool,
}

/// Runs a world to its end, on a clock of its own that is paused.
///
/// # Panics
///
/// Where the machine has no memory for a runtime.
pub fn run(plan: &Plan, options: Options) -> WorldEnd {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads and sockets needs memory alone");
    runtime.block_on(run_world(plan, options))
}

async fn run_world(plan: &Plan, options: Options) -> WorldEnd {
    let hub = Arc::new(Mutex::new(Hub::new(
        plan.clone(),
        options.bug,
        options.keeps_lines,
    )));
    let mut region = Region::with_instance(example_instance("us-test-1a"), plan.cluster());
    region.instances.clear();
    add_volumes(&mut region, plan);
    plan.add_zone(&mut region);
    plan.add_groups(&mut region);
    let server = match plan.generation {
        KopsGeneration::Legacy => ApiServer::new("v1.15.12"),
        KopsGeneration::Current => ApiServer::new("v1.36.1"),
    };
    let shared = SharedRegion::new(region, plan.objects(), Some(server));
    let nodes: Vec<Node> = (0..plan.instances.len())
        .map(|index| Node::new(&hub, &shared, index))
        .collect();
    let living: FuturesUnordered<_> = nodes.iter().map(Node::live).collect();
    let living = pin!(living.collect::<Vec<()>>());
    let conductor = Conductor {
        hub: &hub,
        nodes: &nodes,
    };
    let conducting = async {
        let replacing = pin!(conductor.replace_marked());
        let conducted = pin!(conductor.conduct());
        select(conducted, replacing).await;
    };
    let conducting = pin!(conducting);
    // Nodes whose instances are gone end before the world does.
    if let Either::Right((_, conducting)) = select(conducting, living).await {
        conducting.await;
    }
    let hub = lock(&hub);
    let ready = hub.nodes.iter().filter(|node| node.status == Status::Ready);
    WorldEnd {
        violation: hub.judge.broken().cloned(),
        boots: hub.boots,
        simulated: Duration::from_millis(hub.now_ms()),
        ready: ready.count(),
        trace: hub.trace.clone(),
    }
}
