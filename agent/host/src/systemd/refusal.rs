//! What systemd's and the bus's refusals mean in the ports' words.

use quake_model::ports::{Condition, PortError};
use std::io::ErrorKind;
use zbus::fdo;

/// The failed attempt that `error` is; `what` says what was tried.
pub(super) fn refusal_of(what: &str, error: &zbus::Error) -> PortError {
    PortError::new(condition_of(error), what).because(error)
}

fn condition_of(error: &zbus::Error) -> Condition {
    match error {
        zbus::Error::MethodError(name, _, _) => condition_of_name(name.as_str()),
        zbus::Error::FDO(error) => condition_of_standard(error),
        zbus::Error::InputOutput(error) if error.kind() == ErrorKind::TimedOut => {
            Condition::TimedOut
        }
        zbus::Error::InputOutput(_)
        | zbus::Error::Connection(_, _)
        | zbus::Error::Address(_)
        | zbus::Error::Handshake(_) => Condition::Unreachable,
        _ => Condition::Io,
    }
}

/// The bus's own error names; zbus gives those it knows as variants.
fn condition_of_standard(error: &fdo::Error) -> Condition {
    match error {
        fdo::Error::AccessDenied(_)
        | fdo::Error::AuthFailed(_)
        | fdo::Error::InteractiveAuthorizationRequired(_) => Condition::Denied,
        fdo::Error::FileNotFound(_) => Condition::Unknown,
        fdo::Error::NoReply(_) | fdo::Error::Timeout(_) | fdo::Error::TimedOut(_) => {
            Condition::TimedOut
        }
        fdo::Error::ServiceUnknown(_)
        | fdo::Error::NameHasNoOwner(_)
        | fdo::Error::NoServer(_)
        | fdo::Error::NoNetwork(_)
        | fdo::Error::Disconnected(_)
        | fdo::Error::SpawnFailed(_) => Condition::Unreachable,
        _ => Condition::Io,
    }
}

/// systemd's error names, as systemd 252 defines them in `bus-common-errors.h`.
fn condition_of_name(name: &str) -> Condition {
    match name {
        "org.freedesktop.systemd1.NoSuchUnit" => Condition::Unknown,
        // A masked unit is there and an operator said that it must not run.
        "org.freedesktop.systemd1.UnitMasked" => Condition::Denied,
        "org.freedesktop.systemd1.ShuttingDown" => Condition::Unreachable,
        _ => Condition::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_does_not_exist_is_unknown_and_a_masked_one_is_denied() {
        let of = |name: &str| condition_of_name(&format!("org.freedesktop.systemd1.{name}"));
        assert_eq!(of("NoSuchUnit"), Condition::Unknown);
        assert_eq!(of("UnitMasked"), Condition::Denied);
        assert_eq!(of("LoadFailed"), Condition::Io);
    }

    #[test]
    fn a_bus_that_is_gone_is_unreachable_and_one_that_is_slow_timed_out() {
        let io = |kind: ErrorKind| zbus::Error::InputOutput(std::io::Error::from(kind).into());
        assert_eq!(
            condition_of(&io(ErrorKind::BrokenPipe)),
            Condition::Unreachable
        );
        assert_eq!(condition_of(&io(ErrorKind::TimedOut)), Condition::TimedOut);
        let no_owner = fdo::Error::NameHasNoOwner(String::new());
        assert_eq!(condition_of(&no_owner.into()), Condition::Unreachable);
        let denied = fdo::Error::AccessDenied(String::new());
        assert_eq!(condition_of(&denied.into()), Condition::Denied);
    }
}
