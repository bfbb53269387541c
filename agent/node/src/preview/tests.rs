//! What differs and what follows from it, on nodes of a few items.

use super::sample::Sample;
use super::view::{Aspect, FileKind};
use super::{Becomes, GroupPreview, preview};
use quake_model::item::{CertificateOrder, File, IssuedPart, Issuer, Item, Source, Subject};
use quake_model::item::{Reaction, Unit, Usage};

/// What differs in the one group.
fn compared(old: Sample, new: Sample) -> GroupPreview {
    let mut found = preview(&old.done(), &new.done(), None);
    found.groups.pop().expect("there is one group")
}

fn with(items: Vec<Item>) -> Sample {
    let mut sample = Sample::new("1.34.0");
    sample.node.items = items;
    sample
}

#[test]
fn the_bytes_of_a_secret_are_shown_of_neither_side() {
    let secret = |text: &str| Item::File(File::secret("/etc/key", Source::bytes(text)));
    let plain = |text: &str| Item::File(File::plain("/etc/key", text));
    for (old, new) in [
        (secret("a"), secret("b")),
        (secret("a"), plain("b")),
        (plain("a"), secret("b")),
    ] {
        let found = compared(with(vec![old]), with(vec![new]));
        let [file] = &found.files[..] else {
            panic!("{found:?}")
        };
        assert!(file.is_secret && file.shown.is_none(), "{file:?}");
        assert_eq!(file.becomes, Becomes::Changed);
    }
}

#[test]
fn a_file_differs_by_its_bytes_its_mode_its_owner_and_what_it_is() {
    let file = || File::plain("/etc/x", "a");
    let wanted: [(Item, &[&str]); 4] = [
        (Item::File(File::plain("/etc/x", "b")), &["contents"]),
        (Item::File(file().mode(0o600)), &["mode"]),
        (Item::File(file().owned_by("etcd")), &["owner"]),
        (
            Item::Directory(quake_model::item::Directory::plain("/etc/x")),
            &["kind", "contents", "mode"],
        ),
    ];
    for (new, differs) in wanted {
        let found = compared(with(vec![Item::File(file())]), with(vec![new]));
        assert_eq!(found.files[0].differs, differs, "{found:?}");
    }
}

#[test]
fn a_certificate_differs_by_what_is_ordered_and_not_by_who_makes_the_key() {
    let items = |keypair_id: &str| {
        let order = CertificateOrder {
            name: "kubelet".to_owned(),
            issuer: Issuer::Ca {
                keyset: "kubernetes-ca".to_owned(),
                keypair_id: keypair_id.to_owned(),
            },
            subject: Subject::named("a"),
            usage: Usage::Client,
            names: Vec::new(),
        };
        let source = Source::Issued {
            order: "kubelet".to_owned(),
            part: IssuedPart::Certificate,
        };
        let file = File {
            source,
            ..File::plain("/srv/kubelet.crt", "")
        };
        vec![Item::Certificate(order), Item::File(file)]
    };
    let same = compared(with(items("1")), with(items("1")));
    assert!(same.is_unchanged(), "{same:?}");
    let other = compared(with(items("1")), with(items("2")));
    let rows = other
        .values
        .iter()
        .map(|row| (row.aspect, row.name.as_str()));
    assert_eq!(rows.collect::<Vec<_>>(), [(Aspect::Certificate, "kubelet")]);
}

