//! What breaks a control plane of kops legacy, as the conditions of its Node object show it to a cluster: by the agent's own
//! process, with the stand-in of an API server. Each cause is undone, and then all holds again.

use crate::lab::keyset_of;
use crate::residents::{LONGEST_LOOK, Resident, Served};
use quake_integration::agent::{Running, run_command};
use quake_integration::node_conditions::{Wanted, await_false, reported};
use quake_integration::skip::unless_missing;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const NAME: &str = "ip-10-0-0-10.ec2.internal";
const REGION: &str = "var/lib/quake-agent/rehearsal/region.json";
const CNI: &str = "etc/cni/net.d/10-quake-agent.conflist";
const FLAGS: &str = "etc/sysconfig/kubelet";

const CNI_GONE: Wanted<'_> = (
    "NetworkReady",
    "ReadyCniMissing",
    "ready.cni-missing: systemctl restart quake-agent.service writes it again",
);
const DRIFTED: Wanted<'_> = ("NoDrift", "Drifted", "2 drifted, such as /etc/cni/net.d/10");

/// One that nobody can read, of which nothing is known.
const UNREAD: &str = "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n";

/// One that was valid on the first day of 2020.
const ENDED: &str = "-----BEGIN CERTIFICATE-----
MIIBgDCCASWgAwIBAgIUdQ3gt+1BzQIjnhsW8mv4kJnf3LIwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKa3ViZS1wcm94eTAeFw0yMDAxMDEwMDAwMDBaFw0yMDAxMDIw
MDAwMDBaMBUxEzARBgNVBAMMCmt1YmUtcHJveHkwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQHd07p+KZxoAex6qaP2KYiFx/hU2T7MUGGgaC8Nanr0R/HGIr52PeG
wwWDVfkaoqeUZ482igeUKEMMdrhQlTGHo1MwUTAdBgNVHQ4EFgQU5NS7GrPyBYcT
5YiQOjg3RrWZSdQwHwYDVR0jBBgwFoAU5NS7GrPyBYcT5YiQOjg3RrWZSdQwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAqo9LF/CwaR+4jDVcT5F2
d/UJ4uo1FJjq+B0YW/wA2ykCIQCuPRC+h4AIwxzhBLhFbRvBef1fABw7vYmxAy5E
uMlbIQ==
-----END CERTIFICATE-----
";

const KEYPAIR_ENDED: Wanted<'_> = (
    "CertificatesValid",
    "CredentialsNotRenewed",
    "credentials.not-renewed: ",
);

#[test]
fn what_breaks_a_control_plane_of_kops_legacy_flips_its_condition_and_back() {
    let Some(served) = unless_missing(Served::start(&[("control-plane", &["a"])])) else {
        return;
    };
    let node = served.launch("control-plane");
    served.register(NAME);
    let object = || served.object("Node", "", NAME);
    let running = node.boot_reporting(&[]);
    await_false("it is ready", object, &[], || running.stderr());

    let root = node.instance.lab.root();
    let aside = root.join("aside");
    std::fs::rename(root.join(CNI), &aside).expect("the agent wrote it");
    let flags = std::fs::read_to_string(root.join(FLAGS)).expect("it is there");
    std::fs::write(root.join(FLAGS), format!("{flags}# mine\n")).expect("it can be written");
    let wanted = [CNI_GONE, DRIFTED];
    await_false("files are gone and changed", object, &wanted, || {
        running.stderr()
    });
    std::fs::rename(&aside, root.join(CNI)).expect("it can be put back");
    std::fs::write(root.join(FLAGS), flags).expect("it can be written");
    await_false("they are as they were", object, &[], || running.stderr());
    stop(running);

    boots_that_fail(&node, &served, &object);
    keep_keypair(&served, ENDED);
    let running = node.boot_reporting(&[]);
    await_false("a keypair ended", object, &[KEYPAIR_ENDED], || {
        running.stderr()
    });
    stop(running);
    keep_keypair(&served, UNREAD);
    let running = node.boot_reporting(&[]);
    await_false("the boots are repaired", object, &[], || running.stderr());
    stop(running);

    let root = root.to_str().expect("a plain name");
    let removed = node
        .instance
        .lab
        .elsewhere(&["conditions", "--remove", "--root", root]);
    let ended = run_command(removed);
    assert_eq!(ended.status, 0, "{}", ended.text());
    assert!(
        ended.stdout.contains("quake.io/VolumesSafe"),
        "{}",
        ended.text()
    );
    assert!(reported(&object()).is_empty(), "{:#}", object());
}

const KEYSET: &str = "pki/private/kube-proxy/keyset.yaml";

/// Boots that fail, each in its phase; what broke one is repaired before the next.
fn boots_that_fail(node: &Resident, served: &Served, object: &impl Fn() -> Value) {
    let region = node.instance.lab.root().join(REGION);
    let before = std::fs::read(&region).expect("it is kept");
    empty_the_volumes(&region, &before);
    fails(
        node,
        object,
        (
            "VolumesSafe",
            "StorageDataExpected",
            "storage.data-expected: ",
        ),
    );
    std::fs::write(&region, before).expect("it can be written");

    served.ground.put(KEYSET, "spec: {}");
    let malformed = (
        "CertificatesValid",
        "CredentialsMalformed",
        "credentials.malformed: ",
    );
    fails(node, object, malformed);
}

/// The state store has this certificate of kube-proxy.
fn keep_keypair(served: &Served, certificate: &str) {
    let keyset = keyset_of("kube-proxy", certificate, "key");
    served.ground.put(KEYSET, &keyset);
}

/// Somebody made the volumes anew while the node was down.
fn empty_the_volumes(region: &Path, before: &[u8]) {
    let mut kept: Value = serde_json::from_slice(before).expect("a region is JSON");
    let contents = kept["contents"].as_object_mut().expect("it has volumes");
    for contents in contents.values_mut() {
        *contents = serde_json::json!({ "kind": "blank" });
    }
    kept["mounts"] = serde_json::json!([]);
    std::fs::write(region, kept.to_string()).expect("it can be written");
}

/// A boot that ends without being ready, which is reported as it ends.
#[track_caller]
fn fails(node: &Resident, object: &impl Fn() -> Value, wanted: Wanted<'_>) {
    let running = node.boot_reporting(&["--denied-grace", "1s"]);
    let ended = running.end(LONGEST_LOOK);
    assert_ne!(ended.status, 0, "{}", ended.text());
    let found = reported(&object());
    let (name, reason, message) = wanted;
    for name in [name, "BootComplete"] {
        let one = &found[name];
        let is_so = one.status == "False" && one.reason == reason;
        assert!(
            is_so && one.message.starts_with(message),
            "{found:#?}\n{}",
            ended.text()
        );
    }
}

fn stop(running: Running) {
    running.terminate().expect("it runs");
    let ended = running.end(Duration::from_secs(20));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
}
