//! Objects of the cluster that a program asks for and that are not there.

use crate::log_lines::{is_plain_name, unescaped};

/// An object by its resource and name, as the API server names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing {
    resource: String,
    name: String,
}

impl Missing {
    pub(super) fn summary(&self, program: &str) -> String {
        let Self { resource, name } = self;
        format!("{program} asks for the {resource} \"{name}\", which does not exist")
    }

    pub(super) fn fix(&self) -> String {
        let Self { resource, name } = self;
        format!(
            "kubectl get {resource} -A shows those that exist; create {name} as the others are, or correct the name where the program is configured"
        )
    }
}

/// What comes and goes: that it is not found is no fault.
const PASSING: &[&str] = &[
    "leases.",
    "events.",
    "endpointslices.",
    "csinodes.",
    "replicasets.",
    "volumeattachments.",
    "certificatesigningrequests.",
];

/// The object that a line says is not found: `ENIConfig.crd.k8s.amazonaws.com "us-east-1a" not found` (k8s.io/apimachinery
/// `pkg/api/errors/errors.go`, `NewNotFound`). Resources without a group are those of nodes and pods, which come and go.
pub(super) fn missing(line: &str) -> Option<Missing> {
    let line = unescaped(line);
    let (before, _) = line.rsplit_once("\" not found")?;
    let (before, name) = before.rsplit_once(" \"")?;
    let resource = before
        .rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-')
        .next()?;
    let is_of_group = resource.split('.').count() >= 3 && !resource.starts_with('.');
    let comes_and_goes = PASSING.iter().any(|kind| resource.starts_with(kind));
    (is_of_group && !comes_and_goes && is_plain_name(name)).then(|| Missing {
        resource: resource.to_owned(),
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_known_by_its_group_and_name() {
        let line = r#"{"level":"error","msg":"error while retrieving it: FooConfig.crd.example.com \"us-1c\" not found"}"#;
        let found = missing(line).expect("it names one");
        assert_eq!(
            (found.resource.as_str(), found.name.as_str()),
            ("FooConfig.crd.example.com", "us-1c")
        );
        assert!(
            found
                .summary("x")
                .contains("FooConfig.crd.example.com \"us-1c\"")
        );
        for other in [
            "nodes \"i-0\" not found",
            "leases.coordination.k8s.io \"i-0\" not found",
            "the page was not found",
            "FooConfig.crd.example.com \"$(reboot)\" not found",
        ] {
            assert_eq!(missing(other), None, "{other}");
        }
    }
}
