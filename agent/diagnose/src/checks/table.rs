//! All checks. Causes stand before what follows from them.

use super::check::Check;
use super::{
    addons, agent, api_server, assets, boot, bucket, certificates, cni, config, etcd, host, iam,
    identity,
};
use super::{dns, hop_limit, net, services, time};
use super::{images, kubelet, lifecycle, logs, membership, pods, runtime, static_pods, volumes};
use std::sync::LazyLock;

/// The areas, in the order in which one explains another.
const AREAS: &[&[Check]] = &[
    net::DROPS,
    time::CHECKS,
    services::TARGET,
    host::SYSTEM,
    host::KERNEL,
    host::SYSCTL,
    host::SECURITY,
    host::JOBS,
    host::PACKAGES,
    host::VERSIONS,
    host::MOUNTS,
    host::SERVICES,
    host::PROCESSORS,
    host::DISKS,
    host::TRUST,
    host::CAPACITY,
    net::LINKS,
    net::MANAGERS,
    net::LEFTOVERS,
    net::RANGES,
    net::SETTINGS,
    net::FILTERS,
    net::HOST_POLICY,
    net::TUNNEL,
    net::PORTS,
    net::PROXY,
    dns::RESOLVERS,
    dns::HOSTS_FILE,
    dns::NAMES,
    dns::PUBLISHED_CHECKS,
    net::REACH,
    identity::CHECKS,
    hop_limit::CHECKS,
    lifecycle::INTERRUPTION,
    iam::CHECKS,
    config::CHECKS,
    bucket::CHECKS,
    boot::RECORDED,
    services::DROP_INS,
    agent::RUNNING,
    assets::CHECKS,
    certificates::CHECKS,
    volumes::CHECKS,
    etcd::CHECKS,
    services::FILES,
    services::UNITS,
    services::STALE,
    runtime::CHECKS,
    images::CHECKS,
    kubelet::CHECKS,
    static_pods::CHECKS,
    static_pods::FLAGS,
    etcd::RUNNING,
    api_server::CLIENTS,
    static_pods::RUNNING,
    api_server::CHECKS,
    membership::REGISTRATION,
    cni::CHECKS,
    membership::CHECKS,
    services::SHUTDOWN,
    pods::CHECKS,
    addons::CHECKS,
    lifecycle::CHECKS,
    agent::CHECKS,
    boot::CHECKS,
    logs::CHECKS,
];

static ALL: LazyLock<Vec<Check>> = LazyLock::new(|| AREAS.concat());

/// All checks, in the order of the table.
pub fn all() -> &'static [Check] {
    &ALL
}

/// The check of this name.
pub fn find(id: &str) -> Option<&'static Check> {
    all().iter().find(|check| check.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_check_is_explained_only_by_checks_that_stand_before_it() {
        let mut before = BTreeSet::new();
        for check in all() {
            for cause in check.because {
                assert!(before.contains(cause), "{} names {cause}", check.id);
            }
            assert!(before.insert(check.id), "{} stands twice", check.id);
        }
    }

    #[test]
    fn every_check_says_what_it_is_and_what_to_do() {
        for check in all() {
            let (area, word) = check.id.split_once('.').expect("an area and a word");
            let plain = |text: &str| {
                text.chars()
                    .all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit())
            };
            assert!(
                plain(area) && plain(word) && !word.is_empty(),
                "{}",
                check.id
            );
            for text in [check.title, check.why, check.remedy] {
                assert!(
                    text.len() > 10 && !text.ends_with('.'),
                    "{}: {text:?}",
                    check.id
                );
            }
            assert!(
                !check.sources.is_empty(),
                "{} needs to see something",
                check.id
            );
        }
    }
}
