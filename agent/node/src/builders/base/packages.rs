//! Packages of the distribution that every node needs, and those the operator adds.

use crate::builders::Context;
use crate::distribution::{Distribution, Packaging, Project};
use quake_model::fault::Fault;
use quake_model::item::{Item, Package};
use std::collections::BTreeSet;

/// Programs that prove a package to be there, so that an image that has them needs no word with a package manager, which
/// may be locked or have no mirror. The paths are the same on each distribution that has the package.
const PROOFS: &[(&str, &str)] = &[
    ("chrony", "/usr/sbin/chronyd"),
    ("iptables", "/usr/sbin/iptables"),
    ("iptables-nft", "/usr/sbin/iptables-nft"),
    ("logrotate", "/usr/sbin/logrotate"),
    ("nftables", "/usr/sbin/nft"),
    ("unattended-upgrades", "/usr/bin/unattended-upgrade"),
    ("util-linux", "/usr/bin/nsenter"),
];

/// The package called `name`. All builders of this group take theirs from here, so that a package that is wanted twice is
/// wanted the same.
pub(super) fn package(name: &str) -> Item {
    let proofs = PROOFS.iter().filter(|(package, _)| *package == name);
    Item::Package(Package::required(name).proven_by(proofs.map(|(_, path)| *path)))
}

/// The packages, each once; none where the image is all there is.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let distribution = context.distribution;
    let mut names: Vec<&str> = match distribution.packaging() {
        Packaging::Image => return Ok(Vec::new()),
        Packaging::Deb => vec!["iptables", "libapparmor1", "libseccomp2", "util-linux"],
        Packaging::Rpm => packet_filters(distribution)
            .iter()
            .chain(&["libseccomp", "util-linux", "container-selinux"])
            .copied()
            .collect(),
    };
    let proxy = context.config.kube_proxy.as_ref();
    // kube-proxy's image has a program of its own, so this is for people; nodeup wants both keys to be said, too.
    let filters_by_nftables = proxy.is_some_and(|proxy| {
        proxy.is_set("enabled") && proxy.text("proxyMode") == Some("nftables")
    });
    names.extend(filters_by_nftables.then_some("nftables"));
    names.extend(context.config.packages.iter().map(String::as_str));
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    Ok(names.into_iter().map(package).collect())
}

/// What CNI plugins call as `iptables`: with the backend that the kernel has.
fn packet_filters(distribution: Distribution) -> &'static [&'static str] {
    let (project, major) = (distribution.project, distribution.version.0);
    match (project, major) {
        (Project::AmazonLinux, _) => &["iptables-nft"],
        (Project::Rhel, 8 | 9) | (Project::Rocky, 8) => &["iptables"],
        _ => &["nftables", "iptables-nft"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    fn names(sample: &Sample) -> Vec<String> {
        let items = sample.items(build);
        let names = items.iter().map(Item::subject);
        names
            .map(|name| name.trim_start_matches("package/").to_owned())
            .collect()
    }

    #[test]
    fn each_distribution_has_its_own_packet_filter() {
        for (project, version, wanted) in [
            (Project::Debian, (12, 0), "iptables"),
            (Project::Ubuntu, (26, 4), "iptables"),
            (Project::AmazonLinux, (2023, 0), "iptables-nft"),
            (Project::Rhel, (8, 0), "iptables"),
            (Project::Rhel, (9, 0), "iptables"),
            (Project::Rhel, (10, 0), "nftables iptables-nft"),
            (Project::Rocky, (8, 0), "iptables"),
            (Project::Rocky, (9, 0), "nftables iptables-nft"),
            (Project::CentOs, (9, 0), "nftables iptables-nft"),
            (Project::Fedora, (44, 0), "nftables iptables-nft"),
            (Project::Flatcar, (0, 0), ""),
        ] {
            let sample = Sample::worker("").on(project, version);
            let mut found = names(&sample);
            found.retain(|name| name.contains("tables"));
            assert_eq!(found.join(" "), wanted, "{project:?} {version:?}");
        }
    }

    #[test]
    fn the_operators_packages_come_to_the_nodes_and_none_comes_twice() {
        let sample = Sample::worker("packages: [nfs-common, iptables]\n");
        let wanted = [
            "iptables",
            "libapparmor1",
            "libseccomp2",
            "util-linux",
            "nfs-common",
        ];
        assert_eq!(names(&sample), wanted);
    }

    #[test]
    fn nftables_come_with_a_kube_proxy_that_is_said_to_run_on_them() {
        for (keys, wanted) in [
            ("enabled: true, proxyMode: nftables", true),
            ("proxyMode: nftables", false),
            ("enabled: true, proxyMode: ipvs", false),
            ("enabled: false, proxyMode: nftables", false),
        ] {
            let found = names(&Sample::worker(&format!("KubeProxy: {{{keys}}}\n")));
            assert_eq!(found.contains(&"nftables".to_owned()), wanted, "{keys}");
        }
    }

    #[test]
    fn a_package_that_is_there_is_known_by_its_program() {
        let Item::Package(found) = package("chrony") else {
            panic!("it is a package")
        };
        assert_eq!(found.proven_by, ["/usr/sbin/chronyd"]);
    }
}
