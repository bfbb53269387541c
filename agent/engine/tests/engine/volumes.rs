//! The protocol of a volume: chosen, asked for, seen here; whatever EC2 answers, and whenever.

use crate::common::{EPOCH, failing_boot, host, request, run, strike};
use quake_model::facts::{Attachment, AttachmentState, InstanceState, InstanceView, VolumeState};
use quake_model::fault::{Class, Code};
use quake_model::ports::Condition;
use quake_model::time::Timestamp;
use quake_testkit::region::{EtcdSlot, Region};
use quake_testkit::{Script, SimHost, Timing, example};
use quake_volumes::{JOURNAL, Journal, Slot};
use std::sync::Arc;
use std::time::Duration;

const MAIN: &str = "vol-0aa";
const ME: &str = "i-0123456789abcdef0";
const PEER: &str = "i-0fedcba9876543210";

/// Gives a volume to another instance in this state.
fn hold(region: &mut Region, volume_id: &str, state: InstanceState, group: Option<&str>) {
    let mut volumes = region.volumes.iter_mut();
    let volume = volumes
        .find(|volume| volume.volume_id == volume_id)
        .expect("it is there");
    volume.state = VolumeState::InUse;
    volume.attachments = vec![Attachment {
        instance_id: PEER.to_owned(),
        device_name: "/dev/xvdbz".to_owned(),
        state: AttachmentState::Attached,
        since: Some(EPOCH),
        delete_on_termination: false,
    }];
    let tag = |group: &str| ("kops.k8s.io/instancegroup".to_owned(), group.to_owned());
    region.instances.retain(|view| view.instance_id != PEER);
    region.instances.push(InstanceView {
        private_ip: String::new(),
        instance_id: PEER.to_owned(),
        state,
        launched: Timestamp(0),
        zone: region.instance.zone.clone(),
        tags: group.map(tag).into_iter().collect(),
        device_names: Vec::new(),
    });
}

/// Gives it back.
fn release(region: &mut Region) {
    for volume in &mut region.volumes {
        if volume.attachments.iter().any(|a| a.instance_id == PEER) {
            volume.attachments.clear();
            volume.state = VolumeState::Available;
        }
    }
}

fn add_volume(host: &Arc<SimHost>, volume_id: &str, etcd: &str) {
    host.change(|region| {
        let slot = EtcdSlot {
            volume_id,
            etcd,
            member: "a",
            members: &["a"],
            created: EPOCH,
            encrypted: false,
        };
        region.add_etcd_volume(example::CLUSTER, &slot);
    });
}

fn holders(host: &Arc<SimHost>) -> Vec<(String, String)> {
    let region = host.region();
    let volumes = region.volumes.iter();
    let pairs = volumes.flat_map(|volume| {
        let attachments = volume.attachments.iter();
        attachments.map(|a| (volume.volume_id.clone(), a.instance_id.clone()))
    });
    pairs.collect()
}

fn kept_journal(host: &Arc<SimHost>) -> Journal {
    let tree = host.tree();
    Journal::read(tree.get(JOURNAL).map(Vec::as_slice), ME).expect("it is whole")
}

/// Changes the region once the boot has waited for so long.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock is paused: nothing waits"
)]
fn later(host: &Arc<SimHost>, after: Duration, change: impl FnOnce(&mut Region) + Send + 'static) {
    let host = Arc::clone(host);
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        host.change(change);
    });
}

