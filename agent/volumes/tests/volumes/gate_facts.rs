//! What the gate is asked: the surface of a device, what is inside its filesystem, and which life of the cluster goes on.

use quake_model::facts::{DeviceContents, InsideFacts};
use quake_model::time::Timestamp;
use quake_volumes::{
    ContentsContext, DeviceSignature, FilesystemContents, Marker, VolumeIdentity, Writer,
    cluster_generation, identity, inside, key_digests, surface,
};
use std::collections::BTreeSet;

/// A CA of kops: its serial says that it was made at 2024-05-06T07:08:09Z.
const OLD_CA: &str = "\
-----BEGIN CERTIFICATE-----
MIIBaDCCAQ+gAwIBAgIMF8zUk7YBHECJq83vMAoGCCqGSM49BAMCMA0xCzAJBgNV
BAMMAmNhMCAXDTI2MTEyNjA3MDg1OFoYDzIxMjYxMTAyMDcwODU4WjANMQswCQYD
VQQDDAJjYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLogkkI/tVGUO6qPGGrj
mYIdNN468zPoH8aGJ8U/9rRnIwstfw+SQeDyVFAEIIaqjINeV2VvreKq08xmh9vP
nz+jUzBRMB0GA1UdDgQWBBT/Ba753eczyIv/2l9xoqBIVweYqjAfBgNVHSMEGDAW
gBT/Ba753eczyIv/2l9xoqBIVweYqjAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49
BAMCA0cAMEQCIFIlk9io+V5kRYvKfOhcNxdlWZDWtaR+UHnJ6T7W1Hz8AiBO3x4P
9LOxxzSIVgMlkvSqwL5iRwq7INP+IruHrLEqLQ==
-----END CERTIFICATE-----
";

/// Its successor, made at 2025-05-06T07:08:09Z, with another key.
const NEW_CA: &str = "\
-----BEGIN CERTIFICATE-----
MIIBaTCCAQ+gAwIBAgIMGDzeZuOkHECJq83vMAoGCCqGSM49BAMCMA0xCzAJBgNV
BAMMAmNhMCAXDTI2MTEyNjA3MDkwM1oYDzIxMjYxMTAyMDcwOTAzWjANMQswCQYD
VQQDDAJjYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABORJj/v/4QfOoTx3ssUi
wxqLjMfB76go2sfiqNm8hrtFEm5Nw/GkIK08vCTgSv1BP5/828cNAhR+gDbFbdSc
MBGjUzBRMB0GA1UdDgQWBBTTaQxML+oPDHst+dneyA5IFx4B4jAfBgNVHSMEGDAW
gBTTaQxML+oPDHst+dneyA5IFx4B4jAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49
BAMCA0gAMEUCIQCm/pMshI47AgCfTvX7RZbBnqvdfDF+u8WEC5KAYwovTgIgI9Tu
qjCknapIGBqdj6mehP+6P5/OmVVurM0AGL97MLc=
-----END CERTIFICATE-----
";

/// The old key, under a serial of 19 bytes, which is not of kops' making.
const LONG_SERIAL_CA: &str = "\
-----BEGIN CERTIFICATE-----
MIIBcDCCARagAwIBAgITAQIDBAUGBwgJCgsMDQ4PEBESEzAKBggqhkjOPQQDAjAN
MQswCQYDVQQDDAJjYTAgFw0yNjExMjYwNzA5MDRaGA8yMTI2MTEwMjA3MDkwNFow
DTELMAkGA1UEAwwCY2EwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAS6IJJCP7VR
lDuqjxhq45mCHTTeOvMz6B/GhifFP/a0ZyMLLX8PkkHg8lRQBCCGqoyDXldlb63i
qtPMZofbz58/o1MwUTAdBgNVHQ4EFgQU/wWu+d3nM8iL/9pfcaKgSFcHmKowHwYD
VR0jBBgwFoAU/wWu+d3nM8iL/9pfcaKgSFcHmKowDwYDVR0TAQH/BAUwAwEB/zAK
BggqhkjOPQQDAgNIADBFAiArpeqEz/KELxCJis29xW4f3GMeiaGzXNn5WjJeEAaW
dQIhAPK9V7yZUcv3d7gD/EOtoLhuJ+hwZvNowQDZdiaHRRnq
-----END CERTIFICATE-----
";

