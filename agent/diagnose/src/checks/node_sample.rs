//! Nodes for tests of checks: healthy ones, in which each test breaks one thing.

use super::report::{CheckReport, Status, judge};
use super::{Check, all, find};
use quake_model::expected::{Expected, ExpectedNetwork};
use quake_model::facts::{
    ActiveState, EntryFacts, EntryKind, InstanceFacts, NodeCondition, NodeObject, Owner, PodSeen,
    ProbeFacts, ProbeSeen, RuntimeSeen, Seen, Survey, UnitFacts,
};
use quake_model::phase::{PHASES, Phase};
use quake_model::record::{BootState, PhaseRecord, PhaseStatus, Record, SpecRecord};
use quake_model::time::Timestamp;

/// When the samples were taken: 2026-11-21T03:22:17Z.
pub(super) const TAKEN: Timestamp = Timestamp(1_795_231_337_000);

/// The name of the sample's node.
pub(super) const NAME: &str = "ip-10-0-1-7.us-west-2.compute.internal";

const CONTAINERD: &str = "version = 2\n\n[plugins.\"io.containerd.grpc.v1.cri\"]\n\
     sandbox_image = \"registry.k8s.io/pause:3.9\"\n\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\n\
     bin_dir = \"/opt/cni/bin\"\nconf_dir = \"/etc/cni/net.d\"\n\n\
     [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\nruntime_type = \"io.containerd.runc.v2\"\n\n\
     [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\nSystemdCgroup = true\n";

const CALICO: &str = "{\"name\": \"k8s-pod-network\", \"cniVersion\": \"0.3.1\", \"plugins\": [\
     {\"type\": \"calico\", \"ipam\": {\"type\": \"calico-ipam\"}}, {\"type\": \"portmap\"}]}\n";

/// A node under construction.
pub(super) struct Sample {
    pub(super) survey: Survey,
}

impl Sample {
    /// A worker with containerd and calico, on Kubernetes 1.29, ready.
    pub(super) fn worker() -> Self {
        let mut sample = Self {
            survey: Survey {
                taken: TAKEN,
                by_root: true,
                record: Some(record("node")),
                units: Seen::Yes(vec![unit("containerd.service"), unit("kubelet.service")]),
                journals: Seen::Yes(std::collections::BTreeMap::new()),
                probes: Seen::Yes(vec![probe("kubelet", 10248)]),
                runtime: Seen::Yes(runtime()),
                node: Seen::Yes(Some(object())),
                ..Survey::default()
            },
        };
        sample.text("/etc/containerd/config.toml", CONTAINERD);
        sample.text(
            "/etc/sysconfig/kubelet",
            "DAEMON_ARGS=\"--cgroup-driver=systemd --cloud-provider=external \
             --container-runtime-endpoint=unix:///run/containerd/containerd.sock \
             --kubeconfig=/var/lib/kubelet/kubeconfig --pod-manifest-path=/etc/kubernetes/manifests\"\n",
        );
        sample.text("/etc/cni/net.d/10-calico.conflist", CALICO);
        for plugin in [
            "bridge",
            "calico",
            "calico-ipam",
            "host-local",
            "loopback",
            "portmap",
        ] {
            sample.entry(&format!("/opt/cni/bin/{plugin}"), EntryKind::File, 0o755);
        }
        sample.entry("/usr/local/bin/kubelet", EntryKind::File, 0o755);
        sample.text(
            "/etc/kubernetes/manifests/kube-proxy.manifest",
            &manifest("kube-proxy"),
        );
        sample.pod("kube-proxy", "running");
        sample.pod("calico-node", "running");
        sample
    }

    /// A control plane with the same.
    pub(super) fn control_plane() -> Self {
        let mut sample = Self::worker();
        let components = [
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
        ];
        for (component, port) in components.into_iter().zip([443, 10257, 10259]) {
            let path = format!("/etc/kubernetes/manifests/{component}.manifest");
            sample.text(&path, &manifest(component));
            sample.pod(component, "running");
            sample.probes().push(probe(component, port));
        }
        sample
            .expected()
            .static_pods
            .extend(components.map(str::to_owned));
        sample.expected().api_servers = vec!["https://127.0.0.1".to_owned()];
        sample.spec().role = "control-plane".to_owned();
        sample
    }

    /// Puts a file there.
    pub(super) fn text(&mut self, path: &str, text: &str) -> &mut Self {
        self.entry(path, EntryKind::File, 0o644);
        self.survey
            .texts
            .insert(path.to_owned(), Seen::Yes(text.to_owned()));
        self
    }

    /// Replaces a part of a file.
    pub(super) fn edit(&mut self, path: &str, from: &str, to: &str) -> &mut Self {
        let text = self.survey.texts[path].ok().expect("a text").clone();
        assert!(text.contains(from), "{path} has no {from:?}");
        self.text(path, &text.replace(from, to))
    }

