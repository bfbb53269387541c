//! Laws of items, over every boot of the corpus, on each distribution and processor.

use crate::support::{Assets, boots, instance, machine};
use quake_model::item::{Item, Source};
use quake_node::builders::{Context, Inputs, Lifecycle, Machine, build};
use quake_node::distribution::{Distribution, Packaging, Project};
use std::collections::{BTreeMap, BTreeSet};

const DISTRIBUTIONS: &[Distribution] = &[
    distribution(Project::Debian, (12, 0)),
    distribution(Project::Debian, (13, 0)),
    distribution(Project::Ubuntu, (22, 4)),
    distribution(Project::Ubuntu, (26, 4)),
    distribution(Project::AmazonLinux, (2023, 0)),
    distribution(Project::Rhel, (10, 0)),
    distribution(Project::Flatcar, (0, 0)),
];

const fn distribution(project: Project, version: (u32, u32)) -> Distribution {
    Distribution { project, version }
}

/// Calls `law` with the items of every boot, and what they are of.
fn for_each_node(law: impl Fn(&str, &Distribution, &[Item])) {
    for boot in boots() {
        let boot_config = boot.boot_config();
        let bytes = boot.nodeup_config_bytes(&boot_config);
        for (processor, architecture) in [("amd64", "x86_64"), ("arm64", "arm64")] {
            let config = boot.nodeup_config(&bytes, processor);
            let objects = boot.objects(&boot_config, &config);
            let members = Assets::read(&config).members();
            let mut instance = instance();
            instance.architecture = architecture.to_owned();
            for (distribution, lifecycle) in DISTRIBUTIONS
                .iter()
                .flat_map(|one| [(one, Lifecycle::InService), (one, Lifecycle::Warming)])
            {
                let machine = Machine {
                    lifecycle,
                    ..machine()
                };
                let context = Context::new(Inputs {
                    boot: &boot_config,
                    config: &config,
                    instance: &instance,
                    machine: &machine,
                    distribution: *distribution,
                    objects: &objects,
                    members: &members,
                });
                let name = format!("{} {processor} {distribution:?} {lifecycle:?}", boot.name);
                let built = context.and_then(|context| build(&context));
                let built = built.unwrap_or_else(|fault| panic!("{name}: {fault}"));
                let items: Vec<Item> = built.into_iter().flat_map(|built| built.items).collect();
                law(&name, distribution, &items);
            }
        }
    }
}

#[test]
fn no_two_builders_want_different_things_of_one_subject() {
    for_each_node(|name, _, items| {
        let mut seen: BTreeMap<String, &Item> = BTreeMap::new();
        for item in items {
            let earlier = seen.insert(item.subject(), item);
            assert!(
                earlier.is_none_or(|earlier| earlier == item),
                "{name}: {}",
                item.subject()
            );
        }
    });
}

#[test]
fn every_certificate_that_a_file_shows_is_ordered_and_every_owner_is_made() {
    for_each_node(|name, _, items| {
        let subjects: BTreeSet<String> = items.iter().map(Item::subject).collect();
        for item in items {
            let Item::File(file) = item else { continue };
            let order = match &file.source {
                Source::Bytes(_) => None,
                Source::Issued { order, .. } => Some(order),
                Source::Kubeconfig(kubeconfig) => Some(&kubeconfig.order),
            };
            if let Some(order) = order {
                assert!(
                    subjects.contains(&format!("certificate/{order}")),
                    "{name}: {}",
                    file.path
                );
            }
            let user = &file.owner.user;
            let is_made = user == "root" || subjects.contains(&format!("user/{user}"));
            let is_known = machine().login_users.contains_key(user);
            assert!(is_made || is_known, "{name}: {} of {user}", file.path);
        }
    });
}

#[test]
fn nothing_is_written_where_the_distribution_cannot_be_written() {
    for_each_node(|name, distribution, items| {
        if distribution.packaging() != Packaging::Image {
            return;
        }
        for item in items {
            let path = match item {
                Item::Unit(unit) => unit.file.as_ref().map_or("", |file| file.path.as_str()),
                Item::Package(package) => panic!("{name}: the package {}", package.name),
                Item::File(file) => &file.path,
                Item::Program(place) => &place.path,
                Item::Directory(directory) => &directory.path,
                _ => "",
            };
            // `/usr` is read-only, `/usr/local` with it.
            assert!(
                !path.starts_with("/usr/") && !path.starts_with("/lib/"),
                "{name}: {path}"
            );
        }
    });
}
