//! In which order the objects of a manifest are applied, and when a definition serves its kind.

use quake_model::cluster_object::{ClusterObject, ObjectKind};
use serde_json::Value;
use std::collections::BTreeSet;

/// What must be there before what comes after it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Namespaces,
    Definitions,
    /// What workloads name or are judged by: accounts, roles, configuration, secrets, classes, policies, services.
    Environment,
    Workloads,
    /// Objects of the kinds that this manifest defines. After the workloads, for a definition may convert by one of
    /// their webhooks.
    Defined,
    /// What asks a workload about other objects. Applied earlier it would refuse all the rest until its pods run.
    Gates,
}

impl Stage {
    const ALL: [Self; 6] = [
        Self::Namespaces,
        Self::Definitions,
        Self::Environment,
        Self::Workloads,
        Self::Defined,
        Self::Gates,
    ];

    fn new(kind: &ObjectKind, defined: &BTreeSet<(String, String)>) -> Self {
        if defined.contains(&(kind.group.clone(), kind.kind.clone())) {
            return Self::Defined;
        }
        match (kind.group.as_str(), kind.kind.as_str()) {
            ("", "Namespace") => Self::Namespaces,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => Self::Definitions,
            ("", "Pod" | "ReplicationController")
            | ("apps" | "extensions", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
            | ("batch", "CronJob" | "Job") => Self::Workloads,
            ("admissionregistration.k8s.io", _) | ("apiregistration.k8s.io", "APIService") => {
                Self::Gates
            }
            _ => Self::Environment,
        }
    }
}

/// The waves in which objects are applied, as indices into `objects`: namespaces; definitions of kinds; what workloads
/// need; workloads; objects of the kinds defined here; webhooks and API services. Within a wave the order of the manifest;
/// a wave without objects is left out.
///
/// Before objects of a kind that is defined here its definition must be established: [`defined_kind`],
/// [`is_established`].
pub fn waves(objects: &[ClusterObject]) -> Vec<Vec<usize>> {
    let defined: BTreeSet<_> = objects.iter().filter_map(defined_kind).collect();
    let stages: Vec<Stage> = objects
        .iter()
        .map(|object| Stage::new(&object.kind(), &defined))
        .collect();
    let of_stage = |stage: Stage| -> Vec<usize> {
        let indices = stages.iter().enumerate();
        let indices = indices.filter(|(_, of)| **of == stage);
        indices.map(|(index, _)| index).collect()
    };
    let waves = Stage::ALL.into_iter().map(of_stage);
    waves.filter(|wave| !wave.is_empty()).collect()
}

/// The group and kind that a CustomResourceDefinition defines; `None` for any other object.
pub fn defined_kind(object: &ClusterObject) -> Option<(String, String)> {
    let kind = object.kind();
    let is_definition =
        kind.group == "apiextensions.k8s.io" && kind.kind == "CustomResourceDefinition";
    let group = object.text("/spec/group").to_owned();
    let name = object.text("/spec/names/kind").to_owned();
    (is_definition && !name.is_empty()).then_some((group, name))
}

/// Whether the API server serves the kind that a definition defines. Soon after it was made it does not say yet.
///
/// # Errors
///
/// The server's message, when its names are not accepted: then it never will.
pub fn is_established(definition: &ClusterObject) -> Result<bool, String> {
    let conditions = definition.at("/status/conditions");
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let mut is_established = false;
    for condition in conditions {
        let word = |key: &str| {
            condition
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        match (word("type"), word("status")) {
            ("Established", "True") => is_established = true,
            ("NamesAccepted", "False") => {
                let said = [word("message"), word("reason")];
                let said = said.into_iter().find(|text| !text.is_empty());
                return Err(said.unwrap_or("its names are not accepted").to_owned());
            }
            _ => {}
        }
    }
    Ok(is_established)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(api_version: &str, kind: &str, name: &str) -> ClusterObject {
        let value = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
        ClusterObject::new(value).expect("an object")
    }

    fn definition(group: &str, kind: &str) -> ClusterObject {
        let value = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("x.{group}")},
            "spec": {"group": group, "names": {"kind": kind}},
        });
        ClusterObject::new(value).expect("an object")
    }

    fn names(objects: &[ClusterObject]) -> Vec<Vec<String>> {
        let of_wave = |wave: Vec<usize>| {
            let kinds = wave.into_iter().map(|index| objects[index].kind().kind);
            kinds.collect()
        };
        waves(objects).into_iter().map(of_wave).collect()
    }

    #[test]
    fn what_is_needed_comes_first() {
        let objects = [
            object(
                "admissionregistration.k8s.io/v1",
                "ValidatingWebhookConfiguration",
                "w",
            ),
            object("crd.projectcalico.org/v1", "IPPool", "p"),
            object("apps/v1", "DaemonSet", "d"),
            object("extensions/v1beta1", "Deployment", "e"),
            object("apiregistration.k8s.io/v1", "APIService", "s"),
            object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "b"),
            object("v1", "Service", "s"),
            definition("crd.projectcalico.org", "IPPool"),
            object("v1", "ConfigMap", "c"),
            object("v1", "Namespace", "n"),
            object("other.org/v1", "IPPool", "p"),
        ];
        let wanted: [&[&str]; 6] = [
            &["Namespace"],
            &["CustomResourceDefinition"],
            &["ClusterRoleBinding", "Service", "ConfigMap", "IPPool"],
            &["DaemonSet", "Deployment"],
            &["IPPool"],
            &["ValidatingWebhookConfiguration", "APIService"],
        ];
        assert_eq!(names(&objects), wanted);
    }

    #[test]
    fn every_object_is_in_one_wave() {
        let kinds = [
            "Namespace",
            "Pod",
            "Job",
            "Secret",
            "Pod",
            "Namespace",
            "Other",
        ];
        let objects: Vec<_> = kinds.iter().map(|kind| object("v1", kind, "x")).collect();
        let mut all: Vec<usize> = waves(&objects).concat();
        all.sort_unstable();
        assert_eq!(all, (0..objects.len()).collect::<Vec<_>>());
        assert_eq!(waves(&[]), Vec::<Vec<usize>>::new());
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "literals are written where they are used"
    )]
    fn with_conditions(conditions: Value) -> ClusterObject {
        let mut value = definition("a.org", "A").value().clone();
        value["status"] = json!({"conditions": conditions});
        ClusterObject::new(value).expect("an object")
    }

    #[test]
    fn a_definition_is_established_when_the_server_says_so() {
        assert_eq!(is_established(&definition("a.org", "A")), Ok(false));
        let yes = json!([{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}]);
        assert_eq!(is_established(&with_conditions(yes)), Ok(true));
        let not_yet = json!([{"type": "Established", "status": "False", "reason": "Installing"}]);
        assert_eq!(is_established(&with_conditions(not_yet)), Ok(false));
    }

    #[test]
    fn names_that_are_taken_are_said_in_the_servers_words() {
        let message = "\"as\" is already in use";
        let taken = json!([{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "False", "message": message}]);
        assert_eq!(
            is_established(&with_conditions(taken)),
            Err(message.to_owned())
        );
    }
}
