//! What the holder of the lease tells the others of the add-ons, in an annotation of the lease: as much as fits.
//!
//! An API server refuses an object whose annotations have more than 256 KiB in all (Kubernetes, `validation/objectmeta.go`,
//! `TotalAnnotationSizeLimitB`, read 2026-11). A lease that is refused is held by nobody, and so the words give way to it.

use super::annotate;
use quake_model::addon::AddonStatus;
use quake_model::cluster_object::ClusterObject;
use quake_model::fault::Fault;
use serde_json::Value;

/// Where the holder tells the others how the add-ons are.
const TOLD: &str = "quake-agent.io/addons";

/// How much is told at most, in bytes: a quarter of what an object's annotations may have, for others have theirs there, too.
pub const MOST_TOLD: usize = 64 * 1024;

/// How many warnings of one add-on are told. The holder itself tells more of them.
const WARNINGS: usize = 3;

/// How much of one text is told where all of it is too much, in characters.
const WORDS: usize = 200;

/// How the add-ons are, as the holder told it; nothing where it told nothing, or more than is understood.
pub fn told(lease: &ClusterObject) -> Vec<AddonStatus> {
    let annotations = lease.annotations();
    let told = annotations.get(TOLD).map(String::as_str);
    let read = told.and_then(|text| serde_json::from_str(text).ok());
    read.unwrap_or_default()
}

/// Adds to a lease how the add-ons are: at most [`MOST_TOLD`] bytes, whatever there is to tell.
pub fn tell(lease: &mut Value, addons: &[AddonStatus]) {
    annotate(lease, TOLD, &fitting(addons));
}

/// What is left out of one add-on, the least missed first.
type Shorten = fn(AddonStatus) -> AddonStatus;

const SHORTER: [Shorten; 5] = [
    few_warnings,
    without_warnings,
    without_evidence,
    in_few_words,
    name_and_state,
];

