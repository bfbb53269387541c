//! Which part of the API a path is.

use crate::failure::Failure;
use crate::kinds::Kind;

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// `/version`.
    Version,
    /// `/healthz`, `/livez`, `/readyz`.
    Health,
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/<group>`.
    Group(String),
    /// The kinds of a version of a group.
    Kinds(String, String),
    Objects(Target),
}

/// Objects, or one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    /// Empty for the object itself.
    pub(crate) subresource: String,
}

impl Target {
    pub(crate) fn key(&self) -> (String, String) {
        let namespace = self.namespace.clone().unwrap_or_default();
        (namespace, self.name.clone().unwrap_or_default())
    }
}

pub(crate) fn place(kinds: &[Kind], path: &str) -> Result<Place, Failure> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (group, version, rest) = match parts.as_slice() {
        ["version"] => return Ok(Place::Version),
        ["healthz" | "livez" | "readyz", ..] => return Ok(Place::Health),
        ["api"] => return Ok(Place::CoreVersions),
        ["apis"] => return Ok(Place::Groups),
        ["apis", group] => return Ok(Place::Group((*group).to_owned())),
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return Err(Failure::unknown_path()),
    };
    if rest.is_empty() {
        return Ok(Place::Kinds(group.to_owned(), version.to_owned()));
    }
    let kind_of = |plural: &str| {
        let mut kinds = kinds.iter();
        kinds
            .find(|kind| kind.group == group && kind.version == version && kind.plural == plural)
            .cloned()
            .ok_or_else(Failure::unknown_path)
    };
    let owned = |text: &str| Some(text.to_owned());
    let (plural, namespace, name, subresource) = match rest {
        ["namespaces", namespace, plural, more @ ..]
            if !matches!(*plural, "status" | "finalize") =>
        {
            let name = more.first().and_then(|name| owned(name));
            (*plural, owned(namespace), name, more.get(1))
        }
        [plural, more @ ..] => {
            let name = more.first().and_then(|name| owned(name));
            (*plural, None, name, more.get(1))
        }
        [] => return Err(Failure::unknown_path()),
    };
    let kind = kind_of(plural)?;
    let is_right = kind.namespaced || namespace.is_none();
    let subresource = subresource.copied().unwrap_or_default();
    let is_known = subresource.is_empty() || (subresource == "status" && kind.has_status);
    // One object of a kind that is in namespaces cannot be named without.
    let is_whole = !(kind.namespaced && namespace.is_none() && name.is_some());
    if !(is_right && is_known && is_whole) {
        return Err(Failure::unknown_path());
    }
    Ok(Place::Objects(Target {
        kind,
        namespace,
        name,
        subresource: subresource.to_owned(),
    }))
}
