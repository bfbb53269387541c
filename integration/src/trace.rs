//! The trace event format that Chrome and Perfetto open, as far as the agent writes it.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What is wrong with a trace, if anything: complete events in the order of time with the names of their processes and
/// threads, and slices of one thread that nest.
pub fn wrong_in_trace(trace: &Value) -> Option<String> {
    let Some(events) = trace["traceEvents"].as_array() else {
        return Some("no traceEvents".to_owned());
    };
    let mut named = BTreeSet::new();
    let mut open: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    let mut last = 0;
    let mut slices = 0;
    for event in events {
        let number = |key: &str| event[key].as_u64();
        let (Some(pid), Some(tid), Some(ts)) = (number("pid"), number("tid"), number("ts")) else {
            return Some(format!("no place or time: {event}"));
        };
        match (event["ph"].as_str(), event["name"].as_str(), number("dur")) {
            (Some("M"), Some("process_name"), _) => {
                named.insert((pid, None));
            }
            (Some("M"), Some("thread_name"), _) => {
                named.insert((pid, Some(tid)));
            }
            (Some("X"), Some(_), Some(duration)) => {
                let has_names = named.contains(&(pid, None)) && named.contains(&(pid, Some(tid)));
                if !has_names {
                    return Some(format!("no name of its thread: {event}"));
                }
                if ts < last {
                    return Some(format!("not in the order of time: {event}"));
                }
                last = ts;
                slices += 1;
                let ends = open.entry((pid, tid)).or_default();
                ends.retain(|end| *end > ts);
                if ends.iter().any(|end| *end < ts + duration) {
                    return Some(format!("it overlaps another slice of its thread: {event}"));
                }
                ends.push(ts + duration);
            }
            _ => return Some(format!("no event of a kind that is written: {event}")),
        }
    }
    (slices == 0).then(|| "no slice".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn trace(slices: &[(u64, u64)]) -> Value {
        let name =
            |name: &str, tid| json!({"ph": "M", "name": name, "pid": 1, "tid": tid, "ts": 0});
        let mut events = vec![name("process_name", 0), name("thread_name", 1)];
        let slices = slices.iter();
        events.extend(slices.map(
            |(ts, dur)| json!({"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": ts, "dur": dur}),
        ));
        json!({ "traceEvents": events })
    }

    #[test]
    fn slices_nest_and_are_in_the_order_of_time() {
        assert_eq!(
            wrong_in_trace(&trace(&[(0, 9), (0, 5), (2, 3), (5, 4)])),
            None
        );
        for wrong in [&[(0, 5), (3, 5)][..], &[(3, 1), (0, 1)], &[]] {
            assert!(wrong_in_trace(&trace(wrong)).is_some(), "{wrong:?}");
        }
        let nameless = json!({"traceEvents": [{"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 0, "dur": 1}]});
        assert!(wrong_in_trace(&nameless).is_some());
    }
}
