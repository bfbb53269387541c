//! Warnings and errors of the kernel's log, read from `/dev/kmsg` (its format: the kernel's ABI documentation,
//! `dev-kmsg`). Only root may read it where `kernel.dmesg_restrict` is set.

use quake_model::ports::{Condition, PortError};
use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

const DEVICE: &str = "/dev/kmsg";
/// How many records are kept, the last ones.
const KEPT: usize = 200;
/// How many records are read; the largest log that a kernel is configured with holds fewer.
const READ: usize = 100_000;
/// The longest record that the kernel gives.
const RECORD: usize = 8192;
/// Records of this level and below are warnings and errors (syslog(2)).
const WARNING: u32 = 4;
/// SELinux and AppArmor tell their denials, which are the kernel's too, one level lower.
const DENIALS: &[&str] = &["avc:", "apparmor=\"DENIED\""];

/// The last warnings and errors of the kernel's log, oldest first, and the messages of lower levels that are known.
///
/// # Errors
///
/// `Denied` when only root may read it, `Missing` where there is none, `Io`.
pub fn read_kernel_log(is_known: fn(&str) -> bool) -> Result<Vec<String>, PortError> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(nix::libc::O_NONBLOCK);
    let mut device = options.open(DEVICE).map_err(|error| refusal(&error))?;
    let mut kept = VecDeque::new();
    let mut buffer = vec![0; RECORD];
    for _ in 0..READ {
        match device.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                let record = String::from_utf8_lossy(&buffer[..length]);
                keep(&mut kept, &record, is_known);
            }
            // The record was overwritten while it was waited for; the next read gives the oldest there is.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(refusal(&error)),
        }
    }
    Ok(kept.into())
}

fn refusal(error: &std::io::Error) -> PortError {
    let condition = match error.kind() {
        ErrorKind::PermissionDenied => Condition::Denied,
        ErrorKind::NotFound => Condition::Missing,
        _ => Condition::Io,
    };
    PortError::new(condition, format!("read {DEVICE}")).because(error)
}

/// Keeps the message of a record of the kernel's own that is a warning or worse, or that is known: the kernel tells of a
/// refused fork or of a denial by AppArmor at the level of a notice.
fn keep(kept: &mut VecDeque<String>, record: &str, is_known: fn(&str) -> bool) {
    let Some((head, rest)) = record.split_once(';') else {
        return;
    };
    let number = head
        .split(',')
        .next()
        .and_then(|number| number.parse::<u32>().ok());
    let message = rest.lines().next().unwrap_or_default();
    let Some(number) = number else { return };
    let (facility, level) = (number >> 3, number & 7);
    let is_denial = DENIALS.iter().any(|denial| message.contains(denial));
    let is_wanted = level <= WARNING || is_denial || is_of_large(message) || is_known(message);
    if facility != 0 || !is_wanted {
        return;
    }
    if kept.len() == KEPT {
        kept.pop_front();
    }
    kept.push_back(message.to_owned());
}

/// Whether a message is of the table of processes that is printed where the memory is used up: its head, or a process with
/// 256 MiB or more (`mm/oom_kill.c`, `dump_tasks`: pid, uid, tgid, total_vm and rss in pages).
fn is_of_large(message: &str) -> bool {
    const LEAST_PAGES: u64 = 1 << 16;
    let row = message
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'));
    let pages = row.and_then(|(_, rest)| rest.split_whitespace().nth(3)?.parse().ok());
    message.ends_with(" oom_score_adj name") || pages.is_some_and(|pages: u64| pages >= LEAST_PAGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(records: &[&str]) -> Vec<String> {
        let mut kept = VecDeque::new();
        for record in records {
            keep(&mut kept, record, |message| {
                message.contains("fork rejected")
            });
        }
        kept.into()
    }

    #[test]
    fn of_the_table_of_processes_the_large_ones_are_kept() {
        let head =
            "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name";
        let large =
            "[   1450]     0  1450  1693127  1293212  10907648        0             0 osqueryd";
        let small = "[    701]     0   701     3855      332    69632        0         -1000 sshd";
        let records = [head, large, small].map(|message| format!("6,1,100,-;{message}\n"));
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        assert_eq!(kept(&records), [head, large]);
    }

    #[test]
    fn only_warnings_and_errors_of_the_kernel_are_kept() {
        let records = [
            "6,1,100,-;Linux version 6.1.0\n",
            "3,2,200,-;EXT4-fs error (device nvme0n1p1): x\n SUBSYSTEM=block\n",
            "12,3,300,-;systemd[1]: a warning of a program\n",
            "5,4,400,-;audit: type=1400 audit(1.2:3): avc:  denied  { read }\n",
            "5,6,450,-;audit: type=1400 audit(1.2:4): apparmor=\"DENIED\" operation=\"exec\"\n",
            "4,5,500,c;a warning; with a semicolon\n",
            "6,6,600,-;cgroup: fork rejected by pids controller in /x\n",
            "no record\n",
        ];
        let wanted = [
            "EXT4-fs error (device nvme0n1p1): x",
            "audit: type=1400 audit(1.2:3): avc:  denied  { read }",
            "audit: type=1400 audit(1.2:4): apparmor=\"DENIED\" operation=\"exec\"",
            "a warning; with a semicolon",
            "cgroup: fork rejected by pids controller in /x",
        ];
        assert_eq!(kept(&records), wanted);
    }

    #[test]
    fn the_last_records_win() {
        let records: Vec<String> = (0..KEPT + 5)
            .map(|n| format!("3,{n},1,-;error {n}\n"))
            .collect();
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        let kept = kept(&records);
        assert_eq!((kept.len(), kept[0].as_str()), (KEPT, "error 5"));
    }
}
