//! Kinds that every API server serves alike, so that nobody need be asked for them.

use quake_model::cluster_object::{ObjectPlace, ServedKind};

/// How nodes are asked for.
pub(super) fn nodes() -> ServedKind {
    ServedKind::in_cluster("v1", "Node", "nodes")
}

/// How namespaces are asked for.
pub(super) fn namespaces() -> ServedKind {
    ServedKind::in_cluster("v1", "Namespace", "namespaces")
}

pub(super) fn namespace_place(name: &str) -> ObjectPlace {
    ObjectPlace {
        served: namespaces(),
        namespace: None,
        name: name.to_owned(),
    }
}
