//! The volumes' protocol, between real agents and EC2 as it behaves: docs/volumes.md.

use crate::members::{Cluster, Group, Instance, story, waits_with};
use quake_integration::agent::Running;
use quake_integration::ec2::Rules;
use quake_integration::random::Random;
use quake_integration::skip::unless_missing;
use quake_integration::waiting::wait_until;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// One group that runs all members.
const ONE: &[Group] = &[("control-plane", &["a", "b", "c"])];

/// A group for each member.
const EACH: &[Group] = &[
    ("control-plane-a", &["a"]),
    ("control-plane-b", &["b"]),
    ("control-plane-c", &["c"]),
];

/// One group that runs the only member.
const SINGLE: &[Group] = &[("control-plane", &["a"])];

/// For how long races are run, each with another seed.
const RACING: Duration = Duration::from_secs(40);

/// How long a race may take until the last member has its instance. An agent whose ask got no clear answer, and whose
/// volume another took, gives its member up only by looks that agree for 90 s (docs/volumes.md); two may, in turn.
const LONGEST_RACE: Duration = Duration::from_secs(240);

/// How long an agent that waits may be silent: the longest pause between two looks, and a look that is throttled
/// some times.
const LONGEST_LOOK: Duration = Duration::from_secs(60);

/// Reads that lag, pages of four volumes, throttles, and attaches that are carried out without an answer.
fn rough() -> Rules {
    Rules {
        attach_takes: Duration::from_millis(400),
        lag: Duration::from_millis(1500),
        page: 4,
        throttled: 3,
        lost: 30,
        ..Rules::default()
    }
}

/// The cluster of a test; `None`, said aloud, where it cannot be had.
fn start(groups: &[Group], rules: Rules, random: Random) -> Option<Cluster> {
    unless_missing(Cluster::start(groups, rules, random))
}

fn slots(member: &str) -> Vec<String> {
    vec![format!("events/{member}"), format!("main/{member}")]
}

#[test]
fn one_agent_alone_takes_the_first_member_and_counts_each_of_its_calls() {
    let Some(cluster) = start(ONE, Rules::default(), Random::from_environment()) else {
        return;
    };
    let volumes = cluster.add_volumes();
    let instance = cluster.launch("control-plane");
    let summary = instance.ready(instance.boot(&[]));
    assert_eq!(
        cluster.held(&volumes),
        [(instance.id.clone(), slots("a"))].into()
    );
    for (action, count) in cluster.ec2.calls(&instance.id) {
        assert_eq!(
            summary["calls"][format!("ec2:{action}")],
            count,
            "{action}: {summary}"
        );
    }
}

#[test]
fn of_five_instances_three_take_a_member_each_and_two_stand_by() {
    let mut random = Random::from_environment();
    let began = Instant::now();
    let mut races = 0;
    while races == 0 || began.elapsed() < RACING {
        let seed = random.next_number();
        // As long as nobody sees its peers, each takes itself for the first: they collide.
        let rules = Rules {
            peers_after: Duration::from_secs(3),
            ..rough()
        };
        let Some(cluster) = start(ONE, rules, Random::seeded(seed)) else {
            return;
        };
        println!("volumes: race {races} with seed {seed}");
        race(&cluster);
        races += 1;
    }
    println!("volumes: {races} races in {:.0?}", began.elapsed());
}

