//! Flags and admission plugins that Kubernetes' components no longer have. A component ends at once at a flag it does not know.

use super::Minor;

/// A flag, and the first minor version without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::preview) struct RemovedFlag {
    /// The component; empty for all of Kubernetes' components.
    component: &'static str,
    flag: &'static str,
    pub(in crate::preview) minor: Minor,
    pub(in crate::preview) instead: &'static str,
    /// The pull request of kubernetes/kubernetes that removed it.
    pub(in crate::preview) source: &'static str,
}

const DOCKERSHIM: &str = "https://github.com/kubernetes/kubernetes/pull/106907";
const INSECURE: &str = "https://github.com/kubernetes/kubernetes/pull/106859";
const LOGS: &str = "https://github.com/kubernetes/kubernetes/pull/112120";
const POLICY: &str = "https://github.com/kubernetes/kubernetes/pull/105424";
const SECURE: &str = "serve by --secure-port; health checks ask over HTTPS";
const REDIRECT: &str =
    "remove it; components log to standard error, and kube-log-runner writes files";
const RUNTIME: &str = "remove it; the runtime has its own configuration of CNI and images";

const fn row(
    component: &'static str,
    flag: &'static str,
    minor: Minor,
    instead: &'static str,
    source: &'static str,
) -> RemovedFlag {
    RemovedFlag {
        component,
        flag,
        minor,
        instead,
        source,
    }
}

/// By component. kops' own validation (`pkg/apis/kops/validation/validation.go`) has those of kubelet before 1.11.
const FLAGS: &[RemovedFlag] = &[
    row("kubelet", "--configure-cbr0", 5, "remove it", KOPS),
    row("kubelet", "--api-servers", 6, "use --kubeconfig", KOPS),
    row(
        "kubelet",
        "--require-kubeconfig",
        10,
        "remove it; --kubeconfig is enough",
        KOPS,
    ),
    row(
        "kubelet",
        "--cadvisor-port",
        12,
        "remove it; read /metrics/cadvisor of kubelet",
        "https://github.com/kubernetes/kubernetes/pull/65707",
    ),
    row(
        "kubelet",
        "--allow-privileged",
        15,
        "remove it; admission decides who may be privileged",
        "https://github.com/kubernetes/kubernetes/pull/77820",
    ),
    row(
        "kubelet",
        "--containerized",
        16,
        "remove it; run kubelet as a unit",
        "https://github.com/kubernetes/kubernetes/pull/80043",
    ),
    row("kubelet", "--network-plugin", 24, RUNTIME, DOCKERSHIM),
    row("kubelet", "--network-plugin-mtu", 24, RUNTIME, DOCKERSHIM),
    row("kubelet", "--cni-bin-dir", 24, RUNTIME, DOCKERSHIM),
    row("kubelet", "--cni-conf-dir", 24, RUNTIME, DOCKERSHIM),
    row("kubelet", "--cni-cache-dir", 24, RUNTIME, DOCKERSHIM),
    row("kubelet", "--docker-endpoint", 24, RUNTIME, DOCKERSHIM),
    row(
        "kubelet",
        "--image-pull-progress-deadline",
        24,
        RUNTIME,
        DOCKERSHIM,
    ),
    row(
        "kubelet",
        "--experimental-dockershim-root-directory",
        24,
        RUNTIME,
        DOCKERSHIM,
    ),
    row(
        "kubelet",
        "--container-runtime",
        27,
        "remove it; `remote` is all that is left",
        "https://github.com/kubernetes/kubernetes/pull/114017",
    ),
    row(
        "kubelet",
        "--keep-terminated-pod-volumes",
        31,
        "remove it",
        "https://github.com/kubernetes/kubernetes/pull/122082",
    ),
    row(
        "kubelet",
        "--pod-infra-container-image",
        35,
        "set containerd's sandboxImage instead",
        "https://github.com/kubernetes/kubernetes/pull/133779",
    ),
    row(
        "kube-apiserver",
        "--basic-auth-file",
        19,
        "use OIDC, client certificates or service accounts",
        "https://github.com/kubernetes/kubernetes/pull/89069",
    ),
    row("kube-apiserver", "--address", 24, SECURE, INSECURE),
    row("kube-apiserver", "--port", 24, SECURE, INSECURE),
    row(
        "kube-apiserver",
        "--insecure-bind-address",
        24,
        SECURE,
        INSECURE,
    ),
    row("kube-apiserver", "--insecure-port", 24, SECURE, INSECURE),
    row(
        "kube-apiserver",
        "--service-account-api-audiences",
        25,
        "use --api-audiences",
        "https://github.com/kubernetes/kubernetes/pull/108624",
    ),
    row(
        "kube-apiserver",
        "--cloud-provider",
        33,
        "remove it; the cloud controller manager runs outside",
        "https://github.com/kubernetes/kubernetes/pull/130162",
    ),
    row(
        "kube-apiserver",
        "--cloud-config",
        33,
        "remove it; the cloud controller manager has its own",
        "https://github.com/kubernetes/kubernetes/pull/130162",
    ),
    row(
        "kube-controller-manager",
        "--address",
        24,
        SECURE,
        "https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.24.md",
    ),
    row(
        "kube-controller-manager",
        "--port",
        24,
        SECURE,
        "https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.24.md",
    ),
    row(
        "kube-controller-manager",
        "--enable-taint-manager",
        27,
        "remove it; it is always on",
        "https://github.com/kubernetes/kubernetes/pull/115840",
    ),
    row(
        "kube-controller-manager",
        "--pod-eviction-timeout",
        27,
        "use kube-apiserver's --default-not-ready-toleration-seconds and --default-unreachable-toleration-seconds",
        "https://github.com/kubernetes/kubernetes/pull/115840",
    ),
    row(
        "kube-scheduler",
        "--policy-config-file",
        23,
        "write a KubeSchedulerConfiguration",
        POLICY,
    ),
    row(
        "kube-scheduler",
        "--policy-configmap",
        23,
        "write a KubeSchedulerConfiguration",
        POLICY,
    ),
    row(
        "kube-scheduler",
        "--use-legacy-policy-config",
        23,
        "write a KubeSchedulerConfiguration",
        POLICY,
    ),
    row("", "--add-dir-header", 26, REDIRECT, LOGS),
    row("", "--alsologtostderr", 26, REDIRECT, LOGS),
    row("", "--log-backtrace-at", 26, REDIRECT, LOGS),
    row("", "--log-dir", 26, REDIRECT, LOGS),
    row("", "--log-file", 26, REDIRECT, LOGS),
    row("", "--log-file-max-size", 26, REDIRECT, LOGS),
    row("", "--logtostderr", 26, REDIRECT, LOGS),
    row("", "--one-output", 26, REDIRECT, LOGS),
    row("", "--skip-headers", 26, REDIRECT, LOGS),
    row("", "--skip-log-headers", 26, REDIRECT, LOGS),
    row("", "--stderrthreshold", 26, REDIRECT, LOGS),
];

