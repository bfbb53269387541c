//! Whether the clock is kept in step: by what chrony says, else what systemd says (org.freedesktop.timedate1(5), which
//! asks the kernel).

use crate::linux::{Abandon, Program};
use quake_model::facts::ClockFacts;
use quake_model::ports::{Condition, PortError};
use std::path::Path;
use std::time::Duration;
use zbus::Connection;
use zbus::{OwnedVariant, Variant};

const CHRONY: Program = Program {
    name: "chronyc",
    package: "chrony",
    deadline: Duration::from_secs(1),
    abandon: Abandon::Kill,
};
/// Which systemd-timesyncd makes once it is in step (systemd-timesyncd.service(8)).
const IN_STEP: &str = "/run/systemd/timesync/synchronized";

/// Whether the clock is in step, and how far off it is where that is known.
///
/// # Errors
///
/// `Missing` when nothing here knows; `Unreachable` when systemd does not answer.
pub async fn read_clock() -> Result<ClockFacts, PortError> {
    if let Ok(output) = CHRONY.run(&["-c", "tracking"]).await
        && output.status.success()
        && let Some(facts) = tracking(&String::from_utf8_lossy(&output.stdout))
    {
        return Ok(facts);
    }
    let synchronized = Path::new(IN_STEP).exists() || by_systemd().await?;
    Ok(ClockFacts {
        synchronized,
        offset_us: None,
        max_error_us: None,
        ahead_of_server_ms: None,
    })
}

/// Reads the line of `chronyc -c tracking` (chronyc(1)): how far off the clock is now, the delay and the dispersion of
/// its source's root, all in seconds, and last whether it is in step.
fn tracking(text: &str) -> Option<ClockFacts> {
    let words: Vec<&str> = text.trim().split(',').collect();
    let micros = |index: usize| Some((words.get(index)?.parse::<f64>().ok()? * 1e6).round() as i64);
    // chronyc prints how far the clock is behind.
    let offset = -micros(4)?;
    let most = offset.abs() + micros(10)? / 2 + micros(11)?;
    Some(ClockFacts {
        synchronized: words.get(13)?.trim() != "Not synchronised",
        offset_us: Some(offset),
        max_error_us: Some(most),
        ahead_of_server_ms: None,
    })
}

async fn by_systemd() -> Result<bool, PortError> {
    const NAME: &str = "org.freedesktop.timedate1";
    const PATH: &str = "/org/freedesktop/timedate1";
    let unreachable = |error: zbus::Error| {
        PortError::new(
            Condition::Unreachable,
            "ask systemd-timedated whether the clock is in step",
        )
        .because(&error)
    };
    let connection = Connection::system().await.map_err(unreachable)?;
    let properties = Some("org.freedesktop.DBus.Properties");
    let requested = &(NAME, "NTPSynchronized");
    let answer = connection
        .call_method(Some(NAME), PATH, properties, "Get", requested)
        .await;
    let value: OwnedVariant = answer
        .and_then(|answer| answer.body().deserialize())
        .map_err(unreachable)?;
    Ok(matches!(&*value, Variant::Bool(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chrony_says_is_read() {
        let line = "A9FEA97B,169.254.169.123,4,1795314590.1,-0.000120000,0.000001,0.000004,-8.2,0.001,0.03,0.000400,0.000300,16.2,Normal\n";
        let facts = tracking(line).expect("it is a line of chronyc");
        let wanted = ClockFacts {
            synchronized: true,
            offset_us: Some(120),
            max_error_us: Some(620),
            ahead_of_server_ms: None,
        };
        assert_eq!(facts, wanted);
        let line = line.replace("Normal", "Not synchronised");
        assert!(
            !tracking(&line)
                .expect("it is a line of chronyc")
                .synchronized
        );
        assert_eq!(tracking("506 Cannot talk to daemon\n"), None);
    }
}
