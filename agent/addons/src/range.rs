//! Ranges of Kubernetes versions, as channels write them: `>=1.6.0 <1.7.0 || >=1.9.0`, `!1.8.3`, `1.12.x`.
//!
//! The grammar is that of `ParseRange` of blang/semver, which kops uses, read 2026-11. One thing differs: `!=1.x` there
//! becomes "below 1.0.0 and from 2.0.0 on", which nothing is; here it is all that `1.x` is not.

use super::semver::SemanticVersion;

/// A range: one of several alternatives, all of whose bounds hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VersionRange {
    alternatives: Vec<Vec<Bound>>,
}

/// Why a text is no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RangeError {
    /// There is nothing on one side of a `||`.
    #[error("{text:?} has nothing on one side of ||")]
    Gap { text: String },
    /// A part is neither a comparison nor a version.
    #[error("{part:?} is no comparison with a version, such as >=1.9.0 or 1.12.x")]
    Part { part: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Bound {
    comparison: Comparison,
    /// The first version that is meant.
    first: SemanticVersion,
    /// The first that is not any more, where a wildcard means several.
    end: Option<SemanticVersion>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Is,
    IsNot,
    Above,
    From,
    Below,
    UpTo,
}

impl VersionRange {
    pub(super) fn read(text: &str) -> Result<Self, RangeError> {
        let alternatives = text.split("||").map(|part| {
            let bounds: Vec<Bound> = parts(part)
                .iter()
                .map(|part| Bound::read(part))
                .collect::<Result<_, _>>()?;
            let gap = || RangeError::Gap {
                text: text.to_owned(),
            };
            (!bounds.is_empty()).then_some(bounds).ok_or_else(gap)
        });
        let alternatives = alternatives.collect::<Result<_, _>>()?;
        Ok(Self { alternatives })
    }

    pub(super) fn has(&self, version: &SemanticVersion) -> bool {
        let mut alternatives = self.alternatives.iter();
        alternatives.any(|bounds| bounds.iter().all(|bound| bound.holds(version)))
    }
}

/// The parts between spaces; a comparison may stand apart from its version.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match parts.last_mut() {
            Some(last) if !last.contains(|c: char| c.is_ascii_digit()) => last.push_str(word),
            _ => parts.push(word.to_owned()),
        }
    }
    parts
}

impl Bound {
    fn read(part: &str) -> Result<Self, RangeError> {
        let error = || RangeError::Part {
            part: part.to_owned(),
        };
        let start = part.find(|c: char| c.is_ascii_digit()).ok_or_else(error)?;
        let (comparison, version) = part.split_at(start);
        let comparison = match comparison {
            "" | "=" | "==" => Comparison::Is,
            "!" | "!=" => Comparison::IsNot,
            ">" => Comparison::Above,
            ">=" => Comparison::From,
            "<" => Comparison::Below,
            "<=" => Comparison::UpTo,
            _ => return Err(error()),
        };
        let (first, end) = versions(version).ok_or_else(error)?;
        Ok(Self {
            comparison,
            first,
            end,
        })
    }

    fn holds(&self, version: &SemanticVersion) -> bool {
        let is_past = match &self.end {
            Some(end) => version >= end,
            None => version > &self.first,
        };
        let is_before = version < &self.first;
        match self.comparison {
            Comparison::Is => !is_before && !is_past,
            Comparison::IsNot => is_before || is_past,
            Comparison::Above => is_past,
            Comparison::From => !is_before,
            Comparison::Below => is_before,
            Comparison::UpTo => !is_past,
        }
    }
}

/// The versions that a text means: one, or with a wildcard all from the first to before the second.
fn versions(text: &str) -> Option<(SemanticVersion, Option<SemanticVersion>)> {
    let words: Vec<&str> = text.split('.').collect();
    let number = |word: &str| word.parse::<u64>().ok();
    let (first, end) = match words.as_slice() {
        [major, "x"] | [major, "x", "x"] => {
            let major = number(major)?;
            ([major, 0, 0], [major.checked_add(1)?, 0, 0])
        }
        [major, minor, "x"] => {
            let (major, minor) = (number(major)?, number(minor)?);
            ([major, minor, 0], [major, minor.checked_add(1)?, 0])
        }
        // A bound is written whole: what `>1.6` means is not the same to everybody.
        [_, _, _, ..] => return SemanticVersion::read(text).map(|version| (version, None)),
        _ => return None,
    };
    let version = SemanticVersion::release;
    Some((version(first), Some(version(end))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(range: &str, version: &str) -> bool {
        let range = VersionRange::read(range).expect(range);
        range.has(&SemanticVersion::read(version).expect(version))
    }

    #[test]
    fn a_range_has_what_its_bounds_say() {
        let table: &[(&str, &[&str], &[&str])] = &[
            (">=1.6.0", &["1.6.0", "1.35.2"], &["1.5.9"]),
            ("<1.6.0", &["1.5.9"], &["1.6.0"]),
            (">=1.4.0 <1.6.0", &["1.4.0", "1.5.9"], &["1.3.9", "1.6.0"]),
            (
                ">=1.6.0 <1.7.0 || >=1.9.0",
                &["1.6.5", "1.9.0", "1.12.1"],
                &["1.7.0", "1.8.9", "1.5.0"],
            ),
            (">= 1.6.0  < 1.7.0", &["1.6.5"], &["1.7.0"]),
            (">1.6.0 <=1.6.4", &["1.6.1", "1.6.4"], &["1.6.0", "1.6.5"]),
            ("1.8.4", &["1.8.4"], &["1.8.5"]),
            ("==1.8.4 || =1.8.6", &["1.8.4", "1.8.6"], &["1.8.5"]),
            ("!1.8.4", &["1.8.3", "1.8.5"], &["1.8.4"]),
            (">=1.8.0 !=1.8.4", &["1.8.3"], &["1.8.4", "1.7.0"]),
            ("1.x", &["1.0.0", "1.35.0"], &["2.0.0"]),
            ("1.x.x", &["1.0.0", "1.35.0"], &["2.0.0"]),
            ("1.12.x", &["1.12.0", "1.12.10"], &["1.13.0", "1.11.9"]),
            (">1.12.x", &["1.13.0"], &["1.12.9"]),
            (">=1.12.x", &["1.12.0"], &["1.11.9"]),
            ("<1.12.x", &["1.11.9"], &["1.12.0"]),
            ("<=1.12.x", &["1.12.9", "1.0.0"], &["1.13.0"]),
            ("!=1.12.x", &["1.11.9", "1.13.0"], &["1.12.4"]),
        ];
        for (range, inside, outside) in table {
            for version in *inside {
                assert!(has(range, version), "{range} has {version}");
            }
            for version in *outside {
                assert!(!has(range, version), "{range} does not have {version}");
            }
        }
    }

    #[test]
    fn what_is_no_range_is_said() {
        for text in [
            "",
            ">=",
            "|| >=1.2.3",
            ">=1.2.3 ||",
            ">=1.6",
            "~1.2.3",
            "x",
            "new",
        ] {
            VersionRange::read(text).expect_err(text);
        }
    }
}
