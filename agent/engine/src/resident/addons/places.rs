//! Kinds that every API server serves alike, so that nobody need be asked for them.

use quake_model::cluster_object::{ObjectKind, ObjectPlace, ServedKind};

/// How nodes are asked for.
pub(super) fn nodes() -> ServedKind {
    ServedKind {
        kind: ObjectKind::from_version("v1", "Node"),
        plural: "nodes".to_owned(),
        namespaced: false,
    }
}

/// How namespaces are asked for.
pub(super) fn namespaces() -> ServedKind {
    ServedKind {
        kind: ObjectKind::from_version("v1", "Namespace"),
        plural: "namespaces".to_owned(),
        namespaced: false,
    }
}

pub(super) fn namespace_place(name: &str) -> ObjectPlace {
    ObjectPlace {
        served: namespaces(),
        namespace: None,
        name: name.to_owned(),
    }
}
