//! The unit port against the systemd of this machine, where there is one.
//!
//! Looking changes nothing and is always tried. Tests that write units below `/run/systemd/system` run
//! only with `QUAKE_SYSTEMD_TESTS=1`, which is meant for a container or a machine made for it.

use super::Systemd;
use quake_model::facts::ActiveState;
use quake_model::ports::{Condition, JobKind, PortError, UnitJob, Units};
use std::path::PathBuf;
use std::sync::Mutex;

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

type End = Result<(), PortError>;

/// Runs jobs of one kind for these units together; the ends are in the units' order.
async fn run(systemd: &Systemd, kind: JobKind, units: &[&str]) -> Vec<End> {
    let job = |unit: &&str| UnitJob {
        unit: (*unit).to_owned(),
        kind,
    };
    let jobs: Vec<UnitJob> = units.iter().map(job).collect();
    let ends: Mutex<Vec<Option<End>>> = Mutex::new(vec![None; units.len()]);
    let report = |index: usize, end: End| {
        let mut ends = ends.lock().expect("no other holder panics");
        assert!(ends[index].is_none(), "{} ended twice", units[index]);
        ends[index] = Some(end);
    };
    systemd.run_jobs(&jobs, &report).await;
    let ends = ends.into_inner().expect("no other holder panics");
    let ends = ends.into_iter();
    ends.map(|end| end.expect("each job ends")).collect()
}

async fn start(systemd: &Systemd, unit: &str) -> End {
    run(systemd, JobKind::Start, &[unit]).await.remove(0)
}

async fn restart(systemd: &Systemd, unit: &str) -> End {
    run(systemd, JobKind::Restart, &[unit]).await.remove(0)
}

async fn enable(systemd: &Systemd, units: &[&str]) -> End {
    let units: Vec<String> = units.iter().map(|unit| (*unit).to_owned()).collect();
    systemd.enable_units(&units).await
}

#[tokio::test]
async fn a_bus_that_is_not_there_is_unreachable() {
    let systemd = Systemd::at("unix:path=/no/such/socket");
    let error = systemd.look_unit("x.service").await.unwrap_err();
    assert_eq!(error.condition, Condition::Unreachable, "{error:?}");
    let error = start(&systemd, "x.service").await.unwrap_err();
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
        start(&systemd, name).await.unwrap_err(),
        restart(&systemd, name).await.unwrap_err(),
        enable(&systemd, &[name]).await.unwrap_err(),
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
    start(&systemd, name).await.expect("it starts");
    let first = systemd.look_unit(name).await.expect("a look");
    assert_eq!(
        (first.active, first.sub_state.as_str()),
        (ActiveState::Active, "running")
    );
    restart(&systemd, name).await.expect("it restarts");
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
    let error = start(&systemd, name).await.unwrap_err();
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
    enable(&systemd, &[name]).await.expect("it is enabled");
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
    start(&systemd, name).await.expect("it starts");
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
    let error = start(&systemd, name).await.unwrap_err();
    assert_eq!(error.condition, Condition::Denied, "{error:?}");
}

/// Until when systemd last read its unit files, as it shows it.
async fn last_read(systemd: &Systemd) -> String {
    let shown = std::process::Command::new("systemctl")
        .args(["show", "--property=UnitsLoadFinishTimestampMonotonic"])
        .output()
        .expect("systemctl runs");
    assert!(systemd.look_unit("basic.target").await.is_ok());
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

#[tokio::test]
async fn units_are_enabled_together_without_a_reload() {
    let Some(systemd) = systemd_to_change().await else {
        return;
    };
    let names: Vec<String> = (0..8)
        .map(|number| format!("quake-agent-test-many-{number}.service"))
        .collect();
    let text = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n";
    let _files: Vec<UnitFile> = names
        .iter()
        .map(|name| UnitFile::write(name, text))
        .collect();
    systemd.reload_units().await.expect("a reload");
    let before = last_read(&systemd).await;
    systemd
        .enable_units(&names)
        .await
        .expect("they are enabled");
    let wants = PathBuf::from("/etc/systemd/system/multi-user.target.wants");
    let _links: Vec<UnitFile> = names
        .iter()
        .map(|name| UnitFile(wants.join(name)))
        .collect();
    for name in &names {
        let facts = systemd.look_unit(name).await.expect("a look");
        assert!(facts.enabled && !facts.needs_reload, "{facts:?}");
    }
    assert_eq!(
        last_read(&systemd).await,
        before,
        "no unit file was read again"
    );
}

#[tokio::test]
async fn jobs_asked_for_together_run_in_the_order_that_the_units_say() {
    let Some(systemd) = systemd_to_change().await else {
        return;
    };
    // The first is up only after a while, and the second comes after it; the third has nothing to wait for.
    let ready = "ExecStart=/bin/sh -c 'sleep 0.5; systemd-notify --ready; exec sleep 600'";
    let slow = format!("[Service]\nType=notify\nNotifyAccess=all\n{ready}\n");
    let runs = "[Service]\nExecStart=/bin/sleep 600\n";
    let [first, second, third] =
        ["first", "second", "third"].map(|name| format!("quake-agent-test-order-{name}.service"));
    let _files = [
        UnitFile::write(&first, &slow),
        UnitFile::write(&second, &format!("[Unit]\nAfter={first}\n{runs}")),
        UnitFile::write(&third, runs),
    ];
    systemd.reload_units().await.expect("a reload");
    let since = async |unit: &str| {
        let facts = systemd.look_unit(unit).await.expect("a look");
        assert_eq!(facts.active, ActiveState::Active, "{facts:?}");
        facts.active_since_us
    };
    for kind in [JobKind::Start, JobKind::Restart] {
        let ends = run(&systemd, kind, &[&first, &second, &third]).await;
        assert!(ends.iter().all(Result::is_ok), "{ends:?}");
        let (first, second) = (since(&first).await, since(&second).await);
        assert!(second >= first, "{kind:?}: {second} is before {first}");
        assert!(
            since(&third).await < first,
            "{kind:?}: it waited for nothing"
        );
    }
}

#[tokio::test]
async fn a_job_that_fails_stops_no_other_and_each_is_named() {
    let Some(systemd) = systemd_to_change().await else {
        return;
    };
    let names =
        ["good", "bad", "worse"].map(|name| format!("quake-agent-test-mixed-{name}.service"));
    let oneshot = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c";
    let _files = [
        UnitFile::write(&names[0], &format!("{oneshot} 'sleep 0.3'\n")),
        UnitFile::write(&names[1], &format!("{oneshot} 'echo no flux; exit 3'\n")),
    ];
    systemd.reload_units().await.expect("a reload");
    let units: Vec<&str> = names.iter().map(String::as_str).collect();
    let ends = run(&systemd, JobKind::Start, &units).await;
    assert!(ends[0].is_ok(), "{ends:?}");
    let condition = |index: usize| ends[index].as_ref().map_err(|error| error.condition);
    assert_eq!(
        (condition(1), condition(2)),
        (Err(Condition::Io), Err(Condition::Unknown))
    );
    let bad = ends[1].as_ref().expect_err("it fails");
    assert!(bad.summary.contains(&names[1]), "{bad:?}");
    let journal = bad.evidence.iter().find(|piece| piece.name == "journal");
    assert!(
        journal.is_some_and(|journal| journal.value.contains("no flux")),
        "{bad:?}"
    );
}
