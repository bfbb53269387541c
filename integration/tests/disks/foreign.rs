//! Devices that are not ours to touch: the boot ends with a refusal that names them, and every byte is as it was.

use crate::node::Node;
use crate::volume::{MIB, Volume};
use quake_integration::node::CLUSTER;
use quake_integration::random::Random;
use quake_integration::skip::{SetUpError, unless_missing};
use quake_integration::tree::sha256;
use serde_json::{Value, json};
use std::process::Command;

/// A content, the bytes it needs at least, and the code of its refusal.
struct Case {
    name: &'static str,
    size: u64,
    code: &'static str,
    put: fn(&Volume) -> Result<(), SetUpError>,
}

impl Case {
    const fn new(
        name: &'static str,
        code: &'static str,
        put: fn(&Volume) -> Result<(), SetUpError>,
    ) -> Self {
        Self {
            name,
            size: 64 * MIB,
            code,
            put,
        }
    }
}

/// Runs a program on a volume's file; where it is not installed, these bytes are put instead.
fn with(
    volume: &Volume,
    program: &str,
    arguments: &[&str],
    instead: &[(u64, &[u8])],
) -> Result<(), SetUpError> {
    let Some(path) = quake_integration::machine::program(program) else {
        if instead.is_empty() {
            let what = format!("{program} is not installed");
            return Err(SetUpError::Missing(what));
        }
        instead
            .iter()
            .for_each(|(at, bytes)| volume.put(*at, bytes));
        return Ok(());
    };
    let mut command = Command::new(path);
    command.args(arguments).arg(&volume.backing);
    let output = command.output().map_err(|error| error.to_string())?;
    assert!(output.status.success(), "{command:?}: {output:?}");
    Ok(())
}

/// Makes an ext4 filesystem with one file in it.
fn ext4_with(volume: &Volume, path: &str, text: &str) -> Result<(), SetUpError> {
    let folder = volume.backing.with_extension("files");
    let file = folder.join(path);
    std::fs::create_dir_all(file.parent().expect("it is in the directory"))
        .and_then(|()| std::fs::write(file, text))
        .map_err(|error| error.to_string())?;
    let folder = folder.to_string_lossy();
    with(volume, "mkfs.ext4", &["-q", "-d", &folder], &[])
}

/// Boots and expects this refusal of the first volume, which must stay bit for bit as it was.
fn expect_refusal(node: &Node, name: &str, status: i32, code: &str) -> Value {
    let before = node.digest(0);
    let ended = node.boot();
    let fault = ended.summary()["fault"].clone();
    assert_eq!(
        (ended.status, &fault["code"]),
        (status, &json!(code)),
        "{name}: {fault}"
    );
    let Volume { id, device, .. } = &node.volumes[0];
    let text = fault.to_string();
    assert!(text.contains(id), "{name}: {id} in {text}");
    assert!(text.contains(device), "{name}: {device} in {text}");
    assert_eq!(node.digest(0), before, "{name}");
    fault
}

fn refuse(cases: &[Case]) {
    for case in cases {
        let Some(mut node) = Node::unplugged(case.size) else {
            return;
        };
        println!("to be refused: {}", case.name);
        if unless_missing((case.put)(&node.volumes[0])).is_none() {
            continue;
        }
        (0..2).for_each(|index| node.plug(index, &[]));
        expect_refusal(&node, case.name, 80, case.code);
        println!("refused: {}", case.name);
    }
}

const NOT_BLANK: &str = "storage.device-not-blank";

#[test]
fn filesystems_of_other_kinds_are_left_alone() {
    refuse(&[
        Case {
            // The least that mkfs.xfs takes.
            size: 320 * MIB,
            ..Case::new("xfs", NOT_BLANK, |volume| {
                with(volume, "mkfs.xfs", &["-q"], &[(0, b"XFSB")])
            })
        },
        Case {
            size: 160 * MIB,
            ..Case::new("btrfs", NOT_BLANK, |volume| {
                with(volume, "mkfs.btrfs", &["-q"], &[(0x10040, b"_BHRfS_M")])
            })
        },
        Case::new("swap", NOT_BLANK, |volume| {
            with(volume, "mkswap", &[], &[(4086, b"SWAPSPACE2")])
        }),
    ]);
}

#[test]
fn partition_tables_volume_groups_and_crypt_headers_are_left_alone() {
    refuse(&[
        Case::new("GPT", NOT_BLANK, |volume| {
            let script = volume.backing.with_extension("table");
            std::fs::write(&script, "label: gpt\n,\n").map_err(|error| error.to_string())?;
            let table = format!("sfdisk -q \"$1\" < '{}'", script.display());
            with(volume, "sh", &["-c", &table, "sh"], &[])
        }),
        Case::new("LVM", NOT_BLANK, |volume| {
            volume.put(512, b"LABELONE\x01\0\0\0\0\0\0\0");
            volume.put(536, b"LVM2 001");
            Ok(())
        }),
        Case::new("LUKS", NOT_BLANK, |volume| {
            volume.put(0, b"LUKS\xba\xbe\x00\x02");
            Ok(())
        }),
    ]);
}

