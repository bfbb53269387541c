//! Values of flags of the control plane that are valid and do harm, one row each.

use super::flags::Command;
use quake_formats::duration;

/// A flag of a component, which values do harm, and what they do. The remedy is to take the flag out of the cluster spec.
struct Row {
    component: &'static str,
    flag: &'static str,
    is_bad: fn(&str) -> bool,
    what: &'static str,
}

const SERVER: &str = "kube-apiserver";
const MANAGER: &str = "kube-controller-manager";
const SCHEDULER: &str = "kube-scheduler";

fn is_false(value: &str) -> bool {
    value == "false"
}

/// Where components are in the cluster spec.
fn section(component: &str) -> &'static str {
    match component {
        SERVER => "spec.kubeAPIServer",
        MANAGER => "spec.kubeControllerManager",
        _ => "spec.kubeScheduler",
    }
}

fn has(list: &str, wanted: &[&str]) -> bool {
    list.split(',').any(|one| wanted.contains(&one.trim()))
}

fn is_shorter(value: &str, seconds: u64) -> bool {
    duration::parse(value).is_some_and(|it| it.as_secs() < seconds)
}

/// The first port of a range is within the ports of kubelet and the control plane, or below.
fn takes_own_ports(value: &str) -> bool {
    const LAST_OF_CONTROL_PLANE: u32 = 10_259;
    let first = value.split(['-', '+']).next();
    first.is_some_and(|first| {
        first
            .parse()
            .is_ok_and(|it: u32| it <= LAST_OF_CONTROL_PLANE)
    })
}

const ROWS: &[Row] = &[
    Row {
        component: SERVER,
        flag: "service-node-port-range",
        is_bad: takes_own_ports,
        what: "a Service may get the port of kubelet (10250), of a component of the control plane or of the host as its node port, and takes it from them on every node",
    },
    Row {
        component: SERVER,
        flag: "endpoint-reconciler-type",
        is_bad: |value| value == "none",
        what: "the Service kubernetes gets no endpoints: pods do not reach the API server",
    },
    Row {
        component: SERVER,
        flag: "watch-cache",
        is_bad: is_false,
        what: "each watch and list reads from etcd, which cannot bear that",
    },
    Row {
        component: SERVER,
        flag: "disable-admission-plugins",
        is_bad: |value| {
            has(
                value,
                &[
                    "ServiceAccount",
                    "Priority",
                    "NamespaceLifecycle",
                    "MutatingAdmissionWebhook",
                ],
            )
        },
        what: "pods get no token, no priority or no changes of webhooks, or objects stay in namespaces that are gone",
    },
    Row {
        component: SERVER,
        flag: "request-timeout",
        is_bad: |value| is_shorter(value, 10),
        what: "requests that take longer end with 504: large lists, images' and volumes' objects",
    },
    Row {
        component: SERVER,
        flag: "max-requests-inflight",
        is_bad: |value| value.parse().is_ok_and(|it: u32| it > 0 && it < 50),
        what: "requests beyond so many are refused with 429: nodes and controllers wait",
    },
    Row {
        component: SERVER,
        flag: "max-mutating-requests-inflight",
        is_bad: |value| value.parse().is_ok_and(|it: u32| it > 0 && it < 25),
        what: "writes beyond so many are refused with 429: nodes and controllers wait",
    },
    Row {
        component: SERVER,
        flag: "kubelet-preferred-address-types",
        is_bad: |value| value.starts_with("External"),
        what: "the API server goes to kubelets by their public addresses: logs, exec and metrics time out",
    },
    Row {
        component: SERVER,
        flag: "event-ttl",
        is_bad: |value| {
            value
                .strip_suffix('h')
                .is_some_and(|it| it.parse().is_ok_and(|it: u32| it > 24))
        },
        what: "events stay so long that they fill etcd",
    },
    Row {
        component: MANAGER,
        flag: "controllers",
        is_bad: |value| !has(value, &["*"]),
        what: "all controllers that it does not name are off: no pods of Deployments, no endpoints, no certificates",
    },
    Row {
        component: MANAGER,
        flag: "node-monitor-grace-period",
        is_bad: |value| is_shorter(value, 20),
        what: "a node that renews its lease a moment late is NotReady, and its pods are evicted: kubelet renews it each 10 seconds",
    },
    Row {
        component: MANAGER,
        flag: "use-service-account-credentials",
        is_bad: is_false,
        what: "its controllers have the rights of one user, which RBAC gives to none of them",
    },
    Row {
        component: MANAGER,
        flag: "kube-api-qps",
        is_bad: |value| value.parse().is_ok_and(|it: f64| it > 0.0 && it < 5.0),
        what: "its controllers wait for each other: pods, endpoints and volumes come minutes late",
    },
    Row {
        component: SCHEDULER,
        flag: "kube-api-qps",
        is_bad: |value| value.parse().is_ok_and(|it: f64| it > 0.0 && it < 5.0),
        what: "it binds so few pods in a second that they wait as Pending",
    },
    Row {
        component: MANAGER,
        flag: "leader-elect",
        is_bad: is_false,
        what: "that of each control plane acts at the same time, and they undo what another did",
    },
    Row {
        component: SCHEDULER,
        flag: "leader-elect",
        is_bad: is_false,
        what: "that of each control plane acts at the same time, and they bind pods twice",
    },
];

/// What a component's flags do: what is so, with the value, and the remedy.
pub(super) fn of<'a>(
    component: &'a str,
    command: &'a Command<'_>,
) -> impl Iterator<Item = (String, String)> + 'a {
    let own = ROWS.iter().filter(move |row| row.component == component);
    own.filter_map(move |row| {
        let value = command.get(row.flag)?;
        let (flag, what) = (row.flag, row.what);
        (row.is_bad)(value).then(|| {
            let section = section(component);
            (
                format!("{component} has --{flag}={value}: {what}"),
                format!("take it out of {section} in kops edit cluster (the default is right), then roll the control planes"),
            )
        })
    })
}
