//! The life of one instance: launched, booted, killed, started again, looked after by its agent.

use crate::addons_world::OPERATOR;
use crate::documents::{EPOCH, current, secret};
use crate::draw::Draw;
use crate::endings::{Listener, after_boot, after_ready};
use crate::hub::{Death, Hub, Status};
use crate::interfere::{Interferer, lock};
use crate::laws::Caller;
use crate::node_objects::requested;
use crate::plan::{Fault, KopsGeneration, NEVER, Plan};
use futures_util::future::{Either, select};
use quake_engine::{
    Budget, CredentialSource, Deadlines, Emitter, Mode, NODE_BUDGET, Request, Stop, Verdict, boot,
    keep_looking, stop_signal,
};
use quake_model::boot::BootId;
use quake_model::facts::{InstanceFacts, InstanceState, InstanceView};
use quake_model::fault::{Class, Code};
use quake_model::ports::{Clock, Sink};
use quake_node::addon_mode::KUBECONFIG;
use quake_testkit::region::{Region, example_instance};
use quake_testkit::{Script, SharedRegion, SimHost};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How soon systemd starts a failed boot again (`RestartSec`), and how many starts it grants in ten minutes.
const RESTART: Duration = Duration::from_secs(10);
const BURST: u32 = 4;
const AFTER_BURST: Duration = Duration::from_secs(10 * 60);

/// How long a machine takes to start again.
const POWER_ON: Duration = Duration::from_secs(40);

/// A kubeconfig of the simulated cluster.
const ACCESS: &str = "clusters:\n- name: c\n  cluster: {server: 'http://127.0.0.1:8080'}\n\
    contexts:\n- name: c\n  context: {cluster: c, user: u}\ncurrent-context: c\nusers:\n- name: u\n  user: {}\n";

/// One instance.
pub(crate) struct Node {
    pub(crate) index: usize,
    pub(crate) host: Arc<SimHost>,
    /// The same machine for whoever works on it by hand.
    pub(crate) operator: SimHost,
    pub(crate) hub: Arc<Mutex<Hub>>,
    facts: InstanceFacts,
    group: String,
    pub(crate) secret: String,
}

/// Lets time pass; the clock is paused, so none does.
pub(crate) async fn pass(time: Duration) {
    let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
}

impl Node {
    pub(crate) fn new(hub: &Arc<Mutex<Hub>>, shared: &SharedRegion, index: usize) -> Self {
        let plan = lock(hub).plan.clone();
        let instance = &plan.instances[index];
        let group = &plan.groups[instance.group];
        let facts = facts(index);
        let region = Region::with_instance(facts.clone(), plan.cluster());
        let interferer = Arc::new(Interferer::new(hub, index));
        let host = SimHost::new(region, instance.timing, EPOCH)
            .sharing(shared)
            .interfered_by(interferer);
        for (url, bytes) in plan.mirrors() {
            host.serve(&url, bytes);
        }
        host.put_file("/etc/cni/net.d/10-containerd-net.conflist", "{}");
        if plan.generation == KopsGeneration::Legacy && group.is_control_plane() {
            host.put_file(KUBECONFIG, ACCESS);
        }
        if plan.generation == KopsGeneration::Current
            && !group.is_control_plane()
            && let Ok(controller) = current().controller(&facts)
        {
            host.answer_bootstrap(controller);
        }
        let operator = SimHost::new(
            Region::with_instance(facts.clone(), plan.cluster()),
            instance.timing,
            EPOCH,
        )
        .sharing(shared)
        .interfered_by(Arc::new(Interferer::of_operator(hub, index)));
        operator.put_file(OPERATOR, ACCESS);
        Self {
            index,
            host: Arc::new(host),
            operator,
            hub: Arc::clone(hub),
            facts,
            group: group.name.clone(),
            secret: secret(),
        }
    }

