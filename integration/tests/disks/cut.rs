//! A power cut: what was written and flushed is there on the next boot, though only the journal has it.

use crate::node::Node;
use std::fs::File;
use std::io::Write;

/// The flag of a filesystem whose journal is not replayed (`INCOMPAT_RECOVER`).
const NEEDS_REPLAY: u8 = 0x4;

#[test]
fn a_volume_that_lost_power_while_mounted_is_replayed_and_mounted_again() {
    let Some(mut node) = Node::small() else {
        return;
    };
    node.boot_ready();
    let marker = node.marker(0);
    std::fs::create_dir(node.file(0, "data")).expect("it is mounted");
    let mut file = File::create(node.file(0, "data/kept")).expect("it is mounted");
    file.write_all(b"kept").expect("there is room");
    file.sync_all().expect("it is flushed");
    // What a cut would leave: the bytes behind the device, without those that an unmount writes.
    let copy = node.machine.scratch().join("copy");
    std::fs::copy(&node.volumes[0].backing, &copy).expect("there is room");
    drop(file);
    let seed = node.seed(0);
    node.reboot();
    node.unplug(0);
    node.volumes[0].backing = copy;
    assert_eq!(node.read(0, 1024 + 0x60, 1)[0] & NEEDS_REPLAY, NEEDS_REPLAY);
    node.plug(0, &[]);

    node.boot_ready();
    assert_eq!(node.wrong(), Vec::<String>::new());
    assert_eq!((node.seed(0), node.marker(0)), (seed, marker));
    let kept = std::fs::read_to_string(node.file(0, "data/kept"));
    assert_eq!(kept.expect("the file is there"), "kept");
}
