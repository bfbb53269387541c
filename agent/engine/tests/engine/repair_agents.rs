//! Several agents in one Auto Scaling group and one state store, each on a simulated host of its own.

use crate::common::{EPOCH, Keep, machine};
use quake_engine::{Emitter, Request, boot, keep_looking, stop_signal};
use quake_model::event::Event;
use quake_model::facts::InstanceView;
use quake_model::notification::Notification;
use quake_model::ports::Clock;
use quake_model::record::Record;
use quake_model::repair::RepairDecision;
use quake_model::time::Timestamp;
use quake_testkit::region::GroupState;
use quake_testkit::{SimHost, Timing};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const GROUP: &str = "nodes.demo.quake.example";
pub(crate) const NOTES: &str = "s3://quake-example-state/demo.quake.example/boot-reports/";
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// One agent, and what came of it.
pub(crate) struct Agent {
    pub(crate) host: Arc<SimHost>,
    events: Arc<Mutex<Vec<Event>>>,
    emitter: Arc<Emitter>,
}

impl Agent {
    pub(crate) fn record(&self) -> Record {
        self.emitter.record()
    }

    pub(crate) fn decisions(&self) -> Vec<RepairDecision> {
        let events = self.events.lock().expect("no other holder panics");
        let decided = events.iter().filter_map(|event| match event {
            Event::RepairDecided { decision, .. } => Some(decision.clone()),
            _ => None,
        });
        decided.collect()
    }

    pub(crate) fn requests(&self) -> usize {
        let events = self.events.lock().expect("no other holder panics");
        let is_request = |event: &&Event| {
            matches!(
                event,
                Event::NotificationSent {
                    what: Notification::Unhealthy,
                    ..
                }
            )
        };
        events.iter().filter(is_request).count()
    }
}

pub(crate) fn id(index: usize) -> String {
    format!("i-{index:017}")
}

/// A group of this many nodes of one instance group of kops legacy, each on a host of its own.
pub(crate) fn agents(instance_group: &str, size: usize) -> Vec<Agent> {
    let make = |index| {
        let host = machine(instance_group, Timing::default());
        host.change(|region| region.instance.instance_id = id(index));
        Arc::new(host)
    };
    grouped((0..size).map(make).collect())
}

/// Puts hosts into one Auto Scaling group.
pub(crate) fn grouped(hosts: Vec<Arc<SimHost>>) -> Vec<Agent> {
    let size = hosts.len();
    let agent = |(index, host): (usize, Arc<SimHost>)| {
        host.change(|region| {
            let own = region.instances[0].clone();
            region.instances = (0..size).map(|other| view(&own, other)).collect();
            region.instance.zone = region.instances[index].zone.clone();
            region.groups = vec![GroupState {
                name: GROUP.to_owned(),
                members: (0..size).map(id).collect(),
                ..GroupState::default()
            }];
        });
        started(host)
    };
    hosts.into_iter().enumerate().map(agent).collect()
}

pub(crate) fn started(host: Arc<SimHost>) -> Agent {
    let (clock, events) = (Arc::clone(&host), Arc::new(Mutex::new(Vec::new())));
    let sink = Box::new(Keep(Arc::clone(&events)));
    let emitter = Emitter::new(Box::new(move || clock.now()), vec![sink]);
    Agent {
        host,
        events,
        emitter: Arc::new(emitter),
    }
}

pub(crate) fn view(own: &InstanceView, index: usize) -> InstanceView {
    let mut view = own.clone();
    view.instance_id = id(index);
    // Launched long before the boots of the tests.
    view.launched = Timestamp(EPOCH.0 - 86_400_000);
    view.zone = ["us-test-1a", "us-test-1b", "us-test-1c"][index % 3].to_owned();
    for (key, value) in [
        ("aws:autoscaling:groupName", GROUP),
        ("k8s.io/role/master", "1"),
    ] {
        view.tags.insert(key.to_owned(), value.to_owned());
    }
    view
}

#[expect(
    clippy::disallowed_methods,
    reason = "the clock is paused: the world goes on while the agents pause"
)]
pub(crate) async fn passes(time: Duration) {
    tokio::time::sleep(time).await;
}

/// What all agents see of each other: one store, and one group.
pub(crate) fn share(agents: &[Agent]) {
    let mut objects = BTreeMap::new();
    let mut unhealthy = BTreeSet::new();
    for agent in agents {
        let own = agent.host.region().instance.instance_id;
        let is_of_agent = |place: &String| place.contains(own.as_str());
        let notes = agent.host.objects_below(NOTES);
        objects.extend(notes.into_iter().filter(|(place, _)| is_of_agent(place)));
        unhealthy.extend(
            agent
                .host
                .region()
                .groups
                .pop()
                .expect("there is one")
                .unhealthy,
        );
    }
    for agent in agents {
        for (place, bytes) in &objects {
            agent.host.put_object(place, bytes.clone());
        }
        let unhealthy = unhealthy.clone();
        agent.host.change(|region| {
            region.groups[0].unhealthy = unhealthy;
        });
    }
}

/// Boots all agents, each by its request or all by the one, breaks what is to be broken after 20 minutes, and lets them live for this long.
pub(crate) async fn live(
    agents: &[Agent],
    requests: &[Request],
    broken: impl Fn(usize, &SimHost),
    time: Duration,
) {
    let (handle, stop) = stop_signal();
    let lives = agents.iter().enumerate().map(|(index, agent)| {
        let (stop, request) = (stop.clone(), &requests[index % requests.len()]);
        async move {
            let host = agent.host.as_ref();
            let verdict = boot(host, &agent.emitter, request, stop.clone()).await;
            assert_eq!(verdict.fault, None);
            keep_looking(host, &agent.emitter, request, &verdict, stop).await;
        }
    });
    let world = async {
        passes(20 * MINUTE).await;
        for (index, agent) in agents.iter().enumerate() {
            broken(index, &agent.host);
        }
        let seconds = time.as_secs();
        for _ in 0..seconds / 10 {
            passes(Duration::from_secs(10)).await;
            share(agents);
        }
        handle.stop("the test is over");
    };
    tokio::join!(futures_util::future::join_all(lives), world);
}