/// The new key, under the serial 7.
const SMALL_SERIAL_CA: &str = "\
-----BEGIN CERTIFICATE-----
MIIBXjCCAQSgAwIBAgIBBzAKBggqhkjOPQQDAjANMQswCQYDVQQDDAJjYTAgFw0y
NjExMjYwNzA5MDRaGA8yMTI2MTEwMjA3MDkwNFowDTELMAkGA1UEAwwCY2EwWTAT
BgcqhkjOPQIBBggqhkjOPQMBBwNCAATkSY/7/+EHzqE8d7LFIsMai4zHwe+oKNrH
4qjZvIa7RRJuTcPxpCCtPLwk4Er9QT+f/NvHDQIUfoA2xW3UnDARo1MwUTAdBgNV
HQ4EFgQU02kMTC/qDwx7LfnZ3sgOSBceAeIwHwYDVR0jBBgwFoAU02kMTC/qDwx7
LfnZ3sgOSBceAeIwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBR
+X0jDx1WMnv2Ts9kh39/hkBnnHyPLVZvyHsA023t+wIhANBg+gtzdVUqAM8ZE68Z
AZj0+5jVxQwlVrvFHeozjP/b
-----END CERTIFICATE-----
";

/// SHA-256 of the keys, as `openssl x509 -pubkey | openssl pkey -pubin -outform DER | sha256sum` prints it.
const OLD_KEY: &str = "77e1e8b9d908f8eac793f58c2780c777a6a91ee68a56b37df129b12fc13906e0";
const NEW_KEY: &str = "5a9c151d1c5d3033bee9683b387e8125966369ca68070c79b4daf53ef67c6420";

const OLD_BORN: Timestamp = Timestamp(1_714_979_289_000);
const NEW_BORN: Timestamp = Timestamp(1_746_515_289_000);
const DAY_MS: u64 = 86_400_000;

