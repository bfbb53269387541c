//! Each cell of lost volumes, age of the backups and groups that run the members is restored or
//! refused by its name.

use super::{FRESH, NOW, OLD, back_up, commands, control, question, region, snapshot};
use quake_engine::restore::{Restored, ask_etcd_manager, prepare};
use quake_model::fault::Fault;
use quake_testkit::SimHost;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    None,
    Fresh,
    Old,
}

fn world(lost: usize, age: Age, split: bool) -> SimHost {
    let host = region(lost, split);
    control(&host, "3.4.23");
    match age {
        Age::None => {}
        Age::Fresh => {
            back_up(&host, OLD, "3.4.23", &snapshot());
            back_up(&host, FRESH, "3.4.23", &snapshot());
        }
        Age::Old => back_up(&host, OLD, "3.4.23", &snapshot()),
    }
    host
}

async fn restore(host: &SimHost, lost: usize, split: bool) -> Result<Restored, Fault> {
    let prepared = prepare(host, &question(host, lost, split)).await?;
    ask_etcd_manager(host, &prepared).await
}

/// The name of the refusal, or of the backup that etcd-manager was asked for.
async fn outcome(host: &SimHost, lost: usize, split: bool) -> String {
    match restore(host, lost, split).await {
        Err(fault) => fault.code.to_string(),
        Ok(_) => {
            let commands = commands(host);
            let named = commands
                .iter()
                .map(|command| &command["restoreBackup"]["backup"]);
            named
                .map(|name| name.as_str().unwrap_or_default())
                .collect()
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_cell_is_restored_or_refused_by_its_name_and_no_cluster_is_left_empty() {
    for split in [false, true] {
        for (lost, age, wanted) in [
            (0, Age::None, "etcd.backup-missing"),
            (0, Age::Fresh, "etcd.quorum-healthy"),
            (0, Age::Old, "etcd.quorum-healthy"),
            (1, Age::None, "etcd.backup-missing"),
            (1, Age::Fresh, "etcd.quorum-healthy"),
            (1, Age::Old, "etcd.quorum-healthy"),
            (2, Age::None, "etcd.backup-missing"),
            (2, Age::Fresh, FRESH),
            (2, Age::Old, OLD),
            (3, Age::None, "etcd.backup-missing"),
            (3, Age::Fresh, FRESH),
            (3, Age::Old, OLD),
        ] {
            let host = world(lost, age, split);
            let before = host.region();
            let found = outcome(&host, lost, split).await;
            assert_eq!(found, wanted, "{lost} lost, {age:?}, split: {split}");
            // Only etcd-manager acts on volumes and data, and only a refusal writes nothing at all.
            assert_eq!(host.region(), before);
            let is_refused = wanted.starts_with("etcd.");
            assert_eq!(host.port_calls_of("write_object"), u64::from(!is_refused));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn volumes_that_are_gone_are_waited_for_until_enough_members_run() {
    for (gone, wanted) in [
        (1, FRESH),
        (2, "etcd.members-missing"),
        (3, "etcd.members-missing"),
    ] {
        let host = world(3, Age::Fresh, true);
        host.change(|region| region.volumes.drain(..gone).count());
        let found = outcome(&host, 3, true).await;
        assert_eq!(found, wanted, "{gone} gone");
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_has_the_form_that_etcd_manager_reads_and_is_written_once() {
    let host = world(3, Age::Fresh, true);
    let first = restore(&host, 3, true).await.expect("it is restored");
    let Restored::Requested {
        command,
        already: false,
    } = first
    else {
        panic!("{first:?}");
    };
    let [written] = commands(&host).try_into().expect("one command");
    assert_eq!(
        written["timestamp"],
        (u128::from(NOW.0) * 1_000_000).to_string()
    );
    assert_eq!(written["restoreBackup"]["clusterSpec"]["memberCount"], 3);
    assert_eq!(
        written["restoreBackup"]["clusterSpec"]["etcdVersion"],
        "3.4.23"
    );
    let again = restore(&host, 3, true).await.expect("it is the same");
    let same = Restored::Requested {
        command,
        already: true,
    };
    assert_eq!(again, same);
    assert_eq!(host.port_calls_of("write_object"), 1);
}
