//! Until when a node's certificates are valid, and who issues them anew.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The dates of a certificate that a node was issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateDates {
    /// The order's name, such as `kubelet`.
    pub name: String,
    pub ends: Timestamp,
    /// From when on the resident agent issues it anew; `None` for one that only kops-controller signs, which it does for no
    /// node that is Ready.
    #[serde(alias = "renewed_from", default)]
    pub renewed_from: Option<Timestamp>,
}

/// The one that ends first; of those that end together the first by its name.
pub fn first_to_end(certificates: &[CertificateDates]) -> Option<&CertificateDates> {
    certificates
        .iter()
        .min_by(|one, other| (one.ends, &one.name).cmp(&(other.ends, &other.name)))
}
