//! Looks inside a filesystem without changing one byte of its device.
//!
//! A read-only mount alone does not keep that promise: ext4 deletes orphaned inodes even with `ro,noload`,
//! and writes its superblock when it meets an error, unless the device itself is read-only. So what is
//! mounted is a read-only loop device over the device. The mount is made in a mount namespace of one thread,
//! and the kernel takes both away when they are not used any more, by whatever end of this process.
//!
//! What only the journal holds is not seen: `noload` leaves it unread. After a power cut the last seconds
//! before it may be missing, in part even: names whose inodes are not written read as damage.

use super::attempt::os_error;
use super::ext::{Activity, Superblock, read_superblock};
use super::folder::Folder;
use super::identity::{Access, open_device};
use super::inside::read_inside;
use super::mounts::open_mounted;
use super::program::{Abandon, Program, complaint};
use super::scratch::Scratch;
use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use quake_model::facts::{DeviceFacts, InsideFacts};
use quake_model::ports::{Condition, PortError};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Sets up a loop device that goes with its mount, which mount(2) cannot.
const MOUNT: Program = Program {
    name: "mount",
    package: "mount (util-linux)",
    // A guess with room to spare: nothing is replayed or checked.
    deadline: Duration::from_secs(60),
    abandon: Abandon::Kill,
};

const OPTIONS: &str = "loop,ro,noload,nodev,nosuid,noexec";

/// Looks inside a device's ext4 filesystem: where it is mounted if it is, else by a mount of its own.
pub(super) async fn look_inside(device: DeviceFacts) -> Result<InsideFacts, PortError> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    // A thread of its own, as a mount namespace is a thread's, and one of the runtime's would keep it.
    let started = std::thread::Builder::new()
        .name("look-inside".to_owned())
        .spawn(move || {
            // Nobody waits any more when it cannot be sent.
            let _ = sender.send(look(&device));
        });
    started.map_err(|error| os_error("start a thread", &error))?;
    receiver
        .await
        .map_err(|_| PortError::new(Condition::Io, "the look ended early"))?
}

fn look(device: &DeviceFacts) -> Result<InsideFacts, PortError> {
    // Held open until the look is over, so that the path stays this device's.
    let image = open_device(device, Access::Shared)?;
    let path = &device.path;
    if let Some(root) = open_mounted(device)? {
        return read_inside(&root).map_err(|error| failed_read(path, &error));
    }
    let filesystem = match read_superblock(&image, Activity::Idle) {
        Ok(Superblock::Sound(filesystem)) => filesystem,
        Ok(_) => {
            let summary = format!("{path} has no sound ext4 superblock");
            return Err(PortError::new(Condition::Malformed, summary));
        }
        Err(error) => return Err(failed_read(path, &error)),
    };
    look_apart(path).map_err(|error| {
        if filesystem.needs_replay {
            // Then what looks like damage may be none.
            error.seen("journal", "not replayed, which a check or a mount would do")
        } else {
            error
        }
    })
}

fn look_apart(path: &str) -> Result<InsideFacts, PortError> {
    unshare(CloneFlags::CLONE_NEWNS)
        .map_err(|errno| os_error("make a mount namespace", &errno.into()))?;
    // The new namespace tells the old one of its mounts until it is private or a slave; as a slave it still
    // hears what the old one unmounts, and so keeps no other device busy.
    let flags = MsFlags::MS_REC | MsFlags::MS_SLAVE;
    mount(None::<&str>, "/", None::<&str>, flags, None::<&str>).map_err(|errno| {
        os_error(
            "take the mount namespace apart from the others",
            &errno.into(),
        )
    })?;
    let scratch = Scratch::new()?;
    mount_read_only(path, scratch.folder())?;
    let read = Folder::open(scratch.folder()).and_then(|root| read_inside(&root));
    // At once and not with the thread: the next attempt may want the device alone.
    umount2(scratch.folder(), MntFlags::empty()).map_err(|errno| {
        let summary = format!("unmount {path} after the look inside");
        PortError {
            condition: Condition::Io,
            ..os_error(summary, &errno.into())
        }
    })?;
    read.map_err(|error| failed_read(path, &error))
}

/// Runs `mount` as a child of this very thread, whose namespace it then has.
fn mount_read_only(path: &str, target: &Path) -> Result<(), PortError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| os_error("start a runtime", &error))?;
    let target = target.to_string_lossy();
    let arguments = ["-n", "-t", "ext4", "-o", OPTIONS, "--", path, &target];
    let output = runtime.block_on(MOUNT.run(&arguments))?;
    if output.status.success() {
        return Ok(());
    }
    let said = complaint(&output);
    let summary = format!("mount {path} read-only for a look inside");
    Err(PortError::new(refusal_of(&said), summary).seen("mount", said))
}

/// What `mount` says has no status of its own for each of these (mount(8): 32 is any failure).
fn refusal_of(said: &str) -> Condition {
    let said = said.to_lowercase();
    if said.contains("loop") && !said.contains("superblock") {
        Condition::Io
    } else if ["permission denied", "not permitted", "superuser"]
        .iter()
        .any(|refusal| said.contains(refusal))
    {
        Condition::Denied
    } else {
        Condition::Malformed
    }
}

fn failed_read(path: &str, error: &io::Error) -> PortError {
    let condition = match error.raw_os_error() {
        Some(libc::EUCLEAN | libc::EBADMSG) => Condition::Malformed,
        _ => Condition::Io,
    };
    PortError {
        condition,
        ..os_error(format!("look inside {path}"), error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filesystem_that_is_refused_is_malformed_and_a_missing_loop_device_is_not() {
        let refused =
            "mount: /x: wrong fs type, bad option, bad superblock on /dev/loop0, missing codepage";
        assert_eq!(refusal_of(refused), Condition::Malformed);
        let no_loop = "mount: /x: failed to setup loop device for /dev/nvme1n1.";
        assert_eq!(refusal_of(no_loop), Condition::Io);
        for denied in [
            "mount: /x: must be superuser to use mount.",
            // Of a container without the nodes of loop devices: nothing is wrong with the bytes.
            "mount: /x: mount failed: Operation not permitted.",
        ] {
            assert_eq!(refusal_of(denied), Condition::Denied, "{denied}");
        }
    }
}