fn texts(certificates: &[&str]) -> Vec<String> {
    certificates.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn the_oldest_ca_says_the_age_and_the_newest_is_current_in_any_order() {
    let both: BTreeSet<String> = [OLD_KEY.to_owned(), NEW_KEY.to_owned()].into();
    for order in [[OLD_CA, NEW_CA], [NEW_CA, OLD_CA]] {
        let found = cluster_generation(&texts(&order), Timestamp(NEW_BORN.0 + DAY_MS));
        assert_eq!(found.uids, both);
        assert_eq!(found.born, Some(OLD_BORN));
        assert_eq!(found.current.as_deref(), Some(NEW_KEY));
        let one_text = cluster_generation(&[order.concat()], Timestamp(NEW_BORN.0 + DAY_MS));
        assert_eq!(one_text, found);
        assert_eq!(key_digests(&[order.concat()]).len(), 2);
    }
    assert_eq!(key_digests(&texts(&[NEW_CA])), [NEW_KEY]);
}

#[test]
fn a_serial_that_kops_did_not_make_says_no_age() {
    let now = Timestamp(NEW_BORN.0);
    for other in [LONG_SERIAL_CA, SMALL_SERIAL_CA] {
        let found = cluster_generation(&texts(&[other]), now);
        assert_eq!((found.born, found.uids.len()), (None, 1));
        assert!(found.current.is_some());
        let beside = cluster_generation(&texts(&[other, NEW_CA]), now);
        assert_eq!(beside.born, Some(NEW_BORN));
        assert_eq!(beside.current.as_deref(), Some(NEW_KEY));
    }
    let nothing = cluster_generation(&texts(&["no certificate"]), now);
    assert_eq!(nothing, quake_volumes::ClusterGeneration::default());
}

#[test]
fn a_serial_more_than_a_day_ahead_of_the_clock_says_no_age() {
    let born = |now: u64| cluster_generation(&texts(&[OLD_CA]), Timestamp(now)).born;
    assert_eq!(born(OLD_BORN.0 - DAY_MS), Some(OLD_BORN));
    assert_eq!(born(OLD_BORN.0 - DAY_MS - 1), None);
}

#[test]
fn each_content_of_a_device_has_its_signature() {
    let name = || "ext4".to_owned();
    let filesystem = |name: &str| DeviceContents::Filesystem {
        name: name.to_owned(),
        uuid: None,
        label: None,
        size_bytes: None,
    };
    let damaged = |uuid: Option<&str>| DeviceContents::Damaged {
        name: name(),
        uuid: uuid.map(str::to_owned),
    };
    let rows = [
        (DeviceContents::Blank, DeviceSignature::Blank),
        (filesystem("ext4"), DeviceSignature::Ext4),
        (filesystem("xfs"), DeviceSignature::Foreign),
        (
            DeviceContents::Signature { name: name() },
            DeviceSignature::Foreign,
        ),
        (
            DeviceContents::Ambiguous {
                names: vec![name()],
            },
            DeviceSignature::Ambiguous,
        ),
        (
            DeviceContents::Unsigned { offset: 1 },
            DeviceSignature::Unsigned,
        ),
        (damaged(None), DeviceSignature::Damaged),
        (damaged(Some("another")), DeviceSignature::Damaged),
    ];
    for (contents, wanted) in rows {
        for intent in [true, false] {
            assert_eq!(surface(&contents, "ours", intent), wanted, "{contents:?}");
        }
    }
    let parts = damaged(Some("ours"));
    assert_eq!(
        surface(&parts, "ours", true),
        DeviceSignature::Unsigned,
        "an interrupted format"
    );
    assert_eq!(surface(&parts, "ours", false), DeviceSignature::Damaged);
}

fn ours() -> VolumeIdentity {
    let slot = "main/a".parse().expect("a literal");
    identity("c.example", "U", &slot, "vol-1")
}

fn marked(change: impl FnOnce(&mut VolumeIdentity)) -> InsideFacts {
    let mut identity = ours();
    change(&mut identity);
    let writer = Writer {
        agent: "1.0.0".into(),
        instance_id: "i-1".into(),
        now: "2026-01-01T00:00:00Z".into(),
    };
    InsideFacts {
        marker: Some(Marker::new(identity, writer, None, false).text()),
        ..InsideFacts::default()
    }
}

/// What is inside, for a cluster that had the CA keys U and V.
fn judged(
    facts: &InsideFacts,
    uuid: Option<&str>,
    intent: bool,
    keys: &[&str],
) -> FilesystemContents {
    let keys = texts(keys);
    let context = ContentsContext {
        identity: &ours(),
        uids: &["U".to_owned(), "V".to_owned()].into(),
        filesystem_uuid: uuid,
        format_intent: intent,
        peer_keys: &keys,
    };
    inside(facts, context)
}

#[test]
fn a_marker_says_whose_volume_it_is() {
    let of = |facts: &InsideFacts| judged(facts, None, false, &[]);
    let set = |uid: &'static str| marked(move |it| it.cluster_uid = uid.into());
    assert_eq!(of(&marked(|_| {})), FilesystemContents::Match);
    assert_eq!(
        of(&set("V")),
        FilesystemContents::Match,
        "a CA that the cluster had"
    );
    assert_eq!(of(&set("W")), FilesystemContents::OtherUid);
    let other_cluster = marked(|it| it.cluster = "d.example".into());
    assert_eq!(of(&other_cluster), FilesystemContents::OtherUid);
    let other_slot = marked(|it| it.slot = "main/b".into());
    assert_eq!(of(&other_slot), FilesystemContents::OtherSlot);
    let copy = marked(|it| it.volume_id = "vol-2".into());
    assert_eq!(of(&copy), FilesystemContents::OtherVolume);
    let cut = InsideFacts {
        marker: Some("{".into()),
        ..InsideFacts::default()
    };
    assert_eq!(of(&cut), FilesystemContents::NoMarker);
    assert_eq!((ours().etcd(), ours().slot.as_str()), ("main", "main/a"));
}

#[test]
fn the_running_life_matches_although_its_ca_is_not_listed() {
    let context = ContentsContext {
        identity: &ours(),
        uids: &BTreeSet::new(),
        filesystem_uuid: None,
        format_intent: false,
        peer_keys: &[],
    };
    assert_eq!(inside(&marked(|_| {}), context), FilesystemContents::Match);
}

#[test]
fn data_without_a_marker_is_judged_by_its_peers_ca() {
    let data = |peers: &[&str], etcd: &[&str]| InsideFacts {
        peer_ca_bundle: texts(peers),
        etcd_data: texts(etcd),
        ..InsideFacts::default()
    };
    let of = |facts: InsideFacts, keys: &[&str]| judged(&facts, None, false, keys);
    assert_eq!(
        of(data(&[OLD_CA], &[]), &[OLD_KEY]),
        FilesystemContents::LegacyMatch
    );
    assert_eq!(
        of(data(&[OLD_CA, NEW_CA], &[]), &[NEW_KEY]),
        FilesystemContents::LegacyMatch
    );
    assert_eq!(
        of(data(&[OLD_CA], &["data"]), &[NEW_KEY]),
        FilesystemContents::LegacyOther
    );
    assert_eq!(
        of(data(&[OLD_CA], &[]), &[]),
        FilesystemContents::LegacyUnknown
    );
    assert_eq!(
        of(data(&[], &["data"]), &[OLD_KEY]),
        FilesystemContents::LegacyUnknown
    );
    let files = InsideFacts {
        others: texts(&["home"]),
        ..InsideFacts::default()
    };
    assert_eq!(of(files, &[OLD_KEY]), FilesystemContents::NoMarker);
}

#[test]
fn an_empty_filesystem_is_ours_by_its_uuid_or_by_the_record() {
    let of = |uuid: Option<&str>, intent| judged(&InsideFacts::default(), uuid, intent, &[]);
    let uuid = ours().filesystem_uuid();
    assert_eq!(of(Some(&uuid), false), FilesystemContents::EmptyOurs);
    assert_eq!(of(Some("another"), true), FilesystemContents::EmptyOurs);
    assert_eq!(of(Some("another"), false), FilesystemContents::EmptyUnknown);
    assert_eq!(of(None, false), FilesystemContents::EmptyUnknown);
}
