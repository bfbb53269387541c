//! How add-ons are that a pod of kops's applies, by what it noted as applied.

use super::channel::Addon;
use quake_model::addon::{AddonState, AddonStatus, AddonVersion};
use std::collections::BTreeMap;

/// How each add-on is: `wanted` is what a channel wanted when it was read, `noted` what is noted as applied by namespace and name,
/// and `known` what was told before.
///
/// The channel is read once a boot, so what was applied since is what it wants by now; an add-on that is noted and in no channel
/// that is known is as applied as it says.
pub fn watched(
    wanted: Vec<Addon>,
    noted: &BTreeMap<(String, String), AddonVersion>,
    known: &BTreeMap<String, AddonStatus>,
) -> Vec<AddonStatus> {
    let mut seen: BTreeMap<String, AddonStatus> = BTreeMap::new();
    for addon in wanted {
        let key = (addon.namespace, addon.name);
        let applied = noted.get(&key).cloned();
        let (_, name) = key;
        let status = judged(&name, addon.version, applied, known.get(&name));
        seen.insert(name, status);
    }
    for ((_, name), version) in noted {
        let before = known.get(name);
        let wanted = before.map_or(version, |before| &before.wanted);
        let status = || judged(name, wanted.clone(), Some(version.clone()), before);
        seen.entry(name.clone()).or_insert_with(status);
    }
    for (name, before) in known {
        let status = || judged(name, before.wanted.clone(), None, Some(before));
        seen.entry(name.clone()).or_insert_with(status);
    }
    seen.into_values().collect()
}

fn judged(
    name: &str,
    wanted: AddonVersion,
    applied: Option<AddonVersion>,
    known: Option<&AddonStatus>,
) -> AddonStatus {
    let before = known.and_then(|known| known.applied.as_ref());
    let is_newer = before.is_some() && applied.is_some() && before != applied.as_ref();
    let wanted = match (&applied, known) {
        (Some(applied), _) if is_newer => applied.clone(),
        (_, Some(known)) => known.wanted.clone(),
        (_, None) => wanted,
    };
    let state = if applied.as_ref() == Some(&wanted) {
        AddonState::Applied
    } else {
        AddonState::Waiting
    };
    AddonStatus {
        name: name.to_owned(),
        state,
        wanted,
        applied,
        ..AddonStatus::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::sample;
    use super::*;

    fn version(id: &str) -> AddonVersion {
        AddonVersion {
            id: id.to_owned(),
            ..AddonVersion::default()
        }
    }

    fn look(
        wanted: Option<&str>,
        noted: Option<&str>,
        known: &BTreeMap<String, AddonStatus>,
    ) -> BTreeMap<String, AddonStatus> {
        let wanted = wanted.map(|id| Addon {
            version: version(id),
            ..sample("a")
        });
        let key = ("kube-system".to_owned(), "a".to_owned());
        let noted = noted.map(|id| (key, version(id))).into_iter().collect();
        let seen = watched(wanted.into_iter().collect(), &noted, known);
        seen.into_iter()
            .map(|status| (status.name.clone(), status))
            .collect()
    }

    #[test]
    fn what_is_noted_is_applied_and_what_is_not_waits() {
        use AddonState::{Applied, Waiting};
        let none = BTreeMap::new();
        for (wanted, noted, state) in [
            (Some("1"), None, Waiting),
            (Some("1"), Some("1"), Applied),
            (Some("2"), Some("1"), Waiting),
            (None, Some("1"), Applied),
        ] {
            assert_eq!(
                look(wanted, noted, &none)["a"].state,
                state,
                "{wanted:?} {noted:?}"
            );
        }
        assert!(look(None, None, &none).is_empty());
    }

    #[test]
    fn what_is_applied_later_is_what_the_channel_wants_by_then() {
        let first = look(Some("1"), Some("1"), &BTreeMap::new());
        let later = look(Some("1"), Some("2"), &first);
        assert_eq!(
            (later["a"].state, &later["a"].wanted),
            (AddonState::Applied, &version("2"))
        );
        let lost = look(None, None, &later);
        assert_eq!(
            (lost["a"].state, &lost["a"].wanted),
            (AddonState::Waiting, &version("2"))
        );
    }
}
