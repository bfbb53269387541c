//! The list of builders, and running them.

use super::{Context, base, control_plane, keys, kubelet, networking, runtime};
use quake_model::fault::Fault;
use quake_model::item::Item;
use quake_model::spec::Role;

/// One concern of a node.
#[derive(Debug, Clone, Copy)]
pub struct Builder {
    /// Its name, which is its file's.
    pub name: &'static str,
    /// Yields what the node is to have for it; nothing where it does not concern this node.
    pub build: fn(&Context<'_>) -> Result<Vec<Item>, Fault>,
}

/// The list of a group, from the names of its modules.
macro_rules! group {
    ($($module:ident),+ $(,)?) => {
        &[$($crate::builders::Builder {
            name: stringify!($module),
            build: $module::build,
        }),+]
    };
}
pub(super) use group;

/// What one builder yielded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    pub builder: &'static str,
    pub items: Vec<Item>,
}

/// All builders, group by group. Their order means nothing.
pub fn builders() -> impl Iterator<Item = &'static Builder> {
    [
        base::BUILDERS,
        runtime::BUILDERS,
        kubelet::BUILDERS,
        keys::BUILDERS,
        control_plane::BUILDERS,
        networking::BUILDERS,
    ]
    .into_iter()
    .flatten()
}

/// What the node is to have, builder by builder. A bastion is to have nothing.
///
/// # Errors
///
/// The first fault of a builder, in the order of the list.
pub fn build(context: &Context<'_>) -> Result<Vec<Built>, Fault> {
    if context.boot.role == Role::Bastion {
        return Ok(Vec::new());
    }
    builders()
        .map(|builder| {
            Ok(Built {
                builder: builder.name,
                items: (builder.build)(context)?,
            })
        })
        .collect()
}
