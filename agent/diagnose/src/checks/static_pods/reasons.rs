//! What components of the control plane print when they end at their start, beside what every program prints. Wrong versions of
//! a configuration are told apart from bad syntax. Source: k8s.io/kubernetes and its staging repositories.

use quake_formats::journal::KnownLine;

pub(in crate::checks) const REASONS: &[KnownLine] = &[
    KnownLine {
        parts: &["is not within the service CIDR", "please recreate"],
        means: "the range of services was changed, and the cluster has services with addresses of the earlier one",
        fix: "put serviceClusterIPRange of the cluster spec back to the range that has the address in the line, then roll the control plane: it cannot be changed in a running cluster",
    },
    KnownLine {
        parts: &["is out the range of cluster cidr"],
        means: "the range of pods was changed, and nodes have parts of the earlier one",
        fix: "put podCIDR (nonMasqueradeCIDR) of the cluster spec back to the range that has the address in the line, or delete the Node objects that have the earlier parts and roll their groups; then roll the control plane",
    },
    KnownLine {
        parts: &[
            "createTransport failed to connect",
            "signed by unknown authority",
        ],
        means: "etcd shows a certificate of another CA than --etcd-cafile has",
        fix: "compare openssl x509 -noout -fingerprint -in /srv/kubernetes/kube-apiserver/etcd-ca.crt with etcd-clients-ca.crt in /etc/kubernetes/pki/etcd-manager-main on all control planes: one was replaced without the other; systemctl restart quake-agent.service writes them anew, then restart the pods of etcd-manager",
    },
    KnownLine {
        parts: &["encryption provider", "no kind \""],
        means: "its encryption configuration has a version or kind that this release does not know",
        fix: "write apiVersion: apiserver.config.k8s.io/v1 and kind: EncryptionConfiguration in it (kops create secret encryptionconfig -f FILE --force), then roll the control plane; the keys in it stay as they are",
    },
    KnownLine {
        parts: &["encryption provider", "yaml:"],
        means: "its encryption configuration has a syntax error",
        fix: "correct the line that it names (kops create secret encryptionconfig -f FILE --force), then roll the control plane",
    },
    KnownLine {
        parts: &["encryption provider", "strict decoding error"],
        means: "its encryption configuration has a field that this release does not know",
        fix: "correct the field that the line names (kops create secret encryptionconfig -f FILE --force), then roll the control plane",
    },
    KnownLine {
        parts: &["audit policy file", "unknown group version"],
        means: "its audit policy is of a version that this release does not know",
        fix: "write apiVersion: audit.k8s.io/v1 in the audit policy (a fileAsset of the cluster spec), then roll the control plane",
    },
    KnownLine {
        parts: &["audit policy file", "no kind \""],
        means: "its audit policy is of a version or kind that this release does not know",
        fix: "write apiVersion: audit.k8s.io/v1 and kind: Policy in the audit policy (a fileAsset of the cluster spec), then roll the control plane",
    },
    KnownLine {
        parts: &["audit policy file", "failed decoding"],
        means: "its audit policy has a syntax error or an unknown field",
        fix: "correct the audit policy (a fileAsset of the cluster spec): the line names the place; then roll the control plane",
    },
    KnownLine {
        parts: &["audit policy file", "no such file or directory"],
        means: "its audit policy is not there",
        fix: "add the file as a fileAsset of the cluster spec with the path that --audit-policy-file has, then roll the control plane",
    },
    KnownLine {
        parts: &["no kind \"", "is registered for version"],
        means: "a configuration of its has a version or kind that this release does not know",
        fix: "the line names both: write the apiVersion that the release notes of this version name in the cluster spec, then roll the group",
    },
    KnownLine {
        parts: &["private key does not match public key"],
        means: "a certificate and its key are not a pair",
        fix: "systemctl restart quake-agent.service writes both anew; compare the times of the files that the line names: one was replaced without the other",
    },
    KnownLine {
        parts: &["CipherSuites is missing an HTTP/2-required"],
        means: "its --tls-cipher-suites lack a suite that HTTP/2 demands",
        fix: "add TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 (or TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 for an ECDSA certificate) to --tls-cipher-suites: tlsCipherSuites of spec.kubeAPIServer in kops edit cluster; then roll the control plane",
    },
    KnownLine {
        parts: &["unknown flag: "],
        means: "it does not know one of its flags",
        fix: "take the flag that the line names out of its section of the cluster spec: it is gone in this version, or newer than it",
    },
    KnownLine {
        parts: &["unrecognized feature gate"],
        means: "it does not know one of its feature gates",
        fix: "take the gate that the line names out of featureGates in the cluster spec: it is gone in this version, or newer than it",
    },
    KnownLine {
        parts: &["cannot set feature gate", "feature is locked"],
        means: "a feature gate cannot be set any more",
        fix: "take the gate that the line names out of featureGates in the cluster spec",
    },
    KnownLine {
        parts: &["error converting YAML to JSON"],
        means: "a configuration file of its has a syntax error",
        fix: "correct the line that it names in the cluster spec's file, then roll the group",
    },
    KnownLine {
        parts: &["permission denied", "open /"],
        means: "it may not read a file",
        fix: "ls -l the file that the line names: it must be readable by the user that the pod runs as; systemctl restart quake-agent.service writes the mode anew",
    },
];
