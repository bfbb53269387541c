//! A format that is stopped in its middle: it goes on after the agent is gone, or it ends there.

use crate::node::Node;
use crate::volume::MIB;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use quake_integration::agent::{LIMIT, Running};
use quake_integration::waiting::wait_until;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Large enough for a copy of the superblock that is far from the first.
const SIZE: u64 = 1024 * MIB;

/// Where the first copy of the superblock is, with blocks of 4 KiB.
const FIRST_COPY: u64 = 128 * MIB;

/// How long mkfs runs at a time: a few of its writes.
const STEP: Duration = Duration::from_micros(10);

/// How often a format is begun to have it stop where it should; the signal may come a few writes late.
const TRIES: u32 = 30;

/// A boot whose mkfs.ext4 of the first volume is stopped in its middle.
struct Stopped {
    mkfs: Pid,
    boot: Option<Running>,
    node: Node,
}

impl Stopped {
    /// Stops a format as soon as the volume shows what is wanted; `None` where it cannot be tried.
    fn when(has_come: Look) -> Option<Self> {
        for _ in 0..TRIES {
            let stopped = Self::before_its_begin()?;
            if stopped.advance(has_come) {
                return Some(stopped);
            }
        }
        unreachable!("a signal that is always late");
    }

    /// Stops the first mkfs before it begins; later ones are not held up.
    fn before_its_begin() -> Option<Self> {
        let node = Node::launch(SIZE)?;
        let file = node.machine.scratch().join("mkfs");
        let path = file.display();
        node.wrap_mkfs(&format!(
            "if ! [ -e '{path}' ]; then echo $$ > '{path}.new'; mv '{path}.new' '{path}'; kill -STOP $$; fi\n\
             exec \"$mkfs\" \"$@\""
        ));
        let boot = Some(Running::start(node.command(&[])));
        let mut mkfs = None;
        wait_until(LIMIT, || {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            mkfs = text.trim().parse().ok().map(Pid::from_raw);
            mkfs.is_some_and(is_stopped)
        });
        let mkfs = mkfs.expect("mkfs begins");
        Some(Self { mkfs, boot, node })
    }

    /// Lets it run, a few writes at a time; false when it has gone too far.
    fn advance(&self, has_come: Look) -> bool {
        let end = Instant::now() + LIMIT;
        while !has_come(&self.node) {
            assert!(Instant::now() < end, "mkfs does not get there");
            self.send(Signal::SIGCONT);
            let step = Instant::now();
            while step.elapsed() < STEP {
                std::hint::spin_loop();
            }
            self.send(Signal::SIGSTOP);
            let mkfs = self.mkfs;
            wait_until(LIMIT, || is_stopped(mkfs) || has_ended(mkfs));
            if has_ended(mkfs) {
                return false;
            }
        }
        // The superblock is what mkfs writes last.
        self.node.seed(0).is_none()
    }

    fn send(&self, signal: Signal) {
        // It may have ended; then that is seen.
        let _ = kill(self.mkfs, signal);
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.send(Signal::SIGKILL);
    }
}

/// The state letter of a process (proc(5), stat).
fn state(process: Pid) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

fn is_stopped(process: Pid) -> bool {
    state(process) == Some('T')
}

fn has_ended(process: Pid) -> bool {
    matches!(state(process), None | Some('Z' | 'X'))
}

fn has_bytes(node: &Node) -> bool {
    let length = 4 << 20;
    node.read(0, 0, length) != vec![0; length]
}

fn has_a_copy(node: &Node) -> bool {
    node.read(0, FIRST_COPY + 0x38, 2) == [0x53, 0xef]
}

/// Whether a node's first volume shows a state.
type Look = fn(&Node) -> bool;

/// States in the middle of a format: bytes without a signature, and copies of a superblock that is not there.
const MIDDLES: [(&str, Look); 2] = [
    ("bytes", has_bytes),
    ("copies of the superblock", has_a_copy),
];

#[test]
fn a_boot_waits_for_the_format_that_a_killed_one_left_behind_and_takes_it() {
    for (name, has_come) in MIDDLES {
        let Some(mut stopped) = Stopped::when(has_come) else {
            return;
        };
        let log = stopped.node.machine.scratch().join("formats");
        stopped.boot.take().expect("it runs").kill();
        stopped.node.log_formats();
        let mut second = Running::start(stopped.node.command(&[]));
        let waits = second.wait_for(r#""event":"waiting""#).expect("it waits");
        assert!(waits.contains("storage.volume-busy"), "{name}: {waits}");
        stopped.send(Signal::SIGCONT);
        let ended = second.end(LIMIT);
        assert_eq!(ended.status, 0, "{name}: {}", ended.text());
        assert_eq!(stopped.node.wrong(), Vec::<String>::new(), "{name}");
        let formats = std::fs::read_to_string(log).unwrap_or_default();
        let device = &stopped.node.volumes[0].device;
        assert!(!formats.contains(device.as_str()), "{name}: {formats}");
    }
}

/// A first boot that was cut off in its format: the agent first, which would only begin anew, then mkfs.
fn interrupted(has_come: Look) -> Option<Stopped> {
    let mut stopped = Stopped::when(has_come)?;
    stopped.boot.take().expect("it runs").kill();
    stopped.send(Signal::SIGKILL);
    let mkfs = stopped.mkfs;
    assert!(wait_until(LIMIT, || has_ended(mkfs)), "mkfs is killed");
    Some(stopped)
}

#[test]
fn a_format_that_dies_is_begun_anew_by_the_same_boot() {
    for (name, has_come) in MIDDLES {
        let Some(mut stopped) = Stopped::when(has_come) else {
            return;
        };
        stopped.send(Signal::SIGKILL);
        let ended = stopped.boot.take().expect("it runs").end(LIMIT);
        assert_eq!(ended.status, 0, "{name}: {}", ended.text());
        assert_eq!(stopped.node.wrong(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn an_interrupted_format_is_resumed_by_the_next_boot_that_has_its_record() {
    for (name, has_come) in MIDDLES {
        let Some(stopped) = interrupted(has_come) else {
            return;
        };
        stopped.node.boot_ready();
        assert_eq!(stopped.node.wrong(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn an_interrupted_format_without_its_record_is_refused_and_left_alone() {
    for (name, has_come) in MIDDLES {
        let Some(stopped) = interrupted(has_come) else {
            return;
        };
        let node = &stopped.node;
        std::fs::remove_file(node.journal()).expect("it is there");
        let code = match has_a_copy(node) {
            true => "storage.filesystem-unusable",
            false => "storage.data-unsigned",
        };
        let before = node.digest(0);
        let ended = node.boot();
        let fault: &Value = &ended.summary()["fault"];
        assert_eq!(
            (ended.status, &fault["code"]),
            (80, &json!(code)),
            "{name}: {fault}"
        );
        assert_eq!(node.digest(0), before, "{name}");
    }
}
