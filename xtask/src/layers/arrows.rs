//! Compares each crate's dependencies with the table of arrows. A crate without a row is a finding.

use super::rows::{Purity, ROWS, Row, Theirs};
use crate::workspace::{Dependency, Package};

/// One finding for each arrow that the table does not allow.
pub(super) fn check(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(findings_of).collect()
}

fn findings_of(package: &Package) -> Vec<String> {
    let Some(row) = ROWS.iter().find(|row| row.package == package.name) else {
        return vec![format!(
            "{} has no row in the table of arrows",
            package.name
        )];
    };
    let wrong = |dependency: &&Dependency| match dependency.kind.as_deref() {
        Some("dev") => row.purity == Purity::Pure && is_effect(&dependency.name),
        _ => !row.allows(&dependency.name),
    };
    package
        .dependencies
        .iter()
        .filter(wrong)
        .map(|dependency| {
            let kind = dependency.kind.as_deref().unwrap_or("normal");
            let (from, to) = (&package.name, &dependency.name);
            format!("{from} may not depend on {to} ({kind} dependency)")
        })
        .collect()
}

impl Row {
    fn allows(&self, name: &str) -> bool {
        if is_ours(name) {
            return self.ours.contains(&name);
        }
        match self.theirs {
            Theirs::Only(names) => names.contains(&name),
            Theirs::Any => true,
        }
    }
}

fn is_ours(name: &str) -> bool {
    ROWS.iter().any(|row| row.package == name)
}

/// Whether a crate brings an AWS SDK with it, whose compilation takes minutes. TLS comes with aws-lc-rs anyway.
fn is_effect(name: &str) -> bool {
    (name.starts_with("aws-") && name != "aws-lc-rs")
        || matches!(name, "quake-host" | "quake-agent")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependencies = dependencies.iter().map(|(name, kind)| Dependency {
            name: (*name).to_owned(),
            kind: kind.map(str::to_owned),
        });
        Package {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            dependencies: dependencies.collect(),
        }
    }

    #[test]
    fn an_engine_that_uses_the_host_is_found() {
        let engine = package(
            "quake-engine",
            &[("quake-model", None), ("quake-host", None)],
        );
        let expected = "quake-engine may not depend on quake-host (normal dependency)";
        assert_eq!(check(&[engine]), [expected]);
    }

    #[test]
    fn a_crate_of_others_that_is_not_listed_is_found() {
        let model = package("quake-model", &[("serde", None), ("rand", None)]);
        let expected = "quake-model may not depend on rand (normal dependency)";
        assert_eq!(check(&[model]), [expected]);
    }

    #[test]
    fn the_tests_of_a_pure_crate_may_use_tools_but_no_effects() {
        let plan = package(
            "quake-node",
            &[("proptest", Some("dev")), ("aws-sdk-ec2", Some("dev"))],
        );
        let expected = "quake-node may not depend on aws-sdk-ec2 (dev dependency)";
        assert_eq!(check(&[plan]), [expected]);
    }

    #[test]
    fn a_build_script_is_bound_by_the_same_rows() {
        let model = package("quake-model", &[("cc", Some("build"))]);
        let expected = "quake-model may not depend on cc (build dependency)";
        assert_eq!(check(&[model]), [expected]);
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        let stranger = package("quake-helpers", &[]);
        let expected = "quake-helpers has no row in the table of arrows";
        assert_eq!(check(&[stranger]), [expected]);
    }

    #[test]
    fn the_table_has_no_circle() {
        // Each crate of ours uses only crates whose row stands above its own.
        for (index, row) in ROWS.iter().enumerate() {
            for used in row.ours {
                let at = ROWS.iter().position(|other| other.package == *used);
                assert!(
                    at.is_some_and(|at| at < index),
                    "{} uses {used}",
                    row.package
                );
            }
        }
    }
}
