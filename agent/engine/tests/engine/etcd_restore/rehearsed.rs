//! Rehearsals: a snapshot is restored into an etcd of its own, and its keys are counted.

use super::{OLD, back_up, control, question, region, snapshot};
use crate::common::strike;
use quake_engine::restore::{Rehearsal, prepare, rehearse};
use quake_model::fault::{Code, Fault};
use quake_model::ports::Condition;
use quake_testkit::{Script, SimHost};

/// A cluster that works, with a backup. A rehearsal beside it needs no consent to replace it, but the
/// question has it: nothing is replaced.
fn world() -> SimHost {
    let host = region(0, true);
    control(&host, "3.4.23");
    back_up(&host, OLD, "3.4.23", &snapshot());
    host
}

async fn rehearsed(host: &SimHost) -> Result<Rehearsal, Fault> {
    let mut question = question(host, 0, true);
    question.consent.replaces_healthy_quorum = true;
    rehearse(host, &prepare(host, &question).await?).await
}

#[tokio::test(start_paused = true)]
async fn a_rehearsal_counts_the_keys_and_changes_nothing_of_the_cluster() {
    let host = world();
    host.install_etcd("3.4.23");
    host.delay_etcd(7);
    let before = host.region();
    let done = rehearsed(&host).await.expect("it is restored");
    assert_eq!((done.counted.keys, done.counted.revision), (11, 15));
    assert_eq!(done.tools.version, "3.4.23");
    assert_eq!(host.port_calls_of("count_keys"), 8);
    assert_eq!(host.region(), before);
    for changes in ["write_object", "tag_volume", "replace_data"] {
        assert_eq!(host.port_calls_of(changes), 0, "{changes}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_programs_that_read_the_snapshot_there_is_no_rehearsal() {
    for installed in [None, Some("3.3.10"), Some("3.6.12")] {
        let host = world();
        if let Some(version) = installed {
            host.install_etcd(version);
        }
        let fault = rehearsed(&host).await.expect_err("nothing reads it");
        assert_eq!(fault.code, Code::EtcdProgramsMissing, "{installed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_fails_and_an_etcd_that_never_answers_are_named() {
    let world_with = |operation: &str, condition| {
        let always = strike(operation, 1..=u64::MAX, condition);
        let host = world().with_script(Script::new(vec![always]));
        host.install_etcd("3.4.23");
        host
    };
    for host in [
        world_with("restore_snapshot", Condition::Malformed),
        world_with("start_etcd", Condition::Io),
        world_with("count_keys", Condition::Io),
        world_with("count_keys", Condition::NotReady),
    ] {
        let fault = rehearsed(&host).await.expect_err("it fails");
        assert_eq!(fault.code, Code::EtcdRestoreFailed);
    }
}
