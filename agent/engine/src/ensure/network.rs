//! Holds kernel modules and settings.

use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::Kernel;
use quake_model::step::Step;

pub(crate) async fn module<H: Kernel>(
    context: &Context<'_, H>,
    step: &Step,
    name: &str,
) -> Result<Outcome, Fault> {
    let fault = |error| to_fault(Operation::LoadModule, error).seen("module", name);
    if context.host.has_module(name).await.map_err(fault)? {
        return Ok(Outcome::Unchanged);
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    context.host.load_module(name).await.map_err(fault)?;
    Ok(Outcome::Changed)
}

pub(crate) async fn sysctl<H: Kernel>(
    context: &Context<'_, H>,
    step: &Step,
    key: &str,
    value: &str,
) -> Result<Outcome, Fault> {
    let fault = |error| to_fault(Operation::SetSysctl, error).seen("key", key);
    let read = async || context.host.read_sysctl(key).await.map_err(fault);
    let Some(found) = read().await? else {
        let summary = format!("the kernel has no setting {key}");
        return Err(Fault::new(Code::NetworkSysctlRefused, summary));
    };
    if found == value {
        return Ok(Outcome::Unchanged);
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    context.host.write_sysctl(key, value).await.map_err(fault)?;
    let now = read().await?.unwrap_or_default();
    if now == value {
        return Ok(Outcome::Changed);
    }
    let summary = format!("{key} is {now:?} after {value:?} was written");
    Err(Fault::new(Code::NetworkSysctlRefused, summary))
}
