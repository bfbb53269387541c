//! Restores that are refused, each by its own code, before anything is written.

use super::{FRESH, NOW, OLD, STORE, back_up, control, location, question, region};
use super::{snapshot, snapshot_of_events};
use crate::common::strike;
use quake_engine::restore::{
    RestoreFrom, RestoreQuestion, ask_etcd_manager, list_backups, prepare,
};
use quake_model::fault::Code;
use quake_model::ports::Condition;
use quake_testkit::{Script, SimHost};
use quake_volumes::restore::Health;

/// A cluster that lost everything, with a backup of ten days ago.
fn world() -> SimHost {
    let host = region(3, true);
    control(&host, "3.4.23");
    back_up(&host, OLD, "3.4.23", &snapshot());
    host
}

async fn refused(host: &SimHost, change: impl FnOnce(&mut RestoreQuestion)) -> Code {
    let mut question = question(host, 3, true);
    change(&mut question);
    let restored = match prepare(host, &question).await {
        Ok(prepared) => ask_etcd_manager(host, &prepared).await.map(|_| ()),
        Err(fault) => Err(fault),
    };
    let fault = restored.expect_err("it is refused");
    assert!(!fault.remedy_text().is_empty());
    assert_eq!(host.port_calls_of("write_object"), 0, "{fault:?}");
    fault.code
}

#[tokio::test(start_paused = true)]
async fn bad_backups_are_refused_by_their_names() {
    let truncated = world();
    let whole = snapshot();
    back_up(&truncated, FRESH, "3.4.23", &whole[..whole.len() - 900]);
    assert_eq!(refused(&truncated, |_| {}).await, Code::EtcdSnapshotCorrupt);
    let old = |question: &mut RestoreQuestion| question.from = RestoreFrom::Backup(OLD.to_owned());
    let prepared = {
        let mut question = question(&truncated, 3, true);
        old(&mut question);
        prepare(&truncated, &question).await
    };
    assert!(prepared.is_ok(), "the one before is whole");

    let foreign = world();
    back_up(&foreign, FRESH, "3.4.23", &snapshot_of_events());
    assert_eq!(refused(&foreign, |_| {}).await, Code::EtcdBackupForeign);

    let newer = world();
    back_up(&newer, FRESH, "3.6.12", &snapshot());
    assert_eq!(refused(&newer, |_| {}).await, Code::EtcdVersionUnsupported);

    let named =
        |question: &mut RestoreQuestion| question.from = RestoreFrom::Backup("x".to_owned());
    assert_eq!(refused(&world(), named).await, Code::EtcdBackupMissing);
}

#[tokio::test(start_paused = true)]
async fn another_restore_in_progress_is_refused_and_named() {
    let host = world();
    back_up(&host, FRESH, "3.4.23", &snapshot());
    let command = format!("{STORE}/control/2026-11-26T01:59:00Z-000000/_command.json");
    let text = format!(r#"{{"timestamp":"1","restoreBackup":{{"backup":"{OLD}"}}}}"#);
    host.put_object(&command, text.as_bytes());
    assert_eq!(refused(&host, |_| {}).await, Code::EtcdSnapshotsMixed);
}

#[tokio::test(start_paused = true)]
async fn members_that_nobody_asked_count_as_healthy_until_an_operator_says_otherwise() {
    let host = region(0, true);
    control(&host, "3.4.23");
    back_up(&host, OLD, "3.4.23", &snapshot());
    let unknown = |question: &mut RestoreQuestion| {
        question
            .health
            .values_mut()
            .for_each(|health| *health = Health::Unknown);
    };
    assert_eq!(refused(&host, unknown).await, Code::EtcdQuorumHealthy);
    let mut requested = question(&host, 0, true);
    requested.consent.replaces_healthy_quorum = true;
    let prepared = prepare(&host, &requested)
        .await
        .expect("an operator knows better");
    assert!(prepared.plan.needs_restart);
}

#[tokio::test(start_paused = true)]
async fn a_store_without_its_spec_or_with_a_pod_that_lacks_etcdutl_is_not_asked() {
    let host = world();
    host.remove_object(&format!("{STORE}/control/etcd-cluster-spec"));
    assert_eq!(refused(&host, |_| {}).await, Code::ConfigObjectMissing);

    let host = region(3, true);
    control(&host, "3.6.12");
    back_up(&host, OLD, "3.6.12", &snapshot());
    let manifest = "s3://b/c.example/manifests/etcd/main-master-a.yaml";
    host.put_object(manifest, *b"- --src=/usr/local/bin/etcdctl\n");
    let with = |question: &mut RestoreQuestion| question.manifest = Some(location(manifest));
    assert_eq!(refused(&host, with).await, Code::EtcdProgramsMissing);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_throttles_is_asked_again_and_one_that_denies_is_named() {
    let throttled = strike("list_objects", 1..=2, Condition::Throttled);
    let host = world().with_script(Script::new(vec![throttled]));
    let listed = list_backups(&host, &location(STORE), 20, None).await;
    let listed = listed.expect("it is answered in the end");
    assert_eq!((listed.backups.len(), listed.omitted), (1, 0));
    let denied = strike("list_objects", 1..=1, Condition::Denied);
    let host = world().with_script(Script::new(vec![denied]));
    assert_eq!(refused(&host, |_| {}).await, Code::ConfigStoreDenied);
}

#[tokio::test(start_paused = true)]
async fn of_many_backups_the_newest_are_read_and_a_named_one_wherever_it_is() {
    let host = region(3, true);
    for hour in 0..20 {
        let name = format!("2026-11-25T{hour:02}:00:00Z-000001");
        back_up(&host, &name, "3.4.23", &snapshot());
    }
    back_up(&host, OLD, "3.4.23", &snapshot());
    // The upload of the newest did not end.
    host.put_object(&format!("{STORE}/{FRESH}/etcd.backup.gz"), *b"half");
    let listed = list_backups(&host, &location(STORE), 3, Some(OLD)).await;
    let listed = listed.expect("it is listed");
    let names: Vec<&str> = listed.backups.iter().map(|it| it.name.as_str()).collect();
    let newest = ["2026-11-25T19:00:00Z-000001", "2026-11-25T18:00:00Z-000001"];
    assert_eq!(names, [FRESH, newest[0], newest[1], OLD]);
    assert_eq!(listed.omitted, 18);
    assert!(!listed.backups[0].is_complete());
    assert!(listed.backups[0].taken < NOW);
}
