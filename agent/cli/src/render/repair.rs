//! Whether the node is to be replaced, for programs and for people.

use crate::output::style;
use quake_model::record::Record;
use quake_model::repair::{RepairDecision, SharedCause, repair_text};
use serde_json::{Value, json};

/// The last decision; null where no repair is allowed, or nothing was ever wrong.
pub(crate) fn repair_json(record: &Record) -> Value {
    let Some(repair) = &record.repair else {
        return Value::Null;
    };
    let (verdict, reason, cause) = match &repair.decision {
        RepairDecision::Healthy => ("healthy", None, None),
        RepairDecision::Skip { reason, cause } => ("skip", Some(reason.name()), *cause),
        RepairDecision::Replace => ("replace", None, None),
    };
    json!({
        "verdict": verdict,
        "reason": reason,
        "cause": cause.map(SharedCause::name),
        "symptoms": repair.symptoms,
        "since": repair.since.to_string(),
    })
}

/// The last decision in a line, unless the node is healthy.
pub(crate) fn repair_line(record: &Record) -> Option<String> {
    let repair = record.repair.as_ref()?;
    let is_bad = repair.decision != RepairDecision::Healthy;
    let text = repair_text(&repair.decision, &repair.symptoms);
    let label = style::warning("repair");
    is_bad.then(|| format!("{label}: {text}, since {}\n", repair.since))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::repair::{RepairRecord, Symptom};
    use quake_model::time::Timestamp;
    use std::collections::BTreeSet;

    #[test]
    fn a_decision_is_shown_with_its_reason_and_a_healthy_node_in_no_line() {
        let mut record = Record::default();
        assert_eq!(
            (repair_json(&record), repair_line(&record)),
            (Value::Null, None)
        );
        record.repair = Some(RepairRecord {
            decision: RepairDecision::shared(SharedCause::ApiServer),
            symptoms: BTreeSet::from([Symptom::Runtime]),
            since: Timestamp(0),
        });
        let shown = repair_json(&record);
        assert_eq!(
            (&shown["reason"], &shown["cause"]),
            (&json!("shared-cause"), &json!("api-server"))
        );
        let line = repair_line(&record).expect("something is wrong");
        assert!(
            line.contains("not replaced (shared-cause: api-server): runtime, since 1970"),
            "{line}"
        );
        record.repair.as_mut().expect("it was set").decision = RepairDecision::Healthy;
        assert_eq!(repair_line(&record), None);
    }
}
