//! Laws of items, over every boot of the corpus, on each distribution and processor.

use crate::support::{Node, boots, machine};
use quake_model::item::{Item, Source};
use quake_node::builders::Lifecycle;
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
        for processor in ["amd64", "arm64"] {
            let mut node = Node::of(&boot, processor, |text| text);
            for (distribution, lifecycle) in DISTRIBUTIONS
                .iter()
                .flat_map(|one| [(one, Lifecycle::InService), (one, Lifecycle::Warming)])
            {
                node.machine.lifecycle = lifecycle;
                node.distribution = *distribution;
                let name = format!("{} {processor} {distribution:?} {lifecycle:?}", boot.name);
                let built = node.built().into_iter();
                let items: Vec<Item> = built.flat_map(|built| built.items).collect();
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
        for file in items.iter().filter_map(Item::file) {
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