fn race(cluster: &Cluster) {
    let volumes = cluster.add_volumes();
    let instances: Vec<Instance> = (0..5).map(|_| cluster.launch("control-plane")).collect();
    let boots = instances.iter().map(|instance| instance.boot(&[]));
    let mut boots: Vec<Running> = boots.collect();
    let began = Instant::now();
    let taken = || cluster.held(&volumes).values().map(Vec::len).sum::<usize>();
    let all_taken = wait_until(LONGEST_RACE, || taken() == volumes.len());
    let taken_after = began.elapsed();
    let held = cluster.held(&volumes);
    let of_members: BTreeSet<Vec<String>> = held.values().cloned().collect();
    let whole: BTreeSet<Vec<String>> = ["a", "b", "c"].map(slots).into();
    let waits = |boot: &mut Running| waits_with(boot, "storage.volume-held", LONGEST_LOOK);
    for (instance, mut boot) in instances.iter().zip(boots.drain(..)) {
        if !all_taken {
            let ended = instance.stop(boot);
            println!("{}:\n{}", instance.id, story(&ended.stdout));
        } else if held.contains_key(&instance.id) {
            instance.ready(boot);
        } else {
            let stands_by = waits(&mut boot);
            let ended = instance.stop(boot);
            let story = story(&ended.stdout);
            assert!(stands_by, "{} does not stand by: {story}", instance.id);
        }
    }
    assert!(all_taken && of_members == whole, "{held:?}");
    assert_eq!(cluster.held(&volumes), held, "nothing moved");
    let attached: Vec<String> = cluster
        .ec2
        .attached()
        .into_iter()
        .map(|it| it.volume)
        .collect();
    let once: BTreeSet<&String> = attached.iter().collect();
    assert_eq!(
        (attached.len(), once.len()),
        (6, 6),
        "each volume was attached once: {attached:?}"
    );
    let asks: usize = instances
        .iter()
        .map(|instance| cluster.ec2.asks(&instance.id).len())
        .sum();
    println!("volumes: all members taken after {taken_after:.1?} by {asks} asks");
}

/// What a boot left on the volumes of its instance, by volume: their filesystems and their markers.
fn on_disk(instance: &Instance) -> BTreeMap<String, (Value, Value)> {
    let path = instance
        .lab
        .root()
        .join("var/lib/quake-agent/rehearsal/region.json");
    let text = std::fs::read(path).expect("it was booted");
    let region: Value = serde_json::from_slice(&text).expect("a region is JSON");
    let contents = region["contents"].as_object().cloned().unwrap_or_default();
    let of = |(volume, contents): (String, Value)| {
        let marker = region["inside"][&volume]["marker"].clone();
        (volume, (contents, marker))
    };
    contents.into_iter().map(of).collect()
}

/// Whether any step of this kind changed something in a boot.
fn changed(summary: &Value, kind: &str) -> bool {
    let changed = summary["changed"].as_array().cloned().unwrap_or_default();
    changed
        .iter()
        .any(|step| step.as_str().is_some_and(|step| step.contains(kind)))
}

#[test]
fn a_replacement_waits_for_its_predecessors_end_and_takes_its_member_with_its_data() {
    let takes = Duration::from_secs(6);
    let rules = Rules {
        ending_takes: takes,
        throttled: 0,
        ..rough()
    };
    let Some(cluster) = start(ONE, rules, Random::from_environment()) else {
        return;
    };
    let volumes = cluster.add_volumes();
    let mut instances = Vec::new();
    for member in ["a", "b", "c"] {
        let instance = cluster.launch("control-plane");
        let summary = instance.ready(instance.boot(&[]));
        assert!(changed(&summary, "filesystem"), "{summary}");
        assert_eq!(cluster.held(&volumes)[&instance.id], slots(member));
        instances.push(instance);
    }
    let ended = instances.remove(1);
    let gone = Instant::now() + takes;
    cluster.ec2.terminate(&ended.id);
    let replacement = cluster.launch("control-plane");
    replacement.inherit(&ended);
    let mut boot = replacement.boot(&[]);
    let waits = waits_with(&mut boot, "storage.volume-held", LONGEST_LOOK);
    let summary = replacement.ready(boot);
    assert!(waits, "no member was free at first");
    let asks = cluster.ec2.asks(&replacement.id);
    assert!(asks.iter().all(|at| *at >= gone), "{asks:?}, gone {gone:?}");
    let held = cluster.held(&volumes);
    assert_eq!(held.get(&replacement.id), Some(&slots("b")), "{held:?}");
    assert!(!changed(&summary, "filesystem"), "{summary}");
    assert_eq!(
        on_disk(&replacement),
        on_disk(&ended),
        "data and markers are the predecessor's"
    );
    assert_eq!(on_disk(&ended).len(), 2);
}

