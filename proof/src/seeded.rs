//! The rules that are switched off, one at a time, and what comes of each: the explorer must notice.

use crate::config::{Config, Duplicate, Faults, Judged, Variant};
use crate::invariants::Violation;
use crate::sizes::{CALLS, Case, REBOOT};
use Judged::{All, Data, Liveness, Safety, SafetyButCalls};
use Violation::{
    BundleSplit, MemberRunsTwice, Stuck, TwoCalls, TwoMembersHeld, TwoMembersMounted, WrongDevice,
};

/// States after which such a case is cut; none comes near.
const MOST_STATES: usize = 4_000_000;

/// Who is believed about a device that the kernel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Ec2,
    Kernel,
}

type Row = (Variant, First, Judged, Option<Violation>);

/// Two instances, two members of two clusters, reads stale by two versions, a crash and a lost reply.
const ROWS: &[Row] = &[
    (Variant::NoIntent, First::Ec2, Safety, Some(TwoMembersHeld)),
    (Variant::NoIntent, First::Ec2, Data, Some(TwoMembersMounted)),
    (Variant::NoIntent, First::Kernel, Data, None),
    (Variant::NoOrder, First::Ec2, Safety, Some(BundleSplit)),
    (Variant::NoOrder, First::Ec2, Data, None),
    (Variant::SecondChoice, First::Ec2, Safety, Some(TwoCalls)),
    (
        Variant::SecondChoice,
        First::Ec2,
        SafetyButCalls,
        Some(TwoMembersHeld),
    ),
    (
        Variant::SecondChoice,
        First::Ec2,
        Data,
        Some(TwoMembersMounted),
    ),
    (Variant::SecondChoice, First::Kernel, Data, None),
    (
        Variant::ClearOnOneView,
        First::Ec2,
        Safety,
        Some(TwoMembersHeld),
    ),
    (
        Variant::ClearOnOneView,
        First::Ec2,
        Data,
        Some(TwoMembersMounted),
    ),
    (Variant::ClearOnOneView, First::Kernel, Data, None),
    // The kernel names devices in the order in which they came, which is that of the slots, until a reboot.
    (Variant::MountByName, First::Ec2, All, None),
    (Variant::TwoAttaches, First::Ec2, Safety, Some(BundleSplit)),
    (Variant::TwoAttaches, First::Ec2, Data, None),
    (
        Variant::ForgetOnMount,
        First::Ec2,
        Safety,
        Some(TwoMembersHeld),
    ),
    (
        Variant::ForgetOnMount,
        First::Ec2,
        Data,
        Some(TwoMembersMounted),
    ),
    (Variant::ForgetOnMount, First::Kernel, All, None),
    (Variant::AsWritten, First::Ec2, Safety, Some(TwoMembersHeld)),
    (
        Variant::AsWritten,
        First::Ec2,
        Data,
        Some(TwoMembersMounted),
    ),
    (Variant::AsWritten, First::Kernel, Data, None),
];

/// Each rule switched off.
pub fn seeded() -> Vec<Case> {
    let base = Config::new(2, 2, 2).stale(2).faults(CALLS);
    let mut cases: Vec<Case> = ROWS.iter().map(|row| case(&base, row)).collect();
    let by_name = (Variant::MountByName, First::Ec2, Safety, Some(WrongDevice));
    cases.push(case(&base.clone().faults(REBOOT), &by_name));
    let as_written = Variant::AsWritten;
    let stuck = (as_written, First::Ec2, Liveness, Some(Stuck));
    let no_fault = base.stale(1).faults(Faults::default());
    cases.push(case(&no_fault, &stuck));
    let one_member = Config::new(2, 1, 2).stale(2).faults(CALLS);
    cases.push(case(&one_member, &(as_written, First::Ec2, All, None)));
    cases
}

fn case(base: &Config, row: &Row) -> Case {
    let (variant, first, judged, expected) = *row;
    let config = base.clone().variant(variant).judged(judged);
    let config = match first {
        First::Ec2 => config,
        First::Kernel => config.serials_first(),
    };
    Case {
        config: config.described(),
        most_states: MOST_STATES,
        expected,
    }
}

/// What no rule of the protocol prevents.
pub fn limits() -> Vec<Case> {
    let config = Config::new(2, 1, 2).stale(3);
    let config = config.duplicate(Duplicate::BothLate).judged(Data);
    vec![Case {
        config: config.described(),
        most_states: MOST_STATES,
        expected: Some(MemberRunsTwice),
    }]
}
