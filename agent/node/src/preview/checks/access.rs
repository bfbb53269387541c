//! Who may do what: ports without a login, and admission plugins that go.

use super::{Hit, Pair, Subject};
use crate::preview::tables::ADMISSION_PLUGINS;
use crate::preview::view::Aspect::{self, Flag, Setting};
use std::collections::BTreeSet;

/// A flag or a setting, and whether a value of it opens a port.
type Opening = (Aspect, &'static str, fn(&str) -> bool);

const OPEN: &[Opening] = &[
    (Flag, "kube-apiserver --anonymous-auth", is_true),
    (Flag, "kube-apiserver --authorization-mode", allows_all),
    (Flag, "kube-apiserver --insecure-port", is_a_port),
    (Flag, "kubelet --anonymous-auth", is_true),
    (Flag, "kubelet --authorization-mode", allows_all),
    (Flag, "kubelet --read-only-port", is_a_port),
    (
        Setting,
        "KubeletConfiguration authentication.anonymous.enabled",
        is_true,
    ),
    (
        Setting,
        "KubeletConfiguration authorization.mode",
        allows_all,
    ),
    (Setting, "KubeletConfiguration readOnlyPort", is_a_port),
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
        is_open(value).then(|| Hit::new("access.opened", *name).between("", value))
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
    let hits = dropped.map(|plugin| Hit::new("kubernetes.admission-plugin-dropped", plugin));
    hits.collect()
}