    /// Lives until the world ends.
    pub(crate) async fn live(&self) {
        let launch = lock(&self.hub).plan.instances[self.index].launch_ms;
        match launch {
            // A spare waits for its group.
            NEVER => {
                let launched = Arc::clone(&lock(&self.hub).nodes[self.index].launch);
                launched.notified().await;
            }
            launch => pass(Duration::from_millis(launch)).await,
        }
        if lock(&self.hub).nodes[self.index].dead == Some(Death::Terminated) {
            // It was gone before it came up.
            let _ = self.died();
            return;
        }
        self.launch();
        let mut failures = 0;
        loop {
            let wake = Arc::clone(&lock(&self.hub).nodes[self.index].wake);
            let ended = tokio::select! {
                biased;
                () = wake.notified() => None,
                verdict = self.processes() => Some(verdict),
            };
            let pause = match ended {
                None => match self.died() {
                    Some(pause) => pause,
                    None => return,
                },
                Some(verdict) => {
                    failures += 1;
                    match self.ended(&verdict) {
                        // As systemd counts them: four starts, then a pause.
                        Some(()) if failures % BURST != 0 => RESTART,
                        Some(()) => AFTER_BURST,
                        None => {
                            // Until an operator starts it again, or the machine.
                            wake.notified().await;
                            match self.died() {
                                Some(pause) => pause,
                                None => return,
                            }
                        }
                    }
                }
            };
            if lock(&self.hub).nodes[self.index].status == Status::Terminated {
                return;
            }
            let pausing = async {
                tokio::select! {
                    biased;
                    () = wake.notified() => {}
                    () = pass(pause) => {}
                }
            };
            pausing.await;
            if self.died().is_none() {
                return;
            }
        }
    }

    /// What became of a process that was ended: how long until the next one; `None` where there is none.
    fn died(&self) -> Option<Duration> {
        let death = {
            let mut hub = lock(&self.hub);
            hub.nodes[self.index].status = Status::Booting;
            hub.nodes[self.index].dead.take()
        };
        match death {
            None => Some(RESTART),
            Some(Death::Killed) => Some(RESTART),
            Some(Death::PowerCut) => {
                self.lose_power();
                Some(POWER_ON)
            }
            Some(Death::Terminated) => {
                let mut hub = lock(&self.hub);
                hub.nodes[self.index].status = Status::Terminated;
                hub.judge.unmounted(self.index);
                None
            }
        }
    }

    fn lose_power(&self) {
        let mut draw = lock(&self.hub).draw(self.index, 5);
        self.host.lose_power(&mut || draw.percent(50));
        self.host.machine(|machine| {
            let mut hub = lock(&self.hub);
            hub.tear(self.index, machine);
            hub.judge.unmounted(self.index);
            let by = Caller {
                now_ms: hub.now_ms(),
                node: self.index,
                instance_id: &self.facts.instance_id,
            };
            hub.judge.after_power_cut(by, machine);
        });
    }

    /// Whether systemd starts the boot again.
    fn ended(&self, verdict: &Verdict) -> Option<()> {
        let fault = verdict.fault.as_ref()?;
        let class = fault.class();
        let restarts = class.exit_status() == 75;
        lock(&self.hub).nodes[self.index].status = match restarts {
            true => Status::Failed(fault.code, class),
            false => Status::Refused(fault.code, class),
        };
        restarts.then_some(())
    }

    /// EC2 shows it from now on.
    fn launch(&self) {
        let plan = lock(&self.hub).plan.clone();
        let cluster = plan.cluster();
        let scaling_group = plan.scaling_group(plan.instances[self.index].group);
        let pair = |name: &str, value: String| (name.to_owned(), value);
        let mut view = InstanceView {
            private_ip: self.facts.private_ip.clone(),
            instance_id: self.facts.instance_id.clone(),
            state: InstanceState::Running,
            launched: self.host.now(),
            zone: self.facts.zone.clone(),
            tags: BTreeMap::from([
                pair("KubernetesCluster", cluster.to_owned()),
                pair(
                    &format!("kubernetes.io/cluster/{cluster}"),
                    "owned".to_owned(),
                ),
                pair("kops.k8s.io/instancegroup", self.group.clone()),
                pair("aws:autoscaling:groupName", scaling_group.clone()),
            ]),
            device_names: vec!["/dev/xvda".to_owned()],
        };
        if let Some(role) = plan.role_tag(self.index) {
            view.tags.insert(role.to_owned(), "1".to_owned());
        }
        self.host.machine(|machine| {
            let region = machine.region();
            let mut groups = region.groups.iter_mut();
            if let Some(group) = groups.find(|group| group.name == scaling_group) {
                group.members.insert(view.instance_id.clone());
            }
            region.instances.push(view);
            lock(&self.hub).see_listing(machine);
        });
    }

    /// The agent that systemd started, and what somebody runs beside it.
    async fn processes(&self) -> Verdict {
        let (first, second) = (pin!(self.process()), pin!(self.beside()));
        match select(first, second).await {
            Either::Left((verdict, _)) => verdict,
            Either::Right(((), first)) => first.await,
        }
    }

