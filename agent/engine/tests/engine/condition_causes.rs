//! What breaks a node, as the conditions of its Node object show it: each cause flips its condition, with the code and what to do,
//! and once the cause is gone the condition holds again.

use crate::common::request;
use crate::kops_example::node_of;
use crate::node_conditions::{
    ALL, MINUTE, NODE, host, look_on_by, object, passes, register_as, requested, with_status,
};
use quake_apisim::ApiServer;
use quake_engine::Request;
use quake_model::facts::ActiveState;
use quake_testkit::SimHost;
use quake_testkit::region::example_instance;
use serde_json::json;
use std::sync::Arc;

/// What is done to a node.
type Act = fn(&SimHost);

/// What breaks a ready node.
struct Cause {
    name: &'static str,
    breaks: Act,
    /// Undoes it; `None` where only another node helps.
    repairs: Option<Act>,
    /// The conditions that are False by it.
    conditions: &'static str,
    /// The reason of the first of them, and what its message begins with.
    reason: &'static str,
    message: &'static str,
}

const CNI: &str = "/etc/cni/net.d/10-quake-agent.conflist";
const CNI_OF_TODAY: &str = "/etc/cni/net.d/10-containerd-net.conflist";
const FILE: &str = "/etc/sysctl.d/99-k8s-general.conf";
const FORWARD: &str = "net.ipv4.ip_forward";

/// Takes a file away, to where nobody looks.
fn take(host: &SimHost, path: &str) {
    host.move_file(path, &aside(path));
}

/// Puts it back as it was.
fn give_back(host: &SimHost, path: &str) {
    host.move_file(&aside(path), path);
}

fn aside(path: &str) -> String {
    format!("/root{path}")
}

fn unit(host: &SimHost, name: &str, active: ActiveState) {
    host.change(|region| {
        let unit = region.units.get_mut(name).expect("it runs");
        unit.active = active;
    });
}

fn set(host: &SimHost, value: &str) {
    host.change(|region| {
        region.sysctls.insert(FORWARD.to_owned(), value.to_owned());
    });
}

/// Of nodes of both generations.
const OF_EACH: &[Cause] = &[
    Cause {
        name: "kubelet fails",
        breaks: |host| unit(host, "kubelet.service", ActiveState::Failed),
        repairs: Some(|host| unit(host, "kubelet.service", ActiveState::Active)),
        conditions: "BootComplete",
        reason: "ServicesUnitFailed",
        message: "services.unit-failed: ",
    },
    Cause {
        name: "a file of the agent's is gone",
        breaks: |host| take(host, FILE),
        repairs: Some(|host| give_back(host, FILE)),
        conditions: "NoDrift",
        reason: "Drifted",
        message: "1 drifted, such as /etc/sysctl.d/99-k8s-general.conf (removed): quake-agent status --output json lists them; systemctl restart quake-agent.service",
    },
    Cause {
        name: "somebody turns forwarding off",
        breaks: |host| set(host, "0"),
        repairs: Some(|host| set(host, "1")),
        conditions: "NoDrift",
        reason: "Drifted",
        message: "1 drifted, such as /proc/sys/net/ipv4/ip_forward (0 instead of 1): ",
    },
];

/// Of nodes of kops legacy (1.8 to 1.15).
const OF_LEGACY: &[Cause] = &[
    Cause {
        name: "the CNI configuration is gone",
        breaks: |host| take(host, CNI),
        repairs: Some(|host| give_back(host, CNI)),
        conditions: "NetworkReady NoDrift",
        reason: "ReadyCniMissing",
        message: "ready.cni-missing: systemctl restart quake-agent.service writes it again",
    },
    Cause {
        name: "docker fails",
        breaks: |host| unit(host, "docker.service", ActiveState::Failed),
        repairs: Some(|host| unit(host, "docker.service", ActiveState::Active)),
        conditions: "BootComplete",
        reason: "ServicesUnitFailed",
        message: "services.unit-failed: ",
    },
];

/// Of nodes of kops (1.32 and newer).
const OF_TODAY: &[Cause] = &[
    Cause {
        name: "the CNI configuration is gone",
        breaks: |host| take(host, CNI_OF_TODAY),
        repairs: Some(|host| give_back(host, CNI_OF_TODAY)),
        conditions: "NetworkReady",
        reason: "ReadyCniMissing",
        message: "ready.cni-missing: ",
    },
    Cause {
        name: "containerd fails",
        breaks: |host| unit(host, "containerd.service", ActiveState::Failed),
        repairs: Some(|host| unit(host, "containerd.service", ActiveState::Active)),
        conditions: "BootComplete",
        reason: "ServicesUnitFailed",
        message: "services.unit-failed: ",
    },
];

