//! The static pod of a component of the control plane, as kops writes it since 1.32: on the host's network, with one
//! container of the component, whose output `go-runner` writes to the host's log file, too.

use crate::builders::Context;
use crate::builders::layout;
use crate::builders::legacy::{CLUSTER_CRITICAL, Command, StaticPod, variable};
use crate::config::EgressProxy;
use crate::config::current::Section;
use quake_formats::flags::FlagSet;
use quake_formats::yaml_text;
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Source};
use quake_model::spec::KubernetesVersion;
use serde_json::{Value, json};

/// The static pod called `name`, where kubelet looks for it.
pub(in crate::builders) fn manifest_path(name: &str) -> String {
    format!("/etc/kubernetes/manifests/{name}.manifest")
}

/// A pod of the component that `section`, at `path` of the configuration, describes, with its flags, its image, its
/// resources (`cpu` where it requests none), and what every pod of this node has; `config.missing-key` where the section
/// names no image.
pub(super) fn component_pod(
    context: &Context<'_>,
    name: &str,
    section: &Section,
    path: &str,
    cpu: &str,
) -> Result<(StaticPod, FlagSet), Fault> {
    let mut component = section.component();
    if component.image.is_empty() {
        return Err(context.missing(&format!("{path}.image")));
    }
    component.image = context.image(&component.image);
    let command = Command::default();
    let mut pod = StaticPod::for_component(name, &component, command, CLUSTER_CRITICAL);
    pod.default_cpu(cpu);
    let proxy = context.config.network.egress_proxy.as_ref();
    let settings = proxy.into_iter().flat_map(EgressProxy::variables);
    pod.environment = settings
        .map(|(name, value)| variable(name, &value))
        .collect();
    pod.host_label = host_label(context);
    Ok((pod, FlagSet::from_spec(&component.flags)))
}

/// A pod of the component that `key` of the configuration's `ControlPlaneConfig` describes, its flags, and its section. It
/// serves with a certificate of the node's unless the spec names another, and asks the API server who its callers are.
pub(super) fn control_plane_pod(
    context: &Context<'_>,
    name: &str,
    key: &str,
) -> Result<(StaticPod, FlagSet, Section), Fault> {
    let path = format!("ControlPlaneConfig.{key}");
    let config = context.config.control_plane.as_ref();
    let section = config.and_then(|config| config.section(key));
    let section = section.ok_or_else(|| context.missing(&path))?;
    let (pod, mut flags) = component_pod(context, name, &section, &path, "100m")?;
    for flag in ["authentication-kubeconfig", "authorization-kubeconfig"] {
        flags.set(flag, layout::kubeconfig(name));
    }
    if !section.has("tlsCertFile") {
        let file = |file: &str| context.srv(&format!("{name}/{file}"));
        flags.set("tls-cert-file", file("server.crt"));
        flags.set("tls-private-key-file", file("server.key"));
    }
    Ok((pod, flags, section))
}

/// Adds the directories with certificates of public CAs.
pub(super) fn read_public_ca_bundle(pod: &mut StaticPod, context: &Context<'_>) {
    for path in context.distribution.certificate_directories() {
        pod.read(&path.replace('/', ""), path);
    }
}

/// The manifest, and the log file, which must be there before the pod: where it is not, a directory is made of it.
pub(super) fn pod_and_log(
    context: &Context<'_>,
    mut pod: StaticPod,
    flags: &FlagSet,
    arguments: Vec<String>,
) -> Vec<Item> {
    pod.command = Command::through_go_runner(&pod.name, flags, arguments);
    let log = File::present(&layout::log(&pod.name)).mode(0o400);
    let path = manifest_path(&pod.name);
    let text = manifest(&pod, context.config.kubernetes);
    // An environment may hold a password, such as that of a proxy; kubelet reads the file as root.
    let manifest = match pod.environment.is_empty() {
        true => File::plain(&path, text),
        false => File::secret(&path, Source::bytes(text)),
    };
    vec![Item::File(log), Item::File(manifest)]
}

/// The text of a pod.
fn manifest(pod: &StaticPod, version: KubernetesVersion) -> String {
    let mut pod = pod.value(version);
    pod["status"] = json!({});
    yaml_text::document(&pod)
}