    /// One process of the agent: a boot, and what follows while the node is ready.
    async fn process(&self) -> Verdict {
        let number = {
            let mut hub = lock(&self.hub);
            hub.boots += 1;
            let state = &mut hub.nodes[self.index];
            state.boots += 1;
            state.status = Status::Booting;
            state.waits_for = None;
            state.has_lost_file = false;
            state.boots
        };
        self.host.next_boot(Script::default());
        let clock = Arc::clone(&self.host);
        let sinks: Vec<Box<dyn Sink>> =
            vec![Box::new(Listener::new(&self.hub, self.index, &self.secret))];
        let emitter = Emitter::new(Box::new(move || clock.now()), sinks);
        let (_handle, stop) = stop_signal();
        let request = self.request(number, Mode::Apply);
        let verdict = boot(self.host.as_ref(), &emitter, &request, stop.clone()).await;
        // What an agent does that is killed meanwhile, nobody sees.
        if lock(&self.hub).nodes[self.index].dead.is_some() {
            std::future::pending::<()>().await;
        }
        after_boot(&self.hub, self.index, &verdict, &emitter.record());
        if verdict.fault.is_none() {
            after_ready(&self.hub, &self.host, self.index);
            self.mark_ready();
            self.stay(&emitter, &request, &verdict, stop).await;
        }
        verdict
    }

    fn mark_ready(&self) {
        let mut hub = lock(&self.hub);
        let now = hub.now_ms();
        let state = &mut hub.nodes[self.index];
        (state.status, state.ready_ms) = (Status::Ready, now);
    }

    async fn stay(&self, emitter: &Emitter, request: &Request, verdict: &Verdict, stop: Stop) {
        keep_looking(self.host.as_ref(), emitter, request, verdict, stop).await;
    }

    /// What a plan of this ready node would still change, which must be nothing.
    pub(crate) async fn plan_again(&self) -> Vec<String> {
        let clock = Arc::clone(&self.host);
        let emitter = Emitter::new(Box::new(move || clock.now()), Vec::new());
        let (_handle, stop) = stop_signal();
        let request = self.request(9999, Mode::DryRun);
        self.host.next_boot(Script::default());
        let verdict = boot(self.host.as_ref(), &emitter, &request, stop).await;
        let planned = verdict.planned.iter();
        let changes = planned.filter(|it| it.outcome == quake_model::outcome::Outcome::WouldChange);
        let mut changes: Vec<String> = changes.map(|it| it.step.id.clone()).collect();
        changes.extend(verdict.fault.map(|fault| fault.to_string()));
        changes
    }

    pub(crate) fn request(&self, number: u32, acting: Mode) -> Request {
        let hub = lock(&self.hub);
        let plan = &hub.plan;
        let group = &plan.groups[plan.instances[self.index].group];
        // The agent is upgraded between two boots, and never back.
        let version = if number.is_multiple_of(3) {
            "0.2.0"
        } else {
            "0.1.0"
        };
        let seed = Draw::of(plan.seed, &[6, self.index as u64, u64::from(number)]).number();
        Request {
            boot: BootId::new(self.host.now(), u32::try_from(seed % 30_000).unwrap_or(1)),
            version: version.to_owned(),
            command: "boot".to_owned(),
            acting,
            configuration: plan.configuration(group),
            credentials: match plan.generation {
                KopsGeneration::Legacy => CredentialSource::StandIn,
                KopsGeneration::Current => CredentialSource::Store,
            },
            needs_role: true,
            empty_slots: Vec::new(),
            patience: Deadlines::default(),
            conditions: requested(plan, self.index),
            takes_over_addons: plan.takes_over_addons,
            repair: plan.repair(),
            exit_when_ready: false,
            budget: self.budget(plan),
        }
    }

    /// How many requests a boot may make. A plan beside it is a process that counts for itself; here one meter counts both.
    fn budget(&self, plan: &Plan) -> Budget {
        let is_beside =
            |fault: &Fault| matches!(fault, Fault::PlanBeside { node, .. } if *node == self.index);
        let processes = 1 + u64::from(plan.faults.iter().any(is_beside));
        Budget {
            imds: NODE_BUDGET.imds * processes,
            s3: NODE_BUDGET.s3 * processes,
            ec2: NODE_BUDGET.ec2 * processes,
            route53: NODE_BUDGET.route53 * processes,
        }
    }
}

/// Who an instance is.
fn facts(index: usize) -> InstanceFacts {
    let example = example_instance("us-test-1a");
    let number = index + 10;
    InstanceFacts {
        instance_id: Plan::instance_id(index),
        private_ip: format!("10.0.0.{number}"),
        local_hostname: format!("ip-10-0-0-{number}.us-test-1.compute.internal"),
        mac: format!("02:00:00:00:00:{number:02x}"),
        ..example
    }
}

impl Status {
    /// The code that says why it is not ready, where one does.
    pub(crate) fn code(self) -> Option<(Code, Class)> {
        match self {
            Self::Refused(code, class) | Self::Failed(code, class) => Some((code, class)),
            _ => None,
        }
    }
}