#[tokio::test(start_paused = true)]
async fn two_volumes_of_one_member_stop_the_boot_and_nothing_is_attached() {
    let host = host("control-plane", Timing::default());
    add_volume(&host, "vol-0cc", "main");
    let (fault, record) = failing_boot(&host, &request("control-plane")).await;
    assert_eq!(
        (fault.code, record.exit_status()),
        (Code::StorageVolumeConflict, 80)
    );
    let reported = serde_json::to_string(&fault).expect("it serialises");
    for id in [MAIN, "vol-0cc"] {
        assert!(reported.contains(id), "{reported}");
    }
    assert_eq!(holders(&host), []);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_believed_only_after_several_equal_looks() {
    let host = host("control-plane", Timing::default());
    add_volume(&host, "vol-0cc", "main");
    // The second volume is deleted before the third look.
    later(&host, Duration::from_millis(1), |region| {
        region
            .volumes
            .retain(|volume| volume.volume_id != "vol-0cc");
    });
    let (verdict, _) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
}

/// Lets a volume of the cluster that is not etcd's, such as a pod's, move from node to node for as long as the test
/// runs.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock is paused: nothing waits"
)]
fn move_a_pods_volume(host: &Arc<SimHost>) {
    add_volume(host, "vol-0dd", "main");
    let host = Arc::clone(host);
    tokio::spawn(async move {
        for number in 0_u64.. {
            host.change(|region| {
                let mut volumes = region.volumes.iter_mut();
                let volume = volumes.find(|volume| volume.volume_id == "vol-0dd");
                let volume = volume.expect("it was added");
                volume.tags.retain(|key, _| !key.starts_with("k8s.io/"));
                volume.state = VolumeState::InUse;
                volume.attachments = vec![Attachment {
                    instance_id: format!("i-0{number}"),
                    device_name: "/dev/xvdbz".to_owned(),
                    state: AttachmentState::Attached,
                    since: Some(EPOCH),
                    delete_on_termination: false,
                }];
            });
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
    });
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_believed_although_volumes_of_pods_move_all_the_time() {
    let host = host("control-plane", Timing::default());
    move_a_pods_volume(&host);
    add_volume(&host, "vol-0cc", "main");
    let (fault, record) = failing_boot(&host, &request("control-plane")).await;
    assert_eq!(fault.code, Code::StorageVolumeConflict);
    assert!(record.elapsed_ms < 60_000, "{} ms", record.elapsed_ms);
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_stays_within_its_calls_although_volumes_of_pods_move_all_the_time() {
    let host = host("control-plane", Timing::default());
    move_a_pods_volume(&host);
    let stopped = InstanceState::Stopped;
    host.change(|region| hold(region, MAIN, stopped, Some("control-plane")));
    later(&host, Duration::from_secs(25 * 60), release);
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    let calls = record.calls.iter();
    let ec2 = calls.filter(|(call, _)| call.starts_with("ec2:"));
    let ec2: u64 = ec2.map(|(_, count)| count).sum();
    assert!(ec2 < 350, "{ec2} calls for a wait of 25 minutes");
}

#[tokio::test(start_paused = true)]
async fn an_ask_without_an_answer_stays_on_disk_with_its_member() {
    let host = host("control-plane", Timing::default());
    host.next_boot(Script::new(vec![strike(
        "attach_volume",
        1..=1000,
        Condition::Unreachable,
    )]));
    failing_boot(&host, &request("control-plane")).await;
    let journal = kept_journal(&host);
    assert_eq!(journal.member.as_deref(), Some("a"));
    assert!(
        journal
            .attempt
            .is_some_and(|attempt| attempt.volume_id == MAIN && attempt.doubtful)
    );
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_is_going_is_waited_for_and_its_volume_is_taken_then() {
    let host = host("control-plane", Timing::default());
    host.change(|region| hold(region, MAIN, InstanceState::ShuttingDown, None));
    later(&host, Duration::from_secs(25 * 60), release);
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    assert!(record.elapsed_ms > 25 * 60_000, "{}", record.elapsed_ms);
    let ec2: u64 = record
        .calls
        .iter()
        .filter(|(call, _)| call.starts_with("ec2:"))
        .map(|(_, count)| count)
        .sum();
    assert!(ec2 < 350, "{ec2} calls for a wait of 25 minutes");
}

#[tokio::test(start_paused = true)]
async fn a_volume_of_a_living_peer_is_stood_by_for_and_a_foreigners_is_refused() {
    for (group, code, class) in [
        (
            Some("control-plane"),
            Code::StorageVolumeHeld,
            Class::NotYet,
        ),
        (Some("workers"), Code::StorageHeldByForeign, Class::Refused),
        (None, Code::StorageHeldByForeign, Class::Refused),
    ] {
        let host = host("control-plane", Timing::default());
        host.change(|region| hold(region, MAIN, InstanceState::Running, group));
        let (fault, _) = failing_boot(&host, &request("control-plane")).await;
        assert_eq!((fault.code, fault.class()), (code, class), "{group:?}");
        assert!(fault.summary.contains(PEER), "{}", fault.summary);
        assert_eq!(holders(&host), [(MAIN.to_owned(), PEER.to_owned())]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_whose_tags_are_late_is_not_taken_for_a_foreigner() {
    let host = host("control-plane", Timing::default());
    host.change(|region| hold(region, MAIN, InstanceState::Running, None));
    later(&host, Duration::from_secs(60), |region| {
        hold(region, MAIN, InstanceState::Running, Some("control-plane"));
    });
    let (fault, _) = failing_boot(&host, &request("control-plane")).await;
    assert_eq!(fault.code, Code::StorageVolumeHeld);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_attached_before_the_instances_own_tags_are_seen() {
    let late = Timing {
        tags_after: 20,
        ..Timing::default()
    };
    let host = host("control-plane", late);
    // Had it asked earlier, it would have been refused for good.
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(record.calls.get("ec2:AttachVolume"), Some(&2));
}

#[tokio::test(start_paused = true)]
async fn a_device_name_that_is_taken_is_no_failure_of_the_volume() {
    let host = host("control-plane", Timing::default());
    host.next_boot(Script::new(vec![strike(
        "attach_volume",
        1..=3,
        Condition::Occupied,
    )]));
    let (verdict, record) = run(&host, &request("control-plane")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(
        record.calls.get("ec2:AttachVolume"),
        Some(&2),
        "the refused three never left"
    );
}

#[tokio::test(start_paused = true)]
async fn each_answer_to_an_attach_has_its_meaning() {
    for (condition, code) in [
        (Condition::Limit, Code::StorageAttachLimit),
        (Condition::Impossible, Code::StorageVolumeElsewhere),
        (Condition::Denied, Code::StorageAttachDenied),
        (Condition::NotReady, Code::StorageVolumeBusy),
        (Condition::Missing, Code::StorageViewInconsistent),
    ] {
        let host = host("control-plane", Timing::default());
        host.next_boot(Script::new(vec![strike(
            "attach_volume",
            1..=1000,
            condition,
        )]));
        let (fault, _) = failing_boot(&host, &request("control-plane")).await;
        assert_eq!(fault.code, code, "{condition:?}");
        assert_eq!(holders(&host), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_race_that_a_peer_won_ends_in_standing_by_without_a_member() {
    let host = host("control-plane", Timing::default());
    // EC2 still shows the volume free while the peer has it already.
    host.next_boot(Script::new(vec![strike(
        "attach_volume",
        1..=1,
        Condition::Conflict,
    )]));
    later(&host, Duration::from_millis(1), |region| {
        hold(region, MAIN, InstanceState::Running, Some("control-plane"));
    });
    let (fault, _) = failing_boot(&host, &request("control-plane")).await;
    assert_eq!(fault.code, Code::StorageVolumeHeld);
    let journal = kept_journal(&host);
    assert_eq!((journal.member, journal.attempt), (None, None));
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_was_never_answered_is_not_forgotten_for_a_stale_holder() {
    let host = host("control-plane", Timing::default());
    let mut journal = Journal::new(ME);
    let long_after = Timestamp(EPOCH.0 + 3_600_000);
    journal.ask(&Slot::new("main", "a"), MAIN, "/dev/xvdba", long_after);
    host.put_file(JOURNAL, journal.text());
    // The holder had the volume an hour before the ask: it may be a view of the past.
    host.change(|region| hold(region, MAIN, InstanceState::Running, Some("control-plane")));
    failing_boot(&host, &request("control-plane")).await;
    let kept = kept_journal(&host);
    assert_eq!(kept, journal);
    host.next_boot(Script::default());
    host.change(|region| {
        hold(region, MAIN, InstanceState::Running, Some("control-plane"));
        for volume in &mut region.volumes {
            volume
                .attachments
                .iter_mut()
                .for_each(|a| a.since = Some(long_after));
        }
    });
    failing_boot(&host, &request("control-plane")).await;
    let given_up = kept_journal(&host);
    assert_eq!((given_up.member, given_up.attempt), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_journal_of_another_instance_means_nothing_and_a_broken_one_is_said() {
    let mut other = Journal::new("i-0c");
    other.ask(&Slot::new("main", "b"), "vol-0cc", "/dev/xvdba", EPOCH);
    for (text, warned) in [(other.text(), false), ("{".to_owned(), true)] {
        let host = host("control-plane", Timing::default());
        host.put_file(JOURNAL, text);
        let (verdict, record) = run(&host, &request("control-plane")).await;
        assert_eq!(verdict.fault, None);
        let said = record
            .warnings
            .iter()
            .any(|fault| fault.code == Code::StorageJournalUnusable);
        assert_eq!(said, warned);
    }
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_would_be_deleted_with_its_instance_is_kept() {
    let host = host("control-plane", Timing::default());
    run(&host, &request("control-plane")).await;
    host.change(|region| {
        let attachments = region
            .volumes
            .iter_mut()
            .flat_map(|volume| &mut volume.attachments);
        attachments.for_each(|attachment| attachment.delete_on_termination = true);
    });
    host.next_boot(Script::default());
    run(&host, &request("control-plane")).await;
    let region = host.region();
    let mut attachments = region.volumes.iter().flat_map(|volume| &volume.attachments);
    assert!(attachments.all(|attachment| !attachment.delete_on_termination));
}

#[tokio::test(start_paused = true)]
async fn a_device_that_a_program_of_a_killed_agent_still_has_is_waited_for() {
    for operation in ["make_filesystem", "check_filesystem", "mount_device"] {
        let host = host("control-plane", Timing::default());
        let taken = vec![strike(operation, 1..=3, Condition::Conflict)];
        host.next_boot(Script::new(taken));
        let (verdict, _) = run(&host, &request("control-plane")).await;
        assert_eq!(verdict.fault, None, "{operation}");

        // One that never lets go ends the boot as what may still come.
        let host = crate::common::host("control-plane", Timing::default());
        let taken = vec![strike(operation, 1..=100_000, Condition::Conflict)];
        host.next_boot(Script::new(taken));
        let (fault, _) = failing_boot(&host, &request("control-plane")).await;
        assert_eq!(
            (fault.code, fault.class()),
            (Code::StorageVolumeBusy, Class::NotYet)
        );
    }
}
