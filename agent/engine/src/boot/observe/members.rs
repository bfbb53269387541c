//! Reads the members of archives.

use crate::boot::facts::BootFacts;
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::fault::Fault;
use quake_model::ports::{Assets, Condition};
use quake_model::spec::AssetKind;

/// Lists what is in each archive of the store, for the files that are placed from it.
pub(crate) async fn observe_members<H: Assets>(context: &Context<'_, H>) -> Result<(), Fault> {
    let spec = context.know(BootFacts::spec)?;
    for asset in spec
        .assets
        .iter()
        .filter(|asset| asset.kind == AssetKind::Archive)
    {
        let members = match context.host.list_members(&asset.digest).await {
            Ok(members) => members,
            // A plan may come before the fetch. What an archive holds is not known then, which is not nothing.
            Err(error) if context.is_planning() && error.condition == Condition::Missing => {
                continue;
            }
            Err(error) => {
                return Err(to_fault(Operation::UseStore, error).seen("asset", &asset.name));
            }
        };
        context.learn(|knowledge| {
            knowledge.members.insert(asset.digest.clone(), members);
        });
    }
    Ok(())
}
