//! What every machine can do, whatever it is made of.

use crate::waiting::{pause, wait_until};
use serde_json::Value;
use std::time::Duration;

/// How often something that takes seconds is looked at: each look costs a machine some of its processor.
const LOOK: Duration = Duration::from_millis(250);

/// Where the agent answers inside.
const SOCKET: &str = "/run/quake-agent/quake-agent.sock";

/// A command that ended inside a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The exit status; -1 when a signal ended it.
    pub status: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// A machine: it has a disk that outlives its boots, and a console.
pub trait MachineBackend {
    /// The instance that it is.
    fn instance(&self) -> &str;

    /// Boots it, over the disk that it has.
    ///
    /// # Errors
    ///
    /// Says what went wrong before anything ran inside.
    fn start(&mut self) -> Result<(), String>;

    /// Runs a shell script inside, as root.
    ///
    /// # Errors
    ///
    /// Says that the machine is not up, or that the script did not end in time.
    fn run(&self, script: &str, longest: Duration) -> Result<Ran, String>;

    /// Shuts it down in order.
    fn stop(&mut self);

    /// Cuts its power: nothing inside is told.
    fn cut_power(&mut self);

    /// Whether it runs.
    fn is_up(&mut self) -> bool;

    /// What the consoles of all its boots showed.
    fn console(&self) -> String;

    /// How long what takes a second on a real machine may take here.
    fn second(&self) -> Duration;

    /// Shuts it down and boots it again.
    ///
    /// # Errors
    ///
    /// As [`Body::start`].
    fn reboot(&mut self) -> Result<(), String> {
        self.stop();
        self.start()
    }

    /// What a script wrote that has to succeed.
    ///
    /// # Panics
    ///
    /// When it does not; says what it wrote.
    fn output(&self, script: &str) -> String {
        match self.run(script, self.second() * 20) {
            Ok(ran) if ran.status == 0 => ran.stdout,
            Ok(ran) => unsuccessful(
                script,
                &format!("{} {}{}", ran.status, ran.stdout, ran.stderr),
            ),
            Err(error) => unsuccessful(script, &error),
        }
    }

    /// Whether a script succeeds now.
    fn holds(&self, script: &str) -> bool {
        self.run(script, self.second() * 10)
            .is_ok_and(|ran| ran.status == 0)
    }

    /// Waits until a script succeeds, for so many seconds of a real machine; whether it did.
    fn comes_true(&self, script: &str, seconds: u32) -> bool {
        wait_until(self.second() * seconds, || {
            let holds = self.holds(script);
            if !holds {
                pause(LOOK);
            }
            holds
        })
    }

    /// A property of a unit.
    fn shows(&self, unit: &str, property: &str) -> String {
        let script = format!("systemctl show --value -p {property} {unit}");
        self.output(&script).trim().to_owned()
    }

    /// When the node's programs started.
    fn programs_started(&self) -> [String; 2] {
        ["containerd.service", "kubelet.service"]
            .map(|unit| self.shows(unit, "ExecMainStartTimestampMonotonic"))
    }

    /// What the agent's endpoint answers at this path as JSON; null while there is none.
    fn ask_agent(&self, path: &str) -> Value {
        let requests = self.run(
            &format!("curl -sf --unix-socket {SOCKET} http://localhost{path}"),
            self.second() * 10,
        );
        requests
            .ok()
            .and_then(|ran| serde_json::from_str(&ran.stdout).ok())
            .unwrap_or_default()
    }

    /// Waits until the agent is ready or its unit has failed, for so many seconds of a real machine.
    ///
    /// # Errors
    ///
    /// Returns what the agent's unit and its endpoint show instead.
    fn becomes_ready(&self, seconds: u32) -> Result<(), String> {
        let ready = format!("curl -sf -o /dev/null --unix-socket {SOCKET} http://localhost/readyz");
        let over = format!("{ready} || systemctl is-failed --quiet quake-agent.service");
        self.comes_true(&over, seconds);
        if self.holds(&ready) {
            return Ok(());
        }
        let show = format!(
            "systemctl status --no-pager --lines=30 quake-agent.service; curl -s --unix-socket {SOCKET} http://localhost/v1/status"
        );
        let shown = self
            .run(&show, self.second() * 20)
            .map_or_else(|error| error, |ran| ran.stdout + &ran.stderr);
        let console = self.console();
        let tail: Vec<&str> = console.lines().rev().take(25).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        Err(format!("not ready: {shown}\nconsole:\n{}", tail.join("\n")))
    }

    /// The events of the newest boot, from the agent's ledger, as JSON; none where there is no ledger.
    fn events(&self) -> Vec<Value> {
        let script = "cat \"$(ls /var/lib/quake-agent/boots/*.jsonl | tail -n 1)\"";
        let ran = self.run(script, self.second() * 20);
        let ledger = ran.map(|ran| ran.stdout).unwrap_or_default();
        ledger
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The newest boot's last event of this name; null where there is none.
    fn last_event(&self, event: &str) -> Value {
        let found = self.events().into_iter().rfind(|it| it["event"] == event);
        found.unwrap_or_default()
    }
}

#[expect(
    clippy::panic,
    reason = "a test's arrangement that fails is the test's failure"
)]
fn unsuccessful(script: &str, reported: &str) -> String {
    panic!("inside, {script:?} ended with: {reported}")
}
