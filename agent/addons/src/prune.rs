//! What is removed because a manifest does not have it any more.

use super::channel::PruneKind;
use super::selector::LabelSelector;
use quake_model::cluster_object::{ClusterObject, ServedKind};
use quake_model::ports::ObjectQuery;

/// How the objects are asked for among which [`to_prune`] chooses: by namespace, or all at once.
///
/// None where the channel names neither labels nor fields: that would be all of a kind, other people's too. kops would
/// remove them; no channel that kops writes says so.
pub fn prune_queries(kind: &PruneKind, served: &ServedKind) -> Vec<ObjectQuery> {
    if selector(kind).is_none() {
        return Vec::new();
    }
    let query = |namespace: Option<String>| ObjectQuery {
        served: served.clone(),
        namespace,
        labels: kind.labels.clone(),
        fields: kind.fields.clone(),
    };
    if kind.namespaces.is_empty() || !served.namespaced {
        return vec![query(None)];
    }
    let namespaces = kind.namespaces.iter().cloned();
    namespaces.map(|namespace| query(Some(namespace))).collect()
}

/// The selector of a rule that says which objects it means.
fn selector(kind: &PruneKind) -> Option<LabelSelector> {
    let selector = LabelSelector::read(&kind.labels)?;
    let is_meant = !selector.selects_all() || !kind.fields.is_empty();
    is_meant.then_some(selector)
}

/// Which of the objects `listed` are removed: those of the rule's kind, namespaces and labels that are not in `keep`, the
/// manifest's objects. What is being deleted is left to it.
///
/// The server's choice is not believed: an object without the selector's labels is never removed. Fields are the server's
/// alone to judge. An object of the manifest that names no namespace keeps its name in all of them.
pub fn to_prune<'a>(
    kind: &PruneKind,
    listed: &'a [ClusterObject],
    keep: &[ClusterObject],
) -> Vec<&'a ClusterObject> {
    let Some(selector) = selector(kind) else {
        return Vec::new();
    };
    let is_of_kind = |object: &ClusterObject| {
        let of = object.kind();
        of.group == kind.group && of.kind == kind.kind
    };
    let is_in_reach = |object: &ClusterObject| {
        let namespace = object.namespace();
        kind.namespaces.is_empty()
            || namespace.is_none_or(|name| kind.namespaces.iter().any(|one| one == name))
    };
    let kept: Vec<&ClusterObject> = keep.iter().filter(|object| is_of_kind(object)).collect();
    let is_kept = |object: &ClusterObject| {
        kept.iter().any(|kept| {
            let is_there = kept.namespace().is_none() || kept.namespace() == object.namespace();
            kept.name() == object.name() && is_there
        })
    };
    let goes = |object: &&ClusterObject| {
        is_of_kind(object)
            && is_in_reach(object)
            && selector.selects(&object.labels())
            && object.at("/metadata/deletionTimestamp").is_none()
            && !is_kept(object)
    };
    listed.iter().filter(goes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::cluster_object::ObjectKind;
    use serde_json::json;

    const LABELS: &str = "addon.kops.k8s.io/name=calico,app.kubernetes.io/managed-by=kops";

    fn rule(kind: &str, namespaces: &[&str]) -> PruneKind {
        PruneKind {
            group: "apps".to_owned(),
            kind: kind.to_owned(),
            namespaces: namespaces.iter().map(|name| str::to_owned(name)).collect(),
            labels: LABELS.to_owned(),
            fields: String::new(),
        }
    }

    fn object(kind: &str, namespace: &str, name: &str, addon: &str) -> ClusterObject {
        let mut metadata = json!({
            "name": name,
            "labels": {"addon.kops.k8s.io/name": addon, "app.kubernetes.io/managed-by": "kops"},
        });
        if !namespace.is_empty() {
            metadata["namespace"] = namespace.into();
        }
        let value = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata});
        ClusterObject::new(value).expect("an object")
    }

    fn names<'a>(objects: &[&'a ClusterObject]) -> Vec<&'a str> {
        objects.iter().map(|object| object.name()).collect()
    }

    #[test]
    fn only_what_the_rule_means_and_the_manifest_lacks_is_removed() {
        let listed = [
            object("Deployment", "kube-system", "kept", "calico"),
            object("Deployment", "kube-system", "gone", "calico"),
            object("Deployment", "kube-system", "of-another-add-on", "cilium"),
            object("Deployment", "default", "in-another-namespace", "calico"),
            object("DaemonSet", "kube-system", "of-another-kind", "calico"),
        ];
        let keep = [
            object("Deployment", "kube-system", "kept", "calico"),
            object("DaemonSet", "kube-system", "gone", "calico"),
        ];
        let rule = rule("Deployment", &["kube-system"]);
        assert_eq!(names(&to_prune(&rule, &listed, &keep)), ["gone"]);
    }

    #[test]
    fn without_namespaces_the_rule_means_all() {
        let listed = [
            object("Deployment", "kube-system", "a", "calico"),
            object("Deployment", "default", "b", "calico"),
        ];
        assert_eq!(
            names(&to_prune(&rule("Deployment", &[]), &listed, &[])),
            ["a", "b"]
        );
    }

    #[test]
    fn an_object_that_names_no_namespace_keeps_its_name_in_all() {
        let listed = [object("Deployment", "kube-system", "a", "calico")];
        let keep = [object("Deployment", "", "a", "calico")];
        assert!(to_prune(&rule("Deployment", &[]), &listed, &keep).is_empty());
    }

    #[test]
    fn namespaces_and_definitions_go_only_when_they_are_named() {
        let definition = object("CustomResourceDefinition", "", "a", "calico");
        let namespace = object("Namespace", "", "a", "calico");
        let listed = [definition, namespace];
        assert!(to_prune(&rule("Deployment", &[]), &listed, &[]).is_empty());
        assert_eq!(to_prune(&rule("Namespace", &[]), &listed, &[]).len(), 1);
    }

    #[test]
    fn what_is_being_deleted_is_left_to_it() {
        let mut going = object("Deployment", "kube-system", "a", "calico")
            .value()
            .clone();
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        let listed = [ClusterObject::new(going).expect("an object")];
        assert!(to_prune(&rule("Deployment", &[]), &listed, &[]).is_empty());
    }

    #[test]
    fn a_rule_that_means_everything_means_nothing() {
        let listed = [object("Deployment", "kube-system", "a", "calico")];
        let served = ServedKind {
            kind: ObjectKind::from_version("apps/v1", "Deployment"),
            plural: "deployments".to_owned(),
            namespaced: true,
        };
        for labels in ["", "a in"] {
            let rule = PruneKind {
                labels: labels.to_owned(),
                ..rule("Deployment", &["kube-system"])
            };
            assert!(to_prune(&rule, &listed, &[]).is_empty());
            assert!(prune_queries(&rule, &served).is_empty());
        }
        let requested = prune_queries(&rule("Deployment", &["a", "b"]), &served);
        let requested: Vec<_> = requested
            .iter()
            .map(|query| query.namespace.as_deref())
            .collect();
        assert_eq!(requested, [Some("a"), Some("b")]);
    }
}
