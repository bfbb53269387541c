//! What was told of the add-ons, so that only what is news is told.

use crate::emit::Emitter;
use quake_model::addon::{AddonKeeper, AddonStatus, MOST_WARNINGS};
use quake_model::event::Event;
use quake_model::fault::Fault;
use quake_model::location::Location;
use std::collections::BTreeMap;

/// Tells of add-ons, each time only what is not known yet.
pub(super) struct AddonStatusReporter<'a> {
    emitter: &'a Emitter,
    statuses: BTreeMap<String, AddonStatus>,
    warnings: Vec<Fault>,
}

impl<'a> AddonStatusReporter<'a> {
    /// One that knows what the boot told so far.
    pub(super) fn new(emitter: &'a Emitter) -> Self {
        let told = emitter.addons();
        Self {
            emitter,
            statuses: told.addons,
            warnings: told.warnings,
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

    /// Tells how an add-on is.
    pub(super) fn tell(&mut self, status: AddonStatus) {
        if self.statuses.get(&status.name) != Some(&status) {
            self.statuses.insert(status.name.clone(), status.clone());
            self.emitter.emit(Event::AddonChanged(status));
        }
    }

    /// Tells that there are only these any more; the names of those that were.
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

    /// Tells what is not as it should be in the channels, of which these are all warnings there are.
    pub(super) fn warn(&mut self, warnings: &[Fault]) {
        let mut all: Vec<Fault> = Vec::new();
        for fault in warnings {
            if all.len() < MOST_WARNINGS && !all.contains(fault) {
                all.push(fault.clone());
            }
        }
        let known = std::mem::replace(&mut self.warnings, all);
        let is_over = |fault: &Fault| !self.warnings.contains(fault);
        let over: Vec<Fault> = known
            .iter()
            .filter(|fault| is_over(fault))
            .cloned()
            .collect();
        if !over.is_empty() {
            let faults = over;
            self.emitter.emit(Event::AddonsWarningsCleared { faults });
        }
        for fault in self.warnings.iter().filter(|fault| !known.contains(fault)) {
            let fault = fault.clone();
            self.emitter.emit(Event::AddonsWarned { fault });
        }
    }

    /// Tells who looks after the add-ons of these channels, and what keeps whoever does from it.
    pub(super) fn stand(&self, keeper: AddonKeeper, channels: &[Location], fault: Option<Fault>) {
        let told = self.emitter.addons();
        let is_over = told.fault.is_some() && fault.is_none();
        let is_other = told.keeper.as_ref() != Some(&keeper);
        if is_over || is_other {
            let channels = channels.iter().map(ToString::to_string).collect();
            self.emitter
                .emit(Event::AddonsReconciled { keeper, channels });
        }
        let Some(fault) = fault else { return };
        let known = told.fault.filter(|_| !is_other);
        if known.is_none_or(|known| known.code != fault.code) {
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
    fn a_warning_is_told_once_and_again_only_after_it_was_over() {
        let kept = Keep::default();
        let sinks: Vec<Box<dyn Sink>> = vec![Box::new(kept.clone())];
        let emitter = Emitter::new(Box::new(|| Timestamp(0)), sinks);
        let mut told = AddonStatusReporter::new(&emitter);
        for now in [vec!["a", "b", "a"], vec!["b", "a"], vec!["b"], vec!["b"]] {
            told.warn(&warnings(&now));
        }
        // Whoever comes after the boot knows what the boot told.
        let mut told = AddonStatusReporter::new(&emitter);
        told.warn(&warnings(&["b", "a"]));
        let seen = kept.0.lock().expect("no other holder panics").join(" ");
        assert_eq!(seen, "+a +b -a +a");
        assert_eq!(emitter.addons().warnings, warnings(&["b", "a"]));
    }

    #[test]
    fn no_more_are_told_than_an_operator_reads() {
        let emitter = Emitter::new(Box::new(|| Timestamp(0)), Vec::new());
        let names: Vec<String> = (0..99).map(|number| number.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        AddonStatusReporter::new(&emitter).warn(&warnings(&names));
        assert_eq!(emitter.addons().warnings.len(), MOST_WARNINGS);
    }
}