    /// Puts something there of which only the outside is seen.
    pub(super) fn entry(&mut self, path: &str, kind: EntryKind, mode: u32) -> &mut Self {
        let entry = EntryFacts {
            kind,
            mode,
            owner: Owner::default(),
            size: 100,
            modified: TAKEN,
            target: None,
        };
        self.survey.entries.insert(path.to_owned(), entry);
        self
    }

    /// Takes away what is there.
    pub(super) fn remove(&mut self, path: &str) -> &mut Self {
        self.survey.texts.remove(path);
        self.survey.entries.remove(path);
        self
    }

    pub(super) fn record(&mut self) -> &mut Record {
        self.survey.record.as_mut().expect("a sample has one")
    }

    pub(super) fn spec(&mut self) -> &mut SpecRecord {
        self.record().spec.as_mut().expect("a sample has one")
    }

    pub(super) fn expected(&mut self) -> &mut Expected {
        self.record().expected.as_mut().expect("a sample has one")
    }

    pub(super) fn probes(&mut self) -> &mut Vec<ProbeSeen> {
        seen(&mut self.survey.probes)
    }

    pub(super) fn runtime(&mut self) -> &mut RuntimeSeen {
        seen(&mut self.survey.runtime)
    }

    pub(super) fn pods(&mut self) -> &mut Vec<PodSeen> {
        self.runtime().pods.as_mut().expect("a sample has some")
    }

    pub(super) fn object(&mut self) -> &mut NodeObject {
        seen(&mut self.survey.node)
            .as_mut()
            .expect("a sample is known")
    }

    /// The unit of this name.
    pub(super) fn unit(&mut self, name: &str) -> &mut UnitFacts {
        let units = seen(&mut self.survey.units);
        units
            .iter_mut()
            .find(|unit| unit.name == name)
            .expect("a sample has it")
    }

    /// A unit that is started again and again.
    pub(super) fn crashing(&mut self, name: &str, lines: &[&str]) -> &mut Self {
        let unit = self.unit(name);
        unit.active = ActiveState::Activating;
        unit.sub_state = "auto-restart".to_owned();
        unit.result = "exit-code".to_owned();
        unit.restarts = 12;
        unit.main_ended = Some("exit status 1".to_owned());
        self.journal(name, lines)
    }

    /// The last lines of a unit's journal.
    pub(super) fn journal(&mut self, unit: &str, lines: &[&str]) -> &mut Self {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        seen(&mut self.survey.journals).insert(unit.to_owned(), lines);
        self
    }

    /// A container of a pod on this node.
    pub(super) fn pod(&mut self, name: &str, state: &str) -> &mut PodSeen {
        let pod = PodSeen {
            namespace: "kube-system".to_owned(),
            name: format!("{name}-{NAME}"),
            container: name.to_owned(),
            image: image(name),
            state: state.to_owned(),
            ..PodSeen::default()
        };
        let pods = self.pods();
        pods.retain(|other| other.container != name);
        pods.push(pod);
        pods.last_mut().expect("it was pushed")
    }

    /// The boot is in this phase, and waits.
    pub(super) fn in_phase(&mut self, phase: Phase) -> &mut Self {
        let mut is_past = false;
        for row in PHASES {
            let status = match (row.phase == phase, is_past) {
                (true, _) => PhaseStatus::Running,
                (false, false) => PhaseStatus::Done,
                (false, true) => PhaseStatus::Pending,
            };
            is_past |= row.phase == phase;
            self.record().phases.entry(row.phase).or_default().status = status;
        }
        self.record().state = BootState::Joining;
        self
    }

    /// What a check comes to.
    pub(super) fn judge(&self, id: &str) -> CheckReport {
        let check = *find(id).unwrap_or_else(|| panic!("there is no {id}"));
        judge(&[check], &self.survey).checks.remove(0)
    }

    /// Asserts what a check comes to, and that what it says has these words.
    #[track_caller]
    pub(super) fn assert(&self, id: &str, status: Status, words: &str) {
        let report = self.judge(id);
        let finding = report.finding.as_ref();
        let fix = finding
            .map(|finding| finding.fix.as_str())
            .unwrap_or_default();
        let evidence = finding.map(|finding| format!("{:?}", finding.evidence));
        let said = format!("{} | {fix} | {}", report.note, evidence.unwrap_or_default());
        assert_eq!(report.status, status, "{id}: {said}");
        assert!(said.contains(words), "{id} says {said:?}, not {words:?}");
    }

    /// What the checks of these areas find, root causes first.
    pub(super) fn findings(&self) -> Vec<(&'static str, Status, String)> {
        let of_these = |check: &&Check| AREAS.contains(&check.area());
        let checks: Vec<Check> = all().iter().filter(of_these).copied().collect();
        let report = judge(&checks, &self.survey);
        let findings = report.findings();
        findings
            .map(|one| (one.check.id, one.status, one.note.clone()))
            .collect()
    }
}

