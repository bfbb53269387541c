//! Which of the channels' add-ons this cluster gets.

use super::channel::{Addon, Channel};
use super::range::VersionRange;
use super::semver::SemanticVersion;
use super::version::is_due;
use quake_model::fault::{Code, Fault};
use quake_model::spec::KubernetesVersion;
use std::collections::BTreeMap;

/// What is applied to a cluster.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SelectedAddons {
    /// The add-ons, each name once, sorted by name. None waits for another: what one needs of another comes with a later try.
    pub addons: Vec<Addon>,
    /// The names of entries that are not applied, and why, in the order of the channels.
    pub skipped: Vec<(String, String)>,
    /// What of the channels is not read: their own warnings, and ranges that are none.
    pub warnings: Vec<Fault>,
}

impl SelectedAddons {
    /// The add-ons of these names, or all where none is named. A name may be shortened to what comes before a dot, as
    /// `coredns` for `coredns.addons.k8s.io`, where that means one.
    ///
    /// # Errors
    ///
    /// The first name that means none or several.
    pub fn named(&self, names: &[String]) -> Result<Vec<&Addon>, NameError> {
        if names.is_empty() {
            return Ok(self.addons.iter().collect());
        }
        let mut found: Vec<&Addon> = Vec::new();
        for name in names {
            let addon = self.one(name)?;
            if !found.contains(&addon) {
                found.push(addon);
            }
        }
        Ok(found)
    }

    fn one(&self, name: &str) -> Result<&Addon, NameError> {
        if let Some(addon) = self.addons.iter().find(|addon| addon.name == name) {
            return Ok(addon);
        }
        let begins = |addon: &&Addon| {
            let rest = addon.name.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let matching: Vec<&Addon> = self.addons.iter().filter(begins).collect();
        let names = |addons: &[&Addon]| {
            let names: Vec<&str> = addons.iter().map(|addon| addon.name.as_str()).collect();
            names.join(", ")
        };
        let name = name.to_owned();
        match matching.as_slice() {
            [one] => Ok(one),
            [] => {
                let there: Vec<&Addon> = self.addons.iter().collect();
                Err(NameError::None {
                    name,
                    there: names(&there),
                })
            }
            several => Err(NameError::Several {
                name,
                matching: names(several),
            }),
        }
    }
}

/// Why a name means no add-on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is none of the name.
    #[error("no add-on of this cluster is named {name}; there are: {there}")]
    None { name: String, there: String },
    /// There are several whose names begin so.
    #[error("{name} may mean {matching}")]
    Several { name: String, matching: String },
}

/// Chooses what a server of version `server` gets.
///
/// Of several entries of one name that are for this version, a later one takes the place of an earlier if it would be
/// applied over it: nearly always, but never an older version over a newer.
///
/// What comes after the patch number is not looked at, as kops does not: `1.9.0-beta.1` is 1.9.0.
pub fn select(channels: &[Channel], server: KubernetesVersion) -> SelectedAddons {
    let mut selected = SelectedAddons::default();
    let mut chosen: BTreeMap<&str, &Addon> = BTreeMap::new();
    for channel in channels {
        selected.warnings.extend(channel.warnings.iter().cloned());
        for addon in &channel.addons {
            match fits(addon, server) {
                Ok(true) => {}
                Ok(false) => {
                    let range = addon.kubernetes.as_deref().unwrap_or_default();
                    let why = format!("{} is for Kubernetes {range}, not {server}", addon.version);
                    selected.skipped.push((addon.name.clone(), why));
                    continue;
                }
                Err(fault) => {
                    selected
                        .skipped
                        .push((addon.name.clone(), fault.summary.clone()));
                    selected.warnings.push(fault);
                    continue;
                }
            }
            let before = chosen.get(addon.name.as_str()).copied();
            let (kept, other) = match before {
                Some(before) if !is_due(&addon.version, Some(&before.version)) => {
                    (before, Some(addon))
                }
                before => (addon, before),
            };
            chosen.insert(&addon.name, kept);
            if let Some(other) = other {
                let why = format!(
                    "{} gives way to {} of {}",
                    other.version, kept.version, kept.channel
                );
                selected.skipped.push((other.name.clone(), why));
            }
        }
    }
    selected.addons = chosen.into_values().cloned().collect();
    selected
}

