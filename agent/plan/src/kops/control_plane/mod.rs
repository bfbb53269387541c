//! The control plane and the API server: their keys, their pods, their kubeconfigs.

use super::Builder;

/// The group's builders.
pub(super) const BUILDERS: &[Builder] = &[];
