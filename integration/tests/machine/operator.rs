//! What an operator asks of a machine whose node is not there.

use quake_integration::machine::Body;
use quake_integration::waiting::{pause, wait_until};

/// A drop-in of the agent's unit with which a refusal is tried again for two seconds only.
pub(crate) const SHORT_GRACE: &str =
    "[Service]\nExecStart=\nExecStart=/usr/local/bin/quake-agent boot --denied-grace 2s\n";

/// Where such a drop-in goes.
pub(crate) const DROP_IN: &str = "/etc/systemd/system/quake-agent.service.d/60-case.conf";

/// Waits until the agent has ended and its unit is to stay so; its exit status.
pub(crate) fn exit_status(machine: &impl Body, seconds: u32) -> String {
    let failed = machine.comes_true("systemctl is-failed --quiet quake-agent.service", seconds);
    assert!(failed, "the unit fails: {}", machine.console());
    let show = "systemctl show --property=ExecMainStatus --value quake-agent.service";
    machine.output(show).trim().to_owned()
}

/// Waits until the agent's status has this text; the status then.
pub(crate) fn status_with(machine: &impl Body, text: &str, seconds: u32) -> String {
    let mut told = String::new();
    let second = machine.second();
    let found = wait_until(second * seconds, || {
        told = machine.ask_agent("/v1/status").to_string();
        let found = told.contains(text);
        if !found {
            pause(second / 4);
        }
        found
    });
    assert!(found, "{text} in {told}; console: {}", machine.console());
    told
}

/// What `quake-agent status` says, whether the agent runs or has ended.
pub(crate) fn status_command(machine: &impl Body) -> String {
    let ran = machine.run("quake-agent status", machine.second() * 10);
    ran.map_or_else(|error| error, |ran| ran.stdout + &ran.stderr)
}

/// Asserts that every one of these is in a text.
pub(crate) fn assert_told(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} in: {text}");
    }
}
