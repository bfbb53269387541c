//! `apiserver.webhooks`: an admission plugin that forbids the pods which a node needs, such as `ImagePolicyWebhook`.

use crate::checks::check::{Certainty, Finding};
use crate::checks::from_journal::QUOTED;
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::log_lines::unescaped;
use quake_formats::yaml::shorten;
use std::collections::BTreeSet;

/// Where kops writes the configuration of admission plugins (kops, `nodeup/pkg/model/kube_apiserver.go`).
const CONFIGURATION: &str = "/srv/kubernetes/kube-apiserver/admission-control-config.yaml";

/// A pod that was forbidden, and why.
struct Forbidden<'a> {
    pod: String,
    why: String,
    line: &'a str,
}

/// Reasons that rows of the known lines, other checks or the authorizer's own tables explain.
const OF_OTHERS: &[&str] = &[
    "User \"",
    "ValidatingAdmissionPolicy",
    "violates PodSecurity",
    "quota",
    "per Container",
    "per Pod",
    "pod security policy",
    "PodSecurityPolicy",
    "is being terminated",
    "serviceaccount",
    "service account",
    "node \"",
    "not yet ready to handle request",
    "no providers available",
];

/// The finding of mirror pods and pods of `DaemonSet`s that are forbidden of late.
pub(super) fn forbidden(node: &Node<'_>) -> Option<Finding> {
    let refused = refused(node);
    let last = refused.last()?;
    let names: BTreeSet<&str> = refused.iter().map(|one| one.pod.as_str()).collect();
    let shown: Vec<&str> = names.iter().copied().take(3).collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = format!("{}{more}", shown.join(", "));
    let by_images = of_image_policy(node, &last.why);
    let plugin = match by_images {
        Some(_) => "ImagePolicyWebhook forbids",
        None => "the API server's admission forbids",
    };
    let (of_name, name_fix) = service_name(&last.why);
    let fix = match by_images {
        Some(file) => format!(
            "{name_fix}in {CONFIGURATION} defaultAllow: true lets pods in while the webhook is away; or take ImagePolicyWebhook out of spec.kubeAPIServer.enableAdmissionPlugins (kops edit cluster, kops update cluster --yes); at once: that change in {CONFIGURATION} (its kubeconfig is {file}), then: pkill -x kube-apiserver, and kubelet starts it anew; replace no other control plane before"
        ),
        None => format!(
            "{name_fix}grep -nE 'admission' /etc/kubernetes/manifests/kube-apiserver.manifest names the plugins and their configuration: bring up what the plugin asks, let it pass when that is away, or take it out of spec.kubeAPIServer.enableAdmissionPlugins; replace no other node before"
        ),
    };
    let finding = Finding::new(
        format!(
            "{plugin} pods that this node needs ({what}){of_name}: {}",
            last.why
        ),
        fix,
    );
    Some(
        finding
            .by(Certainty::Certain)
            .seen("log", shorten(last.line, QUOTED)),
    )
}

/// The refusals of late, of kubelet's mirror pods and of the controller of `DaemonSet`s.
fn refused<'a>(node: &Node<'a>) -> Vec<Forbidden<'a>> {
    let mirrors = node.journal("kubelet.service").iter();
    let mirrors = mirrors.filter(|line| line.contains("Failed creating a mirror pod"));
    let of_controller = node
        .pods()
        .filter(|pod| pod.name.starts_with("kube-controller-manager"));
    let sets = of_controller.flat_map(|pod| pod.log.iter());
    let sets =
        sets.filter(|line| line.contains("daemon_controller.go") && line.contains("kube-system/"));
    let all = mirrors.chain(sets).filter(|line| is_late(line, node));
    let all = all.filter_map(|line| read(line));
    all.filter(|one| !OF_OTHERS.iter().any(|words| one.why.contains(words)))
        .collect()
}

