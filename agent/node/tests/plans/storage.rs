//! What becomes of a decision: the steps, the members that run, and the words for what stands in the way.

use crate::nodes;
use quake_model::facts::{
    Attachment, AttachmentState, InstanceFacts, InstanceState, InstanceView, VolumeFacts,
    VolumeState,
};
use quake_model::fault::{Class, Code, Fault};
use quake_model::spec::NodeSpec;
use quake_model::step::VolumeStep;
use quake_model::time::Timestamp;
use quake_node::lint::lint;
use quake_volumes::{LocalFacts, Rule, World};

const ME: &str = "i-0123456789abcdef0";
const OTHER: &str = "i-0fffffffffffffff0";

fn spec() -> NodeSpec {
    nodes::control_plane_kubenet().spec
}

/// A spec of three members in one zone, which does not say who runs which.
fn spec_without_owners() -> NodeSpec {
    let mut spec = spec();
    for cluster in &mut spec.etcd {
        cluster.members.clear();
    }
    spec
}

fn me() -> InstanceFacts {
    nodes::control_plane_kubenet().known.instance
}

fn volume(id: &str, etcd: &str, tag: &str) -> VolumeFacts {
    let tags = [
        ("KubernetesCluster", "test.example.com"),
        ("k8s.io/role/master", "1"),
        (&format!("k8s.io/etcd/{etcd}"), tag),
    ];
    VolumeFacts {
        volume_id: id.to_owned(),
        zone: "us-west-2a".to_owned(),
        state: VolumeState::Available,
        size_gib: 20,
        created: Timestamp(1_577_959_932_000),
        encrypted: false,
        multi_attach: false,
        snapshot_id: None,
        tags: tags
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        attachments: Vec::new(),
    }
}

fn attached(mut volume: VolumeFacts, instance: &str, state: AttachmentState) -> VolumeFacts {
    volume.state = VolumeState::InUse;
    volume.attachments.push(Attachment {
        instance_id: instance.to_owned(),
        device_name: "/dev/xvdu".to_owned(),
        state,
        since: None,
        delete_on_termination: false,
    });
    volume
}

