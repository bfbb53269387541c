//! What an API server says that it serves, read from its discovery documents.

use quake_model::cluster_object::{ObjectKind, ServedKind};
use quake_model::ports::ServedGroup;
use serde_json::Value;

/// The core's group, from the answer at `/api`; `None` when it is none.
pub(super) fn core_group(answer: &Value) -> Option<ServedGroup> {
    let versions = answer.get("versions")?.as_array()?;
    let versions = versions.iter().filter_map(Value::as_str);
    Some(ServedGroup {
        group: String::new(),
        versions: versions.map(str::to_owned).collect(),
    })
}

/// The groups of the answer at `/apis`, each with the server's favourite version first; `None` when it is none.
pub(super) fn groups(answer: &Value) -> Option<Vec<ServedGroup>> {
    let groups = answer.get("groups")?.as_array()?;
    Some(groups.iter().filter_map(group).collect())
}

fn group(group: &Value) -> Option<ServedGroup> {
    let name = group.get("name")?.as_str()?;
    let versions = group.get("versions")?.as_array()?.iter();
    let mut versions: Vec<String> = versions
        .filter_map(|version| Some(version.get("version")?.as_str()?.to_owned()))
        .collect();
    let preferred = group.pointer("/preferredVersion/version");
    let preferred = preferred.and_then(Value::as_str).unwrap_or_default();
    // Stable: the others stay in the server's order.
    versions.sort_by_key(|version| version != preferred);
    Some(ServedGroup {
        group: name.to_owned(),
        versions,
    })
}

/// The kinds in the answer about one version of a group, without subresources; `None` when it is none.
pub(super) fn kinds(answer: &Value, group: &str, version: &str) -> Option<Vec<ServedKind>> {
    let resources = answer.get("resources")?.as_array()?.iter();
    let kinds = resources.filter_map(|resource| {
        let plural = resource.get("name")?.as_str()?;
        let kind = resource.get("kind")?.as_str()?;
        let served = ServedKind {
            kind: ObjectKind {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: kind.to_owned(),
            },
            plural: plural.to_owned(),
            namespaced: resource.get("namespaced")?.as_bool()?,
        };
        (!plural.contains('/')).then_some(served)
    });
    Some(kinds.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_favourite_version_comes_first_and_the_others_as_they_were() {
        let answer = json!({"groups": [{
            "name": "autoscaling",
            "versions": [{"version": "v1"}, {"version": "v2beta1"}, {"version": "v2"}],
            "preferredVersion": {"groupVersion": "autoscaling/v2", "version": "v2"},
        }]});
        let groups = groups(&answer).expect("it is a list");
        assert_eq!(groups[0].group, "autoscaling");
        assert_eq!(groups[0].versions, ["v2", "v1", "v2beta1"]);
    }

    #[test]
    fn subresources_are_no_kinds() {
        let answer = json!({"resources": [
            {"name": "deployments", "kind": "Deployment", "namespaced": true},
            {"name": "deployments/scale", "kind": "Scale", "group": "autoscaling", "namespaced": true},
        ]});
        let kinds = kinds(&answer, "apps", "v1").expect("it is a list");
        assert_eq!(kinds.len(), 1);
        assert_eq!(kinds[0].kind.to_string(), "Deployment.apps/v1");
    }
}
