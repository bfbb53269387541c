//! Rounds: every subject in turn, each from the same start, each looked at afterwards.

use crate::arguments::Arguments;
use crate::environment::{self, LatePackets};
use crate::failure::BenchError;
use crate::scenario::{Scenario, Start};
use crate::server::Profile;
use crate::server::ca::Ca;
use crate::server::flaky::Flaky;
use crate::server::log::Traffic;
use crate::server::nginx::Nginx;
use crate::subject::kops_worker::KopsWorker;
use crate::subject::{Assignment, Subject, nodeup};
use crate::supervise::{self, Usage};
use crate::verify;
use crate::waiting::wait_until;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No run may take longer.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// The file that is tampered with.
const TAMPERED: &str = "kubelet";

/// One measured run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Its round; 0 is the warm-up.
    pub(crate) round: usize,
    pub(crate) subject: Subject,
    pub(crate) usage: Usage,
    pub(crate) traffic: Traffic,
    /// Milliseconds until the node was ready, as the agent says.
    pub(crate) ready_ms: Option<u64>,
    /// Processor time of the server meanwhile, in seconds.
    pub(crate) server_cpu: f64,
    /// Why it does not count.
    pub(crate) void: Option<String>,
}

/// Everything that runs share: the server, and where things are.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) arguments: &'a Arguments,
    /// Whether everything runs in a network namespace of its own, or why not.
    pub(crate) network: Result<(), String>,
    pub(crate) nginx: Nginx,
    pub(crate) flaky: Flaky,
    pub(crate) ca: Ca,
    /// The directory that the servers serve.
    pub(crate) served: PathBuf,
}

impl Bench<'_> {
    /// Where the assets of a workload are, for a client.
    pub(crate) fn base(&self, workload: &Workload, profile: Profile) -> String {
        let folder = workload.folder.strip_prefix(&self.served);
        let folder = folder.unwrap_or(&workload.folder).display();
        match profile {
            Profile::Flaky => format!("http://127.0.0.1:{}/{folder}", self.flaky.port),
            _ => format!("https://127.0.0.1:{}/{folder}", self.nginx.port(profile)),
        }
    }

    /// A directory of the work directory, made.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be made.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, BenchError> {
        let folder = self.arguments.work.join(name);
        std::fs::create_dir_all(&folder).map_err(BenchError::path(&folder))?;
        Ok(folder)
    }

    /// Writes what the subjects read into `notes`, and reads the assets once, so that the server has them in
    /// memory.
    ///
    /// # Errors
    ///
    /// Fails when a file cannot be written or read.
    pub(crate) fn assign<'b>(
        &'b self,
        workload: &'b Workload,
        profile: Profile,
        notes: &'b Path,
    ) -> Result<Assignment<'b>, BenchError> {
        let assignment = Assignment {
            agent: &self.arguments.agent,
            workload,
            base: self.base(workload, profile),
            ca: &self.ca.certificate,
            notes,
        };
        assignment.write()?;
        warm(workload)?;
        Ok(assignment)
    }

    /// Runs all rounds of a scenario over these subjects.
    ///
    /// # Errors
    ///
    /// Fails when the server or a supervisor does; a subject that fails has a void run.
    pub(crate) fn rounds(
        &self,
        scenario: &Scenario,
        workload: &Workload,
        subjects: &[Subject],
    ) -> Result<Vec<Run>, BenchError> {
        let late = (scenario.profile == Profile::Rtt).then(LatePackets::begin);
        let _late = late.transpose()?;
        let notes = self.folder("notes")?;
        let assignment = self.assign(workload, scenario.profile, &notes)?;
        let _services = self.services(&assignment)?;
        if subjects.contains(&Subject::Nodeup) {
            nodeup::prepare(&assignment.layer(), &assignment.node(), assignment.ca)?;
        }
        let mut runs = Vec::new();
        for round in 0..=scenario.rounds(self.arguments.rounds) {
            for subject in subjects {
                let run = self.run(scenario, &assignment, *subject, round)?;
                print_run(scenario, &run);
                runs.push(run);
            }
        }
        Ok(runs)
    }

    /// What a worker of today's kops meets at its boot, for as long as the value lives.
    fn services(&self, assignment: &Assignment<'_>) -> Result<Option<KopsWorker>, BenchError> {
        let program = self.arguments.kops_worker.as_ref();
        let program = program.filter(|_| assignment.workload.is_of_todays_kops());
        let Some(program) = program else {
            return Ok(None);
        };
        let (workload, base) = (assignment.workload, &assignment.base);
        KopsWorker::start(program, workload, base, &assignment.node()).map(Some)
    }

    /// One run of one subject, from the scenario's start to the look at its bytes.
    ///
    /// # Errors
    ///
    /// As [`Bench::rounds`].
    pub(crate) fn run(
        &self,
        scenario: &Scenario,
        assignment: &Assignment<'_>,
        subject: Subject,
        round: usize,
    ) -> Result<Run, BenchError> {
        let target = self.empty_target(subject)?;
        if subject == Subject::Agent && assignment.workload.is_of_todays_kops() {
            bring_along(&target)?;
        }
        self.flaky.begin(round);
        let mut before = self.begin();
        match scenario.start {
            Start::Empty => {}
            Start::Done | Start::Tampered => {
                self.measure(assignment, subject, &target)?;
                if scenario.start == Start::Tampered {
                    tamper(&target)?;
                }
                nix::unistd::sync();
                before = self.begin();
            }
            // The bytes of both runs together tell what resuming saved.
            Start::Killed => {
                self.kill_at_half(assignment, subject, &target)?;
                nix::unistd::sync();
            }
        }
        let (usage, ready_ms) = self.measure(assignment, subject, &target)?;
        let (traffic, server_cpu) = self.end(&before, scenario.profile)?;
        let mut void = verify::fault(&target, assignment.workload, subject)?;
        if usage.status != 0 {
            void = Some(format!("it ended with {}", usage.status));
        }
        if !self.arguments.keep {
            std::fs::remove_dir_all(&target).map_err(BenchError::path(&target))?;
        }
        Ok(Run {
            round,
            subject,
            usage,
            traffic,
            ready_ms,
            server_cpu,
            void,
        })
    }

    fn empty_target(&self, subject: Subject) -> Result<PathBuf, BenchError> {
        let target = self
            .arguments
            .work
            .join(format!("run-{}", subject.letter()));
        if target.exists() {
            std::fs::remove_dir_all(&target).map_err(BenchError::path(&target))?;
        }
        std::fs::create_dir_all(&target).map_err(BenchError::path(&target))?;
        nix::unistd::sync();
        Ok(target)
    }

    fn measure(
        &self,
        assignment: &Assignment<'_>,
        subject: Subject,
        target: &Path,
    ) -> Result<(Usage, Option<u64>), BenchError> {
        let command = assignment.command(subject, target);
        let started = supervise::start(&command, assignment.notes, "run")?;
        let output = started.output.clone();
        let usage = started.finish(LIMIT)?;
        Ok((usage, ready_ms(&output)))
    }

    fn kill_at_half(
        &self,
        assignment: &Assignment<'_>,
        subject: Subject,
        target: &Path,
    ) -> Result<(), BenchError> {
        let half = assignment.workload.wire_bytes() / 2;
        let start = environment::loopback_bytes();
        let command = assignment.command(subject, target);
        let mut started = supervise::start(&command, assignment.notes, "killed")?;
        wait_until(LIMIT, || {
            environment::loopback_bytes() >= start + half || started.has_ended()
        });
        started.kill();
        Ok(())
    }

    /// The servers' counters now.
    pub(crate) fn begin(&self) -> Before {
        Before {
            log: self.nginx.log_end(),
            flaky: self.flaky.traffic(),
            cpu: self.nginx.cpu_seconds(),
        }
    }

    /// What was asked since, and the server's processor time.
    ///
    /// # Errors
    ///
    /// Fails when the server's log cannot be read.
    pub(crate) fn end(
        &self,
        before: &Before,
        profile: Profile,
    ) -> Result<(Traffic, f64), BenchError> {
        let cpu = self.nginx.cpu_seconds() - before.cpu;
        let traffic = match profile {
            Profile::Flaky => {
                let now = self.flaky.traffic();
                Traffic {
                    requests: now.requests - before.flaky.requests,
                    connections: now.connections - before.flaky.connections,
                    bytes: now.bytes - before.flaky.bytes,
                    refused: now.refused - before.flaky.refused,
                }
            }
            _ => self.nginx.traffic_since(before.log, profile)?,
        };
        Ok((traffic, cpu))
    }
}

