//! Statements of policies, written from grants.

use super::{Grant, OWN_TAGS, Reach};
use serde::Serialize;
use std::collections::BTreeMap;

/// A statement of an IAM policy. Its fields are written in the order people write them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Statement {
    /// The statement's id, where the table has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sid: Option<String>,
    /// Always `Allow`.
    pub effect: &'static str,
    pub action: Vec<String>,
    /// The resources: ARNs, or `*`.
    pub resource: Vec<String>,
    /// Values by operator and key; all keys must match, each by one of its values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub condition: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

impl Statement {
    /// Allows an action that no grant covers.
    pub fn allow(action: &str, resources: Vec<String>) -> Self {
        Self {
            sid: None,
            effect: "Allow",
            action: vec![action.to_owned()],
            resource: resources,
            condition: BTreeMap::new(),
        }
    }

    fn when(mut self, operator: &str, key: &str, values: &[String]) -> Self {
        let keys = self.condition.entry(operator.to_owned()).or_default();
        keys.insert(key.to_owned(), values.to_vec());
        self
    }
}

impl Grant {
    /// The statements that allow it on `resources`, for the cluster of this name and, where names are listed,
    /// for these prefixes.
    ///
    /// What is of the cluster makes two: keys of one condition must all match, and a volume carries
    /// `KubernetesCluster=<cluster>`, `kubernetes.io/cluster/<cluster>=owned`, or both. The second's `Sid`
    /// ends in `Owned`.
    pub fn statements(
        &self,
        cluster: &str,
        resources: &[String],
        prefixes: &[String],
    ) -> Vec<Statement> {
        let plain = Statement {
            sid: Some(self.sid.to_owned()),
            effect: "Allow",
            action: self.actions.iter().map(|&action| action.into()).collect(),
            resource: resources.to_vec(),
            condition: BTreeMap::new(),
        };
        match self.reach {
            Reach::Everything
            | Reach::Objects(_)
            | Reach::Interfaces
            | Reach::Bucket
            | Reach::Zone
            | Reach::Changes => vec![plain],
            Reach::Names(_) => vec![plain.when("StringLike", "s3:prefix", prefixes)],
            Reach::Cluster(_) | Reach::Groups => of_cluster(&plain, cluster),
            Reach::OwnTags(_) => {
                let own = plain
                    .when(
                        "ForAllValues:StringLike",
                        "aws:TagKeys",
                        &[OWN_TAGS.to_owned()],
                    )
                    .when("Null", "aws:TagKeys", &["false".to_owned()]);
                of_cluster(&own, cluster)
            }
        }
    }
}

fn of_cluster(plain: &Statement, cluster: &str) -> Vec<Statement> {
    let named = "aws:ResourceTag/KubernetesCluster";
    let named = plain
        .clone()
        .when("StringEquals", named, &[cluster.to_owned()]);
    let owned = format!("aws:ResourceTag/kubernetes.io/cluster/{cluster}");
    let mut owned = plain
        .clone()
        .when("StringEquals", &owned, &["owned".to_owned()]);
    owned.sid = plain.sid.as_ref().map(|sid| format!("{sid}Owned"));
    vec![named, owned]
}
