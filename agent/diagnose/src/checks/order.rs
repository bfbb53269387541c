//! Which finding comes first: root causes before what follows from them, a disk that does harm before all, then what the
//! boot failed by.

use super::causes::Link;
use super::check::{Check, Severity};
use std::collections::{BTreeMap, BTreeSet};

/// The check of the boot as a whole.
const OUTCOME: &str = "boot.outcome";

/// Checks of disks: what follows from one of them is seen in many others.
const DISKS: &[&str] = &["host.disk-errors", "host.disk-latency", "host.disk-space"];

/// The check of the processors: what the hypervisor withholds is missing to all that answers late.
const PROCESSORS: &str = "host.cpu";

/// Checks of what somebody else installed on the host. They only warn where the node works, and are the cause of what fails
/// where nothing else explains it.
const OTHERS: &[&str] = &[
    "net.ranges",
    "net.managers",
    "net.routes",
    "host.firewall",
    "host.modules",
    "host.sysctl",
    "host.jobs",
    "host.packages",
    "host.mounts",
    "host.services",
    "host.ca-bundle",
    "runtime.others",
    "identity.profile",
    "net.proxy",
    "net.drops",
];

/// The warnings that explain a failure: of disks, and of what others installed on the host where no other cause failed. There
/// they do harm, and count as failures.
pub(super) fn harmful(table: &[Check], found: &[Found]) -> Vec<usize> {
    let explained = explanations(table);
    let failed: BTreeSet<usize> = found
        .iter()
        .filter(|found| found.failed)
        .map(|found| found.index)
        .collect();
    let explains = |index: usize| {
        let is_of_others = OTHERS.contains(&table[index].id);
        failed.iter().any(|symptom| {
            let causes = &explained[symptom];
            causes.contains(&index) && (!is_of_others || causes.is_disjoint(&failed))
        })
    };
    let warned = found
        .iter()
        .filter(|found| !found.failed && !found.is_advice);
    let warned = warned.map(|found| found.index);
    warned
        .filter(|index| is_harmful_kind(&table[*index]) && explains(*index))
        .collect()
}

/// A full disk that only warns has room left.
fn is_harmful_kind(check: &Check) -> bool {
    let is_of_disks = check.id != "host.disk-space" && DISKS.contains(&check.id);
    is_of_disks || check.id == PROCESSORS || OTHERS.contains(&check.id)
}

/// What there is to order.
pub(super) struct Found {
    /// The check's place in the table.
    pub(super) index: usize,
    /// Whether it failed, and did not only warn.
    pub(super) failed: bool,
    /// Whether it names a risk alone.
    pub(super) is_advice: bool,
    /// Whether it says only that something does not work.
    pub(super) is_symptom: bool,
    /// Whether it speaks of a file that changed after the boot.
    pub(super) is_changed: bool,
}

/// A finding in its place.
pub(super) struct Ranked {
    /// The check's place in the table.
    pub(super) index: usize,
    /// The checks whose failure explains it, in the order of the table.
    pub(super) because: Vec<usize>,
}

/// Orders findings. `blamed` are the checks that the boot's own fault belongs to, `links` what the evidence explains beside
/// the table.
pub(super) fn rank(
    table: &[Check],
    found: &[Found],
    blamed: &BTreeSet<usize>,
    links: &[Link],
) -> Vec<Ranked> {
    let explained = linked(explanations(table), links);
    let failed: BTreeSet<usize> = found
        .iter()
        .filter(|found| found.failed)
        .map(|found| found.index)
        .collect();
    let seen: BTreeSet<usize> = found.iter().map(|found| found.index).collect();
    // A warning that names no cause is not the cause of one that does.
    let symptoms = found.iter().filter(|found| found.is_symptom);
    let symptoms: BTreeSet<usize> = symptoms.map(|found| found.index).collect();
    let reporting: BTreeSet<usize> = seen.difference(&symptoms).copied().collect();
    let because = |index: usize| -> Vec<usize> {
        let mut all = explained[&index].clone();
        // A boot fails by what it says it failed by.
        if table[index].id == OUTCOME {
            all.extend(blamed.iter().filter(|blamed| **blamed != index));
        }
        // A warning follows from another one as well.
        let causes = match failed.contains(&index) {
            true => &failed,
            false if symptoms.contains(&index) => &seen,
            false => &reporting,
        };
        all.intersection(causes).copied().collect()
    };
    // What the boot failed by, and whatever explains that.
    let blamed: BTreeSet<usize> = blamed
        .iter()
        .flat_map(|index| because(*index).into_iter().chain([*index]))
        .collect();
    let harms: BTreeSet<usize> = failed.iter().flat_map(|index| because(*index)).collect();
    let is_disk = |index: usize| {
        let id = table[index].id;
        (DISKS.contains(&id) || id == PROCESSORS) && harms.contains(&index)
    };
    let mut ranked: Vec<(&Found, Ranked)> = found
        .iter()
        .map(|found| {
            let index = found.index;
            let because = because(index);
            (found, Ranked { index, because })
        })
        .collect();
    ranked.sort_by_key(|(found, ranked)| {
        let index = ranked.index;
        let severity: Severity = table[index].severity;
        let follows = ranked.because.len();
        (
            !found.failed,
            !found.failed && found.is_advice,
            !found.failed && found.is_symptom,
            follows > 0,
            !is_disk(index),
            !blamed.contains(&index),
            !found.is_changed,
            severity,
            follows,
            index,
        )
    });
    ranked.into_iter().map(|(_, ranked)| ranked).collect()
}

