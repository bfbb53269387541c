//! Flags and admission plugins that Kubernetes' components no longer have. A component ends at once at a flag it does not know.
//!
//! The rows are from the release notes of 1.18 to 1.37 in kubernetes/sig-release, and those before from the pull requests.

use super::{Minor, rows};
use std::sync::LazyLock;

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

const GONE: &str = "remove it; it does nothing any more";
const LEADER: &str = "use --leader-elect-resource-namespace and --leader-elect-resource-name";
const LOG: &str = "remove it; components log to standard error, and kube-log-runner writes files";
const RUNTIME: &str = "remove it; the runtime has its own configuration of CNI and images";
const SCHEDULER: &str = "write a KubeSchedulerConfiguration";
const SECURE: &str = "serve by --secure-port; health checks ask over HTTPS";

/// One row a line: the component, the flag, the first minor version without it, the pull request of kubernetes/kubernetes that
/// removed it, and what to do.
macro_rules! flags {
    ($($component:literal $flag:literal $minor:literal $pull:literal $instead:expr;)*) => {
        &[$(RemovedFlag {
            component: $component,
            flag: $flag,
            minor: $minor,
            instead: $instead,
            source: concat!("https://github.com/kubernetes/kubernetes/pull/", $pull),
        }),*]
    };
}

/// By component, by version, by flag.
const FLAGS: &[RemovedFlag] = flags! {
    "" "--add-dir-header" 26 112120 LOG;
    "" "--alsologtostderr" 26 112120 LOG;
    "" "--log-backtrace-at" 26 112120 LOG;
    "" "--log-dir" 26 112120 LOG;
    "" "--log-file" 26 112120 LOG;
    "" "--log-file-max-size" 26 112120 LOG;
    "" "--logtostderr" 26 112120 LOG;
    "" "--one-output" 26 112120 LOG;
    "" "--skip-headers" 26 112120 LOG;
    "" "--skip-log-headers" 26 112120 LOG;
    "" "--stderrthreshold" 26 112120 LOG;
    "kube-apiserver" "--basic-auth-file" 19 89069 "use OIDC, client certificates or service accounts";
    "kube-apiserver" "--address" 24 106859 SECURE;
    "kube-apiserver" "--insecure-bind-address" 24 106859 SECURE;
    "kube-apiserver" "--insecure-port" 24 106859 SECURE;
    "kube-apiserver" "--port" 24 106859 SECURE;
    "kube-apiserver" "--service-account-api-audiences" 25 108624 "use --api-audiences";
    "kube-apiserver" "--master-service-namespace" 27 114446 GONE;
    "kube-apiserver" "--cloud-config" 33 130162 "remove it; the cloud controller manager has its own";
    "kube-apiserver" "--cloud-provider" 33 130162 "remove it; the cloud controller manager runs outside";
    "kube-controller-manager" "--address" 24 106860 SECURE;
    "kube-controller-manager" "--deployment-controller-sync-period" 24 107178 GONE;
    "kube-controller-manager" "--port" 24 106860 SECURE;
    "kube-controller-manager" "--enable-taint-manager" 27 115840 "remove it; it is always on";
    "kube-controller-manager" "--pod-eviction-timeout" 27 115840 "use kube-apiserver's --default-not-ready-toleration-seconds and --default-unreachable-toleration-seconds";
    "kube-controller-manager" "--horizontal-pod-autoscaler-downscale-delay" 31 124948 "use --horizontal-pod-autoscaler-downscale-stabilization";
    "kube-controller-manager" "--horizontal-pod-autoscaler-upscale-delay" 31 124948 GONE;
    "kube-controller-manager" "--volume-host-allow-local-loopback" 31 124017 GONE;
    "kube-controller-manager" "--volume-host-cidr-denylist" 31 124017 GONE;
    "kube-controller-manager" "--concurrent-service-syncs" 37 138002 GONE;
    "kube-proxy" "--proxy-port-range" 31 126293 GONE;
    "kube-scheduler" "--algorithm-provider" 22 102239 SCHEDULER;
    "kube-scheduler" "--hard-pod-affinity-symmetric-weight" 22 102805 SCHEDULER;
    "kube-scheduler" "--scheduler-name" 22 102805 SCHEDULER;
    "kube-scheduler" "--policy-config-file" 23 105424 SCHEDULER;
    "kube-scheduler" "--policy-configmap" 23 105424 SCHEDULER;
    "kube-scheduler" "--policy-configmap-namespace" 23 105424 SCHEDULER;
    "kube-scheduler" "--use-legacy-policy-config" 23 105424 SCHEDULER;
    "kube-scheduler" "--address" 24 106865 SECURE;
    "kube-scheduler" "--port" 24 106865 SECURE;
    "kube-scheduler" "--lock-object-name" 28 119130 LEADER;
    "kube-scheduler" "--lock-object-namespace" 28 119130 LEADER;
    "kubelet" "--cadvisor-port" 12 65707 "remove it; read /metrics/cadvisor of kubelet";
    "kubelet" "--allow-privileged" 15 77820 "remove it; admission decides who may be privileged";
    "kubelet" "--containerized" 16 80043 "remove it; run kubelet as a unit";
    "kubelet" "--chaos-chance" 22 101057 GONE;
    "kubelet" "--seccomp-profile-root" 23 103941 "remove it; profiles are in <root-dir>/seccomp";
    "kubelet" "--cni-bin-dir" 24 106907 RUNTIME;
    "kubelet" "--cni-cache-dir" 24 106907 RUNTIME;
    "kubelet" "--cni-conf-dir" 24 106907 RUNTIME;
    "kubelet" "--docker-endpoint" 24 106907 RUNTIME;
    "kubelet" "--experimental-check-node-capabilities-before-mount" 24 104732 "remove it; CSI drivers have their own tools";
    "kubelet" "--experimental-dockershim-root-directory" 24 106907 RUNTIME;
    "kubelet" "--image-pull-progress-deadline" 24 106907 RUNTIME;
    "kubelet" "--network-plugin" 24 106907 RUNTIME;
    "kubelet" "--network-plugin-mtu" 24 106907 RUNTIME;
    "kubelet" "--non-masquerade-cidr" 24 107096 "remove it; the network plugin masquerades";
    "kubelet" "--really-crash-for-testing" 24 101719 GONE;
    "kubelet" "--experimental-kernel-memcg-notification" 25 109388 "use --kernel-memcg-notification";
    "kubelet" "--container-runtime" 27 114017 "remove it; `remote` is all that is left";
    "kubelet" "--master-service-namespace" 27 116015 GONE;
    "kubelet" "--iptables-drop-bit" 31 122363 GONE;
    "kubelet" "--iptables-masquerade-bit" 31 122363 GONE;
    "kubelet" "--keep-terminated-pod-volumes" 31 122082 "remove it";
    "kubelet" "--cloud-config" 34 130161 "remove it; the cloud controller manager has its own";
    "kubelet" "--register-schedulable" 34 122384 "use --register-with-taints";
    "kubelet" "--pod-infra-container-image" 35 133779 "set containerd's sandboxImage instead";
    "kubelet" "--application-metrics-count-limit" 37 139870 GONE;
    "kubelet" "--boot-id-file" 37 139870 GONE;
    "kubelet" "--container-hints" 37 139870 GONE;
    "kubelet" "--containerd" 37 139870 GONE;
    "kubelet" "--containerd-namespace" 37 139870 GONE;
    "kubelet" "--enable-load-reader" 37 139870 GONE;
    "kubelet" "--event-storage-age-limit" 37 139870 GONE;
    "kubelet" "--event-storage-event-limit" 37 139870 GONE;
    "kubelet" "--global-housekeeping-interval" 37 139870 GONE;
    "kubelet" "--log-cadvisor-usage" 37 139870 GONE;
    "kubelet" "--machine-id-file" 37 139870 GONE;
    "kubelet" "--storage-driver-buffer-duration" 37 139870 GONE;
    "kubelet" "--storage-driver-db" 37 139870 GONE;
    "kubelet" "--storage-driver-host" 37 139870 GONE;
    "kubelet" "--storage-driver-password" 37 139870 GONE;
    "kubelet" "--storage-driver-secure" 37 139870 GONE;
    "kubelet" "--storage-driver-table" 37 139870 GONE;
    "kubelet" "--storage-driver-user" 37 139870 GONE;
};

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

