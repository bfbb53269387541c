//! Members of kops legacy without etcd-manager, restored from a file, one node after the other.

use super::{CLUSTER, HOUR, NOW, question, region, snapshot};
use crate::common::strike;
use quake_engine::restore::{
    MemberPlace, Prepared, RestoreFrom, RestoreQuestion, Restored, prepare, restore_member,
};
use quake_model::fault::{Code, Fault};
use quake_model::ports::Condition;
use quake_model::spec::EtcdProvider;
use quake_model::time::Timestamp;
use quake_testkit::{Script, SimHost};
use quake_volumes::restore::{RESTORED, restored_tag};
use std::time::Duration;

const FILE: &str = "/root/main.db";
const DATA: &str = "/mnt/master-vol-a/var/etcd/data";

fn world(lost: usize) -> SimHost {
    let host = region(lost, true);
    host.install_etcd("3.4.23");
    host.put_file(FILE, snapshot());
    host
}

fn requested(host: &SimHost, lost: usize) -> RestoreQuestion {
    let mut question = question(host, lost, true);
    question.etcd.provider = EtcdProvider::Legacy;
    question.etcd.backup_store = None;
    question.from = RestoreFrom::File(FILE.to_owned());
    question
}

async fn prepared(host: &SimHost, lost: usize) -> Result<Prepared, Fault> {
    prepare(host, &requested(host, lost)).await
}

