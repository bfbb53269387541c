//! Checks an ext4 filesystem that is not mounted, with repairs that lose nothing or none at all.
//!
//! `e2fsck -p` stops at the first thing that needs a decision, and may have written before: what it
//! overwrites is kept in an undo file, and put back when it did not come to a good end. A kill of this
//! process half-way leaves what a power cut would; then the next check starts from there.

use super::attempt::{blocking, os_error};
use super::ext::{Activity, Superblock, read_superblock};
use super::identity::{Access, busy, open_device};
use super::image::Image;
use super::mounts::activity_of;
use super::program::{Abandon, Program, complaint};
use super::scratch::Scratch;
use nix::sys::statvfs::statvfs;
use quake_model::facts::{DeviceFacts, FilesystemCheck};
use quake_model::ports::{Condition, PortError};
use std::process::Output;
use std::time::Duration;

const CHECK: Program = Program {
    name: "e2fsck",
    package: "e2fsprogs",
    // A guess with room to spare: a full check of 20 GiB with etcd's few large files takes seconds.
    deadline: Duration::from_secs(1800),
    // Killed half-way it leaves half a repair.
    abandon: Abandon::Leave,
};

const UNDO: Program = Program {
    name: "e2undo",
    package: "e2fsprogs",
    deadline: Duration::from_secs(600),
    abandon: Abandon::Leave,
};

/// Nothing was wrong, or the journal was replayed (e2fsck(8), exit code).
const CLEAN: i32 = 0;
/// Everything was repaired.
const FIXED: i32 = 1;

/// It was asked for something that it does not know.
const USAGE: i32 = 16;

/// An undo file starts with a header and the superblock, of 1 KiB at least; one that is not larger was given
/// up before anything was overwritten.
const EMPTY_UNDO: u64 = 2048;

/// The most that is told of what the checker said, in bytes.
const OUTPUT_LIMIT: usize = 4096;

/// Below this much free space an undo file is taken to have met the end of it, in bytes.
const ROOM: u64 = 1 << 20;

/// Checks a device's ext4 filesystem; one that is mounted is `Clean` without a look.
pub(super) async fn check_filesystem(device: DeviceFacts) -> Result<FilesystemCheck, PortError> {
    // A task of its own: a check that nobody waits for any more must still be undone where it has to be.
    match tokio::spawn(check(device)).await {
        Ok(checked) => checked,
        Err(error) => Err(PortError::new(Condition::Io, "the check ended early").because(&error)),
    }
}

async fn check(device: DeviceFacts) -> Result<FilesystemCheck, PortError> {
    let expected = device.clone();
    let Some((image, superblock)) = blocking(move || open_unmounted(&expected)).await? else {
        return Ok(FilesystemCheck::Clean);
    };
    let path = &device.path;
    if let Superblock::Sound(filesystem) = &superblock {
        // Even with nothing to repair `-p` counts its own writes in the superblock; a volume that is refused for what
        // is inside must stay as it was. With a journal to replay, `-n` would judge the state without it.
        if !filesystem.needs_replay && is_clean(path).await? {
            return Ok(FilesystemCheck::Clean);
        }
    } else {
        // Without a superblock there is nothing to repair safely; this only asks for the checker's words.
        let output = CHECK.run(&["-n", "--", path]).await?;
        return damaged(path, &output, &Undone::Whole);
    }
    let scratch = blocking(Scratch::new).await?;
    let undo = scratch.file().to_string_lossy().into_owned();
    let output = match CHECK.run(&["-p", "-z", &undo, "--", path]).await {
        // It goes on, and may need the file.
        Err(error) if error.condition == Condition::TimedOut => {
            scratch.leave();
            return Err(error);
        }
        ran => ran?,
    };
    if output.status.code() == Some(USAGE) {
        return check_without_undo(path, image).await;
    }
    if let Some(repaired) = good_end(&output) {
        blocking(move || flush(&image)).await?;
        return Ok(repaired);
    }
    let had_room = has_room(&scratch);
    let undone = roll_back(path, &undo).await;
    blocking(move || flush(&image)).await?;
    if !had_room {
        let summary = format!("no room in {} to check {path}", scratch.folder().display());
        let error = PortError::new(Condition::NoSpace, summary);
        return Err(match undone {
            Undone::Whole => error,
            Undone::Not(why) => error.seen("not undone", why),
        });
    }
    damaged(path, &output, &undone)
}

/// Whether nothing is wrong, by a check that cannot write.
async fn is_clean(path: &str) -> Result<bool, PortError> {
    let output = CHECK.run(&["-n", "--", path]).await?;
    Ok(output.status.code() == Some(CLEAN))
}

/// Checks with an e2fsck before 1.43, which has no undo files (Debian 8, RHEL 7): there the safe repairs that
/// it made before it stopped stay made.
async fn check_without_undo(path: &str, image: Image) -> Result<FilesystemCheck, PortError> {
    let output = CHECK.run(&["-p", "--", path]).await?;
    blocking(move || flush(&image)).await?;
    if let Some(repaired) = good_end(&output) {
        return Ok(repaired);
    }
    let why = "this e2fsck has no undo files, install e2fsprogs 1.43 or later".to_owned();
    damaged(path, &output, &Undone::Not(why))
}

