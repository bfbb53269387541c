//! Of several open decisions, which one a fault names.

use super::*;

#[test]
fn a_refusal_is_named_before_a_wait_and_what_is_ours_never() {
    let ours = (Action::Adopt, Rule::Surplus);
    let (wait, refused) = (
        (Action::Wait, Rule::VolumeCreating),
        (Action::Refuse, Rule::NotEncrypted),
    );
    let behind = (Action::Wait, Rule::OrderedBehindMain);
    for (first, second, named) in [
        (ours, wait, "vol-1 of events/a is being created"),
        (ours, refused, "vol-1 of events/a is not encrypted"),
        (wait, refused, "vol-1 of events/a is not encrypted"),
        (refused, wait, "vol-1 of main/a is not encrypted"),
        (wait, wait, "vol-1 of main/a is being created"),
        (wait, behind, "vol-1 of main/a is being created"),
        (behind, wait, "vol-1 of events/a is being created"),
    ] {
        let of = |etcd, (action, rule)| (Slot::new(etcd, "a"), decided(action, rule, Detail::None));
        let decision = Decision {
            member: Some("a".to_owned()),
            slots: vec![of("main", first), of("events", second)],
            node: None,
            verdicts: Vec::new(),
        };
        let fault = decision_fault(&empty(), &decision).expect("it does not go on");
        assert_eq!(fault.summary, named, "{first:?} {second:?}");
    }
}
