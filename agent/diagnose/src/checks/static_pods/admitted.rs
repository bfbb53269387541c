//! Static pods that kubelet did not admit: their requests do not fit on the host. kubelet decides once for each file,
//! and does not try again (`pkg/kubelet/lifecycle/predicate.go`, kubernetes/kubernetes issue 138391).

use super::manifest::{Manifest, manifests};
use crate::checks::check::Finding;
use crate::checks::from_journal::QUOTED;
use crate::checks::kubelet::quantity;
use crate::checks::meminfo;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use quake_formats::yaml::Yaml;

/// How kubelet says that it did not admit a pod.
const REFUSED: &str = "Failed to admit pod";

/// A resource that was too scarce, and how much of it was missing.
struct Lack<'a> {
    resource: &'a str,
    /// In thousandths of a processor, or in bytes.
    missing: f64,
}

/// What keeps a component that has no container from being admitted.
pub(in crate::checks) fn refused(node: &Node<'_>, component: &str) -> Option<Finding> {
    let own = format!("/{component}-");
    let is_own = |line: &&String| line.contains(REFUSED) && line.contains(&own);
    let line = node.journal("kubelet.service").iter().rfind(is_own)?;
    let manifests = manifests(node).unwrap_or_default();
    let path = manifests
        .iter()
        .find(|one| one.pod().is_some_and(|(_, name)| name == component))
        .map_or_else(
            || format!("/etc/kubernetes/manifests/{component}.manifest"),
            Manifest::path,
        );
    let lack = lack(line);
    let why = match &lack {
        Some(lack) => why(node, component, lack, &manifests),
        None => String::new(),
    };
    let request = lack.as_ref().map_or("cpu", |lack| lack.resource);
    let field = field(component, request);
    let finding = Finding::new(
        format!("kubelet did not admit {component}{why}; it does not try a static pod again"),
        format!(
            "lower {field} or choose a larger machineType for the instance group: kops edit cluster, kops edit ig, kops update cluster --yes, kops rolling-update cluster --cloudonly --yes; at once: lower resources.requests.{request} in {path}, then: systemctl restart kubelet.service"
        ),
    );
    Some(finding.seen("journal", quote(line, QUOTED)))
}

/// The first resource of `[(res: cpu, q: 250), ]` (`pkg/kubelet/preemption/preemption.go`).
fn lack(line: &str) -> Option<Lack<'_>> {
    let (_, rest) = line.split_once("(res: ")?;
    let (resource, rest) = rest.split_once(", q: ")?;
    let missing = rest.split(')').next()?.trim().parse().ok()?;
    Some(Lack { resource, missing })
}

