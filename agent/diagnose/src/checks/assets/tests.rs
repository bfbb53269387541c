//! Tests of the checks of pinned files.

use super::super::fixtures::{control_plane, expected_of, reads, says, stands, stuck_in, worker};
use quake_model::facts::{EntryKind, ReachSeen, Reached, RuntimeSeen, Seen, Survey};
use quake_model::phase::Phase;
use std::collections::BTreeMap;

fn reach(first: Reached, second: Reached) -> Seen<Vec<ReachSeen>> {
    let one = |host: &str, result| ReachSeen {
        purpose: "mirror".to_owned(),
        host: host.to_owned(),
        port: 443,
        result,
        took_ms: 1,
    };
    Seen::Yes(vec![one("a.example", first), one("b.example", second)])
}

#[test]
fn a_file_that_no_mirror_gives_stops_a_boot_and_not_a_node_that_has_it() {
    let open = || Reached::Connected { tls: None };
    let mut survey = worker();
    assert!(says("assets.sources", &survey).starts_with("skip: "));
    stuck_in(&mut survey, Phase::Assets);
    for (first, second, said) in [
        (open(), open(), "ok: 2 of 2 mirrors answer"),
        (
            Reached::Refused,
            open(),
            "warn: a.example cannot be reached; another mirror stands in for it",
        ),
        (
            Reached::Refused,
            Reached::TimedOut,
            "fail: no mirror of kubelet can be reached [assets.unreachable]",
        ),
    ] {
        survey.reach = reach(first, second);
        assert_eq!(says("assets.sources", &survey), said);
    }
    expected_of(&mut survey).proxied = true;
    assert_eq!(
        says("assets.sources", &survey),
        "skip: mirrors are reached by way of a proxy"
    );
    let booted = Survey {
        reach: reach(Reached::Refused, Reached::TimedOut),
        ..worker()
    };
    assert_eq!(
        says("assets.sources", &booted),
        "ok: 0 of 2 mirrors answer; all files are in the store"
    );
}

#[test]
fn a_placed_program_must_be_the_pinned_one() {
    let with = |digest: String| Survey {
        digests: Seen::Yes(BTreeMap::from([(
            "/usr/local/bin/kubelet".to_owned(),
            digest,
        )])),
        ..worker()
    };
    let pinned = format!("sha256:{}", "a".repeat(64));
    let said = says("assets.digests", &with(pinned));
    assert_eq!(said, "ok: 1 of them read and compared");
    let other = format!("sha256:{}", "b".repeat(64));
    assert_eq!(
        says("assets.digests", &with(other)),
        "fail: /usr/local/bin/kubelet is not the kubelet that the spec pins [assets.digest-mismatch]"
    );
    let of_another_kind = format!("sha1:{}", "b".repeat(40));
    assert!(says("assets.digests", &with(of_another_kind)).starts_with("skip: "));
    assert!(says("assets.digests", &worker()).starts_with("skip: "));
    let mut early = with(String::new());
    stuck_in(&mut early, Phase::Files);
    assert!(says("assets.digests", &early).starts_with("skip: the boot has not"));
}

#[test]
fn what_the_store_holds_must_have_its_manifest() {
    let mut survey = worker();
    assert!(says("assets.store", &survey).starts_with("skip: "));
    let at = |path: &str| format!("/var/lib/quake-agent/store{path}");
    stands(&mut survey, &at(""), EntryKind::Directory, 0o755, 0);
    for (path, kind) in [
        ("/sha256/aa", EntryKind::File),
        ("/sha256/aa.json", EntryKind::File),
        ("/sha256/aa.stamp", EntryKind::File),
        ("/sha1/bb.d", EntryKind::Directory),
        ("/sha1/bb.d/manifest.json", EntryKind::File),
    ] {
        stands(&mut survey, &at(path), kind, 0o755, 9);
    }
    assert_eq!(
        says("assets.store", &survey),
        "ok: 2 files and archives, each with its manifest"
    );
    let mut torn = survey.clone();
    torn.entries.remove(&at("/sha256/aa.json"));
    assert!(says("assets.store", &torn).ends_with("/sha256/aa has no manifest"));
    torn = survey.clone();
    torn.entries.remove(&at("/sha1/bb.d/manifest.json"));
    assert!(says("assets.store", &torn).ends_with("/sha1/bb.d has no manifest"));
    torn = survey.clone();
    stands(&mut torn, &at("/sha256/aa"), EntryKind::File, 0o755, 0);
    assert!(says("assets.store", &torn).ends_with("/sha256/aa is empty"));
    stands(&mut survey, &at(""), EntryKind::File, 0o644, 0);
    assert!(says("assets.store", &survey).ends_with("is no directory [assets.store-failed]"));
}

