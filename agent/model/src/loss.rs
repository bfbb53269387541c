//! What held when the node became ready and does not hold any more.

use crate::event::{Envelope, Event};
use crate::fault::Fault;
use crate::phase::Phase;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One condition that was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostCondition {
    /// The phase that brought it about; readiness names it so.
    pub phase: Phase,
    pub since: Timestamp,
    pub fault: Fault,
}

/// What is lost now, by step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Losses(BTreeMap<String, LostCondition>);

impl Losses {
    /// Folds one event. One that is lost for another reason keeps its time.
    pub fn fold(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::ConditionLost { phase, step, fault } => {
                let known = self.0.get(step).map(|loss| loss.since);
                let loss = LostCondition {
                    phase: *phase,
                    since: known.unwrap_or(envelope.at),
                    fault: fault.clone(),
                };
                self.0.insert(step.clone(), loss);
            }
            Event::ConditionRegained { step, .. } => {
                self.0.remove(step);
            }
            _ => {}
        }
    }

    /// Whether everything holds.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each loss and its step, in the steps' order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &LostCondition)> {
        self.0.iter().map(|(step, loss)| (step.as_str(), loss))
    }

    /// The first loss of a phase, and its step.
    pub fn for_phase(&self, phase: Phase) -> Option<(&str, &LostCondition)> {
        self.iter().find(|(_, loss)| loss.phase == phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Code;

    fn envelope(seq: u64, event: Event) -> Envelope {
        Envelope {
            seq,
            at: Timestamp(seq),
            elapsed_ms: seq,
            event,
        }
    }

    #[test]
    fn what_was_lost_is_lost_since_it_was_first_seen_until_it_is_regained() {
        let lost = |code| Event::ConditionLost {
            phase: Phase::Services,
            step: "services:x".into(),
            fault: Fault::new(code, "down"),
        };
        let mut losses = Losses::default();
        losses.fold(&envelope(3, lost(Code::ServicesUnitStarting)));
        losses.fold(&envelope(5, lost(Code::ServicesUnitFailed)));
        let (step, loss) = losses.for_phase(Phase::Services).expect("it is lost");
        assert_eq!((step, loss.since), ("services:x", Timestamp(3)));
        assert_eq!(loss.fault.code, Code::ServicesUnitFailed);
        losses.fold(&envelope(
            7,
            Event::ConditionRegained {
                phase: Phase::Services,
                step: "services:x".into(),
                lost_ms: 4,
            },
        ));
        assert!(losses.is_empty());
    }
}
