//! What Kubernetes' components of the new version do not have: flags, feature gates, admission plugins, modes.

use super::{Hit, Subject};
use crate::preview::rule::{Rule, Severity};
use crate::preview::tables::{
    ADMISSION_PLUGINS, GATES, locked_gate, removed_config, removed_flag, removed_gate,
};
use crate::preview::view::Aspect;

const FLAG: Rule = Rule {
    id: "kubernetes.flag-removed",
    severity: Severity::Breaks,
    summary: "{what}: Kubernetes {new} has no such flag since {old}, and the component ends at once",
    remedy: "take the flag out of the cluster's or the group's spec before the roll: {instead}",
    sources: &["https://github.com/kubernetes/kubernetes/tree/master/CHANGELOG"],
};

const GATE: Rule = Rule {
    id: "kubernetes.feature-gate-removed",
    severity: Severity::Breaks,
    summary: "{what}: Kubernetes {new} does not know the feature gate, and the component refuses to start with it",
    remedy: "remove the gate from featureGates in the spec; its feature is always on, or gone",
    sources: &[GATES],
};

const LOCKED: Rule = Rule {
    id: "kubernetes.feature-gate-locked",
    severity: Severity::Breaks,
    summary: "{what}: the feature gate is locked to {instead} since Kubernetes {old}, and the component refuses to start with {new}",
    remedy: "remove the gate from featureGates in the spec; nothing brings back what was before",
    sources: &[
        "https://github.com/kubernetes/kubernetes/blob/master/test/compatibility_lifecycle/reference/feature_list.md",
        "https://github.com/kubernetes/sig-release/tree/master/releases",
    ],
};

const CONFIG: Rule = Rule {
    id: "kubernetes.config-version-removed",
    severity: Severity::Breaks,
    summary: "{what}: Kubernetes {new} does not read it since {old}, and the component refuses to start with it",
    remedy: "write it as {instead}",
    sources: &["https://github.com/kubernetes/sig-release/tree/master/releases"],
};

const IPVS: Rule = Rule {
    id: "kubernetes.proxy-mode-deprecated",
    severity: Severity::Risk,
    summary: "kube-proxy's mode ipvs is deprecated since Kubernetes 1.35, and will be removed",
    remedy: "plan for kubeProxy.proxyMode nftables on kernels that have it, and replace the nodes",
    sources: &[
        "https://github.com/kubernetes/kubernetes/pull/139067",
        "https://github.com/kubernetes/kubernetes/pull/139397",
    ],
};

const ADMISSION: Rule = Rule {
    id: "kubernetes.admission-plugin-removed",
    severity: Severity::Breaks,
    summary: "the admission plugin {what} is gone since Kubernetes {old}, and kube-apiserver refuses to start with it",
    remedy: "remove it from kubeAPIServer.enableAdmissionPlugins: {instead}",
    sources: &[
        "https://github.com/kubernetes/kubernetes/pull/109798",
        "https://github.com/kubernetes/kubernetes/pull/122612",
        "https://github.com/kubernetes/kubernetes/pull/124505",
    ],
};

const CLOUD: Rule = Rule {
    id: "kubernetes.cloud-provider-in-tree",
    severity: Severity::Breaks,
    summary: "{what}: the provider aws is no part of Kubernetes since 1.27",
    remedy: "set cloudProvider to external, and run aws-cloud-controller-manager and the EBS CSI driver before the roll",
    sources: &["https://github.com/kubernetes/kubernetes/pull/115838"],
};

const USERSPACE: Rule = Rule {
    id: "kubernetes.proxy-mode-removed",
    severity: Severity::Breaks,
    summary: "kube-proxy has no mode userspace since Kubernetes 1.26",
    remedy: "set kubeProxy.proxyMode to iptables or nftables",
    sources: &["https://github.com/kubernetes/kubernetes/pull/112133"],
};

pub(super) const RULES: &[Rule] = &[
    FLAG, GATE, LOCKED, CONFIG, ADMISSION, CLOUD, USERSPACE, IPVS,
];

