//! Where the time of a start went: the machine's parts and the boot's phases, steps, waits and downloads on one axis, and
//! the chain of them that the boot's end waited for.
//!
//! Everything is in milliseconds from the boot's first event; what was before it is negative. It is pure: the record and
//! its events are one input, what systemd, the kernel and cloud-init say is the other, and each of those may be absent.

mod boot;
mod critical;
mod machine;
mod stages;

pub use boot::{BootSpans, PhaseSpan, StepSpan, WaitSpan};
pub use critical::{Link, Part, critical_path, slack_ms};
pub use machine::{
    Absent, Clock, Layer, Machine, MachineSources, MachineSpan, Source, UNITS, join_machine,
};

use quake_model::event::Envelope;
use quake_model::record::Record;

/// Everything that is known of where the time went.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Phases, steps, waits and downloads of the boot.
    pub boot: BootSpans,
    /// What was before and around it.
    pub machine: Machine,
    /// What the end waited for, in the order of time; the machine's parts first.
    pub critical: Vec<Link>,
}

/// Puts a boot beside its machine. Without events its waits are not known.
pub fn timeline(record: &Record, events: &[Envelope], sources: &MachineSources) -> Timeline {
    let boot = BootSpans::new(record, events);
    let machine = join_machine(record, sources);
    let mut critical = machine.chain();
    critical.extend(critical_path(&boot));
    Timeline {
        boot,
        machine,
        critical,
    }
}
