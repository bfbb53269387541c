//! The table of reasons, one row for each, and the laws over generated situations.

use super::*;
use proptest::prelude::*;
use quake_model::repair::SkipReason as Reason;

/// Ten nodes in two zones, of which `i-00` is unhealthy and would be replaced.
fn replaceable() -> Situation {
    let member = |index: usize| Member {
        instance: format!("i-{index:02}"),
        zone: ["a", "b"][index % 2].to_owned(),
        is_there: true,
    };
    let lasting = BTreeSet::from([Symptom::Runtime]);
    Situation {
        instance: "i-00".to_owned(),
        ready_for: Duration::from_secs(3600),
        since: Timestamp(1000),
        symptoms: lasting.clone(),
        lasting,
        shared: BTreeSet::new(),
        requested: false,
        announced_for: Some(ANNOUNCED_FOR),
        population: Some(Population {
            desired: 10,
            members: (0..10).map(member).collect(),
            suspended: BTreeSet::new(),
        }),
        peers: Some(Vec::new()),
        repairs: Vec::new(),
        etcd: None,
    }
}

fn peer(index: usize, since: u64, symptom: Symptom, asks: bool) -> Peer {
    Peer {
        instance: format!("i-{index:02}"),
        since: Timestamp(since),
        symptoms: BTreeSet::from([symptom]),
        asks,
    }
}

fn decided(change: impl FnOnce(&mut Situation)) -> RepairDecision {
    let mut situation = replaceable();
    change(&mut situation);
    decide(RepairShare::default(), &situation)
}

fn population(situation: &mut Situation) -> &mut Population {
    situation.population.as_mut().expect("it is seen")
}

type Change = fn(&mut Situation);

/// What is changed of a node that would be replaced, and why it is not any more.
const SKIPPED: &[(Reason, Change)] = &[
    (Reason::NotLasting, |it| it.lasting.clear()),
    (Reason::JustReady, |it| {
        it.ready_for = JUST_READY - Duration::from_secs(1);
    }),
    (Reason::AlreadyRequested, |it| it.requested = true),
    (Reason::GroupUnseen, |it| it.population = None),
    (Reason::PeersUnseen, |it| it.peers = None),
    (Reason::GroupSuspended, |it| {
        population(it)
            .suspended
            .insert("ReplaceUnhealthy".to_owned());
    }),
    (Reason::GroupSuspended, |it| {
        population(it).suspended.insert("Launch".to_owned());
    }),
    (Reason::NotInService, |it| {
        population(it).members[0].is_there = false;
    }),
    (Reason::NotInService, |it| {
        population(it).members.remove(0);
    }),
    (Reason::GroupTooSmall, |it| {
        population(it).members.truncate(1);
        population(it).desired = 1;
    }),
    (Reason::SharedSymptom, |it| {
        let alike = |index| peer(index, 5000, Symptom::Runtime, false);
        it.peers = Some([1, 3].map(alike).into());
    }),
    (Reason::ManyUnhealthy, |it| {
        let other = |index| peer(index, 5000, Symptom::DiskFull, false);
        it.peers = Some([1, 3, 5].map(other).into());
    }),
    (Reason::ZoneUnhealthy, |it| {
        // Two of the three in its zone.
        population(it).members.truncate(6);
        population(it).desired = 6;
        it.peers = Some(vec![peer(2, 5000, Symptom::DiskFull, false)]);
    }),
    (Reason::Recurring, |it| {
        it.repairs = vec![BTreeSet::from([Symptom::Runtime]); 3];
    }),
    (Reason::Quorum, |it| {
        it.etcd = Some(Etcd {
            members: 3,
            healthy_others: 1,
        });
    }),
    (Reason::Quorum, |it| {
        it.etcd = Some(Etcd {
            members: 1,
            healthy_others: 0,
        });
    }),
    (Reason::Quorum, |it| {
        it.etcd = Some(Etcd {
            members: 0,
            healthy_others: 2,
        });
    }),
    (Reason::ShareUsed, |it| {
        population(it).members[3].is_there = false;
    }),
    (Reason::ShareUsed, |it| {
        population(it).members.remove(3);
    }),
    (Reason::ShareUsed, |it| {
        it.peers = Some(vec![peer(1, 999, Symptom::Clock, true)]);
    }),
    (Reason::Announcing, |it| it.announced_for = None),
    (Reason::Announcing, |it| {
        it.announced_for = Some(ANNOUNCED_FOR - Duration::from_secs(1));
    }),
];

#[test]
fn each_reason_to_skip_is_decided_where_it_applies() {
    for (row, (reason, change)) in SKIPPED.iter().enumerate() {
        assert_eq!(decided(change), RepairDecision::skip(*reason), "row {row}");
    }
    let covered: BTreeSet<Reason> = SKIPPED.iter().map(|(reason, _)| *reason).collect();
    let missing: Vec<_> = Reason::ALL
        .iter()
        .filter(|one| !covered.contains(one))
        .collect();
    assert_eq!(missing, [&Reason::SharedCause], "it has a test of its own");
}