const KOPS: &str =
    "https://github.com/kubernetes/kops/blob/v1.36.2/pkg/apis/kops/validation/validation.go";

/// The components of Kubernetes that share flags.
const KUBERNETES: &[&str] = &[
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
];

/// The row of a flag that this version of the component does not have.
pub(in crate::preview) fn removed_flag(
    component: &str,
    flag: &str,
    minor: Minor,
) -> Option<&'static RemovedFlag> {
    FLAGS.iter().find(|row| {
        let is_of = match row.component {
            "" => KUBERNETES.contains(&component),
            other => other == component,
        };
        is_of && row.flag == flag && minor >= row.minor
    })
}

/// Admission plugins that are gone: the first minor version without each, what to use, and the source.
pub(in crate::preview) const ADMISSION_PLUGINS: &[(&str, Minor, &str, &str)] = &[
    (
        "Initializers",
        14,
        "use a mutating admission webhook",
        "https://github.com/kubernetes/kubernetes/pull/72972",
    ),
    (
        "PodSecurityPolicy",
        25,
        "label namespaces for the plugin PodSecurity, and disable PodSecurityPolicy first",
        "https://github.com/kubernetes/kubernetes/pull/109798",
    ),
    (
        "SecurityContextDeny",
        30,
        "use the plugin PodSecurity",
        "https://github.com/kubernetes/kubernetes/pull/122612",
    ),
    (
        "PersistentVolumeLabel",
        31,
        "remove it; CSI drivers label volumes",
        "https://github.com/kubernetes/kubernetes/pull/124505",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_gone_from_its_version_on_and_only_of_its_component() {
        for (component, flag, minor, gone) in [
            ("kubelet", "--container-runtime", 26, false),
            ("kubelet", "--container-runtime", 27, true),
            ("kubelet", "--container-runtime", 36, true),
            ("kube-apiserver", "--container-runtime", 36, false),
            ("kube-proxy", "--log-dir", 26, true),
            ("etcd", "--log-dir", 36, false),
            ("kubelet", "--cloud-provider", 36, false),
        ] {
            let found = removed_flag(component, flag, minor);
            assert_eq!(found.is_some(), gone, "{component} {flag} 1.{minor}");
        }
    }

    #[test]
    fn every_row_has_a_remedy_and_a_source() {
        for row in FLAGS {
            assert!(row.source.starts_with("https://github.com/kubernetes/"));
            assert!(!row.instead.is_empty() && row.flag.starts_with("--"));
        }
    }
}
