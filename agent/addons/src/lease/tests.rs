use super::*;
use quake_model::addon::AddonStatus;

const KINDS: [LeaseKind; 2] = [LeaseKind::Lease, LeaseKind::ConfigMap];

fn now(seconds: u64) -> Moment {
    Moment {
        now: Timestamp(1_795_231_337_250 + seconds * 1000),
        running: Duration::from_secs(seconds),
    }
}

fn object(value: &Value) -> ClusterObject {
    let mut value = value.clone();
    value["metadata"]["resourceVersion"] = "7".into();
    ClusterObject::new(value).expect("an object")
}

fn taken(kind: LeaseKind, me: &str) -> ClusterObject {
    match kind.decide(None, me, None, now(0)) {
        (Decision::Create(value), None) => object(&value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lease_that_is_not_there_is_taken_and_then_renewed() {
    for kind in KINDS {
        let lease = taken(kind, "i-1");
        let (decision, _) = kind.decide(Some(&lease), "i-1", None, now(20));
        let Decision::Replace(renewed) = decision else {
            panic!("{decision:?}");
        };
        assert_eq!(
            renewed["metadata"]["resourceVersion"], "7",
            "only this one is replaced"
        );
        let renewed = kind.read(&object(&renewed));
        assert_eq!(renewed.acquired, "2026-11-21T03:22:17.250000Z");
        assert_eq!(renewed.renewed, "2026-11-21T03:22:37.250000Z");
        assert_eq!(renewed.transitions, 0);
    }
}

#[test]
fn another_waits_until_it_saw_no_renewal_for_the_whole_duration() {
    for kind in KINDS {
        let lease = taken(kind, "i-1");
        // The holder's clock is an hour behind: it does not matter.
        let (first, seen) = kind.decide(Some(&lease), "i-2", None, now(3600));
        let holder = "i-1".to_owned();
        assert_eq!(
            first,
            Decision::Wait {
                holder: holder.clone()
            }
        );
        let (still, seen) = kind.decide(Some(&lease), "i-2", seen.as_ref(), now(3659));
        assert_eq!(still, Decision::Wait { holder });
        let (over, _) = kind.decide(Some(&lease), "i-2", seen.as_ref(), now(3660));
        let Decision::Replace(mine) = over else {
            panic!("{over:?}");
        };
        let mine = kind.read(&object(&mine));
        assert_eq!((mine.holder.as_str(), mine.transitions), ("i-2", 1));
    }
}

#[test]
fn a_renewal_starts_the_wait_anew() {
    let kind = LeaseKind::Lease;
    let lease = taken(kind, "i-1");
    let (_, seen) = kind.decide(Some(&lease), "i-2", None, now(0));
    let (renewed, _) = kind.decide(Some(&lease), "i-1", None, now(50));
    let Decision::Replace(renewed) = renewed else {
        panic!("{renewed:?}");
    };
    let (decision, _) = kind.decide(Some(&object(&renewed)), "i-2", seen.as_ref(), now(61));
    assert!(matches!(decision, Decision::Wait { .. }), "{decision:?}");
}

#[test]
fn a_renewal_writes_the_duration_of_who_renews() {
    for kind in KINDS {
        let lease = taken(kind, "i-1");
        let shorter = Record {
            seconds: 15,
            ..kind.read(&lease)
        };
        let lease = object(&kind.object(Some(&lease), &shorter));
        let (decision, _) = kind.decide(Some(&lease), "i-1", None, now(5));
        let Decision::Replace(renewed) = decision else {
            panic!("{decision:?}");
        };
        assert_eq!(kind.read(&object(&renewed)).seconds, SECONDS);
    }
}

#[test]
fn a_clock_that_is_set_takes_no_lease_from_its_holder() {
    for kind in KINDS {
        let lease = taken(kind, "i-1");
        let (_, seen) = kind.decide(Some(&lease), "i-2", None, now(5));
        let set = |running| Moment {
            now: now(86_400).now,
            running: Duration::from_secs(running),
        };
        let (decision, _) = kind.decide(Some(&lease), "i-2", seen.as_ref(), set(64));
        assert!(matches!(decision, Decision::Wait { .. }), "{decision:?}");
        let (decision, _) = kind.decide(Some(&lease), "i-2", seen.as_ref(), set(65));
        assert!(matches!(decision, Decision::Replace(_)), "{decision:?}");
    }
}

#[test]
fn a_lease_that_was_given_back_is_free_at_once() {
    for kind in KINDS {
        let lease = taken(kind, "i-1");
        assert_eq!(kind.released(&lease, "i-2"), None, "not theirs to give");
        let freed = kind.released(&lease, "i-1").expect("it was held");
        let seconds = kind.read(&object(&freed)).seconds;
        assert_eq!(seconds, 1, "as client-go gives back");
        let (decision, _) = kind.decide(Some(&object(&freed)), "i-2", None, now(1));
        assert!(matches!(decision, Decision::Replace(_)), "{decision:?}");
    }
}

#[test]
fn a_lease_names_its_holder_until_it_is_given_back() {
    for kind in [LeaseKind::Lease, LeaseKind::ConfigMap] {
        let lease = taken(kind, "i-1");
        let holding = kind.holding(&lease).expect("it is held");
        assert_eq!(holding.holder, "i-1");
        assert!(holding.renewed.ends_with('Z'), "{holding:?}");
        let freed = kind.released(&lease, "i-1").expect("it is i-1's");
        assert_eq!(kind.holding(&object(&freed)), None);
    }
}

#[test]
fn statuses_of_the_holder_are_read_by_the_others() {
    for kind in KINDS {
        let mut lease = taken(kind, "i-1").value().clone();
        let addons = vec![AddonStatus {
            name: "coredns.addons.k8s.io".to_owned(),
            ..AddonStatus::default()
        }];
        write_statuses(&mut lease, &addons);
        let lease = object(&lease);
        assert_eq!(read_statuses(&lease), addons);
        assert_eq!(kind.read(&lease).holder, "i-1");
    }
}
