//! Facts about the join.

use super::*;
use crate::timeline::timeline;
use quake_model::record::KernelRecord;

const STARTED: u64 = 1_700_000_012_000;

/// A boot that began 12 s after the kernel, which it named if so.
fn record(kernel: Option<&str>) -> Record {
    Record {
        started: Timestamp(STARTED),
        kernel: kernel.map(|boot| KernelRecord {
            boot: boot.to_owned(),
            began_ms: 12_000,
        }),
        ..Record::default()
    }
}

fn unit(began_us: u64, up_us: u64) -> UnitTimes {
    UnitTimes {
        began_us,
        up_us: Some(up_us),
    }
}

fn sources() -> MachineSources {
    let times = SystemdTimes {
        boot: "here".into(),
        firmware_us: Some(2_000_000),
        loader_us: Some(500_000),
        kernel_wall_us: Some((STARTED - 12_500) * 1000),
        initrd_us: None,
        userspace_us: Some(3_100_000),
        finish_us: None,
        units: [(
            "quake-agent.service".to_owned(),
            unit(11_900_000, 12_000_000),
        )]
        .into(),
    };
    let status = r#"{"v1": {"datasource": "Ec2", "stage": null,
        "init-local": {"errors": [], "start": 1700000005.5, "finished": 1700000006.25},
        "init": {"start": 1700000007.0, "finished": 1700000011.5},
        "modules-config": {"start": 0, "finished": null}}}"#;
    MachineSources {
        systemd: Ok(times),
        cloud_init: Ok(status.to_owned()),
        kernel_start: Ok(Timestamp(STARTED - 12_000)),
        kernel_boot: Some("here".into()),
    }
}

fn chain(record: &Record, sources: &MachineSources) -> Vec<(&'static str, u64)> {
    let machine = join_machine(record, sources);
    let chain = machine.chain();
    chain
        .iter()
        .map(|link| (link.layer.name(), link.took_ms()))
        .collect()
}

fn absent(machine: &Machine) -> Vec<&'static str> {
    machine.absent.iter().map(|one| one.source.name()).collect()
}

#[test]
fn the_chain_to_the_boots_begin_fills_the_time_since_the_kernels_start() {
    let wanted = [
        ("kernel", 3_100),
        ("systemd", 2_400),
        ("cloud-init", 6_000),
        ("systemd", 500),
    ];
    assert_eq!(chain(&record(Some("here")), &sources()), wanted);
}

#[test]
fn the_kernels_clock_joins_where_the_boot_told_it_and_the_wall_clock_else() {
    let machine = join_machine(&record(Some("here")), &sources());
    assert_eq!(
        (machine.clock, machine.kernel_start_ms),
        (Clock::Kernel, Some(-12_000))
    );
    let machine = join_machine(&record(None), &sources());
    assert_eq!(
        (machine.clock, machine.kernel_start_ms),
        (Clock::Wall, Some(-12_500))
    );
    let mut sources = sources();
    sources.systemd = Err("no bus".into());
    let machine = join_machine(&record(None), &sources);
    assert_eq!(
        (machine.clock, machine.kernel_start_ms),
        (Clock::Wall, Some(-12_000))
    );
}

#[test]
fn a_stage_is_told_by_its_unit_where_systemd_knows_it() {
    let mut sources = sources();
    let units = &mut sources.systemd.as_mut().expect("it is there").units;
    units.insert(
        "cloud-init-local.service".into(),
        unit(5_000_000, 6_000_000),
    );
    let machine = join_machine(&record(Some("here")), &sources);
    let stages: Vec<_> = machine
        .spans
        .iter()
        .filter(|span| span.layer == Layer::CloudInit)
        .map(|span| (span.name.as_str(), span.start_ms, span.end_ms, span.clock))
        .collect();
    let wanted = [
        ("init-local", -7_000, Some(-6_000), Clock::Kernel),
        ("init", -5_000, Some(-500), Clock::Wall),
    ];
    assert_eq!(stages, wanted);
}

#[test]
fn what_is_of_another_start_of_the_machine_is_not_put_beside_the_boot() {
    let machine = join_machine(&record(Some("earlier")), &sources());
    assert_eq!(absent(&machine), ["systemd", "cloud-init"]);
    // The boot itself told how long its kernel had run.
    assert_eq!(
        chain(&record(Some("earlier")), &sources()),
        [("kernel", 12_000)]
    );
    let mut later = sources();
    later.kernel_start = Ok(Timestamp(STARTED + 1));
    assert_eq!(
        absent(&join_machine(&record(None), &later)),
        ["kernel", "systemd", "cloud-init"]
    );
}

#[test]
fn a_boot_stands_alone_where_nothing_else_is_known_and_each_reason_is_told() {
    let found = timeline(&record(None), &[], &MachineSources::none("not asked"));
    assert_eq!(found.machine.clock, Clock::Alone);
    assert_eq!(absent(&found.machine), ["kernel", "systemd", "cloud-init"]);
    assert!(
        found
            .machine
            .absent
            .iter()
            .all(|one| one.reason == "not asked")
    );
    assert!(found.critical.is_empty() && found.machine.spans.is_empty());
}

#[test]
fn a_status_of_cloud_init_that_does_not_read_is_a_reason() {
    let mut sources = sources();
    sources.cloud_init = Ok("{".into());
    let machine = join_machine(&record(Some("here")), &sources);
    assert_eq!(absent(&machine), ["cloud-init"]);
    assert!(
        machine.absent[0]
            .reason
            .starts_with("its status.json does not read")
    );
}
