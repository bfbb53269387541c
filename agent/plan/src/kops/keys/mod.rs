//! Keys, certificates and kubeconfigs of the API server, of the control plane, and of who administers the cluster.

use super::Builder;

/// The group's builders.
pub(super) const BUILDERS: &[Builder] = &[];
