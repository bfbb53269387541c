//! Who may depend on whom. The table is the rule; a crate without a row is a finding.

use crate::workspace::{Dependency, Package};

/// What a crate may use besides our own crates.
#[derive(Debug)]
enum Theirs {
    /// These and no others.
    Only(&'static [&'static str]),
    /// Anything: the crate does not ship and nothing that ships uses it.
    Any,
}

/// Whether a crate must be tested without compiling the effects.
#[derive(Debug, PartialEq, Eq)]
enum Purity {
    /// Its tests, too, never compile an AWS SDK.
    Pure,
    /// It is an effect, or wires them.
    Effects,
}

/// What one crate may depend on.
#[derive(Debug)]
struct Row {
    package: &'static str,
    ours: &'static [&'static str],
    theirs: Theirs,
    purity: Purity,
}

const ROWS: &[Row] = &[
    Row {
        package: "quake-model",
        ours: &[],
        theirs: Theirs::Only(&["serde", "serde_json", "thiserror"]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-formats",
        ours: &["quake-model"],
        theirs: Theirs::Only(&["base64", "serde-saphyr", "serde_json", "toml", "x509-cert"]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-volumes",
        ours: &["quake-formats", "quake-model"],
        theirs: Theirs::Only(&[
            "jiff",
            "serde",
            "serde_json",
            "sha2",
            "thiserror",
            "uuid",
            "x509-cert",
        ]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-plan",
        ours: &["quake-formats", "quake-model", "quake-volumes"],
        theirs: Theirs::Only(&[
            "base64",
            "flate2",
            "serde",
            "serde_json",
            "sha1",
            "sha2",
            "thiserror",
            "x509-cert",
        ]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-engine",
        ours: &[
            "quake-formats",
            "quake-model",
            "quake-plan",
            "quake-volumes",
        ],
        theirs: Theirs::Only(&[
            "futures-util",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tracing",
        ]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-keys",
        ours: &["quake-model"],
        theirs: Theirs::Only(&["aws-lc-rs", "base64"]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-tree",
        ours: &["quake-model"],
        theirs: Theirs::Only(&["nix"]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-apisim",
        ours: &["quake-model"],
        theirs: Theirs::Only(&["serde_json"]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-testkit",
        // The simulated kops-controller reads what it is asked, and writes certificates, by the rules of the plan.
        ours: &[
            "quake-apisim",
            "quake-model",
            "quake-plan",
            "quake-engine",
            "quake-keys",
        ],
        theirs: Theirs::Only(&["base64", "serde", "serde_json", "sha1", "sha2", "tokio"]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-http",
        ours: &["quake-model"],
        theirs: Theirs::Only(&[
            "base64",
            "bytes",
            "hickory-resolver",
            "http",
            "http-body",
            "http-body-util",
            "hyper",
            "hyper-rustls",
            "hyper-util",
            "percent-encoding",
            "rustls",
            "rustls-native-certs",
            "tokio",
            // The certificate of a peer that is looked at, and what it says; the client has the first through hyper-rustls.
            "tokio-rustls",
            "tower-service",
            "url",
            "x509-cert",
        ]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-assets",
        ours: &["quake-http", "quake-model", "quake-tree"],
        theirs: Theirs::Only(&[
            "blake3",
            "bytes",
            "futures-util",
            "flate2",
            "liblzma",
            "nix",
            // Reads that do not wait, which tell what is in memory; the bus brings it along anyway.
            "rustix",
            "serde",
            "serde_json",
            "sha1",
            "sha2",
            "tar",
            "thiserror",
            "tokio",
            "tracing",
            "zstd",
        ]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-host",
        ours: &["quake-http", "quake-keys", "quake-model", "quake-tree"],
        theirs: Theirs::Only(&[
            "aws-config",
            "aws-credential-types",
            // Encrypts a bundle to those who may read it; TLS brings it along anyway.
            "aws-lc-rs",
            "aws-sdk-autoscaling",
            "aws-sdk-ec2",
            "aws-sdk-route53",
            "aws-sdk-s3",
            "aws-sigv4",
            "aws-smithy-runtime-api",
            "aws-smithy-types",
            "base64",
            "flate2",
            "futures-util",
            "http",
            "http-body-util",
            "jiff",
            // The version of the types that kube is generated for: docs/adr/0020.
            "k8s-openapi",
            "kube",
            "nix",
            "rtnetlink",
            "serde",
            "serde_json",
            "sha2",
            "tar",
            "thiserror",
            "tokio",
            "tower-service",
            "tracing",
            "zbus",
            "zstd",
        ]),
        purity: Purity::Effects,
    },
    Row {
        package: "quake-agent",
        // The simulated region lives in the testkit, and `rehearse` ships it: docs/adr/0004.
        ours: &[
            "quake-formats",
            "quake-model",
            "quake-plan",
            "quake-engine",
            "quake-assets",
            "quake-http",
            "quake-host",
            "quake-testkit",
            "quake-tree",
            "quake-volumes",
        ],
        theirs: Theirs::Only(&[
            "anstream",
            "axum",
            "clap",
            "clap_complete",
            "clap_mangen",
            "hyper",
            "hyper-util",
            "indicatif",
            "rustix",
            "sd-notify",
            "serde",
            "serde_json",
            "sha2",
            "similar",
            "strsim",
            "tokio",
            "tower-service",
            "tracing-subscriber",
        ]),
        purity: Purity::Effects,
    },
    Row {
        package: "quake-bench",
        ours: &["quake-model", "quake-volumes"],
        theirs: Theirs::Any,
        purity: Purity::Pure,
    },
    Row {
        package: "quake-integration",
        ours: &["quake-apisim", "quake-model"],
        theirs: Theirs::Any,
        purity: Purity::Effects,
    },
    Row {
        // It does not ship, and is pure so that every push can afford it.
        package: "quake-proof",
        ours: &["quake-model", "quake-volumes"],
        theirs: Theirs::Only(&[]),
        purity: Purity::Pure,
    },
    Row {
        package: "xtask",
        ours: &["quake-model", "quake-plan"],
        theirs: Theirs::Only(&["serde", "serde_json", "thiserror"]),
        purity: Purity::Effects,
    },
];

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
            "quake-plan",
            &[("proptest", Some("dev")), ("aws-sdk-ec2", Some("dev"))],
        );
        let expected = "quake-plan may not depend on aws-sdk-ec2 (dev dependency)";
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
