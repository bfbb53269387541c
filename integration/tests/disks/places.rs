//! Volumes that grew, and mount points that are taken.

use crate::node::Node;
use crate::volume::MIB;
use quake_integration::skip::skipped;
use serde_json::json;
use std::fs::File;

const LARGE: u64 = 512 * MIB;

/// The size of a volume's filesystem, from its superblock.
fn size(node: &Node) -> u64 {
    let number = |offset: u64| {
        let bytes = node.read(0, 1024 + offset, 4);
        u64::from(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    };
    number(4) * (1024 << number(0x18))
}

/// Whether this process has CAP_SYS_RESOURCE, bit 24 (capabilities(7)); containers are run without.
fn may_grow() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("facts");
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = u64::from_str_radix(effective.expect("a line").trim(), 16).expect("a number");
    bits & (1 << 24) != 0
}

#[test]
fn a_filesystem_grows_with_its_volume_and_the_boot_goes_on_where_it_may_not() {
    let Some(node) = Node::small() else { return };
    node.boot_ready();
    assert_eq!(size(&node), 64 * MIB);
    let volume = &node.volumes[0];
    let backing = File::options().write(true).open(&volume.backing);
    backing
        .and_then(|file| file.set_len(LARGE))
        .expect("the file is ours");
    node.machine.run("losetup", &["-c", &volume.device]);
    let ended = node.boot();
    assert_eq!(ended.status, 0, "{}", ended.text());
    assert_eq!(node.wrong(), Vec::<String>::new());
    if may_grow() {
        assert_eq!(size(&node), LARGE);
        assert_eq!(node.boot_ready()["writes"], 0);
        return;
    }
    skipped("growing needs CAP_SYS_RESOURCE");
    let mut warnings = ended
        .stdout
        .lines()
        .filter(|line| line.contains(r#""event":"warning""#));
    let warning = warnings.find(|line| line.contains("storage.grow-failed"));
    let warning = warning.expect("it is said");
    assert!(warning.contains(&volume.id), "{warning}");
    assert_eq!(size(&node), 64 * MIB);
}

#[test]
fn a_mount_point_that_something_else_has_is_refused_until_it_is_free() {
    let Some(node) = Node::small() else { return };
    let place = node.volumes[0].mount_point();
    node.machine.run("mkdir", &["-p", &place]);
    node.machine.run("mount", &["-t", "tmpfs", "other", &place]);
    let ended = node.boot();
    let fault = ended.summary()["fault"].clone();
    assert_eq!(
        (ended.status, &fault["code"]),
        (80, &json!("storage.mount-occupied")),
        "{fault}"
    );
    let text = fault.to_string();
    assert!(text.contains(&node.volumes[0].id), "{text}");
    assert!(text.contains("other"), "{text}");
    node.machine.run("umount", &[&place]);
    node.boot_ready();
    assert_eq!(node.wrong(), Vec::<String>::new());
}
