//! kube-controller-manager's pod.

use super::static_pod::{control_plane_pod, pod_and_log, read_public_ca_bundle};
use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::Item;

const NAME: &str = "kube-controller-manager";

/// Its directory, with its kubeconfig.
const HOME: &str = "/var/lib/kube-controller-manager";

/// kube-controller-manager's manifest and its log.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.is_control_plane() {
        return Ok(Vec::new());
    }
    let (mut pod, mut flags, _) = control_plane_pod(context, NAME, "KubeControllerManager")?;
    let plugins = context.config.kubelet.text("volumePluginDirectory");
    let plugins = plugins.unwrap_or(context.distribution.volume_plugins());
    let file = |name: &str| context.srv(&format!("{NAME}/{name}"));
    flags.set("root-ca-file", context.srv("ca.crt"));
    flags.set(
        "service-account-private-key-file",
        file("service-account.key"),
    );
    flags.set("cluster-signing-cert-file", file("ca.crt"));
    flags.set("cluster-signing-key-file", file("ca.key"));
    flags.set("flex-volume-plugin-dir", plugins);
    flags.set("kubeconfig", format!("{HOME}/kubeconfig"));

    pod.live_at("/healthz", 10257, true, 15);
    pod.write_log();
    read_public_ca_bundle(&mut pod, context);
    pod.read("cabundle", &context.srv("ca.crt"));
    pod.read("srvkcm", &context.srv(NAME));
    pod.read("varlibkcm", HOME);
    // At the host's own path, so that a `DaemonSet` can bring a plugin.
    pod.write("volplugins", plugins);
    Ok(pod_and_log(context, pod, &flags, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::control_plane::scheduler;
    use crate::builders::control_plane::static_pod::tests::{arguments, pod};
    use crate::builders::sample::Sample;
    use crate::distribution::Project;
    use quake_model::fault::Code;
    use quake_model::spec::Role;
    use serde_json::Value;

    fn sample(section: &str, keys: &str) -> Sample {
        let text =
            format!("ControlPlaneConfig:\n  KubeControllerManager: {{image: i{section}}}\n{keys}");
        Sample::control_plane(&text)
    }

    fn has(pod: &Value, flag: &str) -> bool {
        arguments(pod).contains(&flag)
    }

    /// Where volume plugins are, as the pod has it.
    fn plugins(pod: &Value) -> &str {
        let flag = "--flex-volume-plugin-dir=";
        let words = arguments(pod).into_iter();
        let path = words.filter_map(|word| word.strip_prefix(flag)).next();
        let path = path.expect("it is told where plugins are");
        let mounts = pod["spec"]["containers"][0]["volumeMounts"].as_array();
        let mounts = mounts.expect("it has mounts");
        let mount = mounts.iter().find(|mount| mount["name"] == "volplugins");
        let mount = mount.expect("it sees plugins");
        assert_eq!(
            (mount["mountPath"].as_str(), &mount["readOnly"]),
            (Some(path), &Value::Null)
        );
        path
    }

    #[test]
    fn it_is_on_the_control_plane_alone_as_the_scheduler_is_and_must_be_described() {
        let mut other = sample("", "");
        other.boot.role = Role::ApiServer;
        assert_eq!(other.items(build), []);
        assert_eq!(other.items(scheduler::build), []);
        let fault = Sample::control_plane("").try_items(build);
        assert_eq!(fault.expect_err("no section").code, Code::ConfigMissingKey);
    }

    #[test]
    fn volume_plugins_are_where_kubelet_or_the_distribution_has_them() {
        let default = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/";
        let mut node = sample("", "");
        assert_eq!(plugins(&pod(&node, build, NAME)), default);
        node = node.on(Project::Flatcar, (0, 0));
        assert_eq!(
            plugins(&pod(&node, build, NAME)),
            "/var/lib/kubelet/volumeplugins/"
        );
        let reported = sample("", "KubeletConfig: {volumePluginDirectory: /a}\n");
        assert_eq!(plugins(&pod(&reported, build, NAME)), "/a");
    }

    #[test]
    fn a_serving_certificate_of_the_operators_is_used() {
        let own = pod(&sample("", ""), build, NAME);
        let file = "--tls-cert-file=/srv/kubernetes/kube-controller-manager/server.crt";
        assert!(has(&own, file));
        let theirs = pod(
            &sample(", tlsCertFile: /a, tlsPrivateKeyFile: /b", ""),
            build,
            NAME,
        );
        assert!(has(&theirs, "--tls-cert-file=/a") && has(&theirs, "--tls-private-key-file=/b"));
        assert!(!has(&theirs, file));
    }
}
