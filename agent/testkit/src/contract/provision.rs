//! What every host must keep of the distribution's own programs.

use super::{Broken, hold, sound};
use quake_model::item::{Package, User};
use quake_model::ports::{Condition, PortError, Provision};

/// What a machine has, for the contract to be tried on.
#[derive(Debug, Clone, Copy)]
pub struct Provisioned<'a> {
    /// A package that is not installed, and that a source has.
    pub package: &'a str,
    /// A package that no source has.
    pub unknown: &'a str,
    /// A path where something stands.
    pub there: &'a str,
    /// A user that is not there, and whose number is nobody's.
    pub user: &'a User,
    pub succeeds: &'a str,
    pub fails: &'a str,
}

fn condition<T>(result: Result<T, PortError>) -> Result<(), Condition> {
    result.map(|_| ()).map_err(|error| error.condition)
}

/// Packages are missing until they are installed, and one that is proven by a path never is; a user is made once; a command
/// says how it ended.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn provision<H: Provision>(host: &H, has: &Provisioned<'_>) -> Result<(), Broken> {
    packages(host, has).await?;
    users(host, has.user).await?;
    commands(host, has).await
}

async fn packages<H: Provision>(host: &H, has: &Provisioned<'_>) -> Result<(), Broken> {
    let wanted = Package::required(has.package);
    let proven = Package::required(has.unknown).proven_by([has.there]);
    let half = Package::required(has.unknown).proven_by([has.there, "/no/such/path"]);
    let requested = [wanted, proven, half];
    let missing = async || {
        sound(
            "packages are looked for",
            host.missing_packages(&requested).await,
        )
    };
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    let both = names(&[has.package, has.unknown]);
    hold("what is missing", missing().await?, both)?;
    for _ in 0..2 {
        let installed = host.install_packages(&names(&[has.package])).await;
        sound("it is installed, and once more", installed)?;
    }
    hold(
        "what is still missing",
        missing().await?,
        names(&[has.unknown]),
    )?;
    let refused = condition(host.install_packages(&names(&[has.unknown])).await);
    hold("what no source has", refused, Err(Condition::Missing))
}

async fn users<H: Provision>(host: &H, user: &User) -> Result<(), Broken> {
    sound("a user is made", host.make_user(user).await)?;
    let again = condition(host.make_user(user).await);
    hold("and not twice", again, Err(Condition::Occupied))?;
    let other = User {
        name: format!("{}-other", user.name),
        ..user.clone()
    };
    let taken = condition(host.make_user(&other).await);
    hold("nor with its number", taken, Err(Condition::Occupied))
}

async fn commands<H: Provision>(host: &H, has: &Provisioned<'_>) -> Result<(), Broken> {
    let run = async |words: &[&str]| {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        condition(host.run_command(&words).await)
    };
    hold(
        "a command that succeeds",
        run(&[has.succeeds]).await,
        Ok(()),
    )?;
    let failed = run(&[has.fails]).await;
    hold("a command that fails", failed, Err(Condition::Io))?;
    let absent = run(&["no-such-program-anywhere"]).await;
    hold(
        "a command that is not there",
        absent,
        Err(Condition::Missing),
    )?;
    hold("no command", run(&[]).await, Err(Condition::Missing))
}
