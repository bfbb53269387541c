//! Counts the requests that left this machine for a cloud service.

use quake_model::ports::Meter;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The counters, shared by every client; clones count together.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    made: BTreeMap<&'static str, u64>,
    throttled: BTreeMap<&'static str, u64>,
}

impl Calls {
    /// Counters at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one request of `operation`, such as `ec2:DescribeVolumes`, as it is about to leave.
    pub fn count(&self, operation: &'static str) {
        *self.lock().made.entry(operation).or_default() += 1;
    }

    /// Counts one that was refused because of its rate, by its IAM action.
    pub fn count_throttled(&self, action: &'static str) {
        *self.lock().throttled.entry(action).or_default() += 1;
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // A counter is whole at every moment, so a panic elsewhere cannot have left it half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Meter for Calls {
    fn calls(&self) -> BTreeMap<String, u64> {
        owned(&self.lock().made)
    }

    fn throttled(&self) -> BTreeMap<String, u64> {
        owned(&self.lock().throttled)
    }
}

fn owned(counts: &BTreeMap<&'static str, u64>) -> BTreeMap<String, u64> {
    let counts = counts.iter();
    counts
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_count_together() {
        let calls = Calls::new();
        calls.clone().count("imds:Token");
        calls.count("imds:Token");
        calls.count("s3:GetObject");
        let counted: Vec<_> = calls.calls().into_iter().collect();
        let expected = [("imds:Token".to_owned(), 2), ("s3:GetObject".to_owned(), 1)];
        assert_eq!(counted, expected);
    }

    #[test]
    fn a_throttled_call_is_counted_beside_those_that_were_made() {
        let calls = Calls::new();
        calls.count("ec2:DescribeVolumes");
        calls.clone().count_throttled("ec2:DescribeVolumes");
        let expected = BTreeMap::from([("ec2:DescribeVolumes".to_owned(), 1)]);
        assert_eq!(
            (calls.calls(), calls.throttled()),
            (expected.clone(), expected)
        );
    }
}