/// Of control planes of both generations.
const OF_CONTROL_PLANES: &[Cause] = &[Cause {
    name: "a volume of etcd is unmounted",
    breaks: |host| {
        host.change(|region| {
            let at = region
                .mounts
                .iter()
                .position(is_main)
                .expect("it is mounted");
            let mut mount = region.mounts.remove(at);
            mount.target.push_str(ASIDE);
            region.mounts.push(mount);
        });
    },
    repairs: Some(|host| {
        host.change(|region| {
            for mount in &mut region.mounts {
                mount.target = mount.target.trim_end_matches(ASIDE).to_owned();
            }
        });
    }),
    conditions: "VolumesSafe",
    reason: "StorageMountGone",
    message: "storage.mount-gone: ",
}];

const ASIDE: &str = ".aside";

fn is_main(mount: &quake_model::facts::MountFacts) -> bool {
    mount.target.ends_with("vol-0aa")
}

/// Of a worker whose certificates kops-controller signed.
const OF_A_WORKER_OF_TODAY: &[Cause] = &[Cause {
    name: "kubelet's certificate expires",
    breaks: |host| host.pass(600 * 24 * 60 * MINUTE),
    repairs: None,
    conditions: "CertificatesValid",
    reason: "CredentialsNotRenewed",
    message: "credentials.not-renewed: replace the instance: kops rolling-update cluster",
}];

/// Reason and message of a condition.
fn said(host: &SimHost, name: &str) -> (String, String) {
    let conditions = object(host)["status"]["conditions"].as_array().cloned();
    let kind = format!("quake.io/{name}");
    let mut conditions = conditions.unwrap_or_default().into_iter();
    let found = conditions.find(|one| one["type"] == kind.as_str());
    let found = found.unwrap_or_default();
    let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("message"))
}

/// Breaks a ready node by each cause in turn.
async fn break_by(node: &str, host: &Arc<SimHost>, request: Request, causes: &[&[Cause]]) {
    let what = node.to_owned();
    look_on_by(host, request, async |host| {
        register_as(host, node, &json!([]));
        passes(3 * MINUTE).await;
        assert_eq!(with_status(host, "True"), ALL, "{what}");
        for cause in causes.iter().copied().flatten() {
            let at = format!("{what}: {}", cause.name);
            (cause.breaks)(host);
            passes(MINUTE / 2).await;
            let early = with_status(host, "False");
            assert!(
                early.is_empty() || cause.repairs.is_none(),
                "{at}: {early} at once"
            );
            passes(4 * MINUTE).await;
            let shown = format!("{at}: {:#}", object(host)["status"]);
            assert_eq!(with_status(host, "False"), cause.conditions, "{shown}");
            let first = cause.conditions.split(' ').next().unwrap_or_default();
            let (reason, message) = said(host, first);
            assert_eq!(reason, cause.reason, "{shown}");
            assert!(message.starts_with(cause.message), "{shown}");
            // The message has what to do behind the code.
            assert!(
                message.len() > cause.message.len() || cause.message.len() > 30,
                "{shown}"
            );
            let Some(repairs) = cause.repairs else { return };
            repairs(host);
            passes(4 * MINUTE).await;
            assert_eq!(with_status(host, "True"), ALL, "{at} no more");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_cause_flips_its_condition_on_a_node_of_kops_legacy_and_back() {
    for (group, more) in [("workers", &[][..]), ("control-plane", OF_CONTROL_PLANES)] {
        let host = host(group, "v1.15.12");
        let request = Request {
            conditions: requested(None),
            ..request(group)
        };
        break_by(NODE, &host, request, &[OF_EACH, OF_LEGACY, more]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn each_cause_flips_its_condition_on_a_node_of_todays_kops_and_back() {
    for (group, more) in [
        ("workers", OF_A_WORKER_OF_TODAY),
        ("control-plane", OF_CONTROL_PLANES),
    ] {
        let (host, request) = today(group);
        let node = host.region().instance.instance_id;
        break_by(&node, &host, request, &[OF_EACH, OF_TODAY, more]).await;
    }
}

/// A node of today's kops whose cluster has an API server.
fn today(group: &str) -> (Arc<SimHost>, Request) {
    let (host, request) = node_of(group, &example_instance("us-test-1a"));
    let host = Arc::into_inner(host).expect("nobody shares it yet");
    let host = host.with_cluster(ApiServer::new("v1.35.0"));
    // As the program of the files of settings would.
    set(&host, "1");
    let request = Request {
        conditions: requested(None),
        ..request
    };
    (Arc::new(host), request)
}
