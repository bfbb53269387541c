//! Kernel, systemd and components, simulated.

use super::SimHost;
use super::World;
use crate::region::unit_at_rest;
use quake_model::facts::{
    ActiveState, HostHealth, NetworkFacts, NodeObject, PodFound, PodSeen, PodsSeen, ProbeFacts,
    UnitFacts,
};
use quake_model::ports::{
    Condition, JobKind, Kernel, PortError, Probes, ReportJob, UnitJob, Units,
};
use quake_model::signal::ApiAccess;

impl Kernel for SimHost {
    async fn has_module(&self, name: &str) -> Result<bool, PortError> {
        self.call("has_module", |world| {
            Ok(world.region.modules.contains(name))
        })
        .await
    }

    async fn load_module(&self, name: &str) -> Result<(), PortError> {
        self.call("load_module", |world| {
            if world.missing_modules.contains(name) {
                return Err(PortError::new(
                    Condition::Unknown,
                    format!("module {name} not found"),
                ));
            }
            world.region.modules.insert(name.to_owned());
            Ok(())
        })
        .await
    }

    async fn read_sysctl(&self, key: &str) -> Result<Option<String>, PortError> {
        self.call("read_sysctl", |world| {
            let value = world.region.sysctls.get(key).cloned();
            Ok(Some(value.unwrap_or_else(|| "0".to_owned())))
        })
        .await
    }

    async fn write_sysctl(&self, key: &str, value: &str) -> Result<(), PortError> {
        self.call("write_sysctl", |world| {
            world
                .region
                .sysctls
                .insert(key.to_owned(), value.to_owned());
            Ok(())
        })
        .await
    }

    async fn read_network(&self) -> Result<NetworkFacts, PortError> {
        self.call("read_network", |world| Ok(world.region.network.clone()))
            .await
    }
}

impl Units for SimHost {
    async fn look_unit(&self, unit: &str) -> Result<UnitFacts, PortError> {
        // A machine whose image brings its units: any name the agent asks for has a file.
        let now = self.micros();
        self.call("look_unit", |world| {
            restart_by_itself(world, unit, now);
            Ok(world
                .region
                .units
                .get(unit)
                .cloned()
                .unwrap_or_else(|| unit_at_rest(unit)))
        })
        .await
    }

    async fn reload_units(&self) -> Result<(), PortError> {
        self.call("reload_units", |world| {
            world
                .region
                .units
                .values_mut()
                .for_each(|unit| unit.needs_reload = false);
            Ok(())
        })
        .await
    }

    async fn enable_units(&self, units: &[String]) -> Result<(), PortError> {
        self.call("enable_units", |world| {
            for unit in units {
                world.region.unit(unit).enabled = true;
            }
            Ok(())
        })
        .await
    }

    async fn disable_units(&self, units: &[String]) -> Result<(), PortError> {
        self.call("disable_units", |world| {
            for unit in units {
                if let Some(unit) = world.region.units.get_mut(unit) {
                    unit.enabled = false;
                }
            }
            Ok(())
        })
        .await
    }

    async fn run_jobs(&self, jobs: &[UnitJob], report: ReportJob<'_>) {
        if let Err(error) = self.call("run_jobs", |_| Ok(())).await {
            (0..jobs.len()).for_each(|index| report(index, Err(error.clone())));
            return;
        }
        // Each job is a call of its own, so that an agent may be killed between any two of them.
        for (index, job) in jobs.iter().enumerate() {
            let operation = match job.kind {
                JobKind::Start => "start_unit",
                JobKind::Restart => "restart_unit",
                JobKind::Stop => "stop_unit",
            };
            let now = self.micros();
            let ended = self.call(operation, |world| {
                world.subject.clone_from(&job.unit);
                world.region.unit(&job.unit).restarts = 0;
                match job.kind {
                    JobKind::Start | JobKind::Restart => bring_up(world, &job.unit, now),
                    JobKind::Stop => bring_down(world, &job.unit),
                }
                Ok(())
            });
            report(index, ended.await);
        }
    }

    async fn read_journal(&self, unit: &str, _lines: usize) -> Result<Vec<String>, PortError> {
        self.call("read_journal", |_| {
            Ok(vec![format!("{unit}: simulated journal")])
        })
        .await
    }
}