#[test]
fn a_unit_restarts_by_its_inputs_and_by_reactions_and_pods_by_their_manifests() {
    let items = |text: &str| {
        let unit = Unit::running(
            "kubelet.service",
            "/usr/lib/systemd/system/kubelet.service",
            "x".to_owned(),
        );
        let reaction = Reaction::RestartUnit("systemd-resolved.service".to_owned());
        vec![
            Item::Unit(unit.reading(["/etc/sysconfig/kubelet"])),
            Item::File(File::plain("/etc/sysconfig/kubelet", text)),
            Item::File(File::plain("/etc/resolved.conf", text).then(reaction)),
            Item::File(File::plain("/etc/kubernetes/manifests/a.manifest", text)),
            Item::File(File::plain("/etc/other", text)),
        ]
    };
    let found = compared(with(items("a")), with(items("b"))).consequences;
    let units: Vec<&str> = found.restarts.iter().map(|it| it.unit.as_str()).collect();
    assert_eq!(units, ["kubelet.service", "systemd-resolved.service"]);
    let mut restarts = found.restarts.iter();
    assert!(restarts.any(|restart| restart.unit == "kubelet.service"));
    assert_eq!(found.pods, ["/etc/kubernetes/manifests/a.manifest"]);
    assert_eq!(found.new_node, [""; 0]);
}

#[test]
fn what_only_a_launch_applies_needs_new_nodes_and_user_data_is_not_shown() {
    let old =
        "image: ami-1\nmachineType: m5.large\nadditionalUserData: [{name: a, content: secret-1}]\n";
    let new =
        "image: ami-2\nmachineType: m5.large\nadditionalUserData: [{name: a, content: secret-2}]\n";
    let sample = |text: &str| Sample::new("1.34.0").group(text);
    let found = compared(sample(old), sample(new)).consequences;
    assert_eq!(
        found.new_node,
        ["additionalUserData", "image: ami-1 -> ami-2"]
    );
}

#[test]
fn a_group_of_one_side_is_added_or_removed_with_all_that_it_has() {
    let sample = || Sample::new("1.34.0").file("/etc/x", "a");
    let mut empty = Sample::new("1.34.0").done();
    empty.groups.clear();
    let added = preview(&empty, &sample().done(), None);
    assert_eq!(added.groups[0].becomes, Becomes::Added);
    assert_eq!(added.groups[0].files[0].kind, FileKind::File);
    let removed = preview(&sample().done(), &empty, None);
    assert_eq!(removed.groups[0].becomes, Becomes::Removed);
    assert!(!removed.is_empty());
}

#[test]
fn only_the_group_that_is_asked_for_is_compared() {
    let side = Sample::new("1.34.0").done();
    assert_eq!(preview(&side, &side, Some("nodes")).groups.len(), 1);
    assert_eq!(preview(&side, &side, Some("others")).groups.len(), 0);
}

#[test]
fn an_addon_of_another_version_is_a_change_of_the_cluster_though_no_node_changes() {
    let with = |addons: &[(&str, &str)]| {
        let mut side = Sample::new("1.34.0").done();
        let addons = addons
            .iter()
            .map(|(name, version)| ((*name).to_owned(), (*version).to_owned()));
        side.addons = addons.collect();
        side
    };
    let old = with(&[
        ("coredns", "k8s-1.12 aa"),
        ("gone", "k8s-1.12 bb"),
        ("same", "1"),
    ]);
    let new = with(&[
        ("coredns", "k8s-1.12 ab"),
        ("new", "k8s-1.12 cc"),
        ("same", "1"),
    ]);
    let found = preview(&old, &new, None);
    assert!(
        !found.is_empty() && found.groups[0].is_unchanged(),
        "{found:?}"
    );
    let changes = found.addons.iter().map(|it| {
        let value = |side: &Option<String>| side.clone().unwrap_or_default();
        (it.aspect, it.name.as_str(), value(&it.old), value(&it.new))
    });
    let changes: Vec<_> = changes.collect();
    let change = |name, old: &str, new: &str| (Aspect::Addon, name, old.to_owned(), new.to_owned());
    assert_eq!(
        changes,
        [
            change("coredns", "k8s-1.12 aa", "k8s-1.12 ab"),
            change("gone", "k8s-1.12 bb", ""),
            change("new", "", "k8s-1.12 cc"),
        ]
    );
    assert!(preview(&old, &old, None).is_empty());
}
