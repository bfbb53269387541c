//! What kube-router wants of the node.

use crate::builders::Context;
use crate::config::current::Provider;
use crate::distribution::{Distribution, Project};
use quake_model::fault::Fault;
use quake_model::item::{Item, Link, Subject};

/// Its kubeconfig, which its pods take from the node; and iproute2's tables in the place where they look for them.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    const ORDER: &str = "kube-router";
    if context.config.network.provider != Provider::KubeRouter {
        return Ok(Vec::new());
    }
    let subject = Subject::named("system:kube-router");
    let path = "/var/lib/kube-router/kubeconfig";
    let mut items: Vec<Item> = context.kubeconfig(ORDER, subject, path)?.into();
    if keeps_tables_in_etc(context.distribution) {
        items.push(Item::Link(Link {
            path: "/usr/share/iproute2".to_owned(),
            target: "/etc/iproute2".to_owned(),
        }));
    }
    Ok(items)
}

/// Whether its iproute2 still keeps its tables in `/etc`, as 6.1 does (kops issue 17914).
fn keeps_tables_in_etc(distribution: Distribution) -> bool {
    match distribution.project {
        Project::Debian => distribution.version <= (12, 0),
        Project::Ubuntu => distribution.version <= (24, 4),
        Project::AmazonLinux
        | Project::Rhel
        | Project::Rocky
        | Project::CentOs
        | Project::Fedora
        | Project::Flatcar => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_model::item::{Issuer, Source};

    const KEYS: &str = "Networking: {kubeRouter: {}}\nKeypairIDs: {kubernetes-ca: \"7\"}\n\
                        CAs: {kubernetes-ca: CAs}\n";

    #[test]
    fn a_worker_asks_for_the_certificate_that_its_kubeconfig_shows() {
        let items = Sample::worker(KEYS).items(build);
        let [Item::Certificate(order), Item::File(file), ..] = &items[..] else {
            panic!("{items:?}")
        };
        assert!(
            matches!(order.issuer, Issuer::Controller { .. }),
            "{order:?}"
        );
        assert_eq!(order.subject.common_name, "system:kube-router");
        let Source::Kubeconfig(kubeconfig) = &file.source else {
            panic!("{file:?}")
        };
        assert_eq!(kubeconfig.order, order.name);
        assert_eq!(kubeconfig.server, "https://api.internal.c.example.com");
        assert_eq!(file.mode, 0o400);
    }

    #[test]
    fn the_tables_are_linked_where_iproute2_is_of_the_older_layout() {
        for (project, version, wanted) in [
            (Project::Debian, (11, 0), true),
            (Project::Debian, (12, 0), true),
            (Project::Debian, (13, 0), false),
            (Project::Ubuntu, (22, 4), true),
            (Project::Ubuntu, (24, 4), true),
            (Project::Ubuntu, (25, 10), false),
            (Project::AmazonLinux, (2023, 0), false),
            (Project::Flatcar, (0, 0), false),
        ] {
            let sample = Sample::control_plane(KEYS).on(project, version);
            let items = sample.items(build);
            let links = items.iter().any(|item| matches!(item, Item::Link(_)));
            assert_eq!(links, wanted, "{project:?} {version:?}");
        }
    }

    #[test]
    fn other_networks_have_no_kubeconfig() {
        assert_eq!(
            Sample::worker("Networking: {flannel: {}}\n").items(build),
            []
        );
    }
}
