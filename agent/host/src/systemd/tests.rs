//! The unit port against the systemd of this machine, where there is one.
//!
//! Looking changes nothing and is always tried. Tests that write units below `/run/systemd/system` run
//! only with `QUAKE_SYSTEMD_TESTS=1`, which is meant for a container or a machine made for it.

use super::Systemd;
use quake_model::facts::ActiveState;
use quake_model::ports::{Condition, Units};
use std::path::PathBuf;

/// systemd, if the system bus leads to it.
async fn systemd() -> Option<Systemd> {
    let systemd = Systemd::new();
    match systemd.look_unit("basic.target").await {
        Ok(_) => Some(systemd),
        Err(error) => {
            println!(
                "skipped: no systemd on a system bus: {error} {:?}",
                error.causes
            );
            None
        }
    }
}

async fn systemd_to_change() -> Option<Systemd> {
    if std::env::var_os("QUAKE_SYSTEMD_TESTS").is_none() {
        println!("skipped: QUAKE_SYSTEMD_TESTS is not set, and this test writes unit files");
        return None;
    }
    systemd().await
}

/// A unit file whose unit is stopped, and which is removed, in the end whatever happens.
struct UnitFile(PathBuf);

impl UnitFile {
    fn write(name: &str, text: &str) -> Self {
        let path = PathBuf::from("/run/systemd/system").join(name);
        std::fs::create_dir_all("/run/systemd/system").expect("a directory");
        std::fs::write(&path, text).expect("a unit file");
        Self(path)
    }
}