/// Starts a unit. One that is to fail ends at once, and the job has succeeded all the same, as that of a unit of the
/// type `simple` does.
fn bring_up(world: &mut World, unit: &str, now: u64) {
    let left = world.failing_starts.get(unit).copied().unwrap_or(0);
    let facts = world.region.unit(unit);
    facts.main_started_us = now;
    if left == 0 {
        facts.active = ActiveState::Active;
        "running".clone_into(&mut facts.sub_state);
        facts.active_since_us = now;
        "success".clone_into(&mut facts.result);
        facts.main_ended = None;
        return;
    }
    world.failing_starts.insert(unit.to_owned(), left - 1);
    facts.active = ActiveState::Activating;
    "auto-restart".clone_into(&mut facts.sub_state);
    facts.active_since_us = 0;
    "exit-code".clone_into(&mut facts.result);
    facts.main_ended = Some("exit status 255".to_owned());
}

/// Stops a unit, which ends as it is told to.
fn bring_down(world: &mut World, unit: &str) {
    let facts = world.region.unit(unit);
    facts.active = ActiveState::Inactive;
    "dead".clone_into(&mut facts.sub_state);
    "success".clone_into(&mut facts.result);
    facts.active_since_us = 0;
    facts.main_ended = None;
}

/// What systemd does about a unit that ended.
fn restart_by_itself(world: &mut World, unit: &str, now: u64) {
    let ended = world.region.units.get_mut(unit);
    let Some(facts) = ended.filter(|facts| facts.sub_state == "auto-restart") else {
        return;
    };
    facts.restarts += 1;
    bring_up(world, unit, now);
}

impl Probes for SimHost {
    async fn probe(&self, url: &str) -> ProbeFacts {
        let looked = self
            .call("probe", |world| {
                let after = world.timing.healthy_after;
                let arrived = world.has_arrived(&format!("probe/{url}"), after)
                    && !world.silent.contains(url);
                let kubelet = world.region.units.get("kubelet.service");
                Ok(arrived && kubelet.is_some_and(|unit| unit.active == ActiveState::Active))
            })
            .await;
        match looked {
            Ok(true) => ProbeFacts::Answered {
                status: 200,
                body: "ok".to_owned(),
            },
            Ok(false) => ProbeFacts::Silent {
                reason: "connection refused".to_owned(),
            },
            Err(error) => ProbeFacts::Silent {
                reason: error.summary,
            },
        }
    }

    async fn ask_runtime(&self) -> Result<String, PortError> {
        self.call("ask_runtime", |world| {
            let unit = world.region.units.get("containerd.service");
            // A unit that nobody looked for is the image's own, as with `skipInstall`.
            match unit.is_none_or(|unit| unit.active == ActiveState::Active) {
                true => Ok("simulated".to_owned()),
                false => Err(PortError::new(Condition::Unreachable, "connection refused")),
            }
        })
        .await
    }

    async fn look_pods(&self, names: &[String]) -> Result<PodsSeen, PortError> {
        self.call("look_pods", |world| {
            let kubelet = world.region.units.get("kubelet.service");
            if kubelet.is_none_or(|unit| unit.active != ActiveState::Active) {
                return Ok(PodsSeen::default());
            }
            let mut seen = PodsSeen::default();
            for name in names {
                let after = world.timing.healthy_after;
                if !world.has_arrived(&format!("pod/{name}"), after) {
                    continue;
                }
                match world.pods.get(name) {
                    Some(reported) => {
                        seen.pods.extend(reported.pods.clone());
                        seen.containers.extend(reported.containers.clone());
                    }
                    None => add_running(&mut seen, name),
                }
            }
            Ok(seen)
        })
        .await
    }

    async fn look_host(&self) -> Result<HostHealth, PortError> {
        self.call("look_host", |world| Ok(world.health.clone()))
            .await
    }

    async fn look_node(&self, _: &ApiAccess, name: &str) -> Result<Option<NodeObject>, PortError> {
        self.call("look_node", |world| {
            let after = world.timing.healthy_after;
            let registered = world.has_arrived(&format!("node/{name}"), after);
            Ok(registered.then(|| NodeObject {
                name: name.to_owned(),
                pod_range: "100.96.1.0/24".to_owned(),
                ..NodeObject::default()
            }))
        })
        .await
    }
}

/// A pod of one container that runs, as kubelet names those of its manifests.
fn add_running(seen: &mut PodsSeen, name: &str) {
    let (namespace, pod) = ("kube-system".to_owned(), format!("{name}-simulated"));
    seen.pods.push(PodFound {
        namespace: namespace.clone(),
        name: pod.clone(),
        created: vec![name.to_owned()],
    });
    seen.containers.push(PodSeen {
        namespace,
        name: pod,
        container: name.to_owned(),
        state: "running".to_owned(),
        ..PodSeen::default()
    });
}
