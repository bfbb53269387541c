//! Which distribution gets which files for which network.

use super::*;
use crate::builders::sample::Sample;
use quake_model::fault::Code;

const ROUTES: &str = "/usr/lib/systemd/networkd.conf.d/40-disable-manage-foreign-routes.conf";
const LINK: &str = "/etc/systemd/network/99-default.link";
const SECONDARY: &str = "/etc/systemd/network/75-eni-secondary.network";
const HOTPLUG: &str = "/etc/cloud/cloud.cfg.d/99-disable-network-hotplug.cfg";
const POLICY: &str = "/etc/udev/rules.d/99-vpc-policy-routes.rules";
const IFUPDOWN: &str = "/etc/udev/rules.d/75-cloud-ifupdown.rules";
const CLOUD_SETUP: &str = "/etc/kops/nm-cloud-setup-disabled";

fn sample(network: &str, project: Project, version: (u32, u32)) -> Sample {
    let mut sample = Sample::worker(&format!("Networking: {{{network}}}\n")).on(project, version);
    let mac = sample.instance.mac.to_uppercase();
    sample.machine.interfaces = [
        ("ens34".to_owned(), mac),
        ("ens35".to_owned(), "other".to_owned()),
    ]
    .into();
    sample
}

#[test]
fn each_distribution_has_the_files_of_the_services_it_runs() {
    let debian: &[&str] = &[ROUTES, LINK, SECONDARY, HOTPLUG];
    for (project, version, wanted) in [
        (
            Project::AmazonLinux,
            (2023, 0),
            &[POLICY, ROUTES, LINK, SECONDARY][..],
        ),
        (Project::Debian, (11, 0), &[IFUPDOWN]),
        (Project::Debian, (12, 0), debian),
        (Project::Debian, (13, 0), debian),
        (Project::Ubuntu, (22, 4), &[ROUTES, LINK]),
        (Project::Ubuntu, (24, 4), &[ROUTES, LINK, HOTPLUG]),
        (Project::Rhel, (8, 0), &[]),
        (Project::Rhel, (9, 0), &[CLOUD_SETUP]),
        (Project::Rocky, (9, 0), &[]),
        (Project::Flatcar, (0, 0), &[]),
    ] {
        let found = sample("amazonVPC: {}", project, version).subjects(build);
        assert_eq!(found, wanted, "{project:?} {version:?}");
    }
}

#[test]
fn a_network_has_only_what_it_needs() {
    let all: &[&str] = &[ROUTES, LINK, SECONDARY, HOTPLUG];
    for (network, wanted) in [
        ("amazonVPC: {}", all),
        ("cilium: {ipam: eni}", all),
        ("cilium: {}", &[ROUTES, HOTPLUG]),
        ("calico: {}", &[]),
        ("cni: {usesSecondaryIP: true}", &[]),
        ("kindnet: {}", &[]),
    ] {
        let items = sample(network, Project::Debian, (12, 0)).items(build);
        let found: Vec<String> = items.iter().map(Item::subject).collect();
        assert_eq!(found, wanted, "{network}");
    }
}

#[test]
fn the_primary_interface_stays_managed() {
    let mut sample = sample("amazonVPC: {}", Project::Debian, (12, 0));
    let text = sample.file(build, SECONDARY);
    assert!(text.contains("\nProperty=!INTERFACE=ens34\n"), "{text}");
    for interfaces in [
        vec![],
        vec![
            ("ens34", "02:00:00:00:00:01"),
            ("ens35", "02:00:00:00:00:01"),
        ],
    ] {
        let interfaces = interfaces.into_iter();
        let owned = interfaces.map(|(name, mac)| (name.to_owned(), mac.to_owned()));
        sample.machine.interfaces = owned.collect();
        sample.assert_refused(build, Code::NetworkUnreadable, ("mac", "02:00:00:00:00:01"));
    }
}

#[test]
fn networkd_forgets_pods_addresses_only_after_they_are_written_no_more() {
    let sample = sample("amazonVPC: {}", Project::AmazonLinux, (2023, 0));
    let reactions = sample.file_at(build, POLICY).expect("it is made").on_change;
    assert_eq!(reactions.first(), Some(&Reaction::ReloadUdev));
    assert_eq!(reactions.last(), Some(&restart_networkd()));
    let position = |word: &str| {
        let has = |reaction: &Reaction| matches!(reaction, Reaction::Run(words) if words.iter().any(|found| found.contains(word)));
        reactions.iter().position(has).expect("it is run")
    };
    assert!(position("stop") < position("mask") && position("mask") < position("ec2net_alias"));
}

#[test]
fn what_networkd_reads_restarts_it() {
    for (network, project, version) in [
        ("cilium: {}", Project::Ubuntu, (26, 4)),
        ("amazonVPC: {}", Project::Debian, (13, 0)),
    ] {
        for file in sample(network, project, version).all(build, Item::file) {
            let is_read = file.path.contains("/systemd/");
            let restarts = file.on_change == [restart_networkd()];
            assert_eq!(restarts, is_read, "{}", file.path);
        }
    }
}