/// Reads `pods "x" is forbidden: WHY` (k8s.io/apimachinery, `pkg/api/errors`).
fn read(line: &str) -> Option<Forbidden<'_>> {
    const FIELDS: &[&str] = &["\" pod=\"", "\" logger=\""];
    let plain = unescaped(line);
    let (before, rest) = plain.split_once(" is forbidden: ")?;
    let pod = before.trim_end_matches('"').rsplit('"').next()?;
    // The name of a DaemonSet's pod ends in five letters that change with each try.
    let is_of_set = line.contains("daemon_controller.go");
    let pod = match pod.rsplit_once('-').filter(|_| is_of_set) {
        Some((set, _)) => set,
        None => pod,
    };
    let ends = FIELDS.iter().filter_map(|field| rest.find(field));
    let why = &rest[..ends.min().unwrap_or(rest.len())];
    Some(Forbidden {
        pod: pod.to_owned(),
        why: shorten(why.trim_end_matches('"'), 300),
        line,
    })
}

/// The kubeconfig of the image policy where the reason is this plugin's.
fn of_image_policy<'a>(node: &Node<'a>, why: &str) -> Option<&'a str> {
    let text = node.text(CONFIGURATION).ok()??;
    let (_, rest) = text.split_once("kubeConfigFile:")?;
    let path = rest.lines().next()?.trim().trim_matches('"');
    // Other webhooks say that they are called; this plugin gives the error of its request alone.
    let is_own = why.starts_with("Post \"") || why.contains("image policy webhook");
    (is_own && text.contains("imagePolicy")).then_some(path)
}

/// What to say and do where the API server, which has the host's name server, looks for a name of a Service.
fn service_name(why: &str) -> (String, String) {
    let host = why
        .split_once("lookup ")
        .and_then(|(_, rest)| rest.split([' ', ':']).next())
        .filter(|host| host.ends_with(".svc") || host.contains(".svc."));
    match host {
        Some(host) => (
            format!(
                "; kube-apiserver is on the host's network and cannot resolve {host}, a name of the cluster"
            ),
            format!(
                "name an address that the host resolves instead of {host} (the Service's clusterIP, or a name of the VPC); until then: "
            ),
        ),
        None => (String::new(), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::CONFIGURATION;
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const WHY: &str = r#"Post \\\"https://bouncer.security.svc:1323/x\\\": dial tcp: lookup bouncer.security.svc on 10.0.0.2:53: no such host"#;

    fn lines(why: &str) -> (String, String) {
        (
            format!(
                r#"E1121 03:20:00.440010    1201 kubelet.go:3180] "Failed creating a mirror pod" err="pods \"kube-scheduler-i-0\" is forbidden: {}" pod="kube-system/kube-scheduler-i-0""#,
                why.replace(r"\\\", r"\")
            ),
            format!(
                r#"E1121 03:20:01.440010       1 daemon_controller.go:329] "Unhandled Error" err="kube-system/calico-node failed with : pods \"calico-node-x7k2p\" is forbidden: {}" logger="UnhandledError""#,
                why.replace(r"\\\", r"\")
            ),
        )
    }

    #[test]
    fn a_plugin_that_forbids_the_nodes_pods_is_named_with_its_reason() {
        let id = "apiserver.webhooks";
        let mut node = Sample::control_plane();
        let (mirror, set) = lines(WHY);
        node.journal("kubelet.service", &[&mirror]);
        node.pod("kube-controller-manager", "running").log = vec![set];
        node.assert(id, Status::Fail, "(calico-node, kube-scheduler-i-0)");
        node.assert(id, Status::Fail, "cannot resolve bouncer.security.svc");
        node.text(
            CONFIGURATION,
            "plugins:\n- name: ImagePolicyWebhook\n  configuration:\n    imagePolicy:\n      kubeConfigFile: /srv/x.kubeconfig\n      defaultAllow: false\n",
        );
        let server = "    server: https://bouncer.security.svc:1323/x\n";
        node.text("/srv/x.kubeconfig", server);
        node.assert(id, Status::Fail, "ImagePolicyWebhook forbids");
        node.assert(id, Status::Fail, "defaultAllow: true");
    }

    #[test]
    fn what_other_checks_explain_is_left_to_them() {
        let mut node = Sample::control_plane();
        let (mirror, set) = lines("exceeded quota: compute, requested: pods=1");
        node.journal("kubelet.service", &[&mirror]);
        node.pod("kube-controller-manager", "running").log = vec![set];
        node.assert("apiserver.webhooks", Status::Ok, "none refused");
    }
}
