//! Checks of disks.

use super::{logged, machine};
use crate::checks::report::Status;
use crate::checks::surveyed::{proves, tree};
use quake_model::facts::{Seen, SpaceFacts, Survey, Unseen};

const MOUNTED: &str =
    "21 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw,errors=remount-ro\n";

fn mounted(more: &str) -> Survey {
    machine(
        "node",
        "1.29.0",
        &[("/proc/self/mountinfo", &format!("{MOUNTED}{more}"))],
    )
}

#[test]
fn a_filesystem_with_errors_is_told_apart_from_a_disk_that_left() {
    let turned = "30 21 259:3 / /mnt/master-vol-1 rw,relatime - ext4 /dev/nvme1n1 ro\n";
    let read_only = "30 21 259:3 / /mnt/x ro,relatime - ext4 /dev/nvme1n1 ro\n";
    let var = "30 21 259:3 / /var ro,relatime - xfs /dev/nvme1n1 ro\n";
    let own = "EXT4-fs error (device nvme0n1p1): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0";
    let left = "Buffer I/O error on dev nvme2n1, logical block 5, lost async page write";
    let option = "EXT4-fs (nvme0n1p1): re-mounted. Opts: errors=remount-ro";
    let floppy = "blk_update_request: I/O error, dev fd0, sector 0";
    let cases = [
        (logged(mounted(""), &[option, floppy]), Status::Ok, "none"),
        (
            logged(mounted(turned), &[]),
            Status::Fail,
            "/mnt/master-vol-1 turned read-only",
        ),
        (logged(mounted(read_only), &[]), Status::Ok, "none"),
        (
            logged(mounted(var), &[]),
            Status::Fail,
            "/var holds /var/lib",
        ),
        (
            logged(mounted(""), &[own]),
            Status::Fail,
            "/dev/nvme0n1p1 at / reports errors",
        ),
        (logged(mounted(""), &[left]), Status::Warn, "not mounted"),
        (mounted(""), Status::Skip, "nothing recorded it"),
        (tree(&[]), Status::Skip, "mountinfo"),
    ];
    for (survey, status, words) in cases {
        proves("host.disk-errors", &survey, status, words);
    }
}

#[test]
fn a_damaged_filesystem_on_a_device_that_answers_is_repaired_and_not_replaced() {
    let containerd = "31 21 259:3 / /var/lib/containerd rw,noatime - xfs /dev/nvme1n1 rw\n";
    let etcd = "31 21 259:3 / /mnt/master-vol-1 rw,noatime - ext4 /dev/nvme1n1 rw\n";
    let damage = "XFS (nvme1n1): Metadata corruption detected at xfs_agf_verify+0x10e/0x190 [xfs], xfs_agf block 0x1";
    let stopped = "XFS (nvme1n1): User initiated shutdown received. Shutting down filesystem";
    let read = "XFS (nvme1n1): metadata I/O error in \"xfs_trans_read_buf_map\" at daddr 0x1 len 1 error 117";
    let checksum = "EXT4-fs error (device nvme1n1): ext4_validate_block_bitmap:390: comm etcd: bg 12: bad block bitmap checksum";
    let device =
        "I/O error, dev nvme1n1, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2";
    let cases = [
        (
            logged(mounted(containerd), &[damage, stopped, read]),
            "the xfs of /dev/nvme1n1 at /var/lib/containerd has damaged metadata and has shut itself down",
        ),
        (
            logged(mounted(etcd), &[checksum]),
            "the ext4 of /dev/nvme1n1 at /mnt/master-vol-1 has damaged metadata; the device itself reports no error",
        ),
        (
            logged(mounted(containerd), &[device, damage]),
            "/dev/nvme1n1 at /var/lib/containerd reports errors",
        ),
    ];
    for (survey, words) in cases {
        proves("host.disk-errors", &survey, Status::Fail, words);
    }
}

#[test]
fn a_slow_disk_is_told_by_pressure_or_by_the_log() {
    let hung = "INFO: task jbd2/nvme0n1p1-:211 blocked for more than 120 seconds.";
    let pressed =
        "some avg10=90 avg60=80 avg300=70 total=1\nfull avg10=80 avg60=70 avg300=61.50 total=1\n";
    let pressed = machine("node", "1.29.0", &[("/proc/pressure/io", pressed)]);
    proves(
        "host.disk-latency",
        &logged(pressed.clone(), &[]),
        Status::Warn,
        "62 %",
    );
    proves(
        "host.disk-latency",
        &logged(tree(&[]), &[hung]),
        Status::Warn,
        "jbd2",
    );
    proves(
        "host.disk-latency",
        &logged(pressed, &[hung]),
        Status::Warn,
        "the disk /dev/nvme0n1p1",
    );
    proves(
        "host.disk-latency",
        &logged(tree(&[]), &[]),
        Status::Ok,
        "no process",
    );
    proves(
        "host.disk-latency",
        &tree(&[]),
        Status::Skip,
        "nothing recorded it",
    );
}

