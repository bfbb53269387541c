//! The filter of the reverse path, which drops packets of pods where it is strict (ip-sysctl, `rp_filter`). Of `all` and of the
//! link the larger value counts: 1 is strict, 2 is loose.

use super::in_files;
use crate::checks::node::Node;

const START: &str = "/proc/sys/net/ipv4/conf/";

/// A link whose filter drops packets of pods: its setting, what that does, and the remedy.
pub(super) fn strict(node: &Node<'_>) -> Option<(String, &'static str, String)> {
    let value = |link: &str| {
        let text = node.text(&format!("{START}{link}/rp_filter")).ok()??;
        text.trim().parse::<u8>().ok()
    };
    let all = value("all")?;
    let is_strict = |link: &str| value(link).is_some_and(|own| own.max(all) == 1);
    let network = node.expected().ok()?.network.name.as_str();
    let (link, pattern, what) = match network {
        // aws/amazon-vpc-cni-k8s, docs/troubleshooting.md
        "amazonvpc" => {
            let primary = node.survey().network.ok()?.primary()?.name.clone();
            let what = "answers of pods on second interfaces to node ports and other VPCs are dropped, and no line says so";
            (primary.clone(), primary, what)
        }
        // cilium/cilium issue 10645
        "cilium" => {
            let texts = node.survey().texts.keys();
            let links =
                texts.filter_map(|path| path.strip_prefix(START)?.strip_suffix("/rp_filter"));
            let link = links
                .filter(|link| link.starts_with("lxc"))
                .find(|link| is_strict(link))?;
            let what = "packets of pods are dropped at their link, so that they reach nothing outside of the node";
            (link.to_owned(), "lxc*".to_owned(), what)
        }
        _ => return None,
    };
    if !is_strict(&link) {
        return None;
    }
    let better = if network == "cilium" { "0" } else { "2" };
    let keys = [
        format!("net.ipv4.conf.{link}.rp_filter"),
        format!("net.ipv4.conf.{pattern}.rp_filter"),
        "net.ipv4.conf.*.rp_filter".to_owned(),
        "net.ipv4.conf.default.rp_filter".to_owned(),
        "net.ipv4.conf.all.rp_filter".to_owned(),
    ];
    let file = keys
        .iter()
        .find_map(|key| in_files(node, key).filter(|(value, _)| value == "1"));
    let setting = match &file {
        Some((_, path)) => format!("net.ipv4.conf.{link}.rp_filter is 1, which {path} sets"),
        None => format!("net.ipv4.conf.{link}.rp_filter is 1"),
    };
    let both = match all {
        1 => "sysctl -w net.ipv4.conf.all.rp_filter=0; ",
        _ => "",
    };
    let fix = format!(
        "printf 'net.ipv4.conf.all.rp_filter = 0\\nnet.ipv4.conf.{pattern}.rp_filter = {better}\\n' >/etc/sysctl.d/99-zzz-pods.conf; {both}sysctl -w net.ipv4.conf.{link}.rp_filter={better}; systemctl restart systemd-sysctl; then delete the pods of this node that are cut off"
    );
    Some((setting, what, fix))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    #[test]
    fn the_larger_of_both_values_counts() {
        for (all, own, status) in [
            ("0", "1", Status::Warn),
            ("1", "0", Status::Warn),
            ("2", "1", Status::Ok),
            ("0", "0", Status::Ok),
        ] {
            let mut node = Sample::worker();
            node.expected().network.name = "cilium".to_owned();
            node.text("/proc/sys/net/ipv4/conf/all/rp_filter", all);
            node.text("/proc/sys/net/ipv4/conf/lxc12ab/rp_filter", own);
            assert_eq!(node.judge("host.sysctl").status, status, "{all} {own}");
        }
    }

    #[test]
    fn the_file_that_sets_it_is_named() {
        let mut node = Sample::worker();
        node.expected().network.name = "cilium".to_owned();
        node.text("/proc/sys/net/ipv4/conf/all/rp_filter", "0\n");
        node.text("/proc/sys/net/ipv4/conf/lxc12ab/rp_filter", "1\n");
        node.text(
            "/etc/sysctl.d/50-cis.conf",
            "net.ipv4.conf.*.rp_filter = 1\n",
        );
        node.assert(
            "host.sysctl",
            Status::Warn,
            "which /etc/sysctl.d/50-cis.conf sets",
        );
    }
}