/// The areas that a sample is a healthy node for.
const AREAS: &[&str] = &[
    "apiserver",
    "cni",
    "images",
    "kubelet",
    "node",
    "runtime",
    "staticpods",
];

fn seen<T>(seen: &mut Seen<T>) -> &mut T {
    match seen {
        Seen::Yes(value) => value,
        Seen::NotTaken(_) | Seen::Denied(_) | Seen::TimedOut(_) | Seen::Failed(_) => {
            panic!("a sample saw it")
        }
    }
}

fn record(role: &str) -> Record {
    let mut record = Record {
        state: BootState::Ready,
        instance: Some(InstanceFacts {
            instance_id: "i-0123456789abcdef0".to_owned(),
            instance_type: "m5.large".to_owned(),
            zone: "us-west-2a".to_owned(),
            region: "us-west-2".to_owned(),
            account_id: "123456789012".to_owned(),
            image_id: "ami-0123456789abcdef0".to_owned(),
            private_ip: "10.0.1.7".to_owned(),
            local_hostname: NAME.to_owned(),
            mac: "0a:00:00:00:00:01".to_owned(),
            architecture: "x86_64".to_owned(),
        }),
        spec: Some(SpecRecord {
            cluster: "demo.example.com".to_owned(),
            instance_group: "nodes".to_owned(),
            role: role.to_owned(),
            kubernetes: "1.29.3".to_owned(),
            source: "s3://bucket/demo.example.com".to_owned(),
            digest: "sha256:00".to_owned(),
        }),
        expected: Some(expected()),
        ..Record::default()
    };
    for row in PHASES {
        let done = PhaseRecord {
            status: PhaseStatus::Done,
            ..PhaseRecord::default()
        };
        record.phases.insert(row.phase, done);
    }
    record
}

fn expected() -> Expected {
    Expected {
        generation: Some(quake_model::spec::KopsGeneration::Current),
        node_name: NAME.to_owned(),
        runtime: "containerd".to_owned(),
        api_servers: vec!["https://api.internal.demo.example.com".to_owned()],
        network: ExpectedNetwork {
            name: "calico".to_owned(),
            writer: "daemon-set".to_owned(),
            directory: "/etc/cni/net.d".to_owned(),
            plugins: "/opt/cni/bin".to_owned(),
            files: Vec::new(),
        },
        kubeconfig: "/var/lib/kubelet/kubeconfig".to_owned(),
        static_pods: vec!["kube-proxy".to_owned()],
        manifest_directory: "/etc/kubernetes/manifests".to_owned(),
        ..Expected::default()
    }
}

fn unit(name: &str) -> UnitFacts {
    let started_us = (TAKEN.0 - 3_600_000) * 1000;
    UnitFacts {
        name: name.to_owned(),
        found: true,
        active: ActiveState::Active,
        sub_state: "running".to_owned(),
        enabled: true,
        installable: true,
        needs_reload: false,
        restarts: 0,
        active_since_us: started_us,
        result: "success".to_owned(),
        main_started_us: started_us,
        main_ended: None,
        notifies: false,
    }
}

fn probe(component: &str, port: u16) -> ProbeSeen {
    ProbeSeen {
        component: component.to_owned(),
        url: format!("http://127.0.0.1:{port}/healthz"),
        answer: ProbeFacts::Answered {
            status: 200,
            body: "ok".to_owned(),
        },
    }
}

fn image(component: &str) -> String {
    format!("registry.k8s.io/{component}:v1.29.3")
}

fn runtime() -> RuntimeSeen {
    let components = [
        "kube-proxy",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
    ];
    let mut images: Vec<String> = components.into_iter().map(image).collect();
    images.push("registry.k8s.io/pause:3.9".to_owned());
    RuntimeSeen {
        name: "containerd".to_owned(),
        version: Some("1.7.24".to_owned()),
        runc: None,
        error: None,
        images: Some(images),
        configuration_problems: Vec::new(),
        pods: Some(Vec::new()),
    }
}

fn object() -> NodeObject {
    let condition = |kind: &str, status: &str| NodeCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: "Fine".to_owned(),
        message: "fine".to_owned(),
    };
    NodeObject {
        name: NAME.to_owned(),
        conditions: vec![
            condition("DiskPressure", "False"),
            condition("Ready", "True"),
        ],
        taints: Vec::new(),
        provider_id: "aws:///us-west-2a/i-0123456789abcdef0".to_owned(),
        kubelet_version: "v1.29.3".to_owned(),
        server_version: "v1.29.3".to_owned(),
        pods: 110,
        ..NodeObject::default()
    }
}

/// A manifest in the form that the agent writes.
pub(super) fn manifest(component: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {component}\n  namespace: kube-system\nspec:\n  \
         hostNetwork: true\n  containers:\n  - name: {component}\n    image: {}\n  volumes:\n  - name: kubeconfig\n    \
         hostPath:\n      path: /var/lib/{component}/kubeconfig\n",
        image(component)
    )
}
