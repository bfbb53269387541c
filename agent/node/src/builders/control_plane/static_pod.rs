//! The static pod of a component of the control plane, as kops writes it since 1.32: on the host's network, with one
//! container of the component, whose output `go-runner` writes to the host's log file, too.

use crate::builders::Context;
use crate::builders::legacy::{Access, HostPath, Priority};
use crate::config::current::{EgressProxy, Section};
use quake_formats::flags::FlagSet;
use quake_formats::yaml_text;
use quake_model::fault::Fault;
use quake_model::item::{File, Item};
use quake_model::step::Visibility;
use serde_json::{Map, Value, json};

/// The static pod called `name`, where kubelet looks for it.
pub(in crate::builders) fn manifest_path(name: &str) -> String {
    format!("/etc/kubernetes/manifests/{name}.manifest")
}

/// A component's static pod under construction.
#[derive(Debug)]
pub(super) struct StaticPod {
    name: &'static str,
    image: String,
    resources: Value,
    environment: Vec<Value>,
    paths: Vec<HostPath>,
    label: Option<Value>,
    pub(super) annotations: Vec<(&'static str, String)>,
    pub(super) flags: FlagSet,
    pub(super) arguments: Vec<String>,
    /// Probes by the container's key for them, such as `livenessProbe`.
    pub(super) probes: Vec<(&'static str, Value)>,
    /// The port it is reached at, where that is told.
    pub(super) port: Option<i64>,
    /// What runs in the pod beside the component.
    pub(super) sidecar: Sidecar,
}

/// Containers that run beside a component, and their volumes.
#[derive(Debug, Default)]
pub(super) struct Sidecar {
    pub(super) containers: Vec<Value>,
    pub(super) volumes: Vec<Value>,
}

impl StaticPod {
    /// A pod of the component that `section`, at `path` of the configuration, describes; with its image, its resources
    /// (`cpu` where it requests none), and what every pod of this node has.
    ///
    /// # Errors
    ///
    /// `config.missing-key` where the section names no image.
    pub(super) fn for_component(
        context: &Context<'_>,
        name: &'static str,
        section: &Section,
        path: &str,
        cpu: &str,
    ) -> Result<Self, Fault> {
        let image = section.text("image");
        let image = image.ok_or_else(|| context.missing(&format!("{path}.image")))?;
        let proxy = context.config.network.egress_proxy.as_ref();
        Ok(Self {
            name,
            image: context.image(image),
            resources: resources(section, cpu),
            environment: proxy.map_or_else(Vec::new, proxy_variables),
            paths: Vec::new(),
            label: host_label(context),
            annotations: Vec::new(),
            flags: FlagSet::from_spec(&section.flags()),
            arguments: Vec::new(),
            probes: Vec::new(),
            port: None,
            sidecar: Sidecar::default(),
        })
    }

    /// Adds a path of the host, unless its place in the container is taken.
    fn mount(&mut self, path: HostPath) {
        if self.paths.iter().all(|other| !other.is_at_place_of(&path)) {
            self.paths.push(path);
        }
    }

    /// Adds a path of the host that is only read.
    pub(super) fn read(&mut self, name: &str, path: &str) {
        self.mount(HostPath::new(name, path, Access::ReadOnly));
    }

    /// Adds a path of the host that is written to.
    pub(super) fn write(&mut self, name: &str, path: &str) {
        self.mount(HostPath::new(name, path, Access::ReadWrite));
    }

    /// Adds the directories with certificates of public CAs.
    pub(super) fn read_public_ca_bundle(&mut self, context: &Context<'_>) {
        for path in context.distribution.certificate_directories() {
            self.read(&path.replace('/', ""), path);
        }
    }

    /// Adds the component's log, which it writes.
    pub(super) fn write_log(&mut self) {
        self.write("logfile", &self.log());
    }

    /// Adds environment variables before those that it has.
    pub(super) fn put_environment_first(&mut self, variables: impl IntoIterator<Item = Value>) {
        self.environment.splice(0..0, variables);
    }

    pub(super) fn set_variable(&mut self, name: &str, value: &str) {
        self.environment.push(variable(name, value));
    }

    /// The manifest, and the log file, which must be there before the pod: where it is not, a directory is made of it.
    pub(super) fn items(self) -> [Item; 2] {
        let log = File::present(&self.log()).mode(0o400);
        let manifest = File::plain(&manifest_path(self.name), self.manifest());
        [Item::File(log), Item::File(self.kept_secret(manifest))]
    }

    /// An environment may hold a password, such as that of a proxy; kubelet reads the file as root.
    fn kept_secret(&self, manifest: File) -> File {
        if self.environment.is_empty() {
            return manifest;
        }
        File {
            visibility: Visibility::Secret,
            ..manifest.mode(0o600)
        }
    }

    fn log(&self) -> String {
        format!("/var/log/{}.log", self.name)
    }

    fn manifest(&self) -> String {
        let volumes = self.paths.iter().map(HostPath::volume);
        let mut containers = vec![self.container()];
        containers.extend(self.sidecar.containers.iter().cloned());
        let mut spec = json!({
            "containers": containers,
            "hostNetwork": true,
            "priorityClassName": Priority::Cluster.class(),
            "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
            "volumes": volumes.chain(self.sidecar.volumes.iter().cloned()).collect::<Value>(),
        });
        if let Some(label) = &self.label {
            spec["securityContext"] = json!({"seLinuxOptions": label});
        }
        let mut metadata = json!({
            "name": self.name,
            "namespace": "kube-system",
            "labels": {"k8s-app": self.name},
        });
        if !self.annotations.is_empty() {
            let annotations = self.annotations.iter();
            metadata["annotations"] = annotations
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect::<Map<_, _>>()
                .into();
        }
        yaml_text::document(&json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": spec,
            "status": {},
        }))
    }