/// The add-ons as JSON that fits. An add-on without its name and state tells nothing, so where there are too many even for
/// these (some hundreds of the longest names), the last ones are not told of.
fn fitting(addons: &[AddonStatus]) -> String {
    let mut told = addons.to_vec();
    for shorten in SHORTER {
        told = told.into_iter().map(shorten).collect();
        let text = json(&told);
        if text.len() <= MOST_TOLD {
            return text;
        }
    }
    let mut left = MOST_TOLD - "[]".len();
    let fits = |one: &&AddonStatus| {
        let rest = left.checked_sub(json(one).len() + ",".len());
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    let first: Vec<&AddonStatus> = told.iter().take_while(fits).collect();
    json(&first)
}

/// What cannot be written as JSON is not told: there is nothing in a status that cannot.
fn json(told: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(told).unwrap_or_else(|_| "[]".to_owned())
}

fn few_warnings(mut status: AddonStatus) -> AddonStatus {
    status.warnings.truncate(WARNINGS);
    for warning in &mut status.warnings {
        warning.evidence.clear();
    }
    status
}

fn without_warnings(status: AddonStatus) -> AddonStatus {
    AddonStatus {
        warnings: Vec::new(),
        ..status
    }
}

fn without_evidence(mut status: AddonStatus) -> AddonStatus {
    if let Some(fault) = &mut status.fault {
        fault.evidence.clear();
    }
    status
}

fn in_few_words(mut status: AddonStatus) -> AddonStatus {
    status.object = status.object.map(|object| cut(&object));
    status.fault = status.fault.map(|fault| Fault {
        summary: cut(&fault.summary),
        causes: Vec::new(),
        evidence: Vec::new(),
        remedy: None,
        ..fault
    });
    status
}

fn name_and_state(status: AddonStatus) -> AddonStatus {
    AddonStatus {
        name: status.name,
        state: status.state,
        ..AddonStatus::default()
    }
}

fn cut(text: &str) -> String {
    text.chars().take(WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::LeaseKind;
    use proptest::prelude::*;
    use quake_model::addon::{AddonState, AddonVersion, MOST_WARNINGS};
    use quake_model::fault::Code;
    use serde_json::json;

    fn lease(addons: &[AddonStatus]) -> ClusterObject {
        let place = LeaseKind::Lease.place();
        let mut lease = json!({
            "apiVersion": place.served.kind.api_version(),
            "kind": place.served.kind.kind,
            "metadata": {"name": place.name, "namespace": place.namespace},
        });
        tell(&mut lease, addons);
        ClusterObject::new(lease).expect("an object")
    }

    fn size(lease: &ClusterObject) -> usize {
        lease.annotations()[TOLD].len()
    }

    fn names(addons: &[AddonStatus]) -> Vec<(&str, AddonState)> {
        let names = addons.iter().map(|one| (one.name.as_str(), one.state));
        names.collect()
    }

    /// A fault with so many bytes in each of its texts.
    fn fault(bytes: usize) -> Fault {
        let text = "w".repeat(bytes);
        Fault::new(Code::AddonsObjectRefused, &text)
            .caused_by(&text)
            .seen("answer", &text)
            .remedied_by(&text)
    }

    #[test]
    fn what_is_little_is_told_but_for_what_warnings_rest_on() {
        let addons = vec![AddonStatus {
            name: "coredns.addons.k8s.io".to_owned(),
            fault: Some(fault(10)),
            warnings: vec![fault(10); MOST_WARNINGS],
            ..AddonStatus::default()
        }];
        let told = told(&lease(&addons));
        assert_eq!(told[0].fault, addons[0].fault);
        assert_eq!(told[0].warnings.len(), WARNINGS);
        let warning = &told[0].warnings[0];
        assert_eq!(warning.summary, addons[0].warnings[0].summary);
        assert!(warning.evidence.is_empty() && !warning.causes.is_empty());
    }

    #[test]
    fn warnings_give_way_first_then_evidence_then_words() {
        let told_with = |of_fault: usize, of_warning: usize| {
            let addons = vec![AddonStatus {
                name: "a".to_owned(),
                fault: Some(fault(of_fault)),
                warnings: vec![fault(of_warning)],
                ..AddonStatus::default()
            }];
            told(&lease(&addons)).remove(0)
        };
        let only_warning_is_long = told_with(10, MOST_TOLD);
        assert!(only_warning_is_long.warnings.is_empty());
        assert_eq!(only_warning_is_long.fault, Some(fault(10)));
        let long = told_with(MOST_TOLD / 4, 10).fault.expect("a fault");
        assert!(long.evidence.is_empty() && !long.causes.is_empty());
        let longest = told_with(MOST_TOLD, 10).fault.expect("a fault");
        assert_eq!(longest.code, Code::AddonsObjectRefused);
        assert_eq!((longest.summary.len(), longest.causes.len()), (WORDS, 0));
    }

    #[test]
    fn a_hundred_add_ons_of_the_longest_names_are_told_of_and_never_more_than_fit() {
        let many = |count: usize| -> Vec<AddonStatus> {
            let one = |at: usize| AddonStatus {
                name: format!("{at:0>253}"),
                state: AddonState::Failed,
                fault: Some(fault(400)),
                warnings: vec![fault(400); MOST_WARNINGS],
                ..AddonStatus::default()
            };
            (0..count).map(one).collect()
        };
        let hundred = many(100);
        assert_eq!(names(&told(&lease(&hundred))), names(&hundred));
        let thousand = many(1000);
        let lease = lease(&thousand);
        assert!(size(&lease) <= MOST_TOLD);
        let told = told(&lease);
        assert!(told.len() > 100);
        assert_eq!(names(&told), names(&thousand[..told.len()]), "the first");
    }

    fn a_status() -> impl Strategy<Value = AddonStatus> {
        let states = prop::sample::select(vec![
            AddonState::WaitingForApi,
            AddonState::Applying,
            AddonState::Applied,
            AddonState::Failed,
        ]);
        // Quotes and control characters are longer in JSON than they are.
        let text =
            ("[a-z\"\\\\\u{1}ä]{1,8}", 0..3000_usize).prop_map(|(word, times)| word.repeat(times));
        let said = (text, 0..MOST_WARNINGS + 5, any::<bool>());
        ("[a-z.]{1,60}", states, said).prop_map(|(name, state, (text, count, failed))| {
            let fault = Fault::new(Code::AddonsManifestInvalid, &text)
                .caused_by(&text)
                .seen("answer", &text);
            AddonStatus {
                name,
                state,
                wanted: AddonVersion {
                    manifest_hash: text,
                    ..AddonVersion::default()
                },
                fault: failed.then(|| fault.clone()),
                warnings: vec![fault; count],
                ..AddonStatus::default()
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn no_lease_has_more_than_fits_and_each_has_every_name_and_state(
            addons in prop::collection::vec(a_status(), 0..12)
        ) {
            let lease = lease(&addons);
            prop_assert!(size(&lease) <= MOST_TOLD, "{}", size(&lease));
            let told = told(&lease);
            prop_assert_eq!(names(&told), names(&addons));
        }
    }
}
