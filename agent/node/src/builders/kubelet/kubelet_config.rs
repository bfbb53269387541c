//! kubelet's configuration file, a `KubeletConfiguration` of `kubelet.config.k8s.io/v1beta1`.

use super::CONFIG;
use super::kubelet_settings;
use super::kubelet_values::{feature_gates, pairs, taints};
use super::max_pods::max_pods;
use crate::builders::Context;
use quake_formats::yaml_text;
use quake_model::fault::Fault;
use quake_model::item::{File, Item};
use serde_json::{Value, json};

/// What systemd-resolved writes for those who do not ask its stub, which listens on the host's loopback alone.
const REAL_RESOLVERS: &str = "/run/systemd/resolve/resolv.conf";

pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let mut fields = kubelet_settings::take_over(&context.config.kubelet);
    let own = own_fields(context)?;
    let own = own.as_object().into_iter().flatten();
    let present = own.filter(|(_, value)| !value.is_null());
    fields.extend(present.map(|(key, value)| (key.as_str(), value.clone())));
    let text = yaml_text::document(&json!(fields));
    let mark = "# Written by quake-agent; changes are lost at the next boot.\n";
    let file = File::plain(CONFIG, format!("{mark}{text}"));
    Ok(vec![Item::File(file)])
}

/// What the spec writes otherwise, and what only the node can know; null where kubelet's own default stands.
fn own_fields(context: &Context<'_>) -> Result<Value, Fault> {
    let (spec, instance) = (&context.config.kubelet, context.instance);
    let socket = context.config.containerd.text("address");
    let socket = socket.unwrap_or("/run/containerd/containerd.sock");
    let plugins = spec.text("volumePluginDirectory");
    let plugins = plugins.unwrap_or(context.distribution.volume_plugins());
    let asks = spec.boolean("authenticationTokenWebhook").unwrap_or(true);
    let groups = spec.text("enforceNodeAllocatable");
    let groups = groups.map(|groups| groups.split(',').collect::<Vec<_>>());
    let mut logging = json!({
        "flushFrequency": 0,
        "options": {"json": {"infoBufferSize": "0"}, "text": {"infoBufferSize": "0"}},
        // The flag says how much.
        "verbosity": 0,
    });
    if let Some(format) = spec.text("logFormat") {
        logging["format"] = format.into();
    }
    Ok(json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": format!("unix://{socket}"),
        "logging": logging,
        "memorySwap": one_field("swapBehavior", spec.text("memorySwapBehavior")),
        "crashLoopBackOff": one_field("maxContainerRestartPeriod", longest_pause(context)),
        "authentication": {
            "anonymous": one_field("enabled", spec.boolean("anonymousAuth")),
            "webhook": {"cacheTTL": "0s", "enabled": asks},
            "x509": {"clientCAFile": context.srv("ca.crt")},
        },
        "authorization": {
            "mode": spec.text("authorizationMode").unwrap_or("Webhook"),
            "webhook": {"cacheAuthorizedTTL": "0s", "cacheUnauthorizedTTL": "0s"},
        },
        "tlsCertFile": context.srv("kubelet-server.crt"),
        "tlsPrivateKeyFile": context.srv("kubelet-server.key"),
        "providerID": format!("aws:///{}/{}", instance.zone, instance.instance_id),
        "staticPodPath": spec.text("podManifestPath"),
        "volumePluginDir": plugins,
        "resolvConf": resolvers(context),
        "maxPods": max_pods(context),
        "clusterDNS": spec.text("clusterDNS").map(|address| [address]),
        "enforceNodeAllocatable": groups,
        "evictionHard": pairs(context, "evictionHard", '<')?,
        "evictionSoft": pairs(context, "evictionSoft", '<')?,
        "evictionSoftGracePeriod": pairs(context, "evictionSoftGracePeriod", '=')?,
        "evictionMinimumReclaim": pairs(context, "evictionMinimumReclaim", '=')?,
        "featureGates": feature_gates(context)?,
        "registerWithTaints": taints(context)?,
    }))
}

/// A table of one key; empty where its value is not given.
fn one_field(key: &str, value: Option<impl Into<Value>>) -> Value {
    value.map_or_else(|| json!({}), |value| json!({key: value.into()}))
}

/// How long kubelet pauses at most before it starts again what ends again and again; `None` is its own default.
///
/// A control plane's pods wait for each other while it comes up. kubelet knows the setting since 1.32, and takes it without a
/// feature gate since 1.35.
fn longest_pause(context: &Context<'_>) -> Option<String> {
    if context.is_control_plane() && context.config.kubernetes.at_least(1, 35) {
        return Some("1m0s".to_owned());
    }
    let spec = &context.config.kubelet;
    spec.duration("crashLoopBackOffMaxContainerRestartPeriod")
}

