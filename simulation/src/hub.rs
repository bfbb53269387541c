//! What all machines of one world share beside the region: the plan, the time, who is alive, and the laws.

use crate::bugs::Bug;
use crate::documents::EPOCH;
use crate::draw::Draw;
use crate::history::History;
use crate::laws::Judge;
use crate::plan::{Fault, Plan, Service, Sickness};
use crate::scaling_groups::Marked;
use crate::trace::Trace;
use quake_model::fault::{Class, Code};
use quake_model::ports::{Condition, PortError};
use quake_model::time::Timestamp;
use quake_testkit::{Fate, When};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// More port calls than any world makes that goes well: an agent that never ends is a violation, too.
const MOST_CALLS: u64 = 400_000;

/// How a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Not launched yet.
    Away,
    Booting,
    Ready,
    /// The boot ended by this fault; nobody starts another.
    Refused(Code, Class),
    /// The boot ended by this fault; systemd starts another.
    Failed(Code, Class),
    /// The instance is gone.
    Terminated,
}

/// How a process ends before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    Killed,
    PowerCut,
    Terminated,
}

/// One node as the world sees it.
#[derive(Debug)]
pub(crate) struct NodeState {
    pub(crate) status: Status,
    /// Port calls of its life.
    calls: u64,
    by_operation: BTreeMap<String, u64>,
    pub(crate) dead: Option<Death>,
    /// Notified when it is to die, or when an operator starts it again.
    pub(crate) wake: Arc<Notify>,
    pub(crate) boots: u32,
    /// Somebody removed one of its files since its last boot began.
    pub(crate) has_lost_file: bool,
    /// Its object in the cluster has the startup taint.
    pub(crate) is_tainted: bool,
    /// Its clock was set back at some time.
    pub(crate) was_set_back: bool,
    /// What it waits for, by the last event that says so.
    pub(crate) waits_for: Option<Code>,
    /// When it became ready last.
    pub(crate) ready_ms: u64,
    /// What is wrong with it, since when.
    pub(crate) sick: Vec<(Sickness, u64)>,
    /// When its member of etcd answered last.
    pub(crate) answered_ms: Option<u64>,
    /// Notified when its group launches it in the place of another.
    pub(crate) launch: Arc<Notify>,
    pub(crate) is_launched: bool,
    /// An operator's `addons apply` on it has not ended well yet.
    pub(crate) is_applying: bool,
    /// What the last fault that it showed tells an operator to do.
    pub(crate) remedy: String,
}

/// An attach whose reply was lost and that has its effect later.
#[derive(Debug, Clone)]
pub(crate) struct LateAttach {
    pub(crate) due_ms: u64,
    pub(crate) node: usize,
    pub(crate) volume: String,
    pub(crate) device_name: String,
}

/// What all machines of one world share.
pub(crate) struct Hub {
    pub(crate) plan: Plan,
    pub(crate) bug: Option<Bug>,
    started: Instant,
    pub(crate) nodes: Vec<NodeState>,
    pub(crate) judge: Judge,
    pub(crate) history: History,
    pub(crate) late: Vec<LateAttach>,
    /// Instances that their group was told are unhealthy.
    pub(crate) marked: Vec<Marked>,
    /// The attach under way has its effect later by so much.
    pub(crate) attach_is_late: Option<u64>,
    /// The format under way is cut in the middle.
    pub(crate) format_is_cut: Option<Draw>,
    pub(crate) trace: Trace,
    pub(crate) boots: u64,
    calls: u64,
}

impl Hub {
    pub(crate) fn new(plan: Plan, bug: Option<Bug>, keeps: bool) -> Self {
        let node = |_| NodeState {
            status: Status::Away,
            calls: 0,
            by_operation: BTreeMap::new(),
            dead: None,
            wake: Arc::default(),
            boots: 0,
            has_lost_file: false,
            is_tainted: false,
            was_set_back: false,
            waits_for: None,
            ready_ms: 0,
            sick: Vec::new(),
            answered_ms: None,
            launch: Arc::default(),
            is_launched: false,
            is_applying: false,
            remedy: String::new(),
        };
        let nodes: Vec<NodeState> = plan.instances.iter().map(node).collect();
        Self {
            judge: Judge::new(&plan),
            plan,
            bug,
            started: Instant::now(),
            nodes,
            history: History::default(),
            late: Vec::new(),
            marked: Vec::new(),
            attach_is_late: None,
            format_is_cut: None,
            trace: Trace::new(keeps),
            boots: 0,
            calls: 0,
        }
    }

    /// Milliseconds since the world began.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The time by a clock that nobody set.
    pub(crate) fn world_time(&self) -> Timestamp {
        Timestamp(EPOCH.0 + self.now_ms())
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.now_ms() >= self.plan.freeze_ms
    }

    /// Whether it is this bug that is planted.
    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Adds a line to the trace.
    pub(crate) fn note(&mut self, node: usize, arguments: std::fmt::Arguments<'_>) {
        let now = self.now_ms();
        self.trace.add(format_args!("{now:>9} n{node} {arguments}"));
    }

    /// Ends a node's process, or its whole machine.
    pub(crate) fn kill(&mut self, node: usize, death: Death) {
        let state = &mut self.nodes[node];
        let is_gone = state.status == Status::Terminated || state.dead == Some(Death::Terminated);
        if !is_gone {
            state.dead = Some(death);
            state.wake.notify_one();
        }
    }

