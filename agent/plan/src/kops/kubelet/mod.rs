//! kubelet, its programs, its certificates and the static pods of every node.

use super::Builder;

/// The group's builders.
pub(super) const BUILDERS: &[Builder] = &[];
