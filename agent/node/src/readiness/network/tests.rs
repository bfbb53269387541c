use super::*;
use quake_model::facts::{PodFound, PodSeen};

fn pod_network(word: &str) -> PodNetwork<'_> {
    PodNetwork {
        word,
        directory: "/etc/cni/net.d",
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const OWN: &str = r#"{"name":"x","plugins":[{"type":"calico"},{"type":"portmap"}]}"#;

/// A network's word, what is said of its directory, and the files in that.
const TABLE: &str = "\
calico | ready.cni-missing |
calico | ready.cni-missing | calico-kubeconfig
calico | it counts | 10-calico.conflist
# A file that an image left, and that yields once Calico's is there.
calico | ready.cni-missing | 87-podman-bridge.conflist
calico | it counts | 10-calico.conflist 87-podman-bridge.conflist
# One that never yields is named at once.
calico | ready.cni-foreign | 00-left.conflist
calico | ready.cni-foreign | 00-left.conflist 10-calico.conflist
flannel | ready.cni-foreign | 10-containerd-net.conflist 10-flannel.conflist
cilium | it counts | 05-cilium.conflist 10-containerd-net.conflist
cilium | it counts | 05-cilium.conflist 00-old.conflist.cilium_bak
amazonvpc | it counts | 10-aws.conflist
kuberouter | it counts | 10-kuberouter.conflist
kindnet | it counts | 10-kindnet.conflist
kubenet | it counts | 10-containerd-net.conflist
kubenet | it counts | 10-calico.conflist 10-containerd-net.conflist
# Of a network that nobody named any file is its own.
- | it counts | 10-own.conflist
external | it counts | 00-x.conf
- | ready.cni-missing |
cilium | it counts | STAND_IN
";

#[test]
fn the_networks_own_file_must_count() {
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let [word, said, files] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let files = files.replace("STAND_IN", STAND_IN);
        let files: Vec<&str> = files.split_whitespace().collect();
        let judged = pod_network(word.trim_matches('-')).judge(&names(&files), OWN);
        let code = judged.map_or_else(|fault| fault.code.entry().code, |()| "it counts");
        assert_eq!(code, said, "{line}");
    }
}

#[test]
fn a_file_in_the_way_is_named_with_the_command_that_removes_it() {
    let files = names(&["10-calico.conflist", "00-left.conflist"]);
    let fault = pod_network("calico")
        .judge(&files, r#"{"type":"bridge"}"#)
        .expect_err("it wins");
    assert!(
        fault
            .remedy_text()
            .starts_with("rm /etc/cni/net.d/00-left.conflist;"),
        "{fault:?}"
    );
    assert_eq!(fault.evidence_named("plugins"), Some("bridge"));
}

#[test]
fn what_may_be_a_leftover_or_the_operators_own_is_told_and_taken() {
    let network = pod_network("kubenet");
    let both = names(&["10-calico.conflist", "10-containerd-net.conflist"]);
    let doubt = network.doubt(&both).expect("it counts");
    assert!(
        doubt
            .remedy_text()
            .contains("rm /etc/cni/net.d/10-calico.conflist"),
        "{doubt:?}"
    );
    for sound in [&both[1..], &[]] {
        assert_eq!(network.doubt(sound), None);
    }
    assert_eq!(pod_network("calico").doubt(&both), None);
}

#[test]
fn a_plugin_that_calls_the_others_is_meant_to_come_first() {
    let files = names(&["00-multus.conf", "10-calico.conflist"]);
    assert_eq!(
        pod_network("calico").judge(&files, r#"{"type":"multus"}"#),
        Ok(())
    );
}

fn late(seen: &PodsSeen, journal: &[&str]) -> Fault {
    let network = pod_network("calico");
    let fault = network.judge(&[], "").expect_err("nothing is there");
    network.with_pods(fault, seen, &names(journal))
}

fn pod(created: &[&str]) -> PodFound {
    PodFound {
        namespace: "kube-system".into(),
        name: "calico-node-x5k2p".into(),
        created: names(created),
    }
}

#[test]
fn the_pod_that_is_late_says_how_far_it_came() {
    let started = |state: &str, exit_code| PodSeen {
        namespace: "kube-system".into(),
        name: "calico-node-x5k2p".into(),
        container: "calico-node".into(),
        state: state.into(),
        exit_code,
        restarts: 4,
        log: names(&["bird: cannot bind"]),
        ..PodSeen::default()
    };
    let refused = r#""Error syncing pod" err="failed to \"StartContainer\" with ErrImagePull: \"failed to pull and unpack image \\\"docker.io/calico/cni:v3.31.3\\\": 429 Too Many Requests\"" pod="kube-system/calico-node-x5k2p""#;
    let seen = |pods: Vec<PodFound>, containers| PodsSeen { pods, containers };
    for (seen, journal, said) in [
        (
            PodsSeen::default(),
            "",
            "no pod of the DaemonSet calico-node",
        ),
        (seen(vec![pod(&[])], vec![]), "", "image is being pulled"),
        (seen(vec![pod(&[])], vec![]), refused, "cannot be pulled"),
        (seen(vec![pod(&["calico-node"])], vec![]), "", "not started"),
        (
            seen(vec![pod(&["calico-node"])], vec![started("running", None)]),
            "",
            "has written no configuration yet",
        ),
        (
            seen(
                vec![pod(&["calico-node"])],
                vec![started("exited", Some(1))],
            ),
            "",
            "calico-node ended with 1, started again 4 times",
        ),
    ] {
        let fault = late(&seen, &[journal]);
        let reported = fault.evidence_named("pod").expect("a pod is told of");
        assert!(reported.contains(said), "{reported}, not {said}");
    }
}

#[test]
fn kubenet_waits_for_the_nodes_range() {
    let network = pod_network("kubenet");
    let fault = || network.judge(&[], "").expect_err("nothing is there");
    let node = |range: &str| NodeObject {
        pod_range: range.into(),
        ..NodeObject::default()
    };
    for (node, said) in [
        (None, "does not report"),
        (Some(node("")), "no range"),
        (Some(node("100.96.1.0/24")), "100.96.1.0/24 is given"),
    ] {
        let fault = network.with_range(fault(), node.as_ref());
        let reported = fault.evidence_named("range").expect("it is told");
        assert!(reported.contains(said), "{reported}");
    }
}