/// The label with which a pod sees files of the host, where containers are labelled for SELinux; `None` where they are not.
pub(in crate::builders) fn host_label(context: &Context<'_>) -> Option<Value> {
    let labels = context.config.containerd.is_set("selinuxEnabled");
    labels.then(|| json!({"type": "spc_t", "level": "s0"}))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_formats::yaml;
    use quake_model::fault::Code;
    use quake_model::step::Visibility;

    type Build = fn(&Context<'_>) -> Result<Vec<Item>, Fault>;

    /// The static pod called `name` that a builder yields, read back.
    pub(in crate::builders::control_plane) fn pod(
        sample: &Sample,
        build: Build,
        name: &str,
    ) -> Value {
        let text = sample.file(build, &manifest_path(name));
        yaml::parse(name, &text).expect("it is YAML").to_json()
    }

    /// The arguments of a pod's first container.
    pub(in crate::builders::control_plane) fn arguments(pod: &Value) -> Vec<&str> {
        let words = pod["spec"]["containers"][0]["args"].as_array();
        let words = words.expect("a container has arguments").iter();
        words.filter_map(Value::as_str).collect()
    }

    const NAME: &str = "kube-scheduler";

    fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
        let config = context.config.control_plane.as_ref();
        let section = config
            .and_then(|config| config.section("KubeScheduler"))
            .expect("the sample has one");
        let (mut pod, flags) = component_pod(context, NAME, &section, "here", "100m")?;
        pod.write_log();
        pod.read("twice", "/var/log/kube-scheduler.log");
        Ok(pod_and_log(
            context,
            pod,
            &flags,
            vec!["--a-last=1".to_owned()],
        ))
    }

    fn sample(section: &str, keys: &str) -> Sample {
        let text = format!("ControlPlaneConfig:\n  KubeScheduler: {section}\n{keys}");
        Sample::control_plane(&text)
    }

    #[test]
    fn a_component_is_run_by_what_writes_its_log_with_its_flags_sorted_as_whole_words() {
        let sample = sample(
            "{image: i, logLevel: 2, kubeAPIQPS: 5, kubeAPIBurst: 6}",
            "",
        );
        let pod = pod(&sample, build, NAME);
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["command"], json!(["/go-runner"]));
        let wanted = [
            "--log-file=/var/log/kube-scheduler.log",
            "--also-stdout",
            "/usr/local/bin/kube-scheduler",
            "--kube-api-burst=6",
            "--kube-api-qps=5",
            "--v=2",
            "--a-last=1",
        ];
        assert_eq!(arguments(&pod), wanted);
        // The log is there before the pod, and the place in the container is taken once.
        assert_eq!(
            container["volumeMounts"],
            json!([{"name": "logfile", "mountPath": "/var/log/kube-scheduler.log"}])
        );
    }

    #[test]
    fn resources_are_those_of_the_configuration_with_a_request_of_processor_time_at_least() {
        let resources = |section: &str| {
            let pod = pod(&sample(section, ""), build, NAME);
            pod["spec"]["containers"][0]["resources"].clone()
        };
        assert_eq!(
            resources("{image: i}"),
            json!({"requests": {"cpu": "100m"}})
        );
        assert_eq!(
            resources("{image: i, cpuRequest: 250m, memoryRequest: 1Gi, memoryLimit: 2Gi}"),
            json!({"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}})
        );
    }

    #[test]
    fn an_image_is_that_of_the_processor_and_must_be_named() {
        let mut arm = sample("{image: \"r/kube-scheduler-amd64:v1\"}", "");
        arm.instance.architecture = "arm64".into();
        let pod = pod(&arm, build, NAME);
        let image = &pod["spec"]["containers"][0]["image"];
        assert_eq!(image, "r/kube-scheduler-arm64:v1");
        let fault = sample("{}", "").try_items(build).expect_err("no image");
        assert_eq!(fault.code, Code::ConfigMissingKey);
        assert!(fault.summary.contains("here.image"), "{}", fault.summary);
    }

    #[test]
    fn a_pod_is_told_the_proxy_and_is_then_nobody_elses_to_read() {
        let proxy =
            "Networking: {egressProxy: {httpProxy: {host: p, port: 3128}, excludes: \"a,b\"}}\n";
        let sample = sample("{image: i}", proxy);
        let pod = pod(&sample, build, NAME);
        let wanted = json!([
            {"name": "http_proxy", "value": "http://p:3128"},
            {"name": "https_proxy", "value": "http://p:3128"},
            {"name": "NO_PROXY", "value": "a,b"},
            {"name": "no_proxy", "value": "a,b"},
        ]);
        assert_eq!(pod["spec"]["containers"][0]["env"], wanted);
        let secret = sample.items(build).into_iter().any(|item| {
            matches!(item, Item::File(file)
                if file.mode == 0o600 && file.visibility == Visibility::Secret
                    && matches!(file.source, Source::Bytes(_)))
        });
        assert!(secret);
    }

    #[test]
    fn a_pod_may_read_the_host_where_containers_are_labelled() {
        let plain = pod(&sample("{image: i}", ""), build, NAME);
        assert_eq!(plain["spec"]["securityContext"], Value::Null);
        let keys = "containerdConfig: {selinuxEnabled: true}\n";
        let labelled = pod(&sample("{image: i}", keys), build, NAME);
        let options = &labelled["spec"]["securityContext"]["seLinuxOptions"];
        assert_eq!(options, &json!({"type": "spc_t", "level": "s0"}));
    }
}
