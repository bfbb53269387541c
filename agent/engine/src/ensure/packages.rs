//! Holds packages of the distribution, and where some of them come from.

use crate::context::Context;
use crate::ensure::files::look;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::item::{Package, PackageSource};
use quake_model::outcome::Outcome;
use quake_model::ports::{Files, Meter, Provision};
use quake_model::step::{Need, Step};
use quake_node::packages::{keyring_file, source_file, trusts};
use std::time::Duration;

/// How long packages may take, the lock of another included. A guess: unattended upgrades hold it for minutes.
const DEADLINE: Duration = Duration::from_secs(15 * 60);

pub(crate) async fn installed<H: Provision + Files + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    sources: &[PackageSource],
    packages: &[Package],
) -> Result<Outcome, Fault> {
    let wait = context.wait(step.phase, &step.id, DEADLINE).watching();
    let untrusted = untrusted(context, sources).await?;
    let missing = context.retry(&wait, || missing(context, packages)).await?;
    if missing.is_empty() && untrusted.is_empty() {
        return Ok(Outcome::Unchanged);
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    for source in untrusted {
        let fetch = || trusted(context, source);
        context.retry(&wait, fetch).await?;
    }
    if missing.is_empty() {
        return Ok(Outcome::Changed);
    }
    let install = || async {
        let installed = context.host.install_packages(&missing).await;
        installed.map_err(|error| {
            let fault = to_fault(Operation::InstallPackages, error);
            fault.seen("packages", missing.join(" "))
        })
    };
    let installed = context.retry(&wait, install).await;
    let still = self::missing(context, packages).await?;
    judged(context, packages, &still, installed)
}

/// What came of an installation: only what the node needs ends a boot.
fn judged<H>(
    context: &Context<'_, H>,
    packages: &[Package],
    still: &[String],
    installed: Result<(), Fault>,
) -> Result<Outcome, Fault> {
    if still.is_empty() {
        return Ok(Outcome::Changed);
    }
    let is_needed = |name: &String| {
        packages
            .iter()
            .any(|package| package.name == *name && package.need == Need::Required)
    };
    let fault = installed.err().unwrap_or_else(|| {
        let summary = format!(
            "{} are not there after their installation",
            still.join(", ")
        );
        Fault::new(Code::AssetsPackagesFailed, summary)
    });
    if fault.code == Code::BootInterrupted || still.iter().any(is_needed) {
        return Err(fault);
    }
    let fault = fault.seen("missing", still.join(" "));
    context.emitter.emit(Event::Warning { fault });
    Ok(Outcome::Changed)
}

async fn missing<H: Provision>(
    context: &Context<'_, H>,
    packages: &[Package],
) -> Result<Vec<String>, Fault> {
    let missing = context.host.missing_packages(packages).await;
    missing.map_err(|error| to_fault(Operation::InstallPackages, error))
}

/// Sources that are not there as wanted, or whose key is another than the one that was trusted first.
async fn untrusted<'a, H: Files>(
    context: &Context<'_, H>,
    sources: &'a [PackageSource],
) -> Result<Vec<&'a PackageSource>, Fault> {
    let mut found = Vec::new();
    for source in sources {
        let contents = async |path: String| -> Result<Option<Vec<u8>>, Fault> {
            Ok(look(context, &path).await?.and_then(|found| found.contents))
        };
        let list = contents(source_file(source, b"").path).await?;
        let keyring = contents(keyring_file(source, b"").path).await?;
        if !trusts(source, list.as_deref(), keyring.as_deref()) {
            found.push(source);
        }
    }
    Ok(found)
}

/// Fetches the key of a source, and writes it before the list that names it.
async fn trusted<H: Provision + Files>(
    context: &Context<'_, H>,
    source: &PackageSource,
) -> Result<(), Fault> {
    let fetched = context.host.fetch_keyring(&source.keyring_url).await;
    let keyring = fetched.map_err(|error| {
        let fault = to_fault(Operation::FetchKeyring, error);
        fault.seen("url", &source.keyring_url)
    })?;
    for file in [
        keyring_file(source, &keyring),
        source_file(source, &keyring),
    ] {
        let written = context.host.write_file(&file).await;
        written.map_err(|error| to_fault(Operation::UseFile, error).seen("path", &file.path))?;
    }
    Ok(())
}
