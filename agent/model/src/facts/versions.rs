//! The versions that a bucket keeps of its objects, and which of them was the object at an instant.

use crate::location::Location;
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// A version of an object, or the note that it was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectVersion {
    pub location: Location,
    /// S3's id of it; [`ObjectVersion::UNKEPT`] of what was written while the bucket kept no versions.
    pub id: String,
    pub written: Timestamp,
    pub is_deletion: bool,
    /// Whether it is the newest of its object.
    pub is_newest: bool,
}

/// Why nobody can say what a bucket had at an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownPast {
    /// The bucket has objects, and never kept a version.
    NoVersions,
    /// This object was written after the instant, and the bucket kept no versions then: what it was before may be lost.
    Overwritten(Location),
}

impl ObjectVersion {
    /// The id of a version that the next one of this id replaces. S3's guide: "Working with objects in a versioning-suspended
    /// bucket".
    pub const UNKEPT: &'static str = "null";

    fn is_unkept(&self) -> bool {
        self.id == Self::UNKEPT
    }

    /// Orders the versions of one object. S3 gives seconds: of two in one second the newest of all is the later one, and a
    /// deletion is not assumed.
    fn age(&self) -> (Timestamp, bool, bool) {
        (self.written, self.is_newest, !self.is_deletion)
    }
}

/// The objects that were there at `instant`, each with the id of its version then.
///
/// # Errors
///
/// [`UnknownPast`].
pub fn objects_at(
    versions: &[ObjectVersion],
    instant: Timestamp,
) -> Result<BTreeMap<Location, String>, UnknownPast> {
    if !versions.is_empty() && versions.iter().all(ObjectVersion::is_unkept) {
        return Err(UnknownPast::NoVersions);
    }
    let mut then: BTreeMap<&Location, &ObjectVersion> = BTreeMap::new();
    for version in versions {
        if version.written > instant {
            if version.is_unkept() {
                return Err(UnknownPast::Overwritten(version.location.clone()));
            }
            continue;
        }
        let known = then.entry(&version.location).or_insert(version);
        if version.age() > known.age() {
            *known = version;
        }
    }
    let there = then.into_iter().filter(|(_, version)| !version.is_deletion);
    let there = there.map(|(location, version)| (location.clone(), version.id.clone()));
    Ok(there.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A version of an object: its id, its second, and `-` before the id of a deletion.
    fn version(key: &str, id: &str, second: u64, is_newest: bool) -> ObjectVersion {
        let location: Location = format!("s3://b/{key}").parse().expect("a literal");
        ObjectVersion {
            location,
            id: id.trim_start_matches('-').to_owned(),
            written: Timestamp(second * 1000),
            is_deletion: id.starts_with('-'),
            is_newest,
        }
    }

    fn at(versions: &[ObjectVersion], second: u64) -> Result<Vec<(String, String)>, UnknownPast> {
        let objects = objects_at(versions, Timestamp(second * 1000))?;
        let objects = objects.into_iter();
        Ok(objects
            .map(|(location, id)| (location.key().to_owned(), id))
            .collect())
    }

    #[test]
    fn an_object_is_the_newest_version_that_is_not_after_the_instant_and_none_while_it_is_deleted()
    {
        let versions = [
            version("a", "3", 30, true),
            version("a", "-2", 20, false),
            version("a", "1", 10, false),
            version("b", "9", 15, true),
        ];
        for (second, wanted) in [
            (9, &[][..]),
            (10, &[("a", "1")]),
            (19, &[("a", "1"), ("b", "9")]),
            (20, &[("b", "9")]),
            (30, &[("a", "3"), ("b", "9")]),
            (99, &[("a", "3"), ("b", "9")]),
        ] {
            let wanted = wanted
                .iter()
                .map(|(key, id)| ((*key).to_owned(), (*id).to_owned()));
            assert_eq!(at(&versions, second), Ok(wanted.collect()), "{second}");
        }
    }

    #[test]
    fn of_two_versions_of_one_second_the_newest_of_all_counts_and_the_order_of_a_list_does_not() {
        let mut versions = vec![
            version("a", "1", 10, false),
            version("a", "2", 10, true),
            version("b", "-3", 10, false),
            version("b", "4", 10, false),
            version("b", "5", 20, true),
        ];
        let wanted = Ok(vec![
            ("a".to_owned(), "2".to_owned()),
            ("b".to_owned(), "4".to_owned()),
        ]);
        assert_eq!(at(&versions, 10), wanted);
        versions.reverse();
        assert_eq!(at(&versions, 10), wanted);
    }

    #[test]
    fn a_bucket_without_versions_has_no_past_and_neither_has_what_was_written_over() {
        assert_eq!(at(&[], 10), Ok(Vec::new()));
        let never = [version("a", "null", 5, true)];
        assert_eq!(at(&never, 10), Err(UnknownPast::NoVersions));
        let since = [version("a", "null", 5, false), version("a", "1", 20, true)];
        assert_eq!(
            at(&since, 10),
            Ok(vec![("a".to_owned(), "null".to_owned())])
        );
        let suspended = [version("a", "1", 5, false), version("a", "null", 20, true)];
        let lost = UnknownPast::Overwritten(suspended[0].location.clone());
        assert_eq!(at(&suspended, 10), Err(lost));
        assert_eq!(
            at(&suspended, 20),
            Ok(vec![("a".to_owned(), "null".to_owned())])
        );
    }
}