fn fits(addon: &Addon, server: KubernetesVersion) -> Result<bool, Fault> {
    let Some(text) = &addon.kubernetes else {
        return Ok(true);
    };
    let range = VersionRange::read(text).map_err(|error| {
        let summary = format!(
            "kubernetesVersion of the add-on {} is no range: {error}",
            addon.name
        );
        Fault::new(Code::AddonsChannelInvalid, summary)
            .seen("source", &addon.channel)
            .seen("addon", &addon.name)
    })?;
    let numbers = [server.major, server.minor, server.patch].map(u64::from);
    Ok(range.has(&SemanticVersion::release(numbers)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::sample;
    use quake_model::addon::AddonVersion;

    fn entry(name: &str, id: &str, version: &str, range: &str) -> Addon {
        Addon {
            version: AddonVersion {
                id: id.to_owned(),
                version: version.to_owned(),
                manifest_hash: String::new(),
            },
            kubernetes: Some(range.to_owned()).filter(|range| !range.is_empty()),
            ..sample(name)
        }
    }

    fn channel(addons: Vec<Addon>) -> Channel {
        Channel {
            location: "s3://b/c/addons/bootstrap-channel.yaml"
                .parse()
                .expect("a literal"),
            addons,
            warnings: Vec::new(),
        }
    }

    fn ids(selected: &SelectedAddons) -> Vec<(&str, &str)> {
        selected
            .addons
            .iter()
            .map(|addon| (addon.name.as_str(), addon.version.id.as_str()))
            .collect()
    }

    fn server(text: &str) -> KubernetesVersion {
        text.parse().expect(text)
    }

    fn kops_1_15() -> Channel {
        channel(vec![
            entry("kube-dns", "pre-k8s-1.6", "1.14.13-kops.1", "<1.6.0"),
            entry("kube-dns", "k8s-1.6", "1.14.13-kops.1", ">=1.6.0 <1.12.0"),
            entry("kube-dns", "k8s-1.12", "1.14.13-kops.1", ">=1.12.0"),
            entry("core", "", "1.4.0", ""),
        ])
    }

    #[test]
    fn of_several_entries_the_one_for_this_version_is_chosen() {
        for (version, id) in [
            ("v1.5.8", "pre-k8s-1.6"),
            ("1.6.0", "k8s-1.6"),
            ("v1.11.10-gke.3", "k8s-1.6"),
            ("v1.12.0-beta.1", "k8s-1.12"),
            ("1.15.3", "k8s-1.12"),
        ] {
            let selected = select(&[kops_1_15()], server(version));
            assert_eq!(
                ids(&selected),
                [("core", ""), ("kube-dns", id)],
                "{version}"
            );
            assert_eq!(selected.skipped.len(), 2, "{version}");
        }
    }

    #[test]
    fn what_is_passed_over_says_why() {
        let selected = select(&[kops_1_15()], server("1.11.0"));
        let why = "1.14.13-kops.1 pre-k8s-1.6 is for Kubernetes <1.6.0, not 1.11.0";
        assert_eq!(selected.skipped[0], ("kube-dns".to_owned(), why.to_owned()));
    }

    #[test]
    fn a_later_entry_wins_unless_it_is_older() {
        let wins = |first: Addon, second: Addon| {
            let selected = select(
                &[channel(vec![first]), channel(vec![second])],
                server("1.9.0"),
            );
            selected.addons[0].version.clone()
        };
        let new = |id| entry("a", id, "", "");
        assert_eq!(wins(new("one"), new("two")).id, "two");
        let old = |id, version| entry("a", id, version, "");
        assert_eq!(wins(old("one", "1.2.0"), old("two", "1.1.0")).id, "one");
        assert_eq!(wins(old("one", "1.2.0"), old("two", "1.10.0")).id, "two");
        assert_eq!(wins(old("one", "1.2.0"), old("two", "1.2.0")).id, "two");
    }

    #[test]
    fn a_range_that_is_none_holds_up_no_other_add_on() {
        let addons = vec![entry("a", "", "", "~1.9"), entry("b", "", "", "")];
        let selected = select(&[channel(addons)], server("1.9.0"));
        assert_eq!(ids(&selected), [("b", "")]);
        assert_eq!(selected.warnings[0].code, Code::AddonsChannelInvalid);
        assert_eq!(selected.warnings[0].evidence_named("addon"), Some("a"));
    }

    #[test]
    fn an_add_on_is_found_by_its_name_or_by_how_it_begins() {
        let names = ["coredns.addons.k8s.io", "dns.a", "dns.b", "coredns"];
        let addons = names.map(|name| entry(name, "", "", "")).to_vec();
        let selected = select(&[channel(addons)], server("1.9.0"));
        let named = |names: &[&str]| -> Result<Vec<String>, String> {
            let names: Vec<String> = names.iter().map(|name| str::to_owned(name)).collect();
            let found = selected.named(&names).map_err(|error| error.to_string())?;
            Ok(found.iter().map(|addon| addon.name.clone()).collect())
        };
        assert_eq!(named(&["coredns"]), Ok(vec!["coredns".to_owned()]));
        assert_eq!(
            named(&["dns.b", "dns.b", "dns.a"]),
            Ok(vec!["dns.b".to_owned(), "dns.a".to_owned()])
        );
        assert_eq!(named(&[]).map(|all| all.len()), Ok(4));
        assert_eq!(named(&["dns"]), Err("dns may mean dns.a, dns.b".to_owned()));
        let none = "no add-on of this cluster is named core; there are: coredns, coredns.addons.k8s.io, dns.a, dns.b";
        assert_eq!(named(&["core"]), Err(none.to_owned()));
    }

    #[test]
    fn the_order_of_the_channels_entries_does_not_matter() {
        let mut turned = kops_1_15();
        turned.addons.reverse();
        for version in ["1.5.0", "1.8.0", "1.14.0"] {
            let menus =
                [kops_1_15(), turned.clone()].map(|one| select(&[one], server(version)).addons);
            assert_eq!(menus[0], menus[1]);
        }
    }
}