#[test]
fn bytes_that_nobody_signed_are_left_alone() {
    let code = "storage.data-unsigned";
    refuse(&[
        Case::new("random bytes", code, |volume| {
            let mut random = Random::seeded(1);
            let mut draw = || random.next_number().to_le_bytes();
            // Without the two bytes that would be the mark of a partition table.
            let bytes: Vec<u8> = (0..8192).flat_map(|_| draw()).collect();
            volume.put(1 << 20, &bytes);
            Ok(())
        }),
        Case::new("one byte far inside", code, |volume| {
            volume.put(32 * MIB + 100, &[1]);
            Ok(())
        }),
        Case::new("one byte at the end", code, |volume| {
            volume.put(64 * MIB - 1, &[1]);
            Ok(())
        }),
    ]);
}

#[test]
fn ext4_filesystems_of_others_are_left_alone() {
    refuse(&[
        Case::new("an empty one", "storage.filesystem-unproven", |volume| {
            with(volume, "mkfs.ext4", &["-q"], &[])
        }),
        Case::new("one with files", "storage.marker-missing", |volume| {
            ext4_with(volume, "letter", "dear")
        }),
        Case::new("a damaged one", "storage.filesystem-unusable", |volume| {
            with(volume, "mkfs.ext4", &["-q"], &[])?;
            // The number of its blocks.
            volume.put(1024 + 4, &[0xff; 4]);
            Ok(())
        }),
    ]);
}

/// A node that was ready and is about to boot again, with free volumes.
fn ready() -> Option<Node> {
    let mut node = Node::small()?;
    node.boot_ready();
    node.reboot();
    (0..2).for_each(|index| node.unplug(index));
    Some(node)
}

/// Boots again with the volumes as they are now.
fn expect_refusal_again(mut node: Node, name: &str, code: &str) -> Value {
    (0..2).for_each(|index| node.plug(index, &[]));
    expect_refusal(&node, name, 80, code)
}

#[test]
fn a_copy_of_our_volume_under_another_id_is_left_alone() {
    let Some(mut node) = ready() else { return };
    let id = "vol-0c0b1ed0c0b1ed000";
    let region = node.region().to_string().replace(&node.volumes[0].id, id);
    node.write_region(&serde_json::from_str(&region).expect("it is JSON"));
    let copy = node.machine.scratch().join("copy");
    std::fs::copy(&node.volumes[0].backing, &copy).expect("there is room");
    id.clone_into(&mut node.volumes[0].id);
    node.volumes[0].backing = copy;
    let fault = expect_refusal_again(node, "a copy", "storage.volume-cloned");
    assert!(fault.to_string().contains("E_CLONED_VOLUME"), "{fault}");
}

#[test]
fn another_members_data_is_left_alone() {
    let Some(mut node) = ready() else { return };
    node.volumes[0].backing = node.machine.scratch().join("copy");
    std::fs::copy(&node.volumes[1].backing, &node.volumes[0].backing).expect("there is room");
    expect_refusal_again(node, "another slot", "storage.foreign-member-data");
}

/// The marker of a volume in another life of the cluster.
fn of_another_life(volume: &Volume) -> String {
    let (slot, id) = (&volume.slot, &volume.id);
    let text = format!(
        r#"{{"version":1,"cluster":"{CLUSTER}","cluster_uid":"another","slot":"{slot}","volume_id":"{id}","written":"2026-01-01T00:00:00Z","agent":"0.1.0","instance_id":"i-0a"}}"#
    );
    let digest = sha256(text.as_bytes());
    text.replace('}', &format!(r#","sha256":"{digest}"}}"#))
}

#[test]
fn the_data_of_another_life_of_the_cluster_is_left_alone() {
    let code = "storage.foreign-cluster-data";
    refuse(&[Case::new("another life", code, |volume| {
        ext4_with(volume, ".quake-agent/volume.json", &of_another_life(volume))
    })]);
}

#[test]
fn our_own_filesystem_with_files_and_no_marker_is_left_alone() {
    let Some(mut node) = Node::small() else {
        return;
    };
    node.boot_ready();
    std::fs::write(node.file(0, "letter"), "dear").expect("it is mounted");
    std::fs::remove_file(node.file(0, ".quake-agent/volume.json")).expect("it is there");
    node.reboot();
    (0..2).for_each(|index| node.unplug(index));
    expect_refusal_again(node, "no marker", "storage.marker-missing");
}

#[test]
fn our_own_filesystem_without_its_superblock_is_left_alone() {
    let Some(node) = ready() else { return };
    node.volumes[0].put(1024, &[0; 1024]);
    expect_refusal_again(node, "no superblock", "storage.filesystem-unusable");
}

#[test]
fn a_read_only_device_is_neither_formatted_nor_mounted() {
    let Some(mut node) = Node::unplugged(64 * MIB) else {
        return;
    };
    node.plug(0, &["--read-only"]);
    node.plug(1, &[]);
    expect_refusal(&node, "blank", 77, "storage.format-failed");

    let Some(mut node) = ready() else { return };
    node.plug(0, &["--read-only"]);
    node.plug(1, &[]);
    expect_refusal(&node, "ours", 77, "storage.check-failed");
}
