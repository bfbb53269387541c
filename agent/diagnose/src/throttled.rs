//! Which actions AWS throttled, and whether the calls that used up the quota were somebody else's.
//!
//! EC2 counts the requests of an account in a region, by action, whoever makes them. Its smallest bucket for what the agent calls
//! holds 50 requests and is refilled with 5 a second (EC2 API reference, "Request throttling", read 2026-11). Whoever made fewer
//! calls than that and was throttled shares the bucket with somebody who made the rest.

use quake_model::boot_report::BootReport;
use quake_model::record::Record;
use serde::Serialize;
use std::collections::BTreeMap;

/// The requests in a bucket of EC2's at least.
const BUCKET: u64 = 50;

/// One action that was throttled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThrottledAction {
    /// `service:Operation`.
    pub action: String,
    /// How many calls AWS refused for its rate.
    pub throttled: u64,
    /// How many calls were made, those included.
    pub calls: u64,
    /// How many nodes were refused.
    pub nodes: u64,
    /// Whether these calls are too few to use up the quota: others in the account did.
    pub by_others: bool,
}

/// What was throttled on this node.
pub fn of_record(record: &Record) -> Vec<ThrottledAction> {
    all([(&record.throttled, &record.calls)])
}

/// What was throttled on all nodes together.
pub fn of_boots<'a>(boots: impl IntoIterator<Item = &'a BootReport>) -> Vec<ThrottledAction> {
    all(boots.into_iter().map(|boot| (&boot.throttled, &boot.calls)))
}

type Counts = BTreeMap<String, u64>;

fn all<'a>(nodes: impl IntoIterator<Item = (&'a Counts, &'a Counts)>) -> Vec<ThrottledAction> {
    let mut found: BTreeMap<&str, ThrottledAction> = BTreeMap::new();
    let mut made: BTreeMap<&str, u64> = BTreeMap::new();
    for (throttled, calls) in nodes {
        for (action, count) in calls {
            *made.entry(action).or_default() += count;
        }
        for (action, count) in throttled.iter().filter(|(_, count)| **count > 0) {
            let entry = found.entry(action).or_insert_with(|| ThrottledAction {
                action: action.clone(),
                throttled: 0,
                calls: 0,
                nodes: 0,
                by_others: false,
            });
            entry.throttled += count;
            entry.nodes += 1;
        }
    }
    let found = found.into_iter().map(|(action, one)| {
        let calls = made.get(action).copied().unwrap_or_default();
        let calls = calls.max(one.throttled);
        ThrottledAction {
            calls,
            by_others: action.starts_with("ec2:") && calls < BUCKET,
            ..one
        }
    });
    found.collect()
}

impl ThrottledAction {
    /// In a sentence, with how to find who calls so often.
    pub fn sentence(&self) -> String {
        let (action, throttled, calls) = (&self.action, self.throttled, self.calls);
        let counted = format!("AWS throttled {throttled} of {calls} calls of {action}");
        let name = action.split(':').next_back().unwrap_or_default();
        match self.by_others {
            true => format!(
                "{counted}, too few to use up its quota: others in the account call it. Find them: aws cloudtrail lookup-events --lookup-attributes AttributeKey=EventName,AttributeValue={name}"
            ),
            false => counted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> Counts {
        of.iter()
            .map(|(action, count)| ((*action).to_owned(), *count))
            .collect()
    }

    #[test]
    fn few_calls_that_are_throttled_share_a_quota_with_others() {
        let node = |throttled, calls| {
            let throttled = counts(&[("ec2:DescribeVolumes", throttled)]);
            (throttled, counts(&[("ec2:DescribeVolumes", calls)]))
        };
        let table = [
            (vec![node(3, 9)], Some((3, 9, 1, true))),
            (vec![node(0, 9)], None),
            // Of a region that lost a reply before it was counted.
            (vec![node(3, 0)], Some((3, 3, 1, true))),
            (vec![node(1, 49)], Some((1, 49, 1, true))),
            (vec![node(1, 25), node(0, 25)], Some((1, 50, 1, false))),
            (vec![node(2, 30), node(4, 30)], Some((6, 60, 2, false))),
        ];
        for (nodes, wanted) in table {
            let found = all(nodes.iter().map(|(throttled, calls)| (throttled, calls)));
            let found = found
                .first()
                .map(|one| (one.throttled, one.calls, one.nodes, one.by_others));
            assert_eq!(found, wanted, "{nodes:?}");
        }
    }

    #[test]
    fn a_store_is_not_throttled_by_the_account() {
        let (throttled, calls) = (
            counts(&[("s3:GetObject", 2)]),
            counts(&[("s3:GetObject", 5)]),
        );
        let found = all([(&throttled, &calls)]);
        assert!(!found[0].by_others);
        assert_eq!(
            found[0].sentence(),
            "AWS throttled 2 of 5 calls of s3:GetObject"
        );
    }

    #[test]
    fn the_sentence_says_how_to_find_who_calls() {
        let counted = counts(&[("ec2:DescribeVolumes", 7)]);
        let said = all([(&counted, &counted)])[0].sentence();
        assert!(said.ends_with("AttributeValue=DescribeVolumes"), "{said}");
        assert!(said.contains("others in the account"), "{said}");
    }
}
