//! Who may do what: ports without a login, and admission plugins that go.

use super::{Hit, Pair, Subject};
use crate::preview::rule::{Rule, Severity};
use crate::preview::tables::ADMISSION_PLUGINS;
use crate::preview::view::Aspect;
use std::collections::BTreeSet;

const OPENED: Rule = Rule {
    id: "access.opened",
    severity: Severity::Risk,
    summary: "{what} is {new}: everyone who reaches the port needs no login, or may do everything",
    remedy: "take it back, unless the network alone is to decide who has access",
    sources: &[
        "https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/",
        "https://kubernetes.io/docs/reference/access-authn-authz/authorization/",
    ],
};

const DROPPED: Rule = Rule {
    id: "kubernetes.admission-plugin-dropped",
    severity: Severity::Risk,
    summary: "kube-apiserver no longer enables the admission plugin {what}, which this version still has",
    remedy: "keep it in kubeAPIServer.enableAdmissionPlugins, unless what it forbids or sets is meant to be free",
    sources: &["https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/"],
};

pub(super) const RULES: &[Rule] = &[OPENED, DROPPED];

/// A flag or a setting, and whether a value of it opens a port.
type Opening = (Aspect, &'static str, fn(&str) -> bool);

const OPEN: &[Opening] = &[
    (Aspect::Flag, "kube-apiserver --anonymous-auth", is_true),
    (
        Aspect::Flag,
        "kube-apiserver --authorization-mode",
        allows_all,
    ),
    (Aspect::Flag, "kube-apiserver --insecure-port", is_a_port),
    (Aspect::Flag, "kubelet --anonymous-auth", is_true),
    (Aspect::Flag, "kubelet --authorization-mode", allows_all),
    (Aspect::Flag, "kubelet --read-only-port", is_a_port),
    (
        Aspect::Setting,
        "KubeletConfiguration authentication.anonymous.enabled",
        is_true,
    ),
    (
        Aspect::Setting,
        "KubeletConfiguration authorization.mode",
        allows_all,
    ),
    (
        Aspect::Setting,
        "KubeletConfiguration readOnlyPort",
        is_a_port,
    ),
];

fn is_true(value: &str) -> bool {
    value == "true"
}

fn is_a_port(value: &str) -> bool {
    value != "0"
}

fn allows_all(value: &str) -> bool {
    value.split(',').any(|mode| mode == "AlwaysAllow")
}

pub(super) fn state(subject: &Subject<'_>) -> Vec<Hit> {
    let open = OPEN.iter().filter_map(|(aspect, name, is_open)| {
        let value = subject.row(*aspect, name)?;
        is_open(value).then(|| Hit::new(&OPENED, *name).between("", value))
    });
    open.collect()
}

pub(super) fn step(pair: &Pair<'_>) -> Vec<Hit> {
    let plugins = |subject: &Subject<'_>| -> Option<BTreeSet<String>> {
        let list = subject.flag("kube-apiserver --enable-admission-plugins")?;
        Some(list.split([',', ' ']).map(str::to_owned).collect())
    };
    let (Some(old), Some(new)) = (plugins(&pair.old), plugins(&pair.new)) else {
        return Vec::new();
    };
    let minor = pair.new.minor();
    let is_gone = |plugin: &str| {
        let mut rows = ADMISSION_PLUGINS.iter();
        rows.any(|row| row.0 == plugin && minor >= row.1)
    };
    let dropped = old.difference(&new).filter(|plugin| !is_gone(plugin));
    dropped.map(|plugin| Hit::new(&DROPPED, plugin)).collect()
}
