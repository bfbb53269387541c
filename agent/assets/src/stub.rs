//! Placeholders for rehearsals without bytes: the same on every run, and plainly not the real thing.

use quake_model::spec::{AssetKind, AssetSpec};

/// The programs of the CNI plugin archives of Kubernetes 1.8 to 1.15, and later.
const CNI_PLUGINS: &[&str] = &[
    "bandwidth",
    "bridge",
    "dhcp",
    "firewall",
    "flannel",
    "host-device",
    "host-local",
    "ipvlan",
    "loopback",
    "macvlan",
    "portmap",
    "ptp",
    "tuning",
    "vlan",
];

/// The programs of containerd's archives.
const CONTAINERD: &[&str] = &[
    "containerd",
    "containerd-shim",
    "containerd-shim-runc-v1",
    "containerd-shim-runc-v2",
    "containerd-stress",
    "ctr",
];

/// The names of the files that stand in for an asset: an empty one for a plain asset.
pub(super) fn stub_names(asset: &AssetSpec) -> &'static [&'static str] {
    match asset.kind {
        AssetKind::Plain => &[""],
        AssetKind::Archive if asset.name.starts_with("containerd") => CONTAINERD,
        AssetKind::Archive if asset.name.starts_with("crictl") => &["crictl"],
        AssetKind::Archive => CNI_PLUGINS,
    }
}

/// The base names of the files that an archive is expected to hold, where it is not here: those of a rehearsal.
pub fn expected_members(asset: &AssetSpec) -> Vec<String> {
    let names = stub_names(asset).iter();
    let names = names.filter(|name| !name.is_empty());
    names.map(|name| (*name).to_owned()).collect()
}

/// The placeholder's text: a script that says what it is and fails, should anyone run it.
pub(super) fn stub_text(asset: &AssetSpec, name: &str) -> String {
    let of = if name.is_empty() { &asset.name } else { name };
    let digest = &asset.digest;
    format!(
        "#!/bin/sh\n# placeholder of a rehearsal for {of} ({} {digest})\nexit 1\n",
        asset.name
    )
}