#[test]
fn a_volume_is_not_asked_for_before_its_ending_holder_is_gone() {
    let takes = Duration::from_secs(12);
    let rules = Rules {
        ending_takes: takes,
        ..Rules::default()
    };
    let Some(cluster) = start(EACH, rules, Random::from_environment()) else {
        return;
    };
    let volumes = cluster.add_volumes();
    let holder = cluster.launch("control-plane-b");
    holder.ready(holder.boot(&[]));
    assert_eq!(
        cluster.held(&volumes),
        [(holder.id.clone(), slots("b"))].into()
    );
    let gone = Instant::now() + takes;
    cluster.ec2.terminate(&holder.id);
    let replacement = cluster.launch("control-plane-b");
    replacement.inherit(&holder);
    let mut boot = replacement.boot(&[]);
    let waits = waits_with(&mut boot, "storage.holder-ending", LONGEST_LOOK);
    assert!(waits, "{}", story(&boot.stdout()));
    replacement.ready(boot);
    assert_eq!(
        cluster.held(&volumes),
        [(replacement.id.clone(), slots("b"))].into()
    );
    let asks = cluster.ec2.asks(&replacement.id);
    assert!(
        asks.len() == 2 && asks.iter().all(|at| *at >= gone),
        "{asks:?}, gone {gone:?}"
    );
}

#[test]
fn nothing_is_asked_for_before_the_own_tags_are_seen() {
    let late = Duration::from_secs(6);
    let rules = Rules {
        tags_after: late,
        ..Rules::default()
    };
    let Some(cluster) = start(ONE, rules, Random::from_environment()) else {
        return;
    };
    let volumes = cluster.add_volumes();
    let shown = Instant::now() + late;
    let instance = cluster.launch("control-plane");
    let mut boot = instance.boot(&[]);
    let pending = waits_with(&mut boot, "identity.tags-pending", LONGEST_LOOK);
    instance.ready(boot);
    assert!(pending, "it waited for its tags");
    assert_eq!(
        cluster.held(&volumes),
        [(instance.id.clone(), slots("a"))].into()
    );
    let asks = cluster.ec2.asks(&instance.id);
    assert!(
        asks.len() == 2 && asks.iter().all(|at| *at >= shown),
        "{asks:?}, shown {shown:?}"
    );
}

#[test]
fn of_two_volumes_for_a_slot_neither_is_taken_until_one_is_pinned() {
    let rules = Rules { lost: 0, ..rough() };
    let Some(cluster) = start(SINGLE, rules, Random::from_environment()) else {
        return;
    };
    let mut volumes = cluster.add_volumes();
    let other = cluster.add_volume("main", "a");
    let instances: Vec<Instance> = (0..3).map(|_| cluster.launch("control-plane")).collect();
    let boots: Vec<Running> = instances
        .iter()
        .map(|instance| instance.boot(&[]))
        .collect();
    for (instance, boot) in instances.iter().zip(boots) {
        let (ended, fault) = instance.refused(boot);
        assert_eq!(
            (ended.status, &fault["code"]),
            (80, &"storage.volume-conflict".into()),
            "{}",
            ended.text()
        );
        let summary = fault["summary"].as_str().unwrap_or_default();
        for id in [&volumes["main/a"], &other] {
            assert!(summary.contains(id.as_str()), "{id}: {fault}");
        }
    }
    assert_eq!(cluster.ec2.attached(), []);
    cluster.ec2.tag(&other, "quake.io/etcd-pin", "main/a");
    volumes.insert("main/a".to_owned(), other);
    let first = &instances[0];
    first.ready(first.boot(&[]));
    assert_eq!(
        cluster.held(&volumes),
        [(first.id.clone(), slots("a"))].into()
    );
}

#[test]
fn a_denied_attach_names_the_action_and_the_statement_that_is_missing() {
    let rules = Rules {
        denied: Some("AttachVolume"),
        ..Rules::default()
    };
    let Some(cluster) = start(ONE, rules, Random::from_environment()) else {
        return;
    };
    cluster.add_volumes();
    let instance = cluster.launch("control-plane");
    let (ended, fault) = instance.refused(instance.boot(&["--denied-grace", "2s"]));
    assert_eq!(
        (ended.status, &fault["code"]),
        (77, &"storage.attach-denied".into()),
        "{}",
        ended.text()
    );
    let reported = fault.to_string();
    for part in [
        "ec2:AttachVolume",
        "QuakeAttachVolume",
        "ec2:us-east-1:*:volume/vol-",
        &instance.id,
    ] {
        assert!(reported.contains(part), "{part} in {reported}");
    }
    assert_eq!(cluster.ec2.attached(), []);
}
