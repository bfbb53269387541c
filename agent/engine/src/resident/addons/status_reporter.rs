//! Reports the statuses of add-ons: only what changed since the last report.

use crate::emit::Emitter;
use quake_model::addon::{AddonStatus, MOST_WARNINGS, ReconcilerRef};
use quake_model::event::Event;
use quake_model::fault::Fault;
use quake_model::location::Location;
use std::collections::BTreeMap;

/// Reports add-ons, each time only what changed.
pub(super) struct AddonStatusReporter<'a> {
    emitter: &'a Emitter,
    statuses: BTreeMap<String, AddonStatus>,
    warnings: Vec<Fault>,
}

impl<'a> AddonStatusReporter<'a> {
    /// Starts from what the boot reported so far.
    pub(super) fn new(emitter: &'a Emitter) -> Self {
        let known = emitter.addons();
        Self {
            emitter,
            statuses: known.addons,
            warnings: known.warnings,
        }
    }

    /// How each add-on is, by name.
    pub(super) fn statuses(&self) -> &BTreeMap<String, AddonStatus> {
        &self.statuses
    }

    /// How each add-on is, in the order of their names.
    pub(super) fn all(&self) -> Vec<AddonStatus> {
        self.statuses.values().cloned().collect()
    }

    pub(super) fn report(&mut self, status: AddonStatus) {
        if self.statuses.get(&status.name) != Some(&status) {
            self.statuses.insert(status.name.clone(), status.clone());
            self.emitter.emit(Event::AddonChanged(status));
        }
    }

    /// Keeps only these add-ons and returns the names of those that are gone.
    pub(super) fn keep_only(&mut self, is_there: impl Fn(&str) -> bool) -> Vec<String> {
        let names = self.statuses.keys().filter(|name| !is_there(name));
        let names: Vec<String> = names.cloned().collect();
        if !names.is_empty() {
            self.statuses.retain(|name, _| !names.contains(name));
            let gone = names.clone();
            self.emitter.emit(Event::AddonForgotten { names: gone });
        }
        names
    }

    /// Emits the current channel warnings and clears those that are gone.
    pub(super) fn warn(&mut self, warnings: &[Fault]) {
        let mut all: Vec<Fault> = Vec::new();
        for fault in warnings {
            if all.len() < MOST_WARNINGS && !all.contains(fault) {
                all.push(fault.clone());
            }
        }
        let known = std::mem::replace(&mut self.warnings, all);
        let is_gone = |fault: &Fault| !self.warnings.contains(fault);
        let cleared: Vec<Fault> = known
            .iter()
            .filter(|fault| is_gone(fault))
            .cloned()
            .collect();
        if !cleared.is_empty() {
            let faults = cleared;
            self.emitter.emit(Event::AddonsWarningsCleared { faults });
        }
        for fault in self.warnings.iter().filter(|fault| !known.contains(fault)) {
            let fault = fault.clone();
            self.emitter.emit(Event::AddonsWarned { fault });
        }
    }

    /// Reports who reconciles the add-ons of these channels, and the fault that prevents it.
    pub(super) fn report_reconciler(
        &self,
        reconciler: ReconcilerRef,
        channels: &[Location],
        fault: Option<Fault>,
    ) {
        let known = self.emitter.addons();
        let is_gone = known.fault.is_some() && fault.is_none();
        let is_other = known.reconciler.as_ref() != Some(&reconciler);
        if is_gone || is_other {
            let channels = channels.iter().map(ToString::to_string).collect();
            self.emitter.emit(Event::AddonsReconciled {
                reconciler,
                channels,
            });
        }
        let Some(fault) = fault else { return };
        let reported = known.fault.filter(|_| !is_other);
        if reported.is_none_or(|reported| reported.code != fault.code) {
            self.emitter.emit(Event::AddonsDegraded { fault });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::fault::Code;
    use quake_model::ports::{Sink, SinkError};
    use quake_model::record::Record;
    use quake_model::time::Timestamp;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Keep(Arc<Mutex<Vec<String>>>);

    impl Sink for Keep {
        fn accept(
            &mut self,
            envelope: &quake_model::event::Envelope,
            _: &Record,
        ) -> Result<(), SinkError> {
            let word = match &envelope.event {
                Event::AddonsWarned { fault } => format!("+{}", fault.summary),
                Event::AddonsWarningsCleared { faults } => {
                    let gone = faults.iter().map(|fault| format!("-{}", fault.summary));
                    gone.collect()
                }
                other => format!("{other:?}"),
            };
            self.0.lock().expect("no other holder panics").push(word);
            Ok(())
        }
    }

    fn warnings(summaries: &[&str]) -> Vec<Fault> {
        let fault = |summary: &&str| Fault::new(Code::ConfigUnknownKey, *summary);
        summaries.iter().map(fault).collect()
    }

    #[test]
    fn a_warning_is_reported_once_and_again_only_after_it_was_gone() {
        let kept = Keep::default();
        let sinks: Vec<Box<dyn Sink>> = vec![Box::new(kept.clone())];
        let emitter = Emitter::new(Box::new(|| Timestamp(0)), sinks);
        let mut known = AddonStatusReporter::new(&emitter);
        for now in [vec!["a", "b", "a"], vec!["b", "a"], vec!["b"], vec!["b"]] {
            known.warn(&warnings(&now));
        }
        // A reporter that starts after the boot knows what the boot reported.
        let mut known = AddonStatusReporter::new(&emitter);
        known.warn(&warnings(&["b", "a"]));
        let seen = kept.0.lock().expect("no other holder panics").join(" ");
        assert_eq!(seen, "+a +b -a +a");
        assert_eq!(emitter.addons().warnings, warnings(&["b", "a"]));
    }

    #[test]
    fn no_more_are_reported_than_an_operator_reads() {
        let emitter = Emitter::new(Box::new(|| Timestamp(0)), Vec::new());
        let names: Vec<String> = (0..99).map(|number| number.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        AddonStatusReporter::new(&emitter).warn(&warnings(&names));
        assert_eq!(emitter.addons().warnings.len(), MOST_WARNINGS);
    }
}