/// The servers' counters before a run.
#[derive(Debug)]
pub(crate) struct Before {
    log: u64,
    flaky: Traffic,
    cpu: f64,
}

/// What a machine image has, and what containerd brings once it runs.
fn bring_along(target: &Path) -> Result<(), BenchError> {
    let system = std::fs::read("/etc/os-release").map_err(BenchError::path("/etc/os-release"))?;
    for (path, bytes) in [
        ("etc/os-release", system.as_slice()),
        ("etc/cni/net.d/10-containerd-net.conflist", b"{}"),
    ] {
        let path = target.join(path);
        let folder = path.parent().unwrap_or(target);
        std::fs::create_dir_all(folder).map_err(BenchError::path(folder))?;
        std::fs::write(&path, bytes).map_err(BenchError::path(&path))?;
    }
    Ok(())
}

fn warm(workload: &Workload) -> Result<(), BenchError> {
    for asset in &workload.assets {
        let path = workload.folder.join(&asset.name);
        let read = std::fs::File::open(&path)
            .and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
        read.map_err(BenchError::path(&path))?;
    }
    Ok(())
}

/// Changes one byte in the middle of the placed file, in place.
fn tamper(target: &Path) -> Result<(), BenchError> {
    let path = verify::placed(target, TAMPERED)?;
    let change = || -> std::io::Result<()> {
        let file = std::fs::File::options()
            .read(true)
            .write(true)
            .open(&path)?;
        let middle = file.metadata()?.len() / 2;
        let mut byte = [0];
        file.read_exact_at(&mut byte, middle)?;
        file.write_all_at(&[byte[0] ^ 0xff], middle)
    };
    change().map_err(BenchError::path(&path))
}

/// The time to ready in the last line of the agent's output, which is its summary.
pub(crate) fn ready_ms(output: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(output).ok()?;
    let summary: serde_json::Value = serde_json::from_str(text.lines().last()?).ok()?;
    let is_ready = summary.get("ready")?.as_bool()?;
    summary.get("elapsedMs")?.as_u64().filter(|_| is_ready)
}

fn print_run(scenario: &Scenario, run: &Run) {
    let usage = &run.usage;
    let note = match (&run.void, run.round) {
        (Some(why), _) => format!("  VOID: {why}"),
        (None, 0) => "  warm-up".to_owned(),
        (None, _) => String::new(),
    };
    println!(
        "{} round {} {}: {:.2} s wall, {:.2} s cpu, {} KiB, {} MB written, {} MB read, {} requests on {} connections, {} MB served{note}",
        scenario.name,
        run.round,
        run.subject.letter(),
        usage.wall,
        usage.user + usage.system,
        usage.rss_kib,
        usage.write_bytes / 1_000_000,
        usage.read_bytes / 1_000_000,
        run.traffic.requests,
        run.traffic.connections,
        run.traffic.bytes / 1_000_000,
    );
}
