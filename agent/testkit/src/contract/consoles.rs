//! The console output of instances.

use super::{Broken, hold, sound};
use quake_model::ports::{Condition, ConsoleAge, Consoles};

/// Consoles: an instance has output or none, its latest may be one that there never is, and one that EC2 does
/// not know is missing.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn consoles<H: Consoles>(host: &H, instance: &str) -> Result<(), Broken> {
    let kept = host.read_console(instance, ConsoleAge::Kept).await;
    sound("a console is read", kept)?;
    match host.read_console(instance, ConsoleAge::Latest).await {
        Err(error) if error.condition == Condition::Impossible => {}
        latest => drop(sound("the latest console is read", latest)?),
    }
    for age in [ConsoleAge::Latest, ConsoleAge::Kept] {
        let gone = host.read_console("i-00000000000000000", age).await;
        let gone = gone.map_err(|error| error.condition);
        hold("an unknown instance", gone, Err(Condition::Missing))?;
    }
    Ok(())
}
