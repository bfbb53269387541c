//! Names in Route 53: hosted zones, the address records in them, and how records are changed.
//!
//! Only address records (type `A`) are spoken of: the agent publishes nothing else.

use crate::fault::Code;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// How an operator names a hosted zone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by", content = "value")]
pub enum ZoneReference {
    /// By its id, without `/hostedzone/`.
    Id(String),
    /// By its name, without the dot at its end.
    Name(String),
}

impl FromStr for ZoneReference {
    type Err = Infallible;

    /// Reads `Z1D633PJN98FT9`, `/hostedzone/Z1D633PJN98FT9` and `example.com`. What has a dot is a name, as kops reads its
    /// `dnsZone` (`nodeup/pkg/model/protokube.go`, release-1.15).
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let text = text.trim();
        Ok(if text.contains('.') {
            Self::Name(text.trim_end_matches('.').to_ascii_lowercase())
        } else {
            Self::Id(bare_zone_id(text).to_owned())
        })
    }
}

impl fmt::Display for ZoneReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(text) | Self::Name(text) => f.write_str(text),
        }
    }
}

/// A zone's id without the path that Route 53 puts before it.
pub fn bare_zone_id(id: &str) -> &str {
    id.trim_start_matches('/').trim_start_matches("hostedzone/")
}

words! {
    /// Who can resolve the names of a zone.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    ZoneKind {
        Public = "public",
        /// The VPCs that it is associated with.
        Private = "private",
    }
}

/// A hosted zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneFacts {
    /// Its id, without `/hostedzone/`.
    pub id: String,
    /// Its name, in lower case and without the dot at its end.
    pub name: String,
    /// Who can resolve its names.
    pub kind: ZoneKind,
    /// The VPCs that it is associated with; empty where that was not told, as in lists of zones.
    pub vpcs: Vec<String>,
}

/// The addresses of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddressRecord {
    /// The name, in lower case and without the dot at its end.
    pub name: String,
    /// How long a resolver may keep the answer, in seconds.
    #[serde(alias = "ttl_seconds")]
    pub ttl_seconds: u32,
    pub addresses: BTreeSet<String>,
    /// What Route 53 decides by beside the name: an alias, or a routing policy. `None` for a plain record, the only kind that
    /// is changed.
    #[serde(alias = "steered_by")]
    pub steered_by: Option<String>,
}

impl AddressRecord {
    /// A plain record.
    pub fn plain(
        name: &str,
        ttl_seconds: u32,
        addresses: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            ttl_seconds,
            addresses: addresses.into_iter().collect(),
            steered_by: None,
        }
    }
}

/// What is done with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeVerb {
    /// It is made, and must not be there.
    Create,
    /// It is removed, and must be there exactly as given: name, time to live and all addresses.
    Delete,
    /// It is made or replaced, whatever is there.
    Upsert,
}

/// One change of a batch. A batch is done whole or not at all (Route 53 API reference, `ChangeResourceRecordSets`, read 2026-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordChange {
    pub verb: ChangeVerb,
    pub record: AddressRecord,
}

/// How far a batch has come to Route 53's name servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeProgress {
    /// Some still answer as before.
    Pending,
    InSync,
}

/// The names that a node is to publish in a zone, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    pub zone: ZoneReference,
    /// Who is to resolve the names, where the operator says so; it tells zones of one name apart.
    pub kind: Option<ZoneKind>,
    /// The cluster whose living control planes may share names.
    pub cluster: String,
    pub address: String,
    /// Names that are this node's alone.
    pub own: BTreeSet<String>,
    /// A name that all control planes share.
    pub shared: Option<String>,
}

impl Publication {
    /// All its names.
    pub fn names(&self) -> BTreeSet<String> {
        self.own.iter().chain(&self.shared).cloned().collect()
    }
}

/// Whether a fault of this code may keep a node that runs from looking after its names; it is over once they can be looked at.
pub(crate) fn keeps_from_names(code: Code) -> bool {
    let is_of_the_cloud = matches!(
        code,
        Code::StorageDescribeDenied
            | Code::StorageCloudUnreachable
            | Code::IdentityDescribeDenied
            | Code::IdentityInstanceUnknown
            | Code::IdentityClockSkew
    );
    code.area() == "dns" || is_of_the_cloud
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_named_by_its_id_or_its_name() {
        for (text, wanted) in [
            ("Z1D633PJN98FT9", ZoneReference::Id("Z1D633PJN98FT9".into())),
            ("/hostedzone/Z1", ZoneReference::Id("Z1".into())),
            ("hostedzone/Z1", ZoneReference::Id("Z1".into())),
            ("Example.com.", ZoneReference::Name("example.com".into())),
        ] {
            assert_eq!(text.parse(), Ok(wanted), "{text}");
        }
    }
}
