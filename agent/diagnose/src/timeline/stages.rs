//! cloud-init's stages, as it tells of them itself.

use serde::Deserialize;
use std::collections::BTreeMap;

/// cloud-init's stages and the units that run them; of the second the name changed with version 24.3.
pub(super) const STAGES: [(&str, &[&str]); 4] = [
    ("init-local", &["cloud-init-local.service"]),
    (
        "init",
        &["cloud-init-network.service", "cloud-init.service"],
    ),
    ("modules-config", &["cloud-config.service"]),
    ("modules-final", &["cloud-final.service"]),
];

/// A stage as cloud-init tells of it; seconds of the wall clock, zero or null until there is one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Stage {
    pub(super) start: Option<f64>,
    pub(super) finished: Option<f64>,
}

/// Reads `status.json` (cloud-init, "Failure states" and `cloud-init status`, as of 25.2): `v1` with an object for each stage
/// beside other things.
pub(super) fn stages(text: &str) -> Result<BTreeMap<String, Stage>, String> {
    let whole: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| format!("its status.json does not read: {error}"))?;
    let stage = |name: &str| serde_json::from_value(whole["v1"][name].clone()).ok();
    let found = STAGES.iter();
    Ok(found
        .filter_map(|(name, _)| Some(((*name).to_owned(), stage(name)?)))
        .collect())
}
