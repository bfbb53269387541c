//! kube-proxy, a static pod of every node that does not turn it off.

use crate::builders::Context;
use crate::builders::context::KUBERNETES_CA;
use crate::builders::legacy::{Access, HostPath};
use crate::config::current::Section;
use quake_formats::flags::FlagSet;
use quake_formats::yaml_text;
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Subject};
use serde_json::{Map, Value, json};

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
    let manifest = yaml_text::document(&pod(context, spec));
    let issuer = context.issuer(KUBERNETES_CA)?;
    let subject = Subject::named(USER);
    let kubeconfig = context.kubeconfig("kube-proxy", subject, issuer, KUBECONFIG)?;
    // Without a file there kubelet would make a directory of what the pod mounts.
    let log = File::present(LOG).mode(0o400);
    let files = [File::plain(MANIFEST, manifest), log].map(Item::File);
    Ok(kubeconfig.into_iter().chain(files).collect())
}

/// The flags of the spec, and those that only the node can know, as kops sorts them.
fn words(context: &Context<'_>, spec: &Section) -> Vec<String> {
    let mut flags = FlagSet::from_spec(&spec.flags());
    flags.set("hostname-override", context.node_name());
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
    let mut words = flags.words();
    words.sort();
    words
}

/// The API server by a way that does not lead through the services that kube-proxy makes, nor on a control plane through the
/// names that its own pods make.
fn api_server(context: &Context<'_>) -> String {
    match context.is_control_plane() {
        true => "https://127.0.0.1".to_owned(),
        false => format!("https://{}", context.api_internal_name()),
    }
}

fn pod(context: &Context<'_>, spec: &Section) -> Value {
    let mut pod = json!({
        "containers": [container(context, spec)],
        "hostNetwork": true,
        "priorityClassName": "system-node-critical",
    });
    if context.config.containerd.is_set("selinuxEnabled") {
        // The type that SELinux confines to nothing: the pod reads what belongs to the host.
        let options = json!({"level": "s0", "type": "spc_t"});
        pod["securityContext"] = json!({"seLinuxOptions": options});
    }
    pod["tolerations"] = json!([{"key": "CriticalAddonsOnly", "operator": "Exists"}]);
    pod["volumes"] = paths().iter().map(HostPath::volume).map(sorted).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "labels": {
                "k8s-app": "kube-proxy",
                // kubelet knows a static pod by the hash of what it says: with another label it would be another pod.
                "kubernetes.io/managed-by": "nodeup",
                "tier": "node",
            },
            "name": "kube-proxy",
            "namespace": "kube-system",
        },
        "spec": pod,
        "status": {},
    })
}

fn container(context: &Context<'_>, spec: &Section) -> Value {
    // Its image has no shell: go-runner writes what it says to the file as well.
    let mut arguments = vec![format!("--log-file={LOG}")];
    arguments.extend(["--also-stdout", "/usr/local/bin/kube-proxy"].map(str::to_owned));
    arguments.extend(words(context, spec));
    json!({
        "args": arguments,
        "command": ["/go-runner"],
        "image": context.image(spec.text("image").unwrap_or_default()),
        "name": "kube-proxy",
        "resources": resources(spec),
        "securityContext": {"privileged": true},
        "volumeMounts": paths().iter().map(HostPath::mount).map(sorted).collect::<Value>(),
    })
}

fn resources(spec: &Section) -> Value {
    let requested = |cpu: Option<&str>, memory: &str| {
        let mut all = Map::new();
        let found = [("cpu", cpu), ("memory", spec.text(memory))];
        for (resource, quantity) in found {
            if let Some(quantity) = quantity {
                all.insert(resource.to_owned(), quantity.into());
            }
        }
        all
    };
    let mut resources = Map::new();
    // kops' own default, which it writes into every spec.
    let cpu = spec.text("cpuRequest").unwrap_or("100m");
    let limits = requested(spec.text("cpuLimit"), "memoryLimit");
    if !limits.is_empty() {
        resources.insert("limits".to_owned(), limits.into());
    }
    let requests = requested(Some(cpu), "memoryRequest");
    resources.insert("requests".to_owned(), requests.into());
    resources.into()
}

fn paths() -> [HostPath; 5] {
    use Access::{ReadOnly, ReadWrite};
    let certificates = HostPath::new("ssl-certs-hosts", "/usr/share/ca-certificates", ReadOnly);
    let lock = HostPath::new("iptableslock", "/run/xtables.lock", ReadWrite);
    [
        HostPath::new("logfile", LOG, ReadWrite),
        HostPath::new("kubeconfig", "/var/lib/kube-proxy", ReadOnly),
        // ipvs needs the host's modules.
        HostPath::new("modules", "/lib/modules", ReadOnly),
        certificates.at("/etc/ssl/certs"),
        // Without the host's lock two writers of iptables lose each other's rules.
        lock.of_kind("FileOrCreate"),
    ]
}

/// The same with its keys sorted, as kops writes this pod.
fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;

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
    fn resources_are_those_of_the_spec() {
        let found = container_of(&sample(""))["resources"].clone();
        assert_eq!(found, json!({"requests": {"cpu": "100m"}}));
        let keys = "cpuRequest: 50m, cpuLimit: 1, memoryRequest: 64Mi, memoryLimit: 1Gi";
        let found = container_of(&sample(keys))["resources"].clone();
        let wanted = json!({
            "limits": {"cpu": "1", "memory": "1Gi"},
            "requests": {"cpu": "50m", "memory": "64Mi"},
        });
        assert_eq!(found, wanted);
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
