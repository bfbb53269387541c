//! A static pod on the host's network with one container, as every component of the control plane is.

use super::layout;
use quake_formats::flags::{FlagSet, shell_word};
use quake_formats::yaml_text;
use quake_model::spec::{Component, KubernetesVersion, NodeSpec};
use serde_json::{Map, Value, json};

/// Whether a container may write below a path of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It may only read.
    ReadOnly,
    ReadWrite,
}

/// A path of the host in the pod.
#[derive(Debug, Clone)]
pub(crate) struct HostPath {
    name: String,
    host: String,
    container: String,
    access: Access,
    kind: Option<&'static str>,
}

impl HostPath {
    /// A path of the host at the same path in the container.
    pub(crate) fn new(name: &str, path: &str, access: Access) -> Self {
        Self {
            name: name.to_owned(),
            host: path.to_owned(),
            container: path.to_owned(),
            access,
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

    /// Whether it is at the same place in the container as another.
    pub(crate) fn is_at_place_of(&self, other: &Self) -> bool {
        self.container == other.container
    }

    pub(crate) fn volume(&self) -> Value {
        let mut host = Map::new();
        host.insert("path".into(), json!(self.host));
        if let Some(kind) = self.kind {
            host.insert("type".into(), json!(kind));
        }
        json!({"name": self.name, "hostPath": host})
    }

    /// The container's mount of it.
    pub(crate) fn mount(&self) -> Value {
        let mut mount = Map::new();
        mount.insert("name".into(), json!(self.name));
        mount.insert("mountPath".into(), json!(self.container));
        if self.access == Access::ReadOnly {
            mount.insert("readOnly".into(), json!(true));
        }
        Value::Object(mount)
    }
}

/// How important the pod is to the scheduler's and kubelet's eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// The cluster stops without it.
    Cluster,
    /// The node stops without it.
    Node,
}

impl Priority {
    /// The priority class, which the system has since Kubernetes 1.11.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Cluster => "system-cluster-critical",
            Self::Node => "system-node-critical",
        }
    }
}

/// A static pod under construction.
#[derive(Debug)]
pub(crate) struct StaticPod {
    /// The pod's name, also its `k8s-app` label.
    pub(crate) name: String,
    pub(crate) container: String,
    pub(crate) image: String,
    /// What it runs: `command`, and `args` where it has them.
    pub(crate) command: Command,
    /// Labels beside `k8s-app`.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) annotations: Vec<(String, String)>,
    pub(crate) environment: Vec<(String, String)>,
    /// `requests` and `limits`, as (kind, resource, quantity).
    pub(crate) resources: Vec<(&'static str, &'static str, String)>,
    pub(crate) liveness: Option<Value>,
    /// Ports of the host: name and number.
    pub(crate) ports: Vec<(&'static str, u16)>,
    pub(crate) privileged: bool,
    pub(crate) paths: Vec<HostPath>,
    pub(crate) priority: Priority,
}

impl StaticPod {
    /// A pod of `component` with the resources the spec gives it, and nothing else yet.
    pub(crate) fn for_component(
        name: &str,
        component: &Component,
        command: Command,
        priority: Priority,
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
            labels: Vec::new(),
            annotations: Vec::new(),
            environment: Vec::new(),
            resources,
            liveness: None,
            ports: Vec::new(),
            privileged: false,
            paths: Vec::new(),
            priority,
        }
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

    pub(crate) fn manifest(&self, version: KubernetesVersion) -> String {
        let mut spec = Map::new();
        spec.insert("containers".into(), json!([self.container()]));
        spec.insert("hostNetwork".into(), json!(true));
        // The priority classes of the system are there since 1.11; before, the annotation stands for them.
        if version.at_least(1, 11) {
            spec.insert("priorityClassName".into(), json!(self.priority.class()));
        }
        spec.insert(
            "tolerations".into(),
            json!([{"key": "CriticalAddonsOnly", "operator": "Exists"}]),
        );
        spec.insert(
            "volumes".into(),
            self.paths.iter().map(HostPath::volume).collect(),
        );
        let mut labels = vec![("k8s-app".to_owned(), self.name.clone())];
        labels.extend(self.labels.iter().cloned());
        let mut annotations = self.annotations.clone();
        if !version.at_least(1, 16) {
            annotations.push((
                "scheduler.alpha.kubernetes.io/critical-pod".to_owned(),
                String::new(),
            ));
        }
        let mut metadata = Map::new();
        if !annotations.is_empty() {
            metadata.insert("annotations".into(), object(&annotations));
        }
        metadata.insert("labels".into(), object(&labels));
        metadata.insert("name".into(), json!(self.name));
        metadata.insert("namespace".into(), json!("kube-system"));
        yaml_text::document(&json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": spec,
        }))
    }

    fn container(&self) -> Value {
        let mut container = Map::new();
        container.insert("name".into(), json!(self.container));
        container.insert("image".into(), json!(self.image));
        container.insert("command".into(), json!(self.command.command));
        if !self.command.arguments.is_empty() {
            container.insert("args".into(), json!(self.command.arguments));
        }
        if !self.environment.is_empty() {
            container.insert(
                "env".into(),
                self.environment.iter().map(variable).collect(),
            );
        }
        if let Some(liveness) = &self.liveness {
            container.insert("livenessProbe".into(), liveness.clone());
        }
        if !self.ports.is_empty() {
            container.insert("ports".into(), self.ports.iter().map(port).collect());
        }
        if !self.resources.is_empty() {
            container.insert("resources".into(), self.resources());
        }
        if self.privileged {
            container.insert("securityContext".into(), json!({"privileged": true}));
        }
        container.insert(
            "volumeMounts".into(),
            self.paths.iter().map(HostPath::mount).collect(),
        );
        Value::Object(container)
    }

    fn resources(&self) -> Value {
        let mut all: Map<String, Value> = Map::new();
        for (kind, resource, quantity) in &self.resources {
            let of_kind = all.entry(*kind).or_insert_with(|| json!({}));
            of_kind[*resource] = json!(quantity);
        }
        Value::Object(all)
    }
}

fn object(pairs: &[(String, String)]) -> Value {
    let mut sorted = pairs.to_vec();
    sorted.sort();
    Value::Object(
        sorted
            .into_iter()
            .map(|(key, value)| (key, json!(value)))
            .collect(),
    )
}

fn variable((name, value): &(String, String)) -> Value {
    json!({"name": name, "value": value})
}

fn port((name, number): &(&str, u16)) -> Value {
    json!({"name": name, "containerPort": number, "hostPort": number})
}

/// A liveness probe over HTTP on the node itself.
pub(crate) fn http_liveness(path: &str, port: u16, tls: bool, delay_seconds: u32) -> Value {
    let mut get = json!({"host": "127.0.0.1", "path": path, "port": port});
    if tls {
        get["scheme"] = json!("HTTPS");
    }
    json!({"httpGet": get, "initialDelaySeconds": delay_seconds, "timeoutSeconds": 15})
}

/// What a container runs.
#[derive(Debug)]
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
