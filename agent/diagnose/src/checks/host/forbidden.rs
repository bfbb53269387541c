//! Modules of the kernel that a file of modprobe forbids, as guides for hardening do.

use super::modules::is_loaded;
use crate::checks::check::Finding;
use crate::checks::node::Node;
use quake_model::facts::Unseen;

/// Modules that pods, services and pod networks load when they need them.
const NEEDED: &[&str] = &[
    "overlay",
    "br_netfilter",
    "bridge",
    "veth",
    "nf_conntrack",
    "nf_nat",
    "nf_tables",
    "ip_tables",
    "ip6_tables",
    "iptable_nat",
    "iptable_filter",
    "iptable_mangle",
    "xt_comment",
    "xt_conntrack",
    "xt_MASQUERADE",
    "xt_nat",
    "xt_mark",
    "xt_set",
    "ip_set",
    "ip_vs",
    "vxlan",
    "ipip",
    "wireguard",
    "cls_bpf",
    "sch_ingress",
    "nvme",
    "ena",
    "xfs",
    "ext4",
];

/// A module that may not be loaded, and where that is said.
pub(super) struct Forbidden<'a> {
    module: &'static str,
    path: &'a str,
    line: &'a str,
}

/// A module that pods need, is not loaded, and may not be (modprobe.d(5): `install` runs another program in its place).
pub(super) fn forbidden<'a>(node: &Node<'a>) -> Result<Option<Forbidden<'a>>, Unseen> {
    let texts = node.survey().texts.iter();
    let files = texts.filter(|(path, _)| path.starts_with("/etc/modprobe.d/"));
    for (path, text) in files {
        for line in text.ok().into_iter().flat_map(|text| text.lines()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["install", module, program, ..] = words.as_slice() else {
                continue;
            };
            let ends = ["/true", "/false", "/nologin"];
            let does_nothing = ends.iter().any(|end| program.ends_with(end));
            let module = module.replace('-', "_");
            let needed = NEEDED.iter().find(|needed| **needed == module);
            let Some(module) = needed.filter(|_| does_nothing) else {
                continue;
            };
            if !is_loaded(node, module)? {
                return Ok(Some(Forbidden { module, path, line }));
            }
        }
    }
    Ok(None)
}

impl Forbidden<'_> {
    /// The finding; `missing` is the module that is seen to be missing.
    pub(super) fn finding(&self, missing: Option<&str>) -> Finding {
        let (module, path) = (self.module, self.path);
        let lacks = match missing {
            Some(missing) => format!(", and the kernel lacks {missing}"),
            None => String::new(),
        };
        let load = missing.unwrap_or(module);
        Finding::new(
            format!("{path} forbids the module {module}, which pods need{lacks}"),
            format!("take the line out of {path}; modprobe {load}; systemctl restart systemd-sysctl.service, then the runtime and kube-proxy's pod"),
        )
        .seen("line", self.line)
    }
}
