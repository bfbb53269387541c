//! Facts of a unit, from the properties systemd shows.

use super::bus::Properties;
use quake_model::facts::{ActiveState, UnitFacts};
use zbus::Variant;

/// What was read of a unit.
pub(super) struct Read {
    pub(super) unit: Properties,
    /// The answer to `GetUnitFileState`; empty when there is no unit file.
    pub(super) file_state: String,
    /// The properties of its own kind, such as those of a service; empty for kinds of which nothing is read.
    pub(super) kind: Properties,
}

/// The facts of the unit called `name`.
pub(super) fn unit_facts(name: &str, read: &Read) -> UnitFacts {
    let active = active_state(&text(&read.unit, "ActiveState"));
    let since = match active {
        ActiveState::Active | ActiveState::Reloading => number(&read.unit, "ActiveEnterTimestamp"),
        ActiveState::Activating
        | ActiveState::Deactivating
        | ActiveState::Inactive
        | ActiveState::Failed => 0,
    };
    UnitFacts {
        name: name.to_owned(),
        found: !matches!(
            text(&read.unit, "LoadState").as_str(),
            "not-found" | "" | "stub"
        ),
        active,
        sub_state: text(&read.unit, "SubState"),
        enabled: matches!(read.file_state.as_str(), "enabled" | "alias"),
        installable: is_installable(&read.file_state),
        needs_reload: flag(&read.unit, "NeedDaemonReload"),
        restarts: restarts(&read.kind),
        active_since_us: since,
        result: result(&read.kind),
        main_started_us: number(&read.kind, "ExecMainStartTimestamp"),
        main_ended: main_ended(&read.kind),
        notifies: matches!(
            text(&read.kind, "Type").as_str(),
            "notify" | "notify-reload"
        ),
    }
}

/// `NRestarts`, which only services have, and only since systemd 235.
fn restarts(kind: &Properties) -> u32 {
    match kind.get("NRestarts").map(|value| &**value) {
        Some(Variant::U32(restarts)) => *restarts,
        _ => 0,
    }
}

/// `Result`, which targets and slices do not have.
fn result(kind: &Properties) -> String {
    match text(kind, "Result") {
        none if none.is_empty() => "success".to_owned(),
        result => result,
    }
}

/// How the main process ended. `ExecMainCode` is that of waitid(2): 1 exited, 2 killed, 3 dumped core; zero while
/// it runs.
fn main_ended(kind: &Properties) -> Option<String> {
    let number = |name: &str| match kind.get(name).map(|value| &**value) {
        Some(Variant::I32(number)) => *number,
        _ => 0,
    };
    let status = number("ExecMainStatus");
    match number("ExecMainCode") {
        1 => Some(format!("exit status {status}")),
        2 | 3 => Some(format!("signal {status}")),
        _ => None,
    }
}

/// Whether the unit's file has something to enable (systemctl(1), `is-enabled`).
fn is_installable(file_state: &str) -> bool {
    matches!(
        file_state,
        "enabled" | "enabled-runtime" | "linked" | "linked-runtime" | "alias" | "disabled"
    )
}

fn active_state(word: &str) -> ActiveState {
    match word {
        "active" => ActiveState::Active,
        // A unit being refreshed or maintained is up, and not settled.
        "reloading" | "refreshing" | "maintenance" => ActiveState::Reloading,
        "activating" => ActiveState::Activating,
        "deactivating" => ActiveState::Deactivating,
        "failed" => ActiveState::Failed,
        _ => ActiveState::Inactive,
    }
}

/// The text of a property; empty when it is absent.
pub(super) fn text(properties: &Properties, name: &str) -> String {
    properties
        .get(name)
        .map(|value| text_of(value))
        .unwrap_or_default()
}

/// The text of a value; empty when it is none.
pub(super) fn text_of(value: &Variant<'_>) -> String {
    match value {
        Variant::Str(text) => text.as_str().to_owned(),
        _ => String::new(),
    }
}

/// The number of a property; zero when it is absent.
pub(super) fn number(properties: &Properties, name: &str) -> u64 {
    match properties.get(name).map(|value| &**value) {
        Some(Variant::U64(number)) => *number,
        _ => 0,
    }
}

fn flag(properties: &Properties, name: &str) -> bool {
    matches!(
        properties.get(name).map(|value| &**value),
        Some(Variant::Bool(true))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use zbus::OwnedVariant;

    fn read(active: &'static str, file_state: &str) -> Read {
        let owned = |value: Variant<'static>| OwnedVariant::try_from(value).expect("a value");
        let unit = [
            ("LoadState".to_owned(), owned(Variant::new("loaded"))),
            ("ActiveState".to_owned(), owned(Variant::new(active))),
            ("SubState".to_owned(), owned(Variant::new("running"))),
            ("NeedDaemonReload".to_owned(), owned(Variant::new(true))),
            (
                "ActiveEnterTimestamp".to_owned(),
                owned(Variant::new(1_700_000_000_000_000_u64)),
            ),
        ];
        Read {
            unit: unit.into_iter().collect(),
            file_state: file_state.to_owned(),
            kind: [("NRestarts".to_owned(), owned(Variant::new(3_u32)))].into(),
        }
    }

    #[test]
    fn an_active_enabled_service_is_read_in_full() {
        let facts = unit_facts("kubelet.service", &read("active", "enabled"));
        let wanted = UnitFacts {
            name: "kubelet.service".into(),
            found: true,
            active: ActiveState::Active,
            sub_state: "running".into(),
            enabled: true,
            installable: true,
            needs_reload: true,
            restarts: 3,
            active_since_us: 1_700_000_000_000_000,
            result: "success".into(),
            main_started_us: 0,
            main_ended: None,
            notifies: false,
        };
        assert_eq!(facts, wanted);
    }

    #[test]
    fn the_end_of_the_main_process_is_told_in_words() {
        let ended = |code: i32, status: i32| {
            let owned =
                |number: i32| OwnedVariant::try_from(Variant::new(number)).expect("a value");
            let kind = [
                ("ExecMainCode".to_owned(), owned(code)),
                ("ExecMainStatus".to_owned(), owned(status)),
            ];
            main_ended(&kind.into())
        };
        assert_eq!(ended(1, 255).as_deref(), Some("exit status 255"));
        assert_eq!(ended(2, 9).as_deref(), Some("signal 9"));
        assert_eq!(ended(0, 0), None);
    }

    #[test]
    fn a_unit_that_is_down_has_been_up_since_never() {
        for state in ["failed", "inactive", "activating", "deactivating"] {
            assert_eq!(
                unit_facts("x", &read(state, "static")).active_since_us,
                0,
                "{state}"
            );
        }
    }

    #[test]
    fn a_static_or_masked_unit_cannot_be_enabled() {
        for (state, wanted) in [
            ("static", (false, false)),
            ("masked", (false, false)),
            ("generated", (false, false)),
            ("", (false, false)),
            ("disabled", (false, true)),
            ("enabled-runtime", (false, true)),
        ] {
            let facts = unit_facts("x", &read("inactive", state));
            assert_eq!((facts.enabled, facts.installable), wanted, "{state}");
        }
    }
}