    fn container(&self) -> Value {
        let mut container = json!({
            "name": self.name,
            "image": self.image,
            "command": ["/go-runner"],
            "args": self.words(),
        });
        if !self.environment.is_empty() {
            container["env"] = json!(self.environment);
        }
        for (key, probe) in &self.probes {
            container[*key] = probe.clone();
        }
        if let Some(port) = self.port {
            container["ports"] =
                json!([{"name": "https", "containerPort": port, "hostPort": port}]);
        }
        container["resources"] = self.resources.clone();
        container["volumeMounts"] = self.paths.iter().map(HostPath::mount).collect();
        container
    }

    /// The arguments: those of `go-runner`, the component, and its flags in kops' order, which is that of whole words.
    fn words(&self) -> Vec<String> {
        let mut words = vec![
            format!("--log-file={}", self.log()),
            "--also-stdout".to_owned(),
            format!("/usr/local/bin/{}", self.name),
        ];
        let mut flags = self.flags.words();
        flags.sort();
        words.append(&mut flags);
        words.extend(self.arguments.iter().cloned());
        words
    }
}

fn resources(section: &Section, cpu: &str) -> Value {
    let mut requests = json!({"cpu": section.text("cpuRequest").unwrap_or(cpu)});
    if let Some(memory) = section.text("memoryRequest") {
        requests["memory"] = json!(memory);
    }
    let limits = [("cpu", "cpuLimit"), ("memory", "memoryLimit")].into_iter();
    let limits: Map<String, Value> = limits
        .filter_map(|(name, key)| Some((name.to_owned(), json!(section.text(key)?))))
        .collect();
    let mut resources = json!({"requests": requests});
    if !limits.is_empty() {
        resources["limits"] = limits.into();
    }
    resources
}

fn variable(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

/// The proxy, under the names by which programs know one: lower case for what Go and libcurl read, and `NO_PROXY` twice.
fn proxy_variables(proxy: &EgressProxy) -> Vec<Value> {
    let settings = proxy_settings(proxy).into_iter();
    settings
        .map(|(name, value)| variable(name, &value))
        .collect()
}

/// The names by which programs know a proxy, and what they are to say.
pub(super) fn proxy_settings(proxy: &EgressProxy) -> [(&'static str, String); 4] {
    let port = proxy.port.as_deref().filter(|port| *port != "0");
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let url = format!("http://{}{port}", proxy.host);
    let excludes = proxy.excludes.clone().unwrap_or_default();
    [
        ("http_proxy", url.clone()),
        ("https_proxy", url),
        ("NO_PROXY", excludes.clone()),
        ("no_proxy", excludes),
    ]
}

/// The label with which a pod sees files of the host, where containers are labelled for SELinux; `None` where they are not.
pub(super) fn host_label(context: &Context<'_>) -> Option<Value> {
    let labels = context.config.containerd.is_set("selinuxEnabled");
    labels.then(|| json!({"type": "spc_t", "level": "s0"}))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_formats::yaml;
    use quake_model::fault::Code;
    use quake_model::item::Source;

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
            .and_then(|config| config.section("KubeScheduler", "KubeSchedulerConfig"))
            .expect("the sample has one");
        let mut pod = StaticPod::for_component(context, NAME, &section, "here", "100m")?;
        pod.write_log();
        pod.read("twice", "/var/log/kube-scheduler.log");
        pod.arguments.push("--a-last=1".to_owned());
        Ok(pod.items().into())
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