/// What the check came to, where it ended well.
fn good_end(output: &Output) -> Option<FilesystemCheck> {
    match output.status.code() {
        Some(CLEAN) => Some(FilesystemCheck::Clean),
        Some(FIXED) => Some(FilesystemCheck::Fixed {
            output: what_it_said(output),
        }),
        _ => None,
    }
}

fn damaged(path: &str, output: &Output, undone: &Undone) -> Result<FilesystemCheck, PortError> {
    let status = status_of(path, output)?;
    let said = what_it_said(output);
    let output = match undone {
        Undone::Whole => said,
        Undone::Not(why) => format!("what the check wrote was not undone: {why}\n{said}"),
    };
    Ok(FilesystemCheck::Damaged { status, output })
}

/// Opens the device and reads its superblock; `None` where it is mounted.
fn open_unmounted(device: &DeviceFacts) -> Result<Option<(Image, Superblock)>, PortError> {
    let path = &device.path;
    let image = open_device(device, Access::Shared)?;
    if activity_of(device)? == Activity::Mounted {
        return Ok(None);
    }
    // e2fsck would say the same with the status that it has for damage.
    open_device(device, Access::Alone).map_err(busy)?;
    let superblock = read_superblock(&image, Activity::Idle).map_err(|error| {
        PortError::new(Condition::Io, format!("read the filesystem of {path}")).because(&error)
    })?;
    Ok(Some((image, superblock)))
}

/// The exit status, of a program that was not killed.
fn status_of(path: &str, output: &Output) -> Result<i32, PortError> {
    output.status.code().ok_or_else(|| {
        let summary = format!("e2fsck of {path} was ended by a signal");
        PortError::new(Condition::Io, summary).seen("e2fsck", what_it_said(output))
    })
}

/// Whether the device is as it was.
enum Undone {
    Whole,
    Not(String),
}

async fn roll_back(path: &str, undo: &str) -> Undone {
    match tokio::fs::metadata(undo).await {
        Ok(facts) if facts.len() > EMPTY_UNDO => {}
        // Nothing was overwritten, for what is overwritten is kept first.
        _ => return Undone::Whole,
    }
    match UNDO.run(&["--", undo, path]).await {
        Ok(output) if output.status.success() => Undone::Whole,
        Ok(output) => Undone::Not(complaint(&output)),
        Err(error) => Undone::Not(error.to_string()),
    }
}

fn flush(image: &Image) -> Result<(), PortError> {
    image
        .flush()
        .map_err(|error| os_error("flush a checked device", &error))
}

fn has_room(scratch: &Scratch) -> bool {
    // Where it cannot be asked, the checker's own words must do.
    statvfs(scratch.folder()).map_or(true, |facts| {
        facts.blocks_available() * facts.fragment_size() >= ROOM
    })
}

/// What the checker said, without its words about the undo file, which is gone when they are read.
fn what_it_said(output: &Output) -> String {
    let said = [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat();
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !is_about_undo(line))
        .collect();
    let mut text = lines.join("\n");
    text.truncate(text.floor_char_boundary(OUTPUT_LIMIT));
    text
}

fn is_about_undo(line: &str) -> bool {
    line.contains("can be undone using the command") || line.trim_start().starts_with("e2undo ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn what_is_told_is_the_checkers_own_and_bounded() {
        let said = "Overwriting existing filesystem; this can be undone using the command:\n    \
                    e2undo /x/undo /dev/x\n\n/dev/x: clean\n";
        let output = |stdout: &[u8]| Output {
            status: ExitStatus::from_raw(0),
            stdout: stdout.to_vec(),
            stderr: b"e2fsck 1.47\n".to_vec(),
        };
        let text = what_it_said(&output(said.as_bytes()));
        assert_eq!(text, "/dev/x: clean\ne2fsck 1.47");
        let long = "ä".repeat(OUTPUT_LIMIT);
        assert_eq!(what_it_said(&output(long.as_bytes())).len(), OUTPUT_LIMIT);
    }

    #[test]
    fn a_repair_that_was_not_undone_is_told_with_the_damage() {
        let output = Output {
            status: ExitStatus::from_raw(4 << 8),
            stdout: b"RUN fsck MANUALLY\n".to_vec(),
            stderr: Vec::new(),
        };
        assert_eq!(good_end(&output), None);
        let not_undone = Undone::Not("the file is gone".to_owned());
        let wanted = FilesystemCheck::Damaged {
            status: 4,
            output: "what the check wrote was not undone: the file is gone\nRUN fsck MANUALLY"
                .to_owned(),
        };
        assert_eq!(damaged("/dev/x", &output, &not_undone), Ok(wanted));
        let killed = Output {
            status: ExitStatus::from_raw(9),
            ..output
        };
        let error = damaged("/dev/x", &killed, &Undone::Whole).unwrap_err();
        assert_eq!(error.condition, Condition::Io);
    }
}