/// An admission plugin, the first minor version without it, what to use, and where the fact is from.
type RemovedPlugin = (&'static str, Minor, &'static str, &'static str);

const PLUGINS: &str = "
Initializers | 14 | use a mutating admission webhook | https://github.com/kubernetes/kubernetes/pull/72972
PodSecurityPolicy | 25 | label namespaces for the plugin PodSecurity, and disable PodSecurityPolicy first | https://github.com/kubernetes/kubernetes/pull/109798
SecurityContextDeny | 30 | use the plugin PodSecurity | https://github.com/kubernetes/kubernetes/pull/122612
PersistentVolumeLabel | 31 | remove it; CSI drivers label volumes | https://github.com/kubernetes/kubernetes/pull/124505
";

/// Admission plugins that are gone.
pub(in crate::preview) static ADMISSION_PLUGINS: LazyLock<Vec<RemovedPlugin>> =
    LazyLock::new(|| {
        let plugins = rows::<4>(PLUGINS).filter_map(|[plugin, minor, instead, source]| {
            Some((plugin, minor.parse::<Minor>().ok()?, instead, source))
        });
        plugins.collect()
    });

#[cfg(test)]
mod tests {
    use super::super::NEWEST;
    use super::*;
    use std::collections::BTreeSet;

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
    fn rows_are_sorted_and_their_versions_are_of_kubernetes() {
        let keys = FLAGS.iter().map(|row| (row.component, row.minor, row.flag));
        assert!(keys.is_sorted(), "by component, version and flag");
        let flags = FLAGS.iter().map(|row| (row.component, row.flag));
        let distinct: BTreeSet<_> = flags.collect();
        assert_eq!(distinct.len(), FLAGS.len());
        assert_eq!(ADMISSION_PLUGINS.len(), PLUGINS.trim().lines().count());
        assert!(ADMISSION_PLUGINS.is_sorted_by_key(|row| row.1));
        for row in FLAGS {
            assert!((8..=NEWEST).contains(&row.minor), "{row:?}");
            assert!(!row.instead.is_empty() && row.flag.starts_with("--"));
        }
    }
}