impl Drop for UnitFile {
    fn drop(&mut self) {
        if let Some(name) = self.0.file_name() {
            let _ = std::process::Command::new("systemctl")
                .arg("stop")
                .arg(name)
                .status();
        }
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn a_bus_that_is_not_there_is_unreachable() {
    let systemd = Systemd::at("unix:path=/no/such/socket");
    let error = systemd.look_unit("x.service").await.unwrap_err();
    assert_eq!(error.condition, Condition::Unreachable, "{error:?}");
    let error = systemd.start_unit("x.service").await.unwrap_err();
    assert_eq!(error.condition, Condition::Unreachable, "{error:?}");
}

#[tokio::test]
async fn a_unit_without_a_file_is_not_found_and_cannot_be_started_or_enabled() {
    let Some(systemd) = systemd().await else {
        return;
    };
    let name = "quake-agent-no-such-unit.service";
    let facts = systemd.look_unit(name).await.expect("it can be looked at");
    assert_eq!(
        (facts.found, facts.active, facts.enabled),
        (false, ActiveState::Inactive, false)
    );
    for error in [
        systemd.start_unit(name).await.unwrap_err(),
        systemd.restart_unit(name).await.unwrap_err(),
        systemd.enable_unit(name).await.unwrap_err(),
    ] {
        assert_eq!(error.condition, Condition::Unknown, "{error:?}");
    }
}

#[tokio::test]
async fn a_unit_that_runs_is_active_since_some_time() {
    let Some(systemd) = systemd().await else {
        return;
    };
    let facts = systemd
        .look_unit("systemd-journald.service")
        .await
        .expect("a look");
    assert!(
        facts.found && facts.active == ActiveState::Active,
        "{facts:?}"
    );
    assert!(facts.active_since_us > 1_500_000_000_000_000, "{facts:?}");
    assert_eq!(
        (facts.enabled, facts.installable),
        (false, false),
        "journald is static"
    );
}

#[tokio::test]
async fn a_service_is_started_restarted_and_seen_active() {
    let Some(systemd) = systemd_to_change().await else {
        return;
    };
    let name = "quake-agent-test-up.service";
    let _file = UnitFile::write(
        name,
        "[Service]\nType=notify\nNotifyAccess=all\nExecStart=/bin/sh -c 'systemd-notify --ready; exec sleep 600'\n",
    );
    systemd.reload_units().await.expect("a reload");
    systemd.start_unit(name).await.expect("it starts");
    let first = systemd.look_unit(name).await.expect("a look");
    assert_eq!(
        (first.active, first.sub_state.as_str()),
        (ActiveState::Active, "running")
    );
    systemd.restart_unit(name).await.expect("it restarts");
    let second = systemd.look_unit(name).await.expect("a look");
    assert_eq!(second.active, ActiveState::Active);
    assert!(
        second.active_since_us > first.active_since_us,
        "{first:?} {second:?}"
    );
}

#[tokio::test]
async fn a_service_that_fails_to_start_is_reported_with_its_journal() {
    let Some(systemd) = systemd_to_change().await else {
        return;
    };
    let name = "quake-agent-test-fails.service";
    let _file = UnitFile::write(
        name,
        "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo cannot find the flux; echo password=hunter2; exit 3'\n",
    );
    systemd.reload_units().await.expect("a reload");
    let error = systemd.start_unit(name).await.unwrap_err();
    assert_eq!(error.condition, Condition::Io, "{error:?}");
    let journal = error.evidence.iter().find(|piece| piece.name == "journal");
    let journal = &journal.expect("journal lines").value;
    assert!(
        journal.contains("cannot find the flux") && !journal.contains("hunter2"),
        "{journal}"
    );
    let facts = systemd.look_unit(name).await.expect("a look");
    assert_eq!(
        (facts.active, facts.result.as_str()),
        (ActiveState::Failed, "exit-code")
    );
}

#[tokio::test]
async fn a_unit_is_seen_enabled_at_once_and_gone_after_a_reload() {
    let Some(systemd) = systemd_to_change().await else {
        return;
    };
    let name = "quake-agent-test-enabled.service";
    let text = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n";
    let file = UnitFile::write(name, text);
    systemd.reload_units().await.expect("a reload");
    let facts = systemd.look_unit(name).await.expect("a look");
    assert_eq!(
        (facts.found, facts.enabled, facts.installable),
        (true, false, true)
    );
    systemd.enable_unit(name).await.expect("it is enabled");
    let link = UnitFile(PathBuf::from("/etc/systemd/system/multi-user.target.wants").join(name));
    let facts = systemd.look_unit(name).await.expect("a look");
    assert!(facts.enabled, "{facts:?}");
    drop((file, link));
    systemd.reload_units().await.expect("a reload");
    assert!(!systemd.look_unit(name).await.expect("a look").found);
}

#[tokio::test]
async fn a_changed_file_of_a_running_unit_asks_for_a_reload() {
    let Some(systemd) = systemd_to_change().await else {
        return;
    };
    let name = "quake-agent-test-changed.service";
    let text = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n";
    let file = UnitFile::write(name, text);
    systemd.reload_units().await.expect("a reload");
    systemd.start_unit(name).await.expect("it starts");
    assert!(!systemd.look_unit(name).await.expect("a look").needs_reload);
    // systemd compares times and takes only a later one for a change.
    let changed = std::fs::OpenOptions::new()
        .write(true)
        .open(&file.0)
        .expect("a file");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    changed.set_modified(later).expect("a time");
    assert!(systemd.look_unit(name).await.expect("a look").needs_reload);
    systemd.reload_units().await.expect("a reload");
    assert!(!systemd.look_unit(name).await.expect("a look").needs_reload);
}

#[tokio::test]
async fn a_masked_unit_is_found_and_denied() {
    let Some(systemd) = systemd_to_change().await else {
        return;
    };
    let name = "quake-agent-test-masked.service";
    let path = PathBuf::from("/run/systemd/system").join(name);
    std::os::unix::fs::symlink("/dev/null", &path).expect("a link");
    let _mask = UnitFile(path);
    systemd.reload_units().await.expect("a reload");
    let facts = systemd.look_unit(name).await.expect("a look");
    assert_eq!(
        (facts.found, facts.enabled, facts.installable),
        (true, false, false)
    );
    let error = systemd.start_unit(name).await.unwrap_err();
    assert_eq!(error.condition, Condition::Denied, "{error:?}");
}