#[test]
fn a_node_with_a_lasting_symptom_of_its_own_is_replaced() {
    assert_eq!(decided(|_| {}), RepairDecision::Replace);
    assert_eq!(decided(|it| it.symptoms.clear()), RepairDecision::Healthy);
    let table: &[Change] = &[
        |it| it.peers = Some(vec![peer(1, 999, Symptom::Clock, false)]),
        |it| it.peers = Some(vec![peer(1, 1001, Symptom::Clock, true)]),
        |it| it.peers = Some(vec![peer(77, 999, Symptom::Runtime, true)]),
        |it| it.repairs = vec![BTreeSet::from([Symptom::Clock]); 9],
        |it| {
            population(it).suspended.insert("AZRebalance".to_owned());
        },
        |it| {
            it.etcd = Some(Etcd {
                members: 3,
                healthy_others: 2,
            });
        },
        |it| {
            it.etcd = Some(Etcd {
                members: 5,
                healthy_others: 3,
            });
        },
    ];
    for (row, change) in table.iter().enumerate() {
        assert_eq!(decided(change), RepairDecision::Replace, "row {row}");
    }
}

#[test]
fn every_shared_cause_skips_and_is_named() {
    for cause in SharedCause::ALL {
        let skipped = decided(|it| {
            it.shared.insert(*cause);
        });
        assert_eq!(skipped, RepairDecision::shared(*cause));
    }
}

fn symptoms() -> impl Strategy<Value = BTreeSet<Symptom>> {
    prop::collection::btree_set(prop::sample::select(Symptom::ALL), 0..4)
}

fn peers(most: usize) -> impl Strategy<Value = Vec<Peer>> {
    let one = (0..most, 0..3000_u64, symptoms(), any::<bool>());
    let one = one.prop_map(|(index, since, symptoms, asks)| Peer {
        instance: format!("i-{index:02}"),
        since: Timestamp(since),
        symptoms,
        asks,
    });
    prop::collection::vec(one, 0..6)
}

prop_compose! {
    fn members(size: usize)(there in prop::collection::vec(prop::bool::weighted(0.9), size), zones in 1..4_usize) -> Vec<Member> {
        let member = |(index, is_there): (usize, bool)| Member {
            instance: format!("i-{index:02}"),
            zone: format!("z{}", index % zones),
            is_there,
        };
        there.into_iter().enumerate().map(member).collect()
    }
}

prop_compose! {
    /// Situations of which many are near to a repair.
    fn situations()(size in 1..40_usize)(
        members in members(size),
        desired in size.saturating_sub(2)..size + 3,
        peers in prop::option::weighted(0.95, peers(size)),
        lasting in symptoms(),
        (ready_for, announced_for) in (600..3600_u64, prop::option::weighted(0.9, 100..400_u64)),
        shared in prop::collection::btree_set(prop::sample::select(SharedCause::ALL), 0..2),
        requested in prop::bool::weighted(0.05),
        repairs in prop::collection::vec(symptoms(), 0..4),
        etcd in prop::option::weighted(0.3, (1..6_usize, 0..5_usize)),
    ) -> Situation {
        let shared = if shared.len() == 1 && desired % 3 != 0 { BTreeSet::new() } else { shared };
        Situation {
            instance: "i-00".to_owned(),
            ready_for: Duration::from_secs(ready_for),
            since: Timestamp(1500),
            symptoms: lasting.clone(),
            lasting,
            shared,
            requested,
            announced_for: announced_for.map(Duration::from_secs),
            population: Some(Population { desired, members, suspended: BTreeSet::new() }),
            peers,
            repairs,
            etcd: etcd.map(|(members, healthy_others)| Etcd { members, healthy_others }),
        }
    }
}

fn decide_default(situation: &Situation) -> RepairDecision {
    decide(RepairShare::default(), situation)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6000, ..ProptestConfig::default() })]

    #[test]
    fn a_repair_needs_every_condition_at_once(situation in situations()) {
        // About one in 40 is a repair.
        if decide_default(&situation) != RepairDecision::Replace {
            return Ok(());
        }
        let population = situation.population.as_ref().expect("a repair saw the group");
        prop_assert!(situation.peers.is_some(), "a repair saw its peers");
        prop_assert!(situation.shared.is_empty());
        prop_assert!(!situation.requested);
        prop_assert!(situation.ready_for >= JUST_READY);
        prop_assert!(situation.announced_for >= Some(ANNOUNCED_FOR));
        prop_assert!(!situation.lasting.is_empty());
        prop_assert!(situation.etcd.is_none_or(|etcd| etcd.healthy_others > etcd.members / 2));
        let size = population.desired.max(population.members.len());
        let there = population.members.iter().filter(|member| member.is_there).count();
        let limit = if situation.etcd.is_some() { 1 } else { RepairShare::default().of(size) };
        prop_assert!(size - there < limit, "{} of {size} are away, {limit} may be", size - there);
    }

    #[test]
    fn a_shared_cause_always_skips(situation in situations(), cause in prop::sample::select(SharedCause::ALL)) {
        let mut situation = situation;
        situation.shared.insert(cause);
        prop_assert_ne!(decide_default(&situation), RepairDecision::Replace);
    }

    #[test]
    fn what_is_worse_around_it_never_makes_a_node_be_replaced(situation in situations(), extra in peers(40), away in 0..40_usize) {
        prop_assume!(decide_default(&situation) != RepairDecision::Replace);
        let mut worse = situation;
        if let Some(peers) = &mut worse.peers {
            peers.extend(extra);
        }
        if let Some(population) = &mut worse.population {
            let size = population.members.len();
            population.members[away % size].is_there = false;
        }
        prop_assert_ne!(decide_default(&worse), RepairDecision::Replace);
    }

    #[test]
    fn the_order_of_listings_changes_nothing(situation in situations()) {
        let mut turned = situation.clone();
        if let Some(population) = &mut turned.population {
            population.members.reverse();
        }
        if let Some(peers) = &mut turned.peers {
            peers.reverse();
        }
        prop_assert_eq!(decide_default(&turned), decide_default(&situation));
    }
}