/// How much is missing, what the pod asks for, and what all of them ask for against what there is.
fn why(node: &Node<'_>, component: &str, lack: &Lack<'_>, manifests: &[Manifest<'_>]) -> String {
    let Lack { resource, missing } = lack;
    let (total, scale) = match *resource {
        "cpu" => (processors(node), 1000.0),
        "memory" => (meminfo::total_kib(node).map(|kib| kib as f64 * 1024.0), 1.0),
        _ => return format!(": {resource} is short by {missing}"),
    };
    let of_pod = |one: &Manifest<'_>| one.spec().map_or(0.0, |spec| requested(spec, resource));
    let is_own = |one: &&Manifest<'_>| one.pod().is_some_and(|(_, name)| name == component);
    let own = manifests.iter().find(is_own).map_or(0.0, of_pod);
    let all: f64 = manifests.iter().map(of_pod).sum();
    let shown = |value: f64| match *resource {
        "cpu" => format!("{:.0}m", value * scale),
        _ => format!("{:.0} MiB", value / 1_048_576.0),
    };
    let missing = shown(missing / scale);
    let mut why = format!(": {missing} of {resource} are missing");
    if own > 0.0 {
        why.push_str(&format!(
            "; it requests {}, all manifests request {}",
            shown(own),
            shown(all)
        ));
    }
    if let Some(total) = total.filter(|_| own > 0.0) {
        why.push_str(&format!(" of this host's {}", shown(total)));
    }
    why
}

/// How many processors the host has (proc(5)).
fn processors(node: &Node<'_>) -> Option<f64> {
    let text = node.text("/proc/cpuinfo").ok()??;
    let lines = text.lines();
    let count = lines.filter(|line| line.starts_with("processor")).count();
    (count > 0).then_some(count as f64)
}

/// What the containers of a pod request together, or the largest of its init containers if that is more
/// (kubernetes.io, Init Containers).
fn requested(spec: &Yaml, resource: &str) -> f64 {
    let of_container = |container: &Yaml| -> Option<f64> {
        let resources = container.get("resources")?;
        let requests = resources
            .get("requests")
            .or_else(|| resources.get("limits"))?;
        quantity(requests.text_of(resource)?, 0.0)
    };
    let all = spec.items_of("containers").iter().filter_map(of_container);
    let first = spec.items_of("initContainers").iter();
    let first = first.filter_map(of_container).fold(0.0, f64::max);
    all.sum::<f64>().max(first)
}

/// The field of the cluster spec of kops that sets a component's request (kops, `pkg/apis/kops/componentconfig.go`).
fn field(component: &str, resource: &str) -> String {
    const FIELDS: &[(&str, &str)] = &[
        ("kube-apiserver", "spec.kubeAPIServer"),
        ("kube-controller-manager", "spec.kubeControllerManager"),
        ("kube-scheduler", "spec.kubeScheduler"),
        ("kube-proxy", "spec.kubeProxy"),
        ("etcd", "spec.etcdClusters[]"),
    ];
    let found = FIELDS.iter().find(|(name, _)| component.starts_with(name));
    let key = match resource {
        "memory" => "memoryRequest",
        _ => "cpuRequest",
    };
    match found {
        Some((_, path)) => format!("{path}.{key}"),
        None => format!("resources.requests.{resource} of {component}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::{NAME, Sample, manifest};

    fn starved(resource: &str, missing: &str) -> Sample {
        let mut node = Sample::control_plane();
        node.pods().retain(|pod| pod.container != "kube-apiserver");
        node.journal("kubelet.service", &[&format!(
            r#"I1122 01:48:21.903377    1201 predicate.go:212] "Failed to admit pod, unexpected error while attempting to recover from admission failure" pod="kube-system/kube-apiserver-{NAME}" err="preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: {resource}, q: {missing}), ]""#
        )]);
        node
    }

    #[test]
    fn a_static_pod_that_does_not_fit_is_named_with_what_is_missing() {
        let id = "staticpods.running";
        let mut node = starved("cpu", "250");
        node.assert(id, Status::Fail, "250m of cpu are missing");
        let image = "    image: registry.k8s.io/kube-apiserver:v1.29.3\n";
        let requests = format!(
            "{image}    resources:\n      requests:\n        cpu: \"2250m\"\n        memory: 1Gi\n"
        );
        let text = manifest("kube-apiserver").replace(image, &requests);
        node.text("/etc/kubernetes/manifests/kube-apiserver.manifest", &text);
        node.text("/proc/cpuinfo", "processor : 0\nprocessor : 1\n");
        node.assert(id, Status::Fail, "2250m of this host's 2000m");
        node.assert(id, Status::Fail, "lower spec.kubeAPIServer.cpuRequest");
    }

    #[test]
    fn memory_is_counted_as_well() {
        let node = starved("memory", "104857600");
        let id = "staticpods.running";
        node.assert(id, Status::Fail, "100 MiB of memory are missing");
        node.assert(id, Status::Fail, "spec.kubeAPIServer.memoryRequest");
    }

    #[test]
    fn a_pod_that_came_up_later_was_admitted() {
        let mut node = starved("cpu", "250");
        node.pod("kube-apiserver", "running");
        node.assert("staticpods.running", Status::Ok, "kube-apiserver");
    }
}
