//! Tools for people who look into the runtime; a node does without them.

use super::is_skipped;
use crate::builders::Context;
use crate::builders::context::program;
use quake_model::item::Item;

/// Places the tool called `name`, be it a pinned file or within a pinned archive; nothing where none is pinned. Where somebody
/// else installs the runtime it is placed only if `requested`, a setting of the runtime's, is true.
pub(super) fn tool(context: &Context<'_>, name: &str, requested: &str) -> Vec<Item> {
    if is_skipped(context) && !context.config.containerd.is_set(requested) {
        return Vec::new();
    }
    let found = context.assets(|other| other == name);
    let plain = found.first().map(|asset| (&asset.digest, None));
    let members = context.members(|other| other == name).unwrap_or_default();
    let member = members.first();
    let member = member.map(|(digest, name)| (*digest, Some(*name)));
    let path = format!("{}/{name}", context.distribution.operator_programs());
    let place = plain.or(member);
    let place = place.map(|(asset, member)| program(asset, member, path));
    place.into_iter().collect()
}