/// The file with the resolvers that pods get; `None` is kubelet's default, `/etc/resolv.conf`.
fn resolvers<'a>(context: &Context<'a>) -> Option<&'a str> {
    let spec = &context.config.kubelet;
    // An empty one means something: no resolvers at all.
    if spec.has("resolvConf") {
        return Some(spec.text("resolvConf").unwrap_or_default());
    }
    let is_stub =
        context.distribution.always_resolves_through_stub() || context.machine.runs_resolved;
    is_stub.then_some(REAL_RESOLVERS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;
    use quake_model::fault::Code;

    fn read(sample: &Sample) -> Value {
        let text = sample.file(build, CONFIG);
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn config(keys: &str) -> Value {
        read(&Sample::worker(&format!("KubeletConfig: {{{keys}}}\n")))
    }

    #[test]
    fn texts_of_pairs_are_maps() {
        let found = config(
            "evictionHard: \"memory.available<100Mi, nodefs.available<10%\", evictionSoftGracePeriod: memory.available=1m, \
             enforceNodeAllocatable: \"pods,kube-reserved\"",
        );
        let wanted = json!({"memory.available": "100Mi", "nodefs.available": "10%"});
        assert_eq!(found["evictionHard"], wanted);
        let wanted = json!({"memory.available": "1m"});
        assert_eq!(found["evictionSoftGracePeriod"], wanted);
        assert_eq!(found["evictionSoft"], Value::Null);
        let wanted = json!(["pods", "kube-reserved"]);
        assert_eq!(found["enforceNodeAllocatable"], wanted);
    }

    #[test]
    fn feature_gates_are_read_as_go_reads_them() {
        let found = config("featureGates: {A: \"true\", B: \"0\", C: T}");
        let wanted = json!({"A": true, "B": false, "C": true});
        assert_eq!(found["featureGates"], wanted);
    }

    #[test]
    fn what_cannot_be_read_is_refused_at_its_place() {
        for (keys, path) in [
            ("evictionHard: memory", "KubeletConfig.evictionHard"),
            (
                "evictionSoftGracePeriod: a<1",
                "KubeletConfig.evictionSoftGracePeriod",
            ),
            ("featureGates: {A: maybe}", "KubeletConfig.featureGates"),
            ("taints: [\"a=b:Never\"]", "KubeletConfig.taints"),
        ] {
            let sample = Sample::worker(&format!("KubeletConfig:\n  {keys}\n"));
            let fault = sample.try_items(build).expect_err(keys);
            assert_eq!(fault.code, Code::ConfigWrongType, "{keys}");
            assert_eq!(fault.evidence_named("path"), Some(path));
            assert_eq!(fault.evidence_named("line"), Some("4"), "{keys}");
        }
    }

    #[test]
    fn pods_never_get_the_stub_of_the_host_as_their_resolver() {
        let resolvers = |sample: &Sample| read(sample)["resolvConf"].clone();
        let mut sample = Sample::worker("");
        assert_eq!(resolvers(&sample), Value::Null);
        sample.machine.runs_resolved = true;
        assert_eq!(resolvers(&sample), REAL_RESOLVERS);
        sample.machine.runs_resolved = false;
        sample = sample.on(Project::Ubuntu, (24, 4));
        assert_eq!(resolvers(&sample), REAL_RESOLVERS);
        assert_eq!(config("resolvConf: /etc/other")["resolvConf"], "/etc/other");
        assert_eq!(config("resolvConf: \"\"")["resolvConf"], "");
    }

    #[test]
    fn a_control_plane_starts_its_pods_again_soon() {
        let pause = |sample: &Sample| read(sample)["crashLoopBackOff"].clone();
        let soon = json!({"maxContainerRestartPeriod": "1m0s"});
        let mut control_plane = Sample::control_plane("");
        assert_eq!(pause(&control_plane), soon);
        control_plane.config.kubernetes.minor = 34;
        assert_eq!(pause(&control_plane), json!({}));
        assert_eq!(pause(&Sample::worker("")), json!({}));
        let given = config("crashLoopBackOffMaxContainerRestartPeriod: 90s");
        let wanted = json!({"maxContainerRestartPeriod": "1m30s"});
        assert_eq!(given["crashLoopBackOff"], wanted);
    }

    #[test]
    fn volume_plugins_are_where_the_distribution_can_be_written() {
        let sample = Sample::worker("").on(Project::Flatcar, (0, 0));
        let plugins = &read(&sample)["volumePluginDir"];
        assert_eq!(plugins, "/var/lib/kubelet/volumeplugins/");
    }

    #[test]
    fn the_runtime_is_where_its_own_configuration_has_it() {
        let sample = Sample::worker("containerdConfig: {address: /run/other.sock}\n");
        let endpoint = &read(&sample)["containerRuntimeEndpoint"];
        assert_eq!(endpoint, "unix:///run/other.sock");
    }
}
