//! Versions of configuration files that Kubernetes' components no longer read. A component ends at once at such a file.
//!
//! The rows are from the release notes in kubernetes/sig-release.

use super::{Minor, rows};
use std::sync::LazyLock;

/// A kind, its version, the first minor version whose component does not read it, what to write, and where the fact is from.
type RemovedConfig = (
    &'static str,
    &'static str,
    Minor,
    &'static str,
    &'static str,
);

const TABLE: &str = "
KubeSchedulerConfiguration | kubescheduler.config.k8s.io/v1beta1 | 23 | kubescheduler.config.k8s.io/v1 | https://github.com/kubernetes/kubernetes/pull/104782
KubeSchedulerConfiguration | kubescheduler.config.k8s.io/v1beta2 | 28 | kubescheduler.config.k8s.io/v1 | https://github.com/kubernetes/kubernetes/pull/117649
KubeSchedulerConfiguration | kubescheduler.config.k8s.io/v1beta3 | 29 | kubescheduler.config.k8s.io/v1 | https://github.com/kubernetes/kubernetes/pull/119994
Policy | audit.k8s.io/v1alpha1 | 24 | audit.k8s.io/v1 | https://github.com/kubernetes/kubernetes/pull/98858
Policy | audit.k8s.io/v1beta1 | 24 | audit.k8s.io/v1 | https://github.com/kubernetes/kubernetes/pull/98858
WebhookAdmissionConfiguration | apiserver.config.k8s.io/v1alpha1 | 36 | apiserver.config.k8s.io/v1 | https://github.com/kubernetes/kubernetes/pull/137379
";

static CONFIGS: LazyLock<Vec<RemovedConfig>> = LazyLock::new(|| {
    let configs = rows::<5>(TABLE).filter_map(|[kind, version, minor, instead, source]| {
        Some((kind, version, minor.parse::<Minor>().ok()?, instead, source))
    });
    configs.collect()
});

/// The row of a document that this minor version does not read.
pub(in crate::preview) fn removed_config(
    kind: &str,
    api_version: &str,
    minor: Minor,
) -> Option<&'static RemovedConfig> {
    let mut rows = CONFIGS.iter();
    rows.find(|row| row.0 == kind && row.1 == api_version && minor >= row.2)
}

#[cfg(test)]
mod tests {
    use super::super::NEWEST;
    use super::*;

    #[test]
    fn a_version_is_gone_from_its_minor_version_on() {
        let (kind, version) = (CONFIGS[2].0, CONFIGS[2].1);
        assert_eq!(removed_config(kind, version, 28), None);
        assert_eq!(removed_config(kind, version, 29), Some(&CONFIGS[2]));
        assert_eq!(
            removed_config(kind, "kubescheduler.config.k8s.io/v1", 37),
            None
        );
    }

    #[test]
    fn rows_are_sorted_and_their_versions_are_of_kubernetes() {
        assert_eq!(CONFIGS.len(), TABLE.trim().lines().count());
        assert!(CONFIGS.iter().map(|row| (row.0, row.1)).is_sorted());
        assert!(CONFIGS.iter().all(|row| (16..=NEWEST).contains(&row.2)));
    }
}
