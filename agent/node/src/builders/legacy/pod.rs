//! A static pod on the host's network with one container, as every component of the control plane is.

use super::layout;
use quake_formats::flags::{FlagSet, shell_word};
use quake_formats::yaml_text;
use quake_model::spec::{Component, KubernetesVersion, NodeSpec};
use serde_json::{Value, json};

/// A path of the host in the pod.
#[derive(Debug, Clone)]
pub(crate) struct HostPath {
    name: String,
    host: String,
    container: String,
    is_read_only: bool,
    kind: Option<&'static str>,
}

impl HostPath {
    /// A path of the host at the same path in the container, which may only read below it.
    pub(crate) fn read(name: &str, path: &str) -> Self {
        Self {
            is_read_only: true,
            ..Self::write(name, path)
        }
    }

    /// The same, for a container that also writes.
    pub(crate) fn write(name: &str, path: &str) -> Self {
        Self {
            name: name.to_owned(),
            host: path.to_owned(),
            container: path.to_owned(),
            is_read_only: false,
            kind: None,
        }
    }

    /// Puts it at another path in the container.
    #[must_use]
    pub(crate) fn at(mut self, container: &str) -> Self {
        self.container = container.to_owned();
        self
    }

    /// What kubelet makes or insists on, such as `FileOrCreate`; understood since Kubernetes 1.8.
    #[must_use]
    pub(crate) fn of_kind(mut self, kind: &'static str) -> Self {
        self.kind = Some(kind);
        self
    }

    pub(crate) fn volume(&self) -> Value {
        let mut host = json!({"path": self.host});
        if let Some(kind) = self.kind {
            host["type"] = json!(kind);
        }
        json!({"name": self.name, "hostPath": host})
    }

    /// The container's mount of it.
    pub(crate) fn mount(&self) -> Value {
        let mut mount = json!({"name": self.name, "mountPath": self.container});
        if self.is_read_only {
            mount["readOnly"] = json!(true);
        }
        mount
    }
}

/// The priority class of a pod without which the cluster stops; the system has it since Kubernetes 1.11.
pub(crate) const CLUSTER_CRITICAL: &str = "system-cluster-critical";

/// The same of a pod without which the node stops.
pub(crate) const NODE_CRITICAL: &str = "system-node-critical";

