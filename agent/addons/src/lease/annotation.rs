//! The statuses of the add-ons that the holder of the lease writes into an annotation, as far as they fit.
//!
//! An API server refuses an object whose annotations have more than 256 KiB in all (Kubernetes, `validation/objectmeta.go`,
//! `TotalAnnotationSizeLimitB`, read 2026-11). The API server would refuse the whole lease, so texts are shortened until it fits.

use super::annotate;
use quake_model::addon::AddonStatus;
use quake_model::cluster_object::ClusterObject;
use quake_model::fault::Fault;
use serde_json::Value;

/// The annotation with the statuses.
const ANNOTATION: &str = "quake-agent.io/addons";

/// The largest annotation, in bytes: a quarter of the limit, because other annotations share it.
pub const MAX_BYTES: usize = 64 * 1024;

/// How many warnings of one add-on are written. The holder itself reports more of them.
const WARNINGS: usize = 3;

/// How much of one text is written where all of it is too long, in characters.
const WORDS: usize = 200;

/// Reads the statuses; empty where there are none or where they cannot be read.
pub fn read_statuses(lease: &ClusterObject) -> Vec<AddonStatus> {
    let annotations = lease.annotations();
    let statuses = annotations.get(ANNOTATION).map(String::as_str);
    let read = statuses.and_then(|text| serde_json::from_str(text).ok());
    read.unwrap_or_default()
}

/// Writes the statuses into a lease: at most [`MAX_BYTES`] bytes.
pub fn write_statuses(lease: &mut Value, addons: &[AddonStatus]) {
    annotate(lease, ANNOTATION, &fitting(addons));
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

/// The add-ons as JSON that fits. Where even the names and states are too many (some hundreds of
/// the longest names), the last ones are left out.
fn fitting(addons: &[AddonStatus]) -> String {
    let mut statuses = addons.to_vec();
    for shorten in SHORTER {
        statuses = statuses.into_iter().map(shorten).collect();
        let text = json(&statuses);
        if text.len() <= MAX_BYTES {
            return text;
        }
    }
    let mut left = MAX_BYTES - "[]".len();
    let fits = |one: &&AddonStatus| {
        let rest = left.checked_sub(json(one).len() + ",".len());
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    let first: Vec<&AddonStatus> = statuses.iter().take_while(fits).collect();
    json(&first)
}

/// Every status can be written as JSON, so the empty list is never used.
fn json(statuses: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(statuses).unwrap_or_else(|_| "[]".to_owned())
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
        write_statuses(&mut lease, addons);
        ClusterObject::new(lease).expect("an object")
    }

    fn size(lease: &ClusterObject) -> usize {
        lease.annotations()[ANNOTATION].len()
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
    fn few_statuses_are_written_whole_except_the_evidence_of_warnings() {
        let addons = vec![AddonStatus {
            name: "coredns.addons.k8s.io".to_owned(),
            fault: Some(fault(10)),
            warnings: vec![fault(10); MOST_WARNINGS],
            ..AddonStatus::default()
        }];
        let statuses = read_statuses(&lease(&addons));
        assert_eq!(statuses[0].fault, addons[0].fault);
        assert_eq!(statuses[0].warnings.len(), WARNINGS);
        let warning = &statuses[0].warnings[0];
        assert_eq!(warning.summary, addons[0].warnings[0].summary);
        assert!(warning.evidence.is_empty() && !warning.causes.is_empty());
    }

    #[test]
    fn warnings_give_way_first_then_evidence_then_words() {
        let read_with = |of_fault: usize, of_warning: usize| {
            let addons = vec![AddonStatus {
                name: "a".to_owned(),
                fault: Some(fault(of_fault)),
                warnings: vec![fault(of_warning)],
                ..AddonStatus::default()
            }];
            read_statuses(&lease(&addons)).remove(0)
        };
        let only_warning_is_long = read_with(10, MAX_BYTES);
        assert!(only_warning_is_long.warnings.is_empty());
        assert_eq!(only_warning_is_long.fault, Some(fault(10)));
        let long = read_with(MAX_BYTES / 4, 10).fault.expect("a fault");
        assert!(long.evidence.is_empty() && !long.causes.is_empty());
        let longest = read_with(MAX_BYTES, 10).fault.expect("a fault");
        assert_eq!(longest.code, Code::AddonsObjectRefused);
        assert_eq!((longest.summary.len(), longest.causes.len()), (WORDS, 0));
    }

    #[test]
    fn a_hundred_add_ons_of_the_longest_names_are_written_and_never_more_than_fit() {
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
        assert_eq!(names(&read_statuses(&lease(&hundred))), names(&hundred));
        let thousand = many(1000);
        let lease = lease(&thousand);
        assert!(size(&lease) <= MAX_BYTES);
        let statuses = read_statuses(&lease);
        assert!(statuses.len() > 100);
        assert_eq!(
            names(&statuses),
            names(&thousand[..statuses.len()]),
            "the first"
        );
    }

    /// So many statuses whose JSON has 255 bytes each: with the comma, 256 of them have one byte too many.
    #[test]
    fn the_last_status_that_would_be_a_byte_too_long_is_left_out() {
        let status = |name: String| AddonStatus {
            name,
            ..AddonStatus::default()
        };
        let width = 255 - json(&status(String::new())).len();
        let addons = (0..300).map(|at| status(format!("{at:0>width$}")));
        let lease = lease(&addons.collect::<Vec<_>>());
        assert_eq!(read_statuses(&lease).len(), MAX_BYTES / 256 - 1);
        assert_eq!(size(&lease), MAX_BYTES - 255);
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
            prop_assert!(size(&lease) <= MAX_BYTES, "{}", size(&lease));
            let statuses = read_statuses(&lease);
            prop_assert_eq!(names(&statuses), names(&addons));
        }
    }
}
