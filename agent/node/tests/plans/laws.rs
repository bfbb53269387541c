//! What every plan of a node keeps, and what its secrets hold, which goldens do not show.

use crate::goldens::plan;
use crate::nodes::{self, Node};
use quake_model::digest::Digest;
use quake_model::spec::{NetworkMode, Runtime};
use quake_model::step::{Action, Condition, Step, WriteFile};
use quake_node::lint::lint;

fn file(node: &Node, path: &str) -> Option<WriteFile> {
    plan(node).into_iter().find_map(|step| match step.action {
        Action::WriteFile(file) if file.path == path => Some(file),
        _ => None,
    })
}

fn text(node: &Node, path: &str) -> String {
    let file = file(node, path).expect(path);
    String::from_utf8(file.contents.0).expect("the file is text")
}

fn placed(node: &Node) -> Vec<(Digest, String)> {
    plan(node)
        .into_iter()
        .filter_map(|step| match step.action {
            Action::Place(place) => Some((place.asset, place.path)),
            _ => None,
        })
        .collect()
}

fn position(steps: &[Step], wanted: impl Fn(&Action) -> bool) -> usize {
    steps
        .iter()
        .position(|step| wanted(&step.action))
        .expect("the step is planned")
}

#[test]
fn every_plan_keeps_the_laws() {
    for (name, node) in nodes::all() {
        assert_eq!(lint(&plan(&node)), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn the_same_facts_give_the_same_plan() {
    for (name, node) in nodes::all() {
        let mut shuffled = node.clone();
        shuffled
            .known
            .members
            .values_mut()
            .for_each(|members| members.reverse());
        shuffled.known.filesystems.reverse();
        assert_eq!(plan(&node), plan(&shuffled), "{name}");
    }
}

#[test]
fn an_etcd_member_without_a_mounted_volume_gets_no_pod() {
    let mut node = nodes::control_plane_kubenet();
    node.known.slots.retain(|slot| slot.cluster == "main");
    assert!(file(&node, "/etc/kubernetes/manifests/etcd.manifest").is_some());
    assert!(file(&node, "/etc/kubernetes/manifests/etcd-events.manifest").is_none());
}

#[test]
fn a_control_plane_asks_its_own_api_server_and_a_worker_the_internal_name() {
    let kubeconfig = "/var/lib/kubelet/kubeconfig";
    let mut node = nodes::control_plane_kubenet();
    assert!(text(&node, kubeconfig).contains("server: https://127.0.0.1\n"));
    node.spec.kubernetes = "1.5.8".parse().expect("a version");
    assert!(text(&node, kubeconfig).contains("server: http://127.0.0.1:8080\n"));
    let worker = text(&nodes::worker_cni(), kubeconfig);
    assert!(
        worker.contains("server: https://api.internal.calico.example.com\n"),
        "{worker}"
    );
}

#[test]
fn tokens_stand_in_the_order_of_their_names() {
    let tokens = text(
        &nodes::control_plane_kubenet(),
        "/srv/kubernetes/known_tokens.csv",
    );
    let mut sorted: Vec<&str> = tokens.lines().collect();
    sorted.sort_by_key(|line| line.split(',').nth(1));
    assert_eq!(tokens.lines().collect::<Vec<_>>(), sorted);
    assert_eq!(tokens.lines().next(), Some("token-of-admin,admin,admin"));
    let newer = text(
        &nodes::control_plane_manager(),
        "/srv/kubernetes/known_tokens.csv",
    );
    assert_eq!(
        newer.lines().next(),
        Some("token-of-admin,admin,admin,system:masters")
    );
}

#[test]
fn a_plugin_the_archive_lacks_is_asked_for_only_if_the_network_needs_it() {
    let mut node = nodes::control_plane_kubenet();
    for members in node.known.members.values_mut() {
        members.retain(|name| name != "portmap" && name != "bridge");
    }
    let paths: Vec<String> = placed(&node).into_iter().map(|(_, path)| path).collect();
    assert!(
        paths.contains(&"/opt/cni/bin/bridge".to_owned()),
        "the step must fail, not vanish"
    );
    assert!(!paths.contains(&"/opt/cni/bin/portmap".to_owned()));
    assert!(!text(&node, "/etc/cni/net.d/10-quake-agent.conflist").contains("portmap"));
}

#[test]
fn a_pod_range_is_written_only_where_the_spec_fixes_it() {
    let path = "/etc/cni/net.d/10-quake-agent.conflist";
    let mut node = nodes::control_plane_kubenet();
    let read = |node: &Node| -> serde_json::Value {
        serde_json::from_str(&text(node, path)).expect("it is JSON")
    };
    let bridge = read(&node)["plugins"][0].clone();
    assert_eq!(bridge["capabilities"]["ipRanges"], true);
    assert!(bridge["ipam"].get("ranges").is_none(), "{bridge}");
    node.spec.networking.pod_cidr = Some("10.123.45.0/29".to_owned());
    let bridge = read(&node)["plugins"][0].clone();
    assert_eq!(bridge["ipam"]["ranges"][0][0]["subnet"], "10.123.45.0/29");
    assert!(bridge.get("capabilities").is_none(), "{bridge}");
}

#[test]
fn the_bridge_takes_the_mtu_of_the_spec_then_of_the_way_out() {
    let path = "/etc/cni/net.d/10-quake-agent.conflist";
    let mut node = nodes::control_plane_kubenet();
    assert!(text(&node, path).contains("\"mtu\": 9001"));
    node.spec.networking.mtu = Some(8912);
    assert!(text(&node, path).contains("\"mtu\": 8912"));
}

#[test]
fn containerd_fills_in_the_pod_range_itself() {
    let mut node = nodes::worker_containerd();
    let config = text(&node, "/etc/containerd/config.toml");
    assert!(
        config.contains("conf_template = \"/etc/containerd/cni.conflist.template\""),
        "{config}"
    );
    assert!(text(&node, "/etc/containerd/cni.conflist.template").contains(".PodCIDRRanges"));
    assert!(file(&node, "/etc/cni/net.d/10-quake-agent.conflist").is_none());
    node.spec.networking.mode = NetworkMode::Cni {
        provider: "cilium".to_owned(),
    };
    assert!(!text(&node, "/etc/containerd/config.toml").contains("conf_template"));
}

#[test]
fn kubelet_waits_for_the_instances_own_tags_only_on_aws() {
    let mut node = nodes::control_plane_kubenet();
    let steps = plan(&node);
    let tags = position(&steps, |action| {
        matches!(action, Action::Await(Condition::OwnTags { .. }))
    });
    let kubelet = position(
        &steps,
        |action| matches!(action, Action::StartUnit(unit) if unit.unit == "kubelet.service"),
    );
    let docker = position(
        &steps,
        |action| matches!(action, Action::StartUnit(unit) if unit.unit == "docker.service"),
    );
    assert!(tags < docker && docker < kubelet);
    node.spec
        .kubelet
        .flags
        .retain(|flag| flag.name != "cloud-provider");
    let waits = |action: &Action| matches!(action, Action::Await(Condition::OwnTags { .. }));
    assert!(!plan(&node).iter().any(|step| waits(&step.action)));
}

#[test]
fn what_the_plan_orders_the_unit_files_order() {
    let mut node = nodes::worker_cni();
    let unit = |node: &Node, name: &str| text(node, &format!("/etc/systemd/system/{name}.service"));
    assert!(unit(&node, "kubelet").contains("After=network-online.target docker.service\n"));
    let early = unit(&node, "disk-tuning");
    assert!(
        early.contains("Before=docker.service\nBefore=kubelet.service\n"),
        "{early}"
    );
    assert!(!early.contains("After="), "docker waits for it: {early}");
    let container = unit(&node, "kops-hook-0");
    assert!(
        container.contains("Before=kubelet.service\nAfter=docker.service\n"),
        "{container}"
    );
    node.spec.hooks[0].before.clear();
    let late = unit(&node, "disk-tuning");
    assert!(
        late.contains("Before=kubelet.service\nAfter=docker.service\n"),
        "{late}"
    );
    node.spec.hooks[0].requires = vec!["kubelet.service".to_owned()];
    let last = unit(&node, "disk-tuning");
    assert!(
        last.contains("After=kubelet.service\n") && !last.contains("Before="),
        "{last}"
    );
}

#[test]
fn an_old_docker_is_started_the_old_way() {
    let mut node = nodes::worker_cni();
    let unit = "/etc/systemd/system/docker.service";
    assert!(text(&node, unit).contains("ExecStart=/usr/bin/dockerd -H fd:// $DOCKER_OPTS"));
    if let Runtime::Docker(docker) = &mut node.spec.runtime {
        docker.version = Some("1.11.2".to_owned());
    }
    assert!(text(&node, unit).contains("ExecStart=/usr/bin/docker daemon -H fd:// $DOCKER_OPTS"));
}

#[test]
fn a_health_port_that_is_turned_off_is_not_awaited() {
    let mut node = nodes::worker_cni();
    let waits_for_kubelet = |node: &Node| plan(node).iter().any(|step| step.id == "ready:kubelet");
    assert!(waits_for_kubelet(&node));
    node.spec
        .kubelet
        .flags
        .push(quake_model::spec::Flag::new("healthz-port", "0"));
    assert!(!waits_for_kubelet(&node));
}

#[test]
fn bytes_named_twice_are_fetched_once_and_two_of_one_name_are_both_fetched() {
    let mut node = nodes::worker_cni();
    let mut mirrored = node.spec.assets[0].clone();
    mirrored.urls = vec!["https://mirror.example.com/kubelet".to_owned()];
    let mut other = node.spec.assets[1].clone();
    other.name = "kubelet".to_owned();
    node.spec.assets = vec![node.spec.assets[0].clone(), mirrored, other];
    let steps = quake_node::assets::plan(&node.spec, &node.known);
    let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    let second = format!("assets:kubelet@{}", node.spec.assets[2].digest);
    assert_eq!(ids, ["assets:kubelet", second.as_str()]);
}
