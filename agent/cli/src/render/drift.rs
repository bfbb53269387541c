//! What is not as the agent left it, for programs and for people.

use crate::output::style;
use quake_model::record::Record;
use serde_json::{Value, json};

/// Where the kernel shows its settings.
const SETTINGS: &str = "/proc/sys/";

/// What is not as the agent left it, at most `most` files and units of it by name.
pub(crate) fn drift_json(record: &Record, most: usize) -> Value {
    let files = record.drift.files().map(
        |(path, one)| json!({ "path": path, "what": one.what, "since": one.since.to_string() }),
    );
    let units = record.drift.units().map(
        |(unit, one)| json!({ "unit": unit, "what": one.what, "since": one.since.to_string() }),
    );
    json!({
        "count": record.drift.count(),
        "files": files.take(most).collect::<Vec<_>>(),
        "units": units.take(most).collect::<Vec<_>>(),
    })
}

/// What is not as the agent left it, in a line.
pub(crate) fn drift_text(record: &Record) -> Option<String> {
    let mut named = record.drift.files().chain(record.drift.units());
    let (name, first) = named.next()?;
    let (what, since) = (&first.what, first.since);
    let more = match record.drift.count() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Some(format!(
        "{}: {name} ({what}, since {since}){more}; {}\n",
        style::warning("drift"),
        undone_by(record)
    ))
}

/// What undoes it. A boot writes files and enables units again; of kernel settings it sets only those that its steps name, and
/// `sysctl --system` sets all that have a file.
fn undone_by(record: &Record) -> &'static str {
    let files: Vec<&str> = record.drift.files().map(|(path, _)| path).collect();
    let settings = files.iter().filter(|path| path.starts_with(SETTINGS));
    let settings = settings.count();
    let others = files.len() - settings + record.drift.units().count();
    match (settings, others) {
        (0, _) => "quake-agent plan shows all, and a restart of the agent undoes it",
        (_, 0) => "sysctl --system undoes it",
        _ => {
            "quake-agent plan shows files and units, and a restart of the agent undoes them; sysctl --system undoes what is below /proc/sys"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::drift::Drifted;
    use quake_model::event::{Envelope, Event};
    use quake_model::time::Timestamp;

    fn shown(drifted: &[(&str, &str)]) -> String {
        let drifted = drifted.iter().map(|(name, what)| Drifted {
            name: (*name).to_owned(),
            what: (*what).to_owned(),
        });
        let event = Event::DriftChanged {
            drifted: drifted.collect(),
            more: 0,
        };
        let mut record = Record::default();
        record.fold(&Envelope {
            seq: 1,
            at: Timestamp(1),
            elapsed_ms: 1,
            event,
        });
        drift_text(&record).unwrap_or_default()
    }

    #[test]
    fn what_undoes_drift_is_said_of_files_units_and_kernel_settings() {
        let file = ("/etc/x", "removed");
        let unit = ("kubelet.service", "removed or masked");
        let setting = ("/proc/sys/net/ipv4/ip_forward", "0 instead of 1");
        let (restart, sysctl) = ("a restart of the agent undoes", "sysctl --system undoes");
        for (drifted, by_restart, by_sysctl) in [
            (&[file][..], true, false),
            (&[unit], true, false),
            (&[setting], false, true),
            (&[file, setting], true, true),
            (&[unit, setting], true, true),
        ] {
            let text = shown(drifted);
            let said = (text.contains(restart), text.contains(sysctl));
            assert_eq!(said, (by_restart, by_sysctl), "{text}");
        }
        assert_eq!(shown(&[]), "");
    }
}