#[test]
fn a_seed_for_another_spec_is_told() {
    let mut survey = worker();
    assert_eq!(
        says("assets.seed", &survey),
        "skip: the image brought no assets"
    );
    let path = "/var/lib/quake-agent/store/sets/seed.json";
    let set = |digit: &str| {
        let digest = format!("sha256:{}", digit.repeat(64));
        format!(r#"{{"assets":[{{"digest":"{digest}","kind":"plain"}}]}}"#)
    };
    reads(&mut survey, path, &set("a"));
    assert_eq!(
        says("assets.seed", &survey),
        "ok: 1 of 1 pinned files were in the image, 0 days ago"
    );
    reads(&mut survey, path, &set("b"));
    assert!(
        says("assets.seed", &survey).starts_with("warn: the image was seeded for another spec")
    );
    reads(&mut survey, path, "{");
    assert!(says("assets.seed", &survey).ends_with("seed.json cannot be read"));
}

#[test]
fn programs_must_be_there_and_be_executable() {
    let id = "assets.binaries";
    let mut survey = worker();
    assert!(says(id, &survey).starts_with("skip: no program"));
    for path in [
        "/usr/local/bin/kubelet",
        "/usr/bin/containerd",
        "/usr/bin/runc",
    ] {
        stands(&mut survey, path, EntryKind::File, 0o755, 9);
    }
    assert_eq!(says(id, &survey), "ok: containerd, runc, kubelet");
    let mut broken = survey.clone();
    stands(
        &mut broken,
        "/usr/local/bin/kubelet",
        EntryKind::File,
        0o644,
        9,
    );
    assert_eq!(
        says(id, &broken),
        "fail: /usr/local/bin/kubelet cannot be executed"
    );
    stands(
        &mut broken,
        "/usr/local/bin/kubelet",
        EntryKind::File,
        0o755,
        0,
    );
    assert_eq!(
        says(id, &broken),
        "fail: /usr/local/bin/kubelet is no program"
    );
    broken.entries.remove("/usr/local/bin/kubelet");
    assert_eq!(says(id, &broken), "fail: kubelet is not on this node");
    let mut elsewhere = survey.clone();
    elsewhere.entries.remove("/usr/bin/containerd");
    assert_eq!(says(id, &elsewhere), "fail: containerd is not on this node");
    elsewhere.runtime = Seen::Yes(RuntimeSeen {
        version: Some("1.7.1".to_owned()),
        ..RuntimeSeen::default()
    });
    assert_eq!(says(id, &elsewhere), "ok: kubelet");
    stuck_in(&mut survey, Phase::Storage);
    assert!(says(id, &survey).starts_with("skip: the boot has not come so far"));
}

#[test]
fn a_control_plane_that_may_have_to_format_needs_mkfs() {
    let mut survey = control_plane();
    stuck_in(&mut survey, Phase::Storage);
    stands(
        &mut survey,
        "/usr/bin/containerd",
        EntryKind::File,
        0o755,
        9,
    );
    assert_eq!(
        says("assets.binaries", &survey),
        "fail: mkfs.ext4 is not on this node"
    );
    stands(&mut survey, "/sbin/mkfs.ext4", EntryKind::Link, 0o777, 6);
    assert_eq!(says("assets.binaries", &survey), "ok: mkfs.ext4");
}