#[test]
fn room_is_judged_by_the_scarcest() {
    let space = |free: u64, inodes: u64| {
        let mut survey = tree(&[]);
        survey.spaces = Seen::Yes(vec![SpaceFacts {
            path: "/var/lib".into(),
            bytes: 1000,
            bytes_free: free,
            inodes: 1000,
            inodes_free: inodes,
            read_only: false,
        }]);
        survey
    };
    proves("host.disk-space", &space(500, 500), Status::Ok, "50 %");
    proves("host.disk-space", &space(60, 500), Status::Warn, "6.0 %");
    proves("host.disk-space", &space(500, 10), Status::Fail, "1.0 %");
    proves(
        "host.disk-space",
        &tree(&[]),
        Status::Skip,
        "nothing recorded it",
    );
}

#[test]
fn programs_must_be_allowed_to_run_where_they_are() {
    let of = |target: &str| {
        mounted(&format!(
            "40 21 0:1 / {target} rw,noexec,nosuid - ext4 /dev/nvme0n1p2 rw\n"
        ))
    };
    proves("host.noexec", &of("/tmp"), Status::Ok, "none");
    proves(
        "host.noexec",
        &of("/opt"),
        Status::Fail,
        "remount,exec /opt",
    );
    proves(
        "host.noexec",
        &of("/usr/local"),
        Status::Fail,
        "/usr/local/bin",
    );
    proves(
        "host.noexec",
        &of("/var"),
        Status::Warn,
        "/var/lib/quake-agent",
    );
    proves("host.noexec", &tree(&[]), Status::Skip, "mountinfo");
}

#[test]
fn a_log_that_only_root_may_read_makes_no_check_pass() {
    let mut survey = mounted("");
    survey.kernel_log = Seen::Denied("/dev/kmsg".into());
    assert_eq!(
        survey.kernel_log.get(),
        Err(Unseen::Denied("/dev/kmsg".into()))
    );
    for id in ["host.disk-errors", "host.disk-latency", "host.oom"] {
        proves(id, &survey, Status::Skip, "needs root");
    }
}

#[test]
fn a_disk_that_does_not_answer_is_told_before_what_it_slows() {
    let table = "22 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n40 22 259:3 / /mnt/master-vol-1 rw - ext4 /dev/nvme1n1 rw\n";
    let survey = |line: &str| logged(mounted(table), &[line]);
    let silent = survey("nvme nvme1: I/O 12 QID 3 timeout, aborting");
    proves(
        "host.disk-errors",
        &silent,
        Status::Fail,
        "/dev/nvme1n1 at /mnt/master-vol-1 does not answer",
    );
    let down =
        survey("nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10");
    proves(
        "host.disk-errors",
        &down,
        Status::Fail,
        "/dev/nvme0n1p1 at / does not answer",
    );
    let gone = survey("nvme nvme7: I/O 12 QID 3 timeout, aborting");
    proves("host.disk-errors", &gone, Status::Warn, "not mounted");
}

#[test]
fn a_directory_that_is_written_may_not_be_mounted_read_only() {
    let of = |target: &str| {
        logged(
            mounted(&format!(
                "40 22 259:3 / {target} ro - ext4 /dev/nvme1n1 rw\n"
            )),
            &[],
        )
    };
    proves(
        "host.disk-errors",
        &of("/var/log"),
        Status::Fail,
        "/var/log and is mounted read-only",
    );
    proves("host.disk-errors", &of("/usr"), Status::Ok, "none");
}

#[test]
fn a_task_that_hangs_in_nfs_or_for_a_namespace_waits_for_no_disk() {
    let hung = "INFO: task dockerd:1188 blocked for more than 120 seconds.";
    let nfs = logged(
        machine("node", "1.29.0", &[]),
        &[
            hung,
            "Call Trace:",
            " rpc_wait_bit_killable+0x24/0xb0 [sunrpc]",
        ],
    );
    proves(
        "host.disk-latency",
        &nfs,
        Status::Fail,
        "dockerd hangs in the kernel for an NFS server",
    );
    let namespaces = logged(
        machine("node", "1.29.0", &[]),
        &[
            "unregister_netdevice: waiting for lo to become free. Usage count = 1",
            hung,
            "Call Trace:",
            " copy_net_ns+0x9d/0x180",
        ],
    );
    proves(
        "host.disk-latency",
        &namespaces,
        Status::Ok,
        "no process waited",
    );
    proves(
        "host.kernel",
        &namespaces,
        Status::Fail,
        "never frees a network namespace",
    );
}

