//! A first boot, and what it leaves for the next ones.

use crate::node::Node;
use crate::volume::MIB;
use quake_integration::agent::{LIMIT, Running};
use quake_integration::waiting::{pause, wait_until};
use serde_json::json;
use std::time::Duration;

/// How long after EC2 the kernel shows a device here.
const LATE: Duration = Duration::from_millis(300);

#[test]
fn blank_devices_that_come_late_are_formatted_once_and_kept_over_reboots() {
    let Some(mut node) = Node::unplugged(64 * MIB) else {
        return;
    };
    let running = Running::start(node.command(&[]));
    for index in 0..2 {
        let attached = wait_until(LIMIT, || {
            node.shown(index)["attachments"][0]["state"] == "attached"
        });
        assert!(attached, "{}", running.stdout());
        pause(LATE);
        node.plug(index, &[]);
    }
    let first = running.end(LIMIT);
    assert_eq!(first.status, 0, "{}", first.text());
    assert_eq!(node.wrong(), Vec::<String>::new());
    let seeds: Vec<_> = (0..2).map(|index| node.seed(index)).collect();
    std::fs::create_dir(node.file(0, "data")).expect("it is mounted");
    std::fs::write(node.file(0, "data/kept"), "kept").expect("it is mounted");
    let marker = node.marker(0);

    let second = node.boot_ready();
    assert_eq!(
        (&second["writes"], &second["changed"]),
        (&json!(0), &json!([])),
        "{second}"
    );
    for boot in 0..2 {
        node.reboot();
        node.boot_ready();
        assert_eq!(node.wrong(), Vec::<String>::new(), "boot {boot}");
        let now: Vec<_> = (0..2).map(|index| node.seed(index)).collect();
        assert_eq!(now, seeds);
        assert_eq!(node.marker(0), marker);
        let kept = std::fs::read_to_string(node.file(0, "data/kept"));
        assert_eq!(kept.expect("the file is there"), "kept");
    }
}