/// A static pod under construction.
#[derive(Debug, Default)]
pub(crate) struct StaticPod {
    /// The pod's name, also its `k8s-app` label.
    pub(crate) name: String,
    pub(crate) container: String,
    pub(crate) image: String,
    /// What it runs: `command`, and `args` where it has them.
    pub(crate) command: Command,
    /// Labels beside `k8s-app`.
    pub(crate) labels: Vec<(&'static str, &'static str)>,
    pub(crate) annotations: Vec<(&'static str, String)>,
    pub(crate) environment: Vec<Value>,
    /// `requests` and `limits`, as (kind, resource, quantity).
    resources: Vec<(&'static str, &'static str, String)>,
    /// Probes by the container's key for them, such as `livenessProbe`.
    pub(crate) probes: Vec<(&'static str, Value)>,
    /// Ports of the host: name and number.
    pub(crate) ports: Vec<(&'static str, i64)>,
    pub(crate) privileged: bool,
    pub(crate) paths: Vec<HostPath>,
    pub(crate) priority: &'static str,
    /// The label with which it sees files of the host, where containers are labelled for SELinux.
    pub(crate) host_label: Option<Value>,
    /// What runs in the pod beside the component.
    pub(crate) sidecar: Sidecar,
}

/// Containers that run beside a component, and their volumes.
#[derive(Debug, Default)]
pub(crate) struct Sidecar {
    pub(crate) containers: Vec<Value>,
    pub(crate) volumes: Vec<Value>,
}

impl StaticPod {
    /// A pod of `component` with the resources the spec gives it, and nothing else yet.
    pub(crate) fn for_component(
        name: &str,
        component: &Component,
        command: Command,
        priority: &'static str,
    ) -> Self {
        let requested = [
            ("requests", "cpu", &component.cpu_request),
            ("requests", "memory", &component.memory_request),
            ("limits", "cpu", &component.cpu_limit),
            ("limits", "memory", &component.memory_limit),
        ];
        let resources = requested
            .into_iter()
            .filter_map(|(kind, resource, quantity)| Some((kind, resource, quantity.clone()?)))
            .collect();
        Self {
            name: name.to_owned(),
            container: name.to_owned(),
            image: component.image.clone(),
            command,
            resources,
            priority,
            ..Self::default()
        }
    }

    /// Adds a path of the host, unless its place in the container is taken.
    pub(crate) fn add(&mut self, path: HostPath) {
        let mut taken = self.paths.iter();
        if taken.all(|other| other.container != path.container) {
            self.paths.push(path);
        }
    }

    /// Adds a path of the host that is only read.
    pub(crate) fn read(&mut self, name: &str, path: &str) {
        self.add(HostPath::read(name, path));
    }

    /// Adds a path of the host that is written to.
    pub(crate) fn write(&mut self, name: &str, path: &str) {
        self.add(HostPath::write(name, path));
    }

    /// Adds the pod's log, which it writes.
    pub(crate) fn write_log(&mut self) {
        self.write("logfile", &layout::log(&self.name));
    }

    /// Requests `quantity` of CPU unless the spec requests some.
    pub(crate) fn default_cpu(&mut self, quantity: &str) {
        let requested = self
            .resources
            .iter()
            .any(|(kind, resource, _)| (*kind, *resource) == ("requests", "cpu"));
        if !requested {
            self.resources
                .insert(0, ("requests", "cpu", quantity.to_owned()));
        }
    }

    /// Has kubelet ask whether it lives, over HTTP on the node itself.
    pub(crate) fn live_at(&mut self, path: &str, port: u16, tls: bool, delay_seconds: u32) {
        let mut get = json!({"host": "127.0.0.1", "path": path, "port": port});
        if tls {
            get["scheme"] = json!("HTTPS");
        }
        let probe =
            json!({"httpGet": get, "initialDelaySeconds": delay_seconds, "timeoutSeconds": 15});
        self.probes = vec![("livenessProbe", probe)];
    }

    /// The manifest of kops legacy (1.8 to 1.15), whose metadata is sorted.
    pub(crate) fn manifest(&self, version: KubernetesVersion) -> String {
        let mut pod = self.value(version);
        pod["metadata"].sort_all_objects();
        yaml_text::document(&pod)
    }

    /// The pod for a kubelet of this version.
    pub(crate) fn value(&self, version: KubernetesVersion) -> Value {
        let own = [("k8s-app", self.name.as_str())];
        let labels = own.into_iter().chain(self.labels.iter().copied());
        let mut metadata = json!({
            "name": self.name,
            "namespace": "kube-system",
            "labels": labels.map(entry).collect::<Value>(),
        });
        // The priority classes of the system are there since 1.11; before, the annotation stands for them.
        let critical = ("scheduler.alpha.kubernetes.io/critical-pod", String::new());
        let critical = (!version.at_least(1, 16)).then_some(critical);
        let mut annotations = self.annotations.iter().chain(&critical).peekable();
        if annotations.peek().is_some() {
            let annotations = annotations.map(|(name, value)| entry((name, value)));
            metadata["annotations"] = annotations.collect();
        }
        let mut containers = vec![self.container()];
        containers.extend(self.sidecar.containers.iter().cloned());
        let volumes = self.paths.iter().map(HostPath::volume);
        let mut spec = json!({"containers": containers, "hostNetwork": true});
        if version.at_least(1, 11) {
            spec["priorityClassName"] = json!(self.priority);
        }
        spec["tolerations"] = json!([{"key": "CriticalAddonsOnly", "operator": "Exists"}]);
        spec["volumes"] = volumes
            .chain(self.sidecar.volumes.iter().cloned())
            .collect();
        if let Some(label) = &self.host_label {
            spec["securityContext"] = json!({"seLinuxOptions": label});
        }
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    }

    fn container(&self) -> Value {
        let mut container = json!({
            "name": self.container,
            "image": self.image,
            "command": self.command.command,
        });
        if !self.command.arguments.is_empty() {
            container["args"] = json!(self.command.arguments);
        }
        if !self.environment.is_empty() {
            container["env"] = json!(self.environment);
        }
        for (key, probe) in &self.probes {
            container[*key] = probe.clone();
        }
        if !self.ports.is_empty() {
            container["ports"] = self.ports.iter().map(port).collect();
        }
        for (kind, resource, quantity) in &self.resources {
            container["resources"][*kind][*resource] = json!(quantity);
        }
        if self.privileged {
            container["securityContext"] = json!({"privileged": true});
        }
        container["volumeMounts"] = self.paths.iter().map(HostPath::mount).collect();
        container
    }
}

fn entry((name, value): (&str, &str)) -> (String, Value) {
    (name.to_owned(), json!(value))
}

/// A variable of a container's environment.
pub(crate) fn variable(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

fn port((name, number): &(&str, i64)) -> Value {
    json!({"name": name, "containerPort": number, "hostPort": number})
}

/// What a container runs.
#[derive(Debug, Default)]
pub(crate) struct Command {
    command: Vec<String>,
    arguments: Vec<String>,
}

impl Command {
    /// A component of Kubernetes that logs to its container and to `/var/log/<program>.log`.
    ///
    /// Images since 1.15 hold no shell, and their programs write the file themselves; those before need `tee`.
    pub(crate) fn of_component(spec: &NodeSpec, program: &str, flags: &FlagSet) -> Self {
        let binary = format!("/usr/local/bin/{program}");
        if !spec.kubernetes.at_least(1, 15) {
            return Self::through_tee(&binary, flags, &layout::log(program));
        }
        let mut flags = flags.clone();
        flags.set("logtostderr", "false");
        flags.set("alsologtostderr", "true");
        flags.set("log-file", layout::log(program));
        Self {
            command: vec![binary],
            arguments: flags.words(),
        }
    }

    /// A component whose image has no shell: `go-runner` writes what it says to its container and to its log, too.
    pub(crate) fn through_go_runner(
        program: &str,
        flags: &FlagSet,
        arguments: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut words = vec![
            format!("--log-file={}", layout::log(program)),
            "--also-stdout".to_owned(),
            format!("/usr/local/bin/{program}"),
        ];
        // kops sorts flags as whole words.
        let mut flags = flags.words();
        flags.sort();
        words.append(&mut flags);
        words.extend(arguments);
        Self {
            command: vec!["/go-runner".to_owned()],
            arguments: words,
        }
    }

    /// A program whose output goes to its container and to the file `log`.
    ///
    /// The program replaces the shell and writes to a named pipe, so that it is the one that gets the signals
    /// of kubelet; behind an ordinary pipe the shell would get them, and the program be killed in the end.
    pub(crate) fn through_tee(binary: &str, flags: &FlagSet, log: &str) -> Self {
        let mut words = vec![binary.to_owned()];
        words.extend(flags.words().iter().map(|word| shell_word(word)));
        let script = format!(
            "mkfifo /tmp/output; (tee -a {log} < /tmp/output &); exec {} > /tmp/output 2>&1",
            words.join(" ")
        );
        Self {
            command: vec!["/bin/sh".to_owned(), "-c".to_owned(), script],
            arguments: Vec::new(),
        }
    }
}