pub(super) fn state(subject: &Subject<'_>) -> Vec<Hit> {
    let mut hits = flags(subject);
    hits.extend(gates(subject));
    hits.extend(admission(subject));
    hits.extend(cloud(subject));
    hits.extend(configs(subject));
    let mode = subject.flag("kube-proxy --proxy-mode");
    match mode {
        Some("userspace") if subject.minor() >= 26 => {
            hits.push(Hit::new(&USERSPACE, "kube-proxy"));
        }
        Some("ipvs") if subject.minor() >= 35 => hits.push(Hit::new(&IPVS, "kube-proxy")),
        _ => {}
    }
    hits
}

/// Configuration files of components, wherever they are.
fn configs(subject: &Subject<'_>) -> Vec<Hit> {
    let minor = subject.minor();
    let view = subject.view.into_iter();
    let documents = view.flat_map(|view| {
        let paths = view.files.keys();
        paths.filter_map(move |path| Some((path, view.kind_of(path)?)))
    });
    let gone = documents.filter_map(|(path, (kind, version))| {
        let (_, _, since, instead, source) = removed_config(&kind, &version, minor)?;
        let hit = Hit::new(&CONFIG, format!("{path} is {kind} of {version}"));
        let hit = hit.between(format!("1.{since}"), format!("1.{minor}"));
        Some(hit.instead(instead, source))
    });
    gone.collect()
}

fn flags(subject: &Subject<'_>) -> Vec<Hit> {
    let minor = subject.minor();
    let rows = subject.rows(Aspect::Flag);
    let gone = rows.filter_map(|(name, _)| {
        let (component, flag) = name.split_once(' ')?;
        let row = removed_flag(component, flag, minor)?;
        let since = format!("1.{}", row.minor);
        let hit = Hit::new(&FLAG, name).between(since, format!("1.{minor}"));
        Some(hit.instead(row.instead, row.source))
    });
    gone.collect()
}

/// The gates of all components, each with who is told of it, and the value.
fn gates(subject: &Subject<'_>) -> Vec<Hit> {
    const KUBELET: &str = "KubeletConfiguration featureGates.";
    let minor = subject.minor();
    let of_flags = subject
        .rows(Aspect::Flag)
        .filter(|(name, _)| name.ends_with(" --feature-gates"))
        .flat_map(|(name, value)| {
            let component = name.split(' ').next().unwrap_or_default();
            let gates = value.split(',');
            gates.filter_map(move |gate| {
                let (gate, value) = gate.split_once('=')?;
                Some((component, gate, value))
            })
        });
    let of_settings = subject
        .rows(Aspect::Setting)
        .filter_map(|(name, value)| Some(("kubelet", name.strip_prefix(KUBELET)?, value)));
    let all = of_flags.chain(of_settings);
    let hits = all.filter_map(|(component, gate, value)| {
        let gate = gate.trim_matches('"');
        let what = format!("{component} {gate}");
        if removed_gate(gate, minor).is_some() {
            return Some(Hit::new(&GATE, what).between("", format!("1.{minor}")));
        }
        let (locked, since) = locked_gate(gate, minor)?;
        let stated: bool = value.trim().trim_matches(['"', '\'']).parse().ok()?;
        let hit = Hit::new(&LOCKED, what).between(format!("1.{since}"), value);
        (stated != locked).then(|| hit.stating(locked.to_string()))
    });
    hits.collect()
}

fn admission(subject: &Subject<'_>) -> Vec<Hit> {
    let minor = subject.minor();
    let lists = ["--enable-admission-plugins", "--admission-control"];
    let lists = lists.map(|flag| subject.flag(&format!("kube-apiserver {flag}")));
    let plugins = lists
        .into_iter()
        .flatten()
        .flat_map(|list| list.split([',', ' ']));
    let gone = plugins.filter_map(|plugin| {
        let mut rows = ADMISSION_PLUGINS.iter();
        let (name, since, instead, source) = rows.find(|row| row.0 == plugin && minor >= row.1)?;
        let hit = Hit::new(&ADMISSION, *name).between(format!("1.{since}"), "");
        Some(hit.instead(instead, source))
    });
    gone.collect()
}

fn cloud(subject: &Subject<'_>) -> Vec<Hit> {
    let components = ["kubelet", "kube-apiserver", "kube-controller-manager"];
    let asks = |component: &&str| {
        let flag = format!("{component} --cloud-provider");
        subject.minor() >= 27 && subject.flag(&flag) == Some("aws")
    };
    let hits = components.into_iter().filter(asks);
    hits.map(|component| Hit::new(&CLOUD, format!("{component} --cloud-provider=aws")))
        .collect()
}
