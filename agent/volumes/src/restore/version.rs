//! Versions of etcd, and which of them reads what another one wrote.

use std::fmt;

/// A version of etcd, such as `3.4.23`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtcdVersion {
    /// The first number.
    pub major: u32,
    /// The second number, which decides what is compatible.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl EtcdVersion {
    /// Reads `3.4.23` or `v3.4.23`; a part that is not there is zero. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        // A build of a distribution adds words behind the numbers.
        let numbers = text.split(['-', '+', ' ']).next()?;
        let mut parts = numbers.split('.');
        let mut next = || parts.next().map_or(Some(0), |part| part.parse().ok());
        let (major, minor, patch) = (next()?, next()?, next()?);
        parts.next().is_none().then_some(Self {
            major,
            minor,
            patch,
        })
    }

    /// Whether an etcd of this version reads what one of `other` wrote. etcd upgrades one minor
    /// version at a time and never goes back (etcd.io/docs/v3.6/upgrades), and version 2 has another
    /// format.
    pub fn reads(self, other: Self) -> bool {
        self.major == other.major
            && self.major >= 3
            && (other.minor..=other.minor.saturating_add(1)).contains(&self.minor)
    }

    /// Whether `etcdutl` restores its snapshots: etcd 3.6 took that out of `etcdctl`.
    pub fn is_restored_by_etcdutl(self) -> bool {
        (self.major, self.minor) >= (3, 6)
    }

    /// Whether both are of one minor version.
    pub fn is_of_minor(self, other: Self) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }
}

impl fmt::Display for EtcdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_kops_and_as_programs_write_them() {
        let read = |text| EtcdVersion::parse(text).map(|version| version.to_string());
        for (text, wanted) in [
            ("3.4.23", Some("3.4.23")),
            ("v3.5.21", Some("3.5.21")),
            ("3.4", Some("3.4.0")),
            ("3.6.0-rc.1", Some("3.6.0")),
            ("3.4.30+dfsg-1", Some("3.4.30")),
            ("", None),
            ("latest", None),
            ("3.4.1.2", None),
        ] {
            assert_eq!(read(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn etcd_reads_its_own_minor_version_and_the_one_before() {
        let version = |text| EtcdVersion::parse(text).expect("a literal");
        for (program, data, wanted) in [
            ("3.4.23", "3.4.3", true),
            ("3.5.1", "3.4.3", true),
            ("3.4.23", "3.5.0", false),
            ("3.6.0", "3.4.3", false),
            ("3.4.23", "2.2.1", false),
            ("2.2.1", "2.2.1", false),
        ] {
            let reads = version(program).reads(version(data));
            assert_eq!(reads, wanted, "{program} and {data}");
        }
    }
}
