//! The kernel's warnings, from its ring buffer, where they are whether a journal runs or not.

use super::Limits;
use super::bounded::BoundedOutput;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

const DEVICE: &str = "/dev/kmsg";

/// What the kernel calls a warning; everything worse has a lower number (syslog(2)).
const WARNING: u32 = 4;

/// The kernel gives one record for each read, and none is longer (`CONSOLE_EXT_LOG_MAX`).
const LONGEST_RECORD: usize = 8 << 10;

/// How often records may be overwritten while they are read, before the rest is given up.
const MOST_OVERTAKEN: u32 = 100;

/// Reads every warning that is still there, as `seconds since boot: message`.
pub(super) async fn read_warnings(limits: Limits) -> (Option<Vec<u8>>, Option<String>) {
    let reading = tokio::task::spawn_blocking(move || {
        let flags = nix::libc::O_NONBLOCK;
        let device = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(DEVICE);
        device.and_then(|device| read_all(device, limits.size))
    });
    match tokio::time::timeout(limits.time, reading).await {
        Ok(Ok(Ok((bytes, cut)))) => (Some(bytes), cut),
        Ok(Ok(Err(error))) => (None, Some(format!("read {DEVICE}: {error}"))),
        Ok(Err(ended)) => (None, Some(format!("read {DEVICE}: {ended}"))),
        Err(_) => (None, Some(format!("{DEVICE} could not be read in time"))),
    }
}

fn read_all(mut device: File, size: usize) -> std::io::Result<(Vec<u8>, Option<String>)> {
    let mut kept = BoundedOutput::new(size);
    let mut record = vec![0; LONGEST_RECORD];
    let mut overtaken = 0;
    loop {
        match device.read(&mut record) {
            Ok(0) => return Ok(kept.finish()),
            Ok(length) => {
                let text = String::from_utf8_lossy(&record[..length]);
                if let Some(line) = warning(&text) {
                    kept.take(line.as_bytes());
                }
            }
            // There is nothing more for now.
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(kept.finish()),
            // The kernel overwrote the record; the next read goes on behind it.
            Err(error) if error.kind() == ErrorKind::BrokenPipe && overtaken < MOST_OVERTAKEN => {
                overtaken += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// The line of a record `priority,sequence,microseconds,flags;message`, if it is a warning or worse (the kernel's
/// `Documentation/ABI/testing/dev-kmsg`).
fn warning(record: &str) -> Option<String> {
    let (head, message) = record.split_once(';')?;
    let mut fields = head.split(',');
    let priority: u32 = fields.next()?.parse().ok()?;
    let microseconds: u64 = fields.nth(1)?.parse().ok()?;
    // The facility is in the bits above the level. Lines after the first belong to the device that told of it.
    let message = message.lines().next().unwrap_or_default();
    let (seconds, rest) = (microseconds / 1_000_000, microseconds % 1_000_000);
    (priority % 8 <= WARNING).then(|| format!("{seconds}.{rest:06}: {message}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_and_worse_are_told_with_their_time() {
        let record = "4,339,5140900,-;NET: Registered protocol family 10\n SUBSYSTEM=net\n";
        let line = "5.140900: NET: Registered protocol family 10\n";
        assert_eq!(warning(record).as_deref(), Some(line));
        assert_eq!(
            warning("30,340,5690716,-;udevd[80]: starting version 181\n"),
            None
        );
        assert_eq!(warning("no record"), None);
    }
}
