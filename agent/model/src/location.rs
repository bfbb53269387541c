//! Places in a state store: `s3://bucket/key`, `file:///path`, and `memfs://` as test data spells it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What kind of store a location is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// An S3 bucket.
    S3,
    /// A directory of this machine.
    File,
    /// The in-memory store of kops' own tests; read as files below a directory that the caller names.
    Memfs,
}

/// A place in a state store. Prints as the URL it was read from, without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Location {
    scheme: Scheme,
    bucket: String,
    key: String,
}

/// Why a text is not a location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// There is no `scheme://`, or one that is not served.
    #[error("{text:?} is not a state store location (s3://bucket/key or file:///path)")]
    Scheme { text: String },
    /// The bucket or the path is missing.
    #[error("{text:?} names no bucket or path")]
    Empty { text: String },
    /// A path segment is `..`, which could leave the store.
    #[error("{text:?} has a `..` segment")]
    Traversal { text: String },
}

impl Location {
    /// A location below a directory of this machine.
    pub fn file(path: &str) -> Self {
        Self {
            scheme: Scheme::File,
            bucket: String::new(),
            key: path.trim_matches('/').to_owned(),
        }
    }

    /// The kind of store.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The bucket; empty for files.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The key in the bucket, or the path without its leading slash; no slash at either end.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The place `relative` below this one.
    #[must_use]
    pub fn join(&self, relative: &str) -> Self {
        let relative = relative.trim_matches('/');
        let key = match (self.key.is_empty(), relative.is_empty()) {
            (true, _) => relative.to_owned(),
            (_, true) => self.key.clone(),
            _ => format!("{}/{relative}", self.key),
        };
        Self {
            scheme: self.scheme,
            bucket: self.bucket.clone(),
            key,
        }
    }

    /// The part of this location after `base`: empty for `base` itself, `None` outside of it.
    pub fn below(&self, base: &Self) -> Option<&str> {
        if self.scheme != base.scheme || self.bucket != base.bucket {
            return None;
        }
        let rest = self.key.strip_prefix(&base.key)?;
        match base.key.is_empty() || rest.is_empty() {
            true => Some(rest),
            false => rest.strip_prefix('/'),
        }
    }

    /// The place that contains this one; a store's root contains itself.
    #[must_use]
    pub fn parent(&self) -> Self {
        let key = self
            .key
            .rsplit_once('/')
            .map_or("", |(parent, _)| parent)
            .to_owned();
        Self {
            scheme: self.scheme,
            bucket: self.bucket.clone(),
            key,
        }
    }
}

impl FromStr for Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        let scheme_error = || LocationError::Scheme {
            text: text.to_owned(),
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(scheme_error)?;
        let scheme = match scheme {
            "s3" => Scheme::S3,
            "file" => Scheme::File,
            "memfs" => Scheme::Memfs,
            _ => return Err(scheme_error()),
        };
        let (bucket, key) = match scheme {
            Scheme::File => ("", rest.trim_matches('/')),
            Scheme::S3 | Scheme::Memfs => rest.split_once('/').unwrap_or((rest, "")),
        };
        let key = key.trim_matches('/');
        if (scheme == Scheme::File && key.is_empty())
            || (scheme != Scheme::File && bucket.is_empty())
        {
            return Err(LocationError::Empty {
                text: text.to_owned(),
            });
        }
        if key.split('/').any(|segment| segment == "..") {
            return Err(LocationError::Traversal {
                text: text.to_owned(),
            });
        }
        Ok(Self {
            scheme,
            bucket: bucket.to_owned(),
            key: key.to_owned(),
        })
    }
}

impl TryFrom<String> for Location {
    type Error = LocationError;

    fn try_from(text: String) -> Result<Self, LocationError> {
        text.parse()
    }
}

impl From<Location> for String {
    fn from(location: Location) -> Self {
        location.to_string()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scheme {
            Scheme::File => write!(f, "file:///{}", self.key),
            Scheme::S3 => write!(f, "s3://{}", self.bucket),
            Scheme::Memfs => write!(f, "memfs://{}", self.bucket),
        }?;
        if self.scheme != Scheme::File && !self.key.is_empty() {
            write!(f, "/{}", self.key)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_print_as_they_were_read() {
        for text in [
            "s3://bucket/a/b",
            "s3://bucket",
            "file:///srv/store",
            "memfs://c.example/x",
        ] {
            assert_eq!(
                text.parse::<Location>().map(|l| l.to_string()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn only_what_is_inside_a_location_is_below_it() {
        let at = |text: &str| text.parse::<Location>().expect("a literal");
        for (text, base, rest) in [
            (
                "s3://b/c.example/pki/ca",
                "s3://b/c.example",
                Some("pki/ca"),
            ),
            ("s3://b/c.example", "s3://b/c.example", Some("")),
            ("s3://b/c.example", "s3://b", Some("c.example")),
            ("s3://b/c.example.com", "s3://b/c.example", None),
            ("s3://other/c.example/pki", "s3://b/c.example", None),
            ("file:///b/c", "s3://b", None),
        ] {
            assert_eq!(at(text).below(&at(base)), rest, "{text} below {base}");
        }
    }

    #[test]
    fn joining_never_doubles_a_slash() {
        let base: Location = "s3://bucket/cluster/".parse().expect("a literal");
        assert_eq!(
            base.join("/cluster.spec").to_string(),
            "s3://bucket/cluster/cluster.spec"
        );
        assert_eq!(base.join("pki").parent(), base);
    }

    #[test]
    fn a_location_never_leaves_its_store() {
        let text = "s3://bucket/a/../b".to_owned();
        assert_eq!(
            text.parse::<Location>(),
            Err(LocationError::Traversal { text })
        );
    }
}
