//! What each pod network wants of the node itself.

use super::Builder;

/// The group's builders.
pub(super) const BUILDERS: &[Builder] = &[];
