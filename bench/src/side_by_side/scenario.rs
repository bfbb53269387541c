//! What is measured: a workload, a server's behaviour, and what is there before the run.

use crate::server::Profile;
use serde::{Deserialize, Serialize};

/// What is there before the measured run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Start {
    /// An empty directory.
    Empty,
    /// What a good run left.
    Done,
    /// The same, with one byte of the placed kubelet changed.
    Tampered,
    /// What a run left that was killed at half of the bytes.
    Killed,
}

/// One table of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Scenario {
    /// Its name, such as `w1@ec2`.
    pub(crate) name: String,
    /// The workload's name, such as `w1`.
    pub(crate) workload: String,
    pub(crate) profile: Profile,
    pub(crate) start: Start,
}

/// What is measured when nothing is named.
pub(crate) const USUAL: &[&str] = &[
    "k1", "k1@ec2", "k5", "w1", "w1@ec2", "w1@rtt", "w1@flaky", "w2", "w3", "w4", "w5", "w5b", "w6",
];

/// A huge workload is measured in at most this many rounds; one takes minutes.
const FEW: usize = 3;

impl Scenario {
    /// Reads `WORKLOAD` or `WORKLOAD@PROFILE`.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (workload, profile) = match name.split_once('@') {
            Some((workload, profile)) => (workload, Profile::parse(profile)?),
            None => (name, Profile::Loop),
        };
        let (workload, start) = match workload {
            "k1" | "w1" | "w2" | "w3" | "w4" => (workload, Start::Empty),
            "k5" => ("k1", Start::Done),
            "w5" => ("w1", Start::Done),
            "w5b" => ("w1", Start::Tampered),
            "w6" => ("w1", Start::Killed),
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            workload: workload.to_owned(),
            profile,
            start,
        })
    }

    /// How many rounds are run of those asked for.
    pub(crate) fn rounds(&self, requested: usize) -> usize {
        if self.workload == "w4" {
            requested.min(FEW)
        } else {
            requested
        }
    }

    /// What it is, in the report's words.
    pub(crate) fn title(&self) -> &'static str {
        match (self.workload.as_str(), self.start) {
            ("k1", Start::Empty) => "a worker of kops 1.36, from nothing",
            ("k1", _) => "a worker of kops 1.36 again, nothing changed",
            ("w1", Start::Empty) => "a worker's files, from nothing",
            ("w1", Start::Done) => "a worker's files again, nothing changed",
            ("w1", Start::Tampered) => "a worker's files again, one byte of kubelet changed",
            ("w1", Start::Killed) => "a worker's files, killed at half of the bytes and run again",
            ("w2", _) => "a control plane's files, from nothing",
            ("w3", _) => "64 files of 1 MB, from nothing",
            ("w4", _) => "one tar.gz of 1 GB, from nothing",
            _ => "generated files, from nothing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_workload_profile_and_start() {
        let limited = Scenario::parse("w1@ec2").expect("it is one");
        assert_eq!(
            (limited.profile, limited.start),
            (Profile::Ec2, Start::Empty)
        );
        let again = Scenario::parse("w5").expect("it is one");
        assert_eq!((again.workload.as_str(), again.start), ("w1", Start::Done));
        assert_eq!(Scenario::parse("w1@moon"), None);
        assert_eq!(Scenario::parse("w7"), None);
    }

    #[test]
    fn everything_usual_can_be_read_and_the_huge_one_has_fewer_rounds() {
        for name in USUAL {
            let scenario = Scenario::parse(name).expect("it is one");
            let expected = if *name == "w4" { 3 } else { 7 };
            assert_eq!(scenario.rounds(7), expected, "{name}");
        }
    }
}