/// For each check all that could explain it, in any number of steps. A check names only such as stand before it.
pub(super) fn explanations(table: &[Check]) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut all: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (index, check) in table.iter().enumerate() {
        let mut of_this = BTreeSet::new();
        for cause in check.because {
            let cause = table[..index].iter().position(|before| before.id == *cause);
            if let Some(cause) = cause {
                of_this.insert(cause);
                of_this.extend(all[&cause].iter().copied());
            }
        }
        all.insert(index, of_this);
    }
    all
}

/// What the table explains, and what the evidence explains beside it: of an effect, and of all that follows from it.
fn linked(
    mut explained: BTreeMap<usize, BTreeSet<usize>>,
    links: &[Link],
) -> BTreeMap<usize, BTreeSet<usize>> {
    for link in links {
        // A cause does not follow from what it explains.
        let Some(of_cause) = explained.get_mut(&link.cause) else {
            continue;
        };
        of_cause.remove(&link.effect);
        for (index, causes) in &mut explained {
            if *index != link.cause && (*index == link.effect || causes.contains(&link.effect)) {
                causes.insert(link.cause);
            }
        }
    }
    explained
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::table::all;

    fn place(id: &str) -> usize {
        let found = all().iter().position(|check| check.id == id);
        found.expect("the check exists")
    }

    fn warned(id: &str, is_advice: bool, is_changed: bool) -> Found {
        Found {
            index: place(id),
            failed: false,
            is_advice,
            is_symptom: false,
            is_changed,
        }
    }

    fn ranked(found: &[Found]) -> Vec<&'static str> {
        let ranked = rank(all(), found, &BTreeSet::new(), &[]);
        ranked.iter().map(|one| all()[one.index].id).collect()
    }

    #[test]
    fn what_only_advises_comes_after_what_does_harm() {
        let found = [
            warned("host.kernel", true, false),
            warned("net.managers", false, false),
        ];
        assert_eq!(ranked(&found), ["net.managers", "host.kernel"]);
    }

    #[test]
    fn a_warning_that_names_no_cause_comes_after_one_that_does() {
        let symptom = Found {
            is_symptom: true,
            ..warned("staticpods.running", false, false)
        };
        let found = [symptom, warned("apiserver.alive", false, false)];
        assert_eq!(ranked(&found), ["apiserver.alive", "staticpods.running"]);
    }

    #[test]
    fn a_warning_that_names_no_cause_explains_none_that_does() {
        let symptom = Found {
            is_symptom: true,
            ..warned("apiserver.alive", false, false)
        };
        let found = [symptom, warned("addons.applied", false, false)];
        assert_eq!(ranked(&found), ["addons.applied", "apiserver.alive"]);
        let ranked = rank(all(), &found, &BTreeSet::new(), &[]);
        assert!(ranked.iter().all(|one| one.because.is_empty()));
    }

    #[test]
    fn what_speaks_of_a_file_that_changed_comes_first() {
        let found = [
            warned("net.managers", false, false),
            warned("runtime.mirrors", false, true),
        ];
        assert_eq!(ranked(&found), ["runtime.mirrors", "net.managers"]);
    }

    #[test]
    fn a_disk_is_slow_because_the_processors_are_withheld() {
        let found = [
            warned("host.disk-latency", false, false),
            warned("host.cpu", false, false),
        ];
        assert_eq!(ranked(&found), ["host.cpu", "host.disk-latency"]);
    }
}
