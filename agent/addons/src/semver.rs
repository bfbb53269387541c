//! Versions as <https://semver.org> orders them, read as leniently as kops reads those of its channels.

use std::cmp::Ordering;

/// A version: three numbers, and what comes before the release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SemanticVersion {
    pub(super) numbers: [u64; 3],
    /// The words after the dash; none for a release. What follows a `+` orders nothing and is not kept.
    pub(super) before: Vec<String>,
}

impl SemanticVersion {
    pub(super) fn release(numbers: [u64; 3]) -> Self {
        Self {
            numbers,
            before: Vec::new(),
        }
    }

    /// Reads `1.14.13-kops.1`, and also `v1.2.3`, `1.2` and `1.02.3`; `None` for what is no version.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let text = text.split('+').next().unwrap_or_default();
        let (numbers, before) = match text.split_once('-') {
            Some((numbers, before)) => (numbers, Some(before)),
            None => (text, None),
        };
        let read: Vec<u64> = numbers
            .split('.')
            .map(|part| part.parse().ok())
            .collect::<Option<_>>()?;
        let numbers = match (read.as_slice(), before) {
            ([major, minor, patch], _) => [*major, *minor, *patch],
            ([major, minor], None) => [*major, *minor, 0],
            ([major], None) => [*major, 0, 0],
            _ => return None,
        };
        let before: Vec<String> = before
            .map(|words| words.split('.').map(str::to_owned).collect())
            .unwrap_or_default();
        let has_gap = before.iter().any(String::is_empty);
        (!has_gap).then_some(Self { numbers, before })
    }
}

impl Ord for SemanticVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_numbers = self.numbers.cmp(&other.numbers);
        by_numbers.then_with(|| match (self.before.is_empty(), other.before.is_empty()) {
            (true, true) => Ordering::Equal,
            // A release comes after all that was before it.
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => by_words(&self.before, &other.before),
        })
    }
}

impl PartialOrd for SemanticVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn by_words(these: &[String], those: &[String]) -> Ordering {
    let of_words = these.iter().zip(those).map(|(this, that)| {
        match (this.parse::<u64>(), that.parse::<u64>()) {
            (Ok(this), Ok(that)) => this.cmp(&that),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => this.cmp(that),
        }
    });
    let first = of_words.into_iter().find(|order| *order != Ordering::Equal);
    first.unwrap_or_else(|| these.len().cmp(&those.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> SemanticVersion {
        SemanticVersion::read(text).expect(text)
    }

    #[test]
    fn versions_are_ordered_as_the_standard_orders_them() {
        let in_order = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.2",
            "v1.14.9",
            "1.14.10-kops.1",
            "1.14.10-kops.2",
            "1.14.10",
        ];
        for pair in in_order.windows(2) {
            assert!(read(pair[0]) < read(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn what_is_built_orders_nothing() {
        assert_eq!(read("1.2.3+build.7"), read("v1.2.3"));
    }

    #[test]
    fn what_is_no_version_is_none() {
        for text in ["", "latest", "1.2-rc.1", "1.2.3.4", "1.2.3-", "1..3"] {
            assert_eq!(SemanticVersion::read(text), None, "{text}");
        }
    }
}
