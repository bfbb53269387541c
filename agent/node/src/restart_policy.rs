//! Whether a boot that failed has failed for good, or systemd will start the agent again.
//!
//! The unit starts it again after exit status 75 alone, and only some times (`systemd/quake-agent.service`).

use quake_model::facts::{ActiveState, UnitFacts};
use quake_model::record::{BootState, Record};

/// The exit status after which the unit starts the agent again.
const TEMPORARY: u8 = 75;

/// How the agent's service stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// It runs, or systemd is about to start it.
    Coming,
    /// It does not run, and nothing but an operator starts it: it was stopped, or never started.
    Down,
    /// It does not run, and systemd has given it up.
    Failed,
    /// It cannot be looked at.
    Unknown,
}

/// How a service stands that systemd shows so; `has_job` says whether a start or a stop of it is queued.
pub fn service_of(facts: &UnitFacts, has_job: bool) -> Service {
    match facts.active {
        _ if has_job => Service::Coming,
        ActiveState::Active
        | ActiveState::Activating
        | ActiveState::Reloading
        // What follows is seen at the next look.
        | ActiveState::Deactivating => Service::Coming,
        ActiveState::Inactive => Service::Down,
        ActiveState::Failed => Service::Failed,
    }
}

/// Whether the boot ended without a node and no other will follow by itself.
pub fn failed_for_good(record: &Record, service: Service) -> bool {
    match record.state {
        BootState::Failed | BootState::Stopped => match service {
            Service::Coming => false,
            Service::Down | Service::Failed => true,
            Service::Unknown => record.exit_status() != TEMPORARY,
        },
        BootState::Starting
        | BootState::Configuring
        | BootState::Preparing
        | BootState::Joining
        | BootState::Ready => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit_health::tests::installed;
    use quake_model::event::{Envelope, Event};
    use quake_model::fault::{Code, Fault};
    use quake_model::phase::Phase;
    use quake_model::time::Timestamp;

    fn ended(event: Event) -> Record {
        let mut record = Record::default();
        record.fold(&Envelope {
            seq: 1,
            at: Timestamp(0),
            elapsed_ms: 0,
            event,
        });
        record
    }

    fn failed(code: Code) -> Record {
        ended(Event::BootFailed {
            phase: Phase::Storage,
            fault: Fault::new(code, "x"),
        })
    }

    #[test]
    fn a_failure_lasts_unless_the_service_comes_again() {
        let temporary = failed(Code::AssetsUnreachable);
        let refused = failed(Code::StorageVolumeConflict);
        let table = [
            (Service::Coming, false, false),
            (Service::Down, true, true),
            (Service::Failed, true, true),
            (Service::Unknown, false, true),
        ];
        for (service, of_temporary, of_refused) in table {
            let found = [&temporary, &refused].map(|record| failed_for_good(record, service));
            assert_eq!(found, [of_temporary, of_refused], "{service:?}");
        }
    }

    #[test]
    fn a_boot_that_goes_on_or_became_ready_has_not_failed() {
        for record in [Record::default(), ended(Event::BootReady { changed: 0 })] {
            assert!(!failed_for_good(&record, Service::Failed));
        }
    }

    fn unit(active: ActiveState) -> UnitFacts {
        UnitFacts {
            enabled: true,
            ..installed("quake-agent.service", active)
        }
    }

    #[test]
    fn a_service_that_was_given_up_comes_again_only_if_that_is_queued() {
        let failed = unit(ActiveState::Failed);
        assert_eq!(service_of(&failed, false), Service::Failed);
        assert_eq!(service_of(&failed, true), Service::Coming);
        // systemd shows a unit that it will start again after a pause as activating.
        let paused = unit(ActiveState::Activating);
        assert_eq!(service_of(&paused, false), Service::Coming);
    }
}
