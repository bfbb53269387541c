//! Who may depend on whom. The table is the rule.

/// What a crate may use besides our own crates.
#[derive(Debug)]
pub(super) enum Theirs {
    /// These and no others.
    Only(&'static [&'static str]),
    /// Anything: the crate does not ship and nothing that ships uses it.
    Any,
}

/// Whether a crate must be tested without compiling the effects.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Purity {
    /// Its tests, too, never compile an AWS SDK.
    Pure,
    /// It is an effect, or wires them.
    Effects,
}

/// What one crate may depend on.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) package: &'static str,
    pub(super) ours: &'static [&'static str],
    pub(super) theirs: Theirs,
    pub(super) purity: Purity,
}

/// The arrows.
pub(super) const ROWS: &[Row] = &[
    Row {
        package: "quake-model",
        ours: &[],
        theirs: Theirs::Only(&[
            "aho-corasick",
            "base64",
            "jiff",
            "percent-encoding",
            "serde",
            "serde_json",
            "thiserror",
        ]),
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
        package: "quake-addons",
        ours: &["quake-formats", "quake-model"],
        theirs: Theirs::Only(&["base64", "serde", "serde_json", "sha1", "sha2", "thiserror"]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-diagnose",
        ours: &["quake-formats", "quake-model", "quake-volumes"],
        theirs: Theirs::Only(&[
            "aho-corasick",
            "base64",
            "flate2",
            "serde",
            "serde_json",
            "x509-cert",
        ]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-node",
        ours: &["quake-formats", "quake-model", "quake-volumes"],
        theirs: Theirs::Only(&[
            "base64",
            "flate2",
            "serde",
            "serde_json",
            "sha1",
            "sha2",
            "strsim",
            "x509-cert",
        ]),
        purity: Purity::Pure,
    },
    Row {
        package: "quake-engine",
        ours: &[
            "quake-addons",
            // The fleet view is read by the engine, and so is a kubeconfig.
            "quake-diagnose",
            "quake-formats",
            "quake-model",
            "quake-node",
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
            "quake-node",
            "quake-engine",
            "quake-keys",
            // The simulated etcd refuses the snapshots that a real one refuses.
            "quake-volumes",
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
            "quake-addons",
            "quake-diagnose",
            "quake-formats",
            "quake-model",
            "quake-node",
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
            "diffy",
            "hyper",
            "hyper-util",
            "indicatif",
            "rustix",
            "sd-notify",
            "serde",
            "serde_json",
            "sha2",
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
        // It does not ship, and is pure for the same reason.
        package: "quake-simulation",
        ours: &[
            "quake-apisim",
            "quake-engine",
            "quake-model",
            "quake-node",
            "quake-testkit",
            "quake-volumes",
        ],
        theirs: Theirs::Only(&["futures-util", "mimalloc", "serde_json", "tokio"]),
        purity: Purity::Pure,
    },
    Row {
        package: "xtask",
        ours: &[],
        theirs: Theirs::Only(&["serde", "serde_json", "thiserror"]),
        purity: Purity::Effects,
    },
];