#[test]
fn what_a_hung_task_waits_for_is_told_by_its_stack() {
    const HUNG: &str = "INFO: task runc:[2:INIT]:30502 blocked for more than 120 seconds.";
    let of = |frames: &[&str]| {
        let mut lines = vec![HUNG, "Call Trace:", " schedule+0x5a/0xd0"];
        lines.extend(frames);
        logged(machine("node", "1.29.0", &[]), &lines)
    };
    for (frames, status, words) in [
        (
            &[
                " fanotify_handle_event+0x8d1/0xf10",
                " ext4_file_open+0x1/0x2",
            ][..],
            Status::Fail,
            "runc:[2:INIT] hang as they open files, because an on-access scanner",
        ),
        (
            &[" request_wait_answer+0x13f/0x210 [fuse]"],
            Status::Fail,
            "the program of a FUSE file system does not answer",
        ),
        (
            &[" jbd2_log_wait_commit+0x8b/0x100 [jbd2]"],
            Status::Warn,
            "once something waited too long for a disk",
        ),
        (
            &[" ? guess+0x1/0x2", " gizmo_wait+0x1/0x2"],
            Status::Warn,
            "runc:[2:INIT] hang in the kernel for minutes, in gizmo_wait",
        ),
        (
            &[" audit_log_start+0x1/0x2"],
            Status::Ok,
            "no process waited",
        ),
    ] {
        proves("host.disk-latency", &of(frames), status, words);
    }
    proves(
        "host.kernel",
        &of(&[" audit_log_start+0x1/0x2"]),
        Status::Fail,
        "the audit of the kernel 6.1.0-28-cloud-amd64 takes no records: runc:[2:INIT]",
    );
    let mut scanned = of(&[" fanotify_handle_event+0x8d1/0xf10"]);
    scanned = crate::checks::surveyed::survey_with(scanned, "/proc/modules", "falcon_lsm 1 0\n");
    proves(
        "host.disk-latency",
        &scanned,
        Status::Fail,
        "CrowdStrike Falcon (falcon-sensor)",
    );
}

#[test]
fn a_task_that_locks_a_processor_up_is_named_with_those_that_hang() {
    let locked = "watchdog: BUG: soft lockup - CPU#1 stuck for 104s! [kauditd:28]";
    let hung = "INFO: task containerd:1012 blocked for more than 122 seconds.";
    let survey = logged(machine("node", "1.29.0", &[]), &[locked, hung]);
    proves(
        "host.kernel",
        &survey,
        Status::Fail,
        "kauditd locked a processor up for 104s (soft lockup) in the kernel 6.1.0-28-cloud-amd64, and these tasks hang: containerd",
    );
    proves("host.kernel", &survey, Status::Fail, "augenrules --load");
    proves(
        "host.disk-latency",
        &survey,
        Status::Ok,
        "no process waited",
    );
}

#[test]
fn a_file_system_that_is_newer_than_the_kernel_is_no_damaged_disk() {
    for (line, words) in [
        (
            "XFS (nvme1n1): Superblock has unknown read-only compatible features (0x8) enabled.",
            "too old for the xfs of nvme1n1: a newer mkfs made it with features (0x8)",
        ),
        (
            "EXT4-fs (nvme2n1): couldn't mount because of unsupported optional features (10000)",
            "too old for the ext4 of nvme2n1: a newer mkfs made it with features (10000)",
        ),
    ] {
        let more = "XFS (nvme1n1): SB validate failed with error -22.";
        let survey = logged(mounted(""), &[line, more]);
        proves("host.disk-errors", &survey, Status::Warn, words);
    }
}

#[test]
fn a_threshold_that_the_disk_cannot_meet_is_no_full_disk() {
    let with = |threshold: &str, free: u64| {
        let mut survey = machine(
            "node",
            "1.35.0",
            &[(
                "/var/lib/kubelet/config.yaml",
                &format!("evictionHard:\n  nodefs.available: {threshold}\n"),
            )],
        );
        survey.spaces = Seen::Yes(vec![SpaceFacts {
            path: "/".into(),
            bytes: 64 << 30,
            bytes_free: free << 30,
            inodes: 1000,
            inodes_free: 900,
            read_only: false,
        }]);
        survey
    };
    let cases = [
        ("45Gi", 41, Status::Warn, "less than 45Gi of / are free"),
        ("70%", 41, Status::Warn, "the threshold is too high"),
        ("10%", 41, Status::Ok, "64 % of / is free"),
        ("45Gi", 2, Status::Warn, "/ is almost full"),
    ];
    for (threshold, free, status, words) in cases {
        proves("host.disk-space", &with(threshold, free), status, words);
    }
}