fn view(id: &str, state: InstanceState, names: &[&str]) -> InstanceView {
    InstanceView {
        private_ip: String::new(),
        instance_id: id.to_owned(),
        state,
        launched: Timestamp(1_577_959_932_000),
        zone: "us-west-2a".to_owned(),
        tags: [].into(),
        device_names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn views() -> Vec<InstanceView> {
    vec![
        view(ME, InstanceState::Running, &["/dev/xvda", "/dev/xvdba"]),
        view(OTHER, InstanceState::ShuttingDown, &["/dev/xvda"]),
    ]
}

fn pair() -> Vec<VolumeFacts> {
    vec![
        volume("vol-0m", "main", "a/a"),
        volume("vol-0e", "events", "a/a"),
    ]
}

fn world(spec: &NodeSpec, volumes: &[VolumeFacts]) -> World {
    World::observed(
        spec,
        &me(),
        volumes.to_vec(),
        &views(),
        LocalFacts::default(),
    )
}

fn select(spec: &NodeSpec, volumes: &[VolumeFacts]) -> Result<Vec<VolumeStep>, Fault> {
    let world = world(spec, volumes);
    let decision = quake_volumes::select_volumes(&world);
    match quake_volumes::decision_fault(&world, &decision) {
        Some(fault) => Err(fault),
        None => Ok(quake_volumes::volume_steps(
            &world, &decision, "ab12", "/mnt",
        )),
    }
}

fn refusal(volumes: &[VolumeFacts]) -> Fault {
    select(&spec(), volumes).expect_err("nothing may be chosen")
}

#[test]
fn one_volume_for_each_cluster_is_used_main_first() {
    let mut volumes = pair();
    volumes.reverse();
    let chosen = select(&spec(), &volumes).expect("both are free");
    let places: Vec<(&str, &str, &str)> = chosen
        .iter()
        .map(|step| {
            (
                step.slot.as_str(),
                step.mount_point.as_str(),
                step.label.as_str(),
            )
        })
        .collect();
    let wanted = [
        ("main/a", "/mnt/master-vol-0m", "qk-main-a"),
        ("events/a", "/mnt/master-vol-0e", "qk-events-a"),
    ];
    assert_eq!(places, wanted);
    let slots = quake_volumes::mounted_slots(&world(&spec(), &volumes), &chosen);
    assert_eq!(
        (slots[0].member.as_str(), slots[0].members.as_slice()),
        ("a", ["a".to_owned()].as_slice())
    );
    let steps = quake_volumes::steps(&chosen);
    let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    let wanted = [
        "attach/main/a",
        "filesystem/main/a",
        "mount/main/a",
        "attach/events/a",
    ];
    assert_eq!(ids[..4], wanted.map(|id| format!("storage:{id}")));
    assert_eq!(lint(&steps), Vec::<String>::new());
}

#[test]
fn a_worker_wants_no_volume() {
    assert!(!quake_volumes::has_slots(&nodes::worker_cni().spec));
    assert!(quake_volumes::has_slots(&spec()));
}

#[test]
fn two_volumes_for_one_member_are_refused_and_everything_an_operator_needs_is_said() {
    let mut volumes = pair();
    let mut second = volume("vol-0n", "main", "a/a");
    second.created = Timestamp(1_600_000_000_000);
    volumes.insert(0, second);
    let fault = refusal(&volumes);
    assert_eq!(
        (fault.code, fault.class()),
        (Code::StorageVolumeConflict, Class::Refused)
    );
    assert_eq!(
        fault.summary,
        "main/a is claimed by vol-0m, vol-0n; nothing was attached"
    );
    let reported = serde_json::to_string(&fault.evidence).expect("it serialises");
    for part in [
        "vol-0m",
        "vol-0n",
        "2020-01-02T10:12:12.000Z",
        "2020-09-13T12:26:40.000Z",
    ] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
    assert!(
        reported.contains("events/a: WAIT vol-0e by W_BUNDLE_BLOCKED"),
        "{reported}"
    );
    assert!(
        fault.remedy_text().contains("volumes pin"),
        "{}",
        fault.remedy_text()
    );
}

#[test]
fn each_reason_has_its_own_code_and_names_its_volume() {
    type Change = fn(&mut VolumeFacts);
    let holder = |volume: &mut VolumeFacts| {
        *volume = attached(volume.clone(), OTHER, AttachmentState::Attached);
    };
    let table: [(Change, Code); 8] = [
        (
            |v| v.zone = "us-west-2b".into(),
            Code::StorageVolumeElsewhere,
        ),
        (|v| v.multi_attach = true, Code::StorageMultiAttach),
        (|v| v.state = VolumeState::Creating, Code::StorageVolumeBusy),
        (
            |v| v.state = VolumeState::InUse,
            Code::StorageViewInconsistent,
        ),
        (holder, Code::StorageHolderEnding),
        (
            |v| *v = attached(v.clone(), ME, AttachmentState::Busy),
            Code::StorageVolumeBusy,
        ),
        (
            |v| *v = attached(v.clone(), "i-0c", AttachmentState::Attached),
            Code::StorageHolderUnknown,
        ),
        (
            |v| {
                v.tags.insert("k8s.io/etcd/main".into(), "a".into());
            },
            Code::StorageTagMalformed,
        ),
    ];
    for (change, code) in table {
        let mut volumes = pair();
        change(&mut volumes[0]);
        let fault = refusal(&volumes);
        assert_eq!(fault.code, code);
        assert!(fault.summary.contains("vol-0m"), "{}", fault.summary);
    }
}

#[test]
fn an_absent_volume_is_waited_for_and_near_misses_are_named() {
    let mut volumes = pair();
    volumes[0].tags.remove("k8s.io/role/master");
    let fault = refusal(&volumes);
    assert_eq!(
        (fault.code, fault.class()),
        (Code::StorageVolumeMissing, Class::NotYet)
    );
    let miss = fault.evidence_named("volume").expect("it is named");
    assert!(
        miss.contains("vol-0m") && miss.contains("NOT_CONTROL_PLANE"),
        "{miss}"
    );
}

#[test]
fn a_volume_of_another_cluster_is_never_chosen() {
    let mut volumes = pair();
    let other = "other.example.com".to_owned();
    volumes[0]
        .tags
        .insert("KubernetesCluster".to_owned(), other);
    assert_eq!(refusal(&volumes).code, Code::StorageVolumeMissing);
    let owned = "kubernetes.io/cluster/test.example.com".to_owned();
    volumes[0].tags.insert(owned.clone(), "shared".to_owned());
    assert_eq!(refusal(&volumes).code, Code::StorageVolumeMissing);
    volumes[0].tags.insert(owned, "owned".to_owned());
    assert!(select(&spec(), &volumes).is_ok());
}

#[test]
fn without_owners_the_free_member_of_this_zone_is_ours_with_all_its_clusters() {
    let mut volumes = Vec::new();
    for member in ["a", "b"] {
        let tag = format!("{member}/a,b");
        volumes.push(volume(&format!("vol-0m{member}"), "main", &tag));
        volumes.push(volume(&format!("vol-0e{member}"), "events", &tag));
    }
    let chosen = |volumes: &[VolumeFacts]| -> Vec<String> {
        let chosen = select(&spec_without_owners(), volumes).expect("a member is free");
        chosen.into_iter().map(|step| step.slot).collect()
    };
    assert_eq!(chosen(&volumes), ["main/a", "events/a"]);
    volumes[0] = attached(volumes[0].clone(), OTHER, AttachmentState::Attached);
    assert_eq!(chosen(&volumes), ["main/b", "events/b"]);
}

#[test]
fn what_runs_goes_on_and_a_surplus_volume_is_a_warning() {
    let mut volumes = pair();
    volumes[0] = attached(volumes[0].clone(), ME, AttachmentState::Attached);
    volumes.push(volume("vol-0n", "main", "a/a"));
    let mut world = world(&spec(), &volumes);
    world.verified.insert("vol-0m".to_owned());
    let decision = quake_volumes::select_volumes(&world);
    assert_eq!(decision.slots[0].1.rule, Rule::Surplus);
    assert_eq!(quake_volumes::decision_fault(&world, &decision), None);
    let warnings = quake_volumes::warnings(&decision);
    assert_eq!(warnings[0].code, Code::StorageSurplusVolumes);
    assert!(
        warnings[0].summary.contains("vol-0n"),
        "{}",
        warnings[0].summary
    );
}
