//! kube-proxy, a static pod of every node that does not turn it off.

use crate::builders::Context;
use crate::builders::control_plane::host_label;
use crate::builders::legacy::{Command, HostPath, NODE_CRITICAL, StaticPod};
use crate::config::current::Section;
use quake_formats::flags::FlagSet;
use quake_formats::yaml_text;
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Subject};
use serde_json::json;

const NAME: &str = "kube-proxy";
const MANIFEST: &str = "/etc/kubernetes/manifests/kube-proxy.manifest";
const KUBECONFIG: &str = "/var/lib/kube-proxy/kubeconfig";
const LOG: &str = "/var/log/kube-proxy.log";

/// Who kube-proxy is to the API server.
const USER: &str = "system:kube-proxy";

/// The address that the spec names by this word is the instance's.
const OWN_ADDRESS: &str = "@aws";

/// The pod, its kubeconfig, and the file it logs to.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let Some(spec) = &context.config.kube_proxy else {
        return Ok(Vec::new());
    };
    let mut pod = pod(context, spec).value(context.config.kubernetes);
    pod["status"] = json!({});
    // As kops writes this pod.
    pod.sort_all_objects();
    let manifest = yaml_text::document(&pod);
    let subject = Subject::named(USER);
    let kubeconfig = context.kubeconfig(NAME, subject, KUBECONFIG)?;
    // Without a file there kubelet would make a directory of what the pod mounts.
    let log = File::present(LOG).mode(0o400);
    let files = [File::plain(MANIFEST, manifest), log].map(Item::File);
    Ok(kubeconfig.into_iter().chain(files).collect())
}

/// The flags of the spec, and those that only the node can know.
fn flags(context: &Context<'_>, spec: &Section) -> FlagSet {
    let mut flags = FlagSet::from_spec(&spec.flags());
    flags.set("hostname-override", &context.node_name);
    if flags.get("bind-address") == Some(OWN_ADDRESS) {
        flags.set("bind-address", &context.instance.private_ip);
    }
    if context.distribution.forces_nftables()
        && matches!(flags.get("proxy-mode"), None | Some("iptables"))
    {
        flags.set("proxy-mode", "nftables");
    }
    flags.set_default("master", api_server(context));
    flags.set_default("conntrack-max-per-core", "131072");
    flags.set("kubeconfig", KUBECONFIG);
    // Of a node's processes the kernel kills it among the last.
    flags.set("oom-score-adj", "-998");
    flags
}

/// The API server by a way that does not lead through the services that kube-proxy makes, nor on a control plane through the
/// names that its own pods make.
fn api_server(context: &Context<'_>) -> String {
    match context.is_control_plane() {
        true => "https://127.0.0.1".to_owned(),
        false => format!("https://{}", context.api_internal_name()),
    }
}

fn pod(context: &Context<'_>, spec: &Section) -> StaticPod {
    let command = Command::through_go_runner(NAME, &flags(context, spec), []);
    let mut pod = StaticPod::for_component(NAME, &spec.component(), command, NODE_CRITICAL);
    pod.image = context.image(&pod.image);
    // kops' own default, which it writes into every spec.
    pod.default_cpu("100m");
    // kubelet knows a static pod by the hash of what it says: with another label it would be another pod.
    pod.labels = vec![("kubernetes.io/managed-by", "nodeup"), ("tier", "node")];
    pod.privileged = true;
    pod.host_label = host_label(context);
    pod.paths = paths().into();
    pod
}

fn paths() -> [HostPath; 5] {
    let certificates = HostPath::read("ssl-certs-hosts", "/usr/share/ca-certificates");
    let lock = HostPath::write("iptableslock", "/run/xtables.lock");
    [
        HostPath::write("logfile", LOG),
        HostPath::read("kubeconfig", "/var/lib/kube-proxy"),
        // ipvs needs the host's modules.
        HostPath::read("modules", "/lib/modules"),
        certificates.at("/etc/ssl/certs"),
        // Without the host's lock two writers of iptables lose each other's rules.
        lock.of_kind("FileOrCreate"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;
    use serde_json::Value;

    const KEYS: &str = "KeypairIDs: {kubernetes-ca: \"1\"}\nCAs: {kubernetes-ca: CA}\n";

    fn sample(keys: &str) -> Sample {
        Sample::worker(&format!("{KEYS}KubeProxy: {{image: proxy, {keys}}}\n"))
    }

    fn read(sample: &Sample) -> Value {
        let text = sample.file(build, MANIFEST);
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn container_of(sample: &Sample) -> Value {
        read(sample)["spec"]["containers"][0].clone()
    }

    fn has(sample: &Sample, word: &str) -> bool {
        let container = container_of(sample);
        let arguments = container["args"].as_array();
        arguments.is_some_and(|all| all.iter().any(|other| other == word))
    }

    #[test]
    fn a_node_without_it_has_nothing_of_it() {
        assert_eq!(Sample::worker(KEYS).items(build), []);
        assert_eq!(sample("enabled: false").items(build), []);
    }

    #[test]
    fn only_a_control_plane_asks_the_api_server_beside_it() {
        let worker = sample("");
        assert!(has(&worker, "--master=https://api.internal.c.example.com"));
        let keys = format!("{KEYS}KubeProxy: {{image: proxy}}\n");
        assert!(has(
            &Sample::control_plane(&keys),
            "--master=https://127.0.0.1"
        ));
        assert!(has(&sample("master: \"https://x\""), "--master=https://x"));
    }

    #[test]
    fn nftables_are_used_where_the_kernel_has_nothing_else() {
        let mode = |keys: &str, mode: &str| {
            let sample = sample(keys).on(Project::Rhel, (10, 0));
            has(&sample, &format!("--proxy-mode={mode}"))
        };
        assert!(mode("", "nftables"));
        assert!(mode("proxyMode: iptables", "nftables"));
        assert!(mode("proxyMode: ipvs", "ipvs"), "the operator's choice");
        assert!(has(&sample("proxyMode: iptables"), "--proxy-mode=iptables"));
    }

    #[test]
    fn the_word_for_the_instances_address_becomes_it() {
        let sample = sample("bindAddress: \"@aws\"");
        assert!(has(&sample, "--bind-address=10.0.0.10"));
    }

    #[test]
    fn selinux_lets_it_read_what_is_the_hosts() {
        let mut sample = sample("");
        assert_eq!(read(&sample)["spec"]["securityContext"], Value::Null);
        sample = Sample::worker(&format!(
            "{KEYS}KubeProxy: {{image: proxy}}\ncontainerdConfig: {{selinuxEnabled: true}}\n"
        ));
        let options = &read(&sample)["spec"]["securityContext"]["seLinuxOptions"];
        assert_eq!(options["type"], "spc_t");
    }

    #[test]
    fn a_log_that_is_there_is_kept() {
        let log = sample("").file_at(build, LOG).expect("the log is made");
        assert_eq!(log.keep, quake_model::step::Keep::IfPresent);
        assert_eq!(log.mode, 0o400);
    }
}
