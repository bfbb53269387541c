//! What `quake-agent install` puts on a machine, as systemd itself reads it.

use quake_integration::agent::{self, Ended};
use quake_integration::machine::program;
use quake_integration::skip::skipped;
use std::path::Path;
use std::process::Command;

/// The most exposure that the service may have, in tenths, as `systemd-analyze security` counts it. What is left is what
/// the work needs; the unit says why, line by line.
const MOST_EXPOSURE: &str = "53";

/// Targets of every system that the units refer to.
const TARGETS: &[&str] = &[
    "sysinit",
    "basic",
    "shutdown",
    "multi-user",
    "network-online",
];

/// An image that the agent was installed into; `None`, said aloud, where systemd's tools are not.
fn image(tool: &str) -> Option<tempfile::TempDir> {
    if program(tool).is_none() {
        skipped(&format!("there is no {tool} here"));
        return None;
    }
    let folder = tempfile::tempdir().expect("a directory can be made");
    let root = folder.path().to_string_lossy().into_owned();
    let ended = agent::run(&["install", "--root", &root]);
    assert_eq!(ended.status, 0, "{}", ended.text());
    let units = folder.path().join("usr/lib/systemd/system");
    std::fs::create_dir_all(&units).expect("the directory is ours");
    for target in TARGETS {
        let text = format!("[Unit]\nDescription={target}\n");
        std::fs::write(units.join(format!("{target}.target")), text)
            .expect("the directory is ours");
    }
    Some(folder)
}

fn run(tool: &str, root: &Path, arguments: &[&str]) -> Ended {
    let mut command = Command::new(tool);
    agent::clean(&mut command);
    command.arg("--root").arg(root).args(arguments);
    agent::run_command(command)
}

#[test]
fn systemd_has_nothing_to_say_about_the_units() {
    let Some(image) = image("systemd-analyze") else {
        return;
    };
    let units = ["verify", "quake-agent.service", "quake-ready.target"];
    let ended = run("systemd-analyze", image.path(), &units);
    assert_eq!((ended.status, ended.text().trim()), (0, ""));
    // It would have something to say about a unit that is wrong.
    let unit = image
        .path()
        .join("usr/local/lib/systemd/system/quake-agent.service");
    let text = std::fs::read_to_string(&unit).expect("it was installed");
    std::fs::write(&unit, text.replace("Type=notify", "Type=notifying"))
        .expect("the directory is ours");
    let ended = run("systemd-analyze", image.path(), &units);
    assert!(ended.text().contains("service type"), "{}", ended.text());
}

#[test]
fn the_service_is_no_more_exposed_than_its_work_needs() {
    let Some(image) = image("systemd-analyze") else {
        return;
    };
    let threshold = format!("--threshold={MOST_EXPOSURE}");
    let arguments = [
        "security",
        "--offline=true",
        "--no-pager",
        &threshold,
        "quake-agent.service",
    ];
    let ended = run("systemd-analyze", image.path(), &arguments);
    if ended.stderr.contains("unrecognized option") {
        return skipped("this systemd-analyze cannot look at units offline");
    }
    assert_eq!(ended.status, 0, "{}", ended.text());
}

#[test]
fn systemd_agrees_that_the_units_are_enabled() {
    let Some(image) = image("systemctl") else {
        return;
    };
    for unit in ["quake-agent.service", "quake-ready.target"] {
        let ended = run("systemctl", image.path(), &["is-enabled", unit]);
        assert_eq!(ended.stdout.trim(), "enabled", "{}", ended.text());
    }
}

#[test]
fn tmpfiles_makes_the_folders_of_the_agent() {
    let Some(image) = image("systemd-tmpfiles") else {
        return;
    };
    let ended = run(
        "systemd-tmpfiles",
        image.path(),
        &["--create", "quake-agent.conf"],
    );
    assert_eq!(ended.status, 0, "{}", ended.text());
    for folder in ["run/quake-agent", "var/lib/quake-agent"] {
        assert!(image.path().join(folder).is_dir(), "{folder}");
    }
}
