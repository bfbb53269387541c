//! The stated budget of cloud calls: a node that polls eats the quota of a whole account.

use quake_model::fault::{Code, Fault};
use std::collections::BTreeMap;

/// The most requests a boot may make, by service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// To the instance metadata service.
    pub imds: u64,
    pub s3: u64,
    pub ec2: u64,
    /// To Route 53.
    pub route53: u64,
}

/// What one boot of a node is allowed. An undisturbed control plane makes about 6, 40, 10 and 6 (and 1
/// where its names are as they should be); the rest is room for throttles, for a volume awaited for half an hour (some 60 looks
/// of 4 calls each), and for names that take minutes to come to all name servers.
pub const NODE_BUDGET: Budget = Budget {
    imds: 60,
    s3: 300,
    ec2: 400,
    route53: 60,
};

/// What is left for the end of a boot, even of one that spent its budget: its report with a few tries.
const RESERVE: u64 = 8;

impl Budget {
    /// The budget of what follows a boot's end.
    #[must_use]
    pub(crate) fn at_the_end(self) -> Self {
        Self {
            s3: self.s3 + RESERVE,
            ..self
        }
    }

    /// The budget of one task of a node that has made these calls already. What a boot may make is little for a node that runs for
    /// years and looks at its channels once a minute.
    #[must_use]
    pub(crate) fn beyond(self, calls: &BTreeMap<String, u64>) -> Self {
        let made = |service: &str| made(calls, service);
        Self {
            imds: self.imds.saturating_add(made("imds")),
            s3: self.s3.saturating_add(made("s3")),
            ec2: self.ec2.saturating_add(made("ec2")),
            route53: self.route53.saturating_add(made("route53")),
        }
    }

    /// Checks the calls made so far, by `service:Operation`.
    ///
    /// # Errors
    ///
    /// Returns `boot.budget-exceeded` naming the service and its calls.
    pub fn check(&self, calls: &BTreeMap<String, u64>) -> Result<(), Fault> {
        for (service, most) in [
            ("imds", self.imds),
            ("s3", self.s3),
            ("ec2", self.ec2),
            ("route53", self.route53),
        ] {
            let made = made(calls, service);
            if made > most {
                let summary = format!("{made} requests were made to {service}, {most} are allowed");
                let fault = Fault::new(Code::BootBudgetExceeded, summary);
                return Err(calls
                    .iter()
                    .fold(fault, |fault, (call, count)| fault.seen(call, count)));
            }
        }
        Ok(())
    }
}

/// How many requests were made to a service.
fn made(calls: &BTreeMap<String, u64>, service: &str) -> u64 {
    let of_service = |call: &str| call.split(':').next() == Some(service);
    let calls = calls.iter().filter(|(call, _)| of_service(call));
    calls.map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_kept_per_service() {
        let budget = Budget {
            imds: 2,
            s3: 2,
            ec2: 2,
            route53: 2,
        };
        let within = BTreeMap::from([
            ("ec2:DescribeVolumes".to_owned(), 2),
            ("s3:GetObject".to_owned(), 2),
        ]);
        assert_eq!(budget.check(&within), Ok(()));
        let over = BTreeMap::from([
            ("ec2:DescribeVolumes".to_owned(), 2),
            ("ec2:AttachVolume".to_owned(), 1),
        ]);
        let fault = budget.check(&over).expect_err("three calls to ec2");
        assert_eq!(fault.code, Code::BootBudgetExceeded);
        let later = budget.beyond(&over);
        assert_eq!(later.check(&over), Ok(()));
        let spent = BTreeMap::from([("ec2:DescribeVolumes".to_owned(), 6)]);
        assert!(later.check(&spent).is_err(), "it has a bound of its own");
    }
}