    /// What befalls the next call of a node.
    pub(crate) fn fate(&mut self, node: usize, operation: &str) -> Fate {
        self.calls += match self.has(Bug::Storm) {
            true => 1000,
            false => 1,
        };
        if self.calls > MOST_CALLS {
            let now = self.now_ms();
            self.judge.broke(
                now,
                node,
                "ends",
                format!("{MOST_CALLS} port calls were made"),
            );
        }
        if self.nodes[node].dead.is_some() || self.judge.is_broken() {
            return halting(When::Before);
        }
        let now = self.now_ms();
        let state = &mut self.nodes[node];
        let is_etcd_well = !state.sick.iter().any(|(it, _)| *it == Sickness::Etcd);
        if state.status == Status::Ready && is_etcd_well {
            state.answered_ms = Some(now);
        }
        state.calls += 1;
        let calls = state.calls;
        let of_operation = state.by_operation.entry(operation.to_owned()).or_default();
        *of_operation += 1;
        let nth = *of_operation;
        let service = Service::of(operation);
        let mut draw = Draw::of(self.plan.seed, &[3, node as u64, calls]);
        let mut fate = Fate {
            before: latency(&mut draw, service),
            after: latency(&mut draw, service) / 2,
            ..Fate::default()
        };
        if !self.is_frozen() {
            self.befall(node, (operation, nth, calls), &mut fate);
        }
        fate
    }

    /// Lets the plan's faults strike a call.
    fn befall(&mut self, node: usize, call: (&str, u64, u64), fate: &mut Fate) {
        let (operation, _, calls) = call;
        let now = self.now_ms();
        let is_ready = self.nodes[node].status == Status::Ready;
        let is_blind = self.has(Bug::OutageUnseen) && is_ready;
        let mut death = None;
        for fault in &self.plan.faults {
            match *fault {
                Fault::Outage { .. } if is_blind => {}
                Fault::Crash {
                    node: of,
                    nth,
                    when,
                    power,
                } if of == node && nth == calls => {
                    fate.halt = Some(when);
                    death = Some(if power {
                        Death::PowerCut
                    } else {
                        Death::Killed
                    });
                }
                Fault::LateAttach {
                    node: of,
                    nth: which,
                    later_ms,
                } if of == node && operation == "attach_volume" && call.1 == which => {
                    self.attach_is_late = Some(later_ms);
                    fate.strike = Some((struck(Condition::TimedOut, operation), When::After));
                }
                _ => befall_answer(fault, (node, now), call, fate),
            }
        }
        if let Some(death) = death {
            self.note(node, format_args!("{death:?} at {operation}, call {calls}"));
            // Killed before the call, the format never began.
            if operation == "make_filesystem" && fate.halt == Some(When::After) {
                self.format_is_cut = Some(self.draw(node, 7));
            }
            // The call itself goes on to its halt.
            self.kill(node, death);
        }
    }

    /// By how much listings lag for a node now.
    pub(crate) fn lag(&self, node: usize) -> Option<u64> {
        let now = self.now_ms();
        if self.is_frozen() {
            return None;
        }
        let mut faults = self.plan.faults.iter();
        faults.find_map(|fault| match *fault {
            Fault::Stale {
                node: of,
                from_ms,
                to_ms,
                lag_ms,
            } if of == node && (from_ms..to_ms).contains(&now) => Some(lag_ms),
            _ => None,
        })
    }

    /// What a power cut tears beside what the files' contract lets it undo: nothing, unless that is the planted bug.
    pub(crate) fn tear(&mut self, node: usize, machine: &mut quake_testkit::Machine<'_>) {
        if self.has(Bug::TornFiles)
            && let Some(path) = self.judge.last_written(node)
        {
            crate::planted::tear(machine, path);
        }
    }

    /// A source of numbers for this call of a node.
    pub(crate) fn draw(&self, node: usize, purpose: u64) -> Draw {
        Draw::of(
            self.plan.seed,
            &[purpose, node as u64, self.nodes[node].calls],
        )
    }
}

/// What a fault of a service or of one call makes of an answer.
fn befall_answer(
    fault: &Fault,
    (node, now): (usize, u64),
    (operation, nth, _): (&str, u64, u64),
    fate: &mut Fate,
) {
    let service = Service::of(operation);
    match *fault {
        Fault::Strike {
            node: of,
            operation: what,
            nth: first,
            times,
            condition,
            when,
        } if of == node && what == operation && (first..first + times).contains(&nth) => {
            fate.strike = Some((struck(condition, operation), when));
        }
        Fault::Outage {
            node: of,
            service: down,
            from_ms,
            to_ms,
            condition,
        } if of.is_none_or(|of| of == node)
            && down == service
            && (from_ms..to_ms).contains(&now) =>
        {
            fate.strike = Some((struck(condition, operation), When::Before));
        }
        Fault::Slow {
            node: of,
            service: slow,
            from_ms,
            to_ms,
            takes_ms,
        } if of == node && slow == service && (from_ms..to_ms).contains(&now) => {
            fate.before += Duration::from_millis(takes_ms);
        }
        _ => {}
    }
}

fn halting(when: When) -> Fate {
    Fate {
        halt: Some(when),
        ..Fate::default()
    }
}

fn struck(condition: Condition, operation: &str) -> PortError {
    PortError::new(condition, format!("simulated fault of {operation}"))
}

/// How long a call takes to its service, or the answer back.
fn latency(draw: &mut Draw, service: Service) -> Duration {
    let (usual, most) = match service {
        Service::Machine => (0, 3),
        Service::Disk => (0, 20),
        Service::Metadata => (2, 50),
        Service::Cluster => (5, 300),
        _ => (15, 900),
    };
    let millis = match draw.percent(80) {
        true => usual,
        false => draw.between(usual, most),
    };
    Duration::from_millis(millis)
}
