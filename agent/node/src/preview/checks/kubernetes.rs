//! What Kubernetes' components of the new version do not have: flags, feature gates, admission plugins, modes.

use super::{Hit, Subject};
use crate::preview::tables::{
    ADMISSION_PLUGINS, locked_gate, removed_config, removed_flag, removed_gate,
};
use crate::preview::view::Aspect;

pub(super) fn state(subject: &Subject<'_>) -> Vec<Hit> {
    let mut hits = flags(subject);
    hits.extend(gates(subject));
    hits.extend(admission(subject));
    hits.extend(cloud(subject));
    hits.extend(configs(subject));
    let mode = subject.flag("kube-proxy --proxy-mode");
    match mode {
        Some("userspace") if subject.minor() >= 26 => {
            hits.push(Hit::new("kubernetes.proxy-mode-removed", "kube-proxy"));
        }
        Some("ipvs") if subject.minor() >= 35 => {
            hits.push(Hit::new("kubernetes.proxy-mode-deprecated", "kube-proxy"));
        }
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
        let what = format!("{path} is {kind} of {version}");
        let hit = Hit::new("kubernetes.config-version-removed", what);
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
        let hit = Hit::new("kubernetes.flag-removed", name).between(since, format!("1.{minor}"));
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
            let hit = Hit::new("kubernetes.feature-gate-removed", what);
            return Some(hit.between("", format!("1.{minor}")));
        }
        let (locked, since) = locked_gate(gate, minor)?;
        let stated: bool = value.trim().trim_matches(['"', '\'']).parse().ok()?;
        let hit = Hit::new("kubernetes.feature-gate-locked", what);
        let hit = hit.between(format!("1.{since}"), value);
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
        let hit = Hit::new("kubernetes.admission-plugin-removed", *name);
        let hit = hit.between(format!("1.{since}"), "");
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
    let hits = hits.map(|component| format!("{component} --cloud-provider=aws"));
    hits.map(|what| Hit::new("kubernetes.cloud-provider-in-tree", what))
        .collect()
}