fn place() -> MemberPlace {
    MemberPlace {
        member: "a".to_owned(),
        volume: "vol-a".to_owned(),
        mount: "/mnt/master-vol-a".to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_is_restored_and_its_old_data_is_moved_aside() {
    let host = world(2);
    host.run_etcd_on(DATA, *b"old");
    let plan = prepared(&host, 2).await.expect("a plan");
    let running = restore_member(&host, &host, &plan, &place()).await;
    let fault = running.expect_err("etcd has the data open");
    assert_eq!(fault.code, Code::EtcdMemberRunning);
    assert_eq!(host.etcd_data()[DATA], b"old");
    host.stop_etcd_on(DATA);
    let plan = prepared(&host, 2).await.expect("a plan");
    assert_eq!(plan.plan.cluster, CLUSTER);
    let done = restore_member(&host, &host, &plan, &place())
        .await
        .expect("it is restored");
    let Restored::Replaced {
        aside: Some(aside),
        data_directory,
        ..
    } = done
    else {
        panic!("{done:?}");
    };
    let data = host.etcd_data();
    assert_eq!(data_directory, DATA);
    assert_eq!(data[DATA], snapshot());
    assert_eq!(data[&aside], b"old");
    let volume = &host.region().volumes[0];
    assert!(volume.tags[RESTORED].contains('@'), "{:?}", volume.tags);
}

#[tokio::test(start_paused = true)]
async fn the_second_member_takes_the_same_snapshot_and_no_other() {
    let host = world(3);
    let plan = prepared(&host, 3).await.expect("a plan");
    restore_member(&host, &host, &plan, &place())
        .await
        .expect("it is restored");
    assert!(prepared(&host, 3).await.is_ok(), "the same file");
    host.change(|region| {
        let tags = &mut region.volumes[0].tags;
        tags.insert(RESTORED.to_owned(), restored_tag("0123456789ab", NOW));
    });
    let fault = prepared(&host, 3).await.expect_err("another file");
    assert_eq!(fault.code, Code::EtcdSnapshotsMixed);
    host.change(|region| {
        let long_ago = restored_tag("0123456789ab", Timestamp(NOW.0 - 48 * HOUR));
        region.volumes[0].tags.insert(RESTORED.to_owned(), long_ago);
    });
    assert!(prepared(&host, 3).await.is_ok(), "that restore is over");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_has_its_new_data_is_not_put_back_to_the_snapshot() {
    let host = world(3);
    let plan = prepared(&host, 3).await.expect("a plan");
    restore_member(&host, &host, &plan, &place())
        .await
        .expect("it is restored");
    let volume = host.region().volumes[0].clone();
    assert!(volume.tags[RESTORED].ends_with("/done"), "{volume:?}");
    // It takes part in the new cluster from here on.
    host.run_etcd_on(DATA, *b"newer");
    host.stop_etcd_on(DATA);
    let plan = prepared(&host, 3).await.expect("others go on");
    let again = restore_member(&host, &host, &plan, &place()).await;
    let earlier = Restored::Earlier {
        member: "a".to_owned(),
        volume: "vol-a".to_owned(),
    };
    assert_eq!(again, Ok(earlier));
    assert_eq!(host.etcd_data()[DATA], b"newer");
}

#[tokio::test(start_paused = true)]
async fn a_restore_that_ended_at_any_call_is_done_by_the_next() {
    for (operation, call) in [
        ("find_etcd", 1),
        ("tag_volume", 1),
        ("restore_snapshot", 1),
        ("replace_data", 1),
        ("tag_volume", 2),
    ] {
        let host = world(3);
        host.run_etcd_on(DATA, *b"old");
        host.stop_etcd_on(DATA);
        let plan = prepared(&host, 3).await.expect("a plan");
        let strike = strike(operation, call..=call, Condition::Io);
        host.next_boot(Script::new(vec![strike]));
        let ended = restore_member(&host, &host, &plan, &place()).await;
        assert!(ended.is_err(), "{operation}");
        tokio::time::advance(Duration::from_secs(1)).await;
        let plan = prepared(&host, 3).await.expect("a plan again");
        let done = restore_member(&host, &host, &plan, &place()).await;
        assert!(matches!(done, Ok(Restored::Replaced { .. })), "{done:?}");
        assert_eq!(host.etcd_data()[DATA], snapshot(), "{operation} {call}");
        let old = host.etcd_data().into_values().any(|data| data == *b"old");
        assert!(old, "{operation}: nothing is deleted");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restore_that_fails_leaves_the_data_as_it_was() {
    for (operation, condition, wanted) in [
        (
            "restore_snapshot",
            Condition::NoSpace,
            Code::EtcdRestoreFailed,
        ),
        ("replace_data", Condition::Io, Code::EtcdRestoreFailed),
        ("tag_volume", Condition::Denied, Code::StorageTagDenied),
        ("find_etcd", Condition::Io, Code::EtcdRestoreFailed),
    ] {
        let host = world(3);
        host.run_etcd_on(DATA, *b"old");
        host.stop_etcd_on(DATA);
        let plan = prepared(&host, 3).await.expect("a plan");
        let strike = strike(operation, 1..=1, condition);
        host.next_boot(Script::new(vec![strike]));
        let fault = restore_member(&host, &host, &plan, &place()).await;
        assert_eq!(fault.expect_err(operation).code, wanted);
        assert_eq!(host.etcd_data()[DATA], b"old", "{operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_beside_a_quorum_a_truncated_one_and_one_that_is_not_there_are_refused() {
    for (lost, wanted) in [(0, Code::EtcdQuorumHealthy), (1, Code::EtcdQuorumHealthy)] {
        let host = world(lost);
        let fault = prepared(&host, lost).await.expect_err("it works");
        assert_eq!(fault.code, wanted);
    }
    let host = world(3);
    let whole = snapshot();
    host.put_file(FILE, &whole[..whole.len() - 1]);
    let fault = prepared(&host, 3).await.expect_err("it is truncated");
    assert_eq!(fault.code, Code::EtcdSnapshotCorrupt);
    let mut absent = requested(&host, 3);
    absent.from = RestoreFrom::File("/root/absent.db".to_owned());
    let fault = prepare(&host, &absent).await.expect_err("it is not there");
    assert_eq!(fault.code, Code::EtcdBackupMissing);
    let mut none = requested(&host, 3);
    none.from = RestoreFrom::Newest;
    let fault = prepare(&host, &none)
        .await
        .expect_err("kops legacy makes no backups");
    assert_eq!(fault.code, Code::EtcdBackupMissing);
}
