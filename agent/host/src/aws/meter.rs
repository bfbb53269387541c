//! Counts the requests that left this machine for a cloud service.

use quake_model::ports::Meter;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The counters, shared by every client; clones count together.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Calls {
    /// Counters at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one request of `operation`, such as `ec2:DescribeVolumes`, as it is about to leave.
    pub fn count(&self, operation: &'static str) {
        // A counter is whole at every moment, so a panic elsewhere cannot have left it half-changed.
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(operation).or_default() += 1;
    }
}

impl Meter for Calls {
    fn calls(&self) -> BTreeMap<String, u64> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts
            .iter()
            .map(|(operation, count)| ((*operation).to_owned(), *count))
            .collect()
    }
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
}
