//! API versions that Kubernetes no longer serves, from its "Deprecated API Migration Guide".

use super::Minor;

/// Where the facts are from.
pub(in crate::preview) const SOURCE: &str =
    "https://kubernetes.io/docs/reference/using-api/deprecation-guide/";

/// An API version of a kind, the first minor version without it, and what to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::preview) struct RemovedApi {
    api_version: &'static str,
    /// The kinds, separated by spaces; empty for all.
    kinds: &'static str,
    minor: Minor,
    pub(in crate::preview) instead: &'static str,
}

/// One row a line: the first minor version without it, the API version, the kinds, and what to use.
macro_rules! apis {
    ($($minor:literal $api_version:literal $kinds:literal $instead:literal;)*) => {
        &[$(RemovedApi {
            api_version: $api_version,
            kinds: $kinds,
            minor: $minor,
            instead: $instead,
        }),*]
    };
}

/// By version.
const APIS: &[RemovedApi] = apis! {
    16 "extensions/v1beta1" "DaemonSet Deployment ReplicaSet" "apps/v1";
    16 "extensions/v1beta1" "NetworkPolicy" "networking.k8s.io/v1";
    16 "extensions/v1beta1" "PodSecurityPolicy" "policy/v1beta1";
    16 "apps/v1beta1" "" "apps/v1";
    16 "apps/v1beta2" "" "apps/v1";
    22 "extensions/v1beta1" "Ingress" "networking.k8s.io/v1";
    22 "networking.k8s.io/v1beta1" "Ingress IngressClass" "networking.k8s.io/v1";
    22 "admissionregistration.k8s.io/v1beta1"
        "MutatingWebhookConfiguration ValidatingWebhookConfiguration"
        "admissionregistration.k8s.io/v1";
    22 "apiextensions.k8s.io/v1beta1" "CustomResourceDefinition" "apiextensions.k8s.io/v1";
    22 "apiregistration.k8s.io/v1beta1" "APIService" "apiregistration.k8s.io/v1";
    22 "certificates.k8s.io/v1beta1" "CertificateSigningRequest" "certificates.k8s.io/v1";
    22 "coordination.k8s.io/v1beta1" "Lease" "coordination.k8s.io/v1";
    22 "rbac.authorization.k8s.io/v1alpha1" "" "rbac.authorization.k8s.io/v1";
    22 "rbac.authorization.k8s.io/v1beta1" "" "rbac.authorization.k8s.io/v1";
    22 "scheduling.k8s.io/v1beta1" "PriorityClass" "scheduling.k8s.io/v1";
    22 "storage.k8s.io/v1beta1" "CSIDriver CSINode StorageClass VolumeAttachment" "storage.k8s.io/v1";
    25 "batch/v1beta1" "CronJob" "batch/v1";
    25 "discovery.k8s.io/v1beta1" "EndpointSlice" "discovery.k8s.io/v1";
    25 "events.k8s.io/v1beta1" "Event" "events.k8s.io/v1";
    25 "autoscaling/v2beta1" "HorizontalPodAutoscaler" "autoscaling/v2";
    25 "policy/v1beta1" "PodDisruptionBudget" "policy/v1";
    25 "policy/v1beta1" "PodSecurityPolicy" "the labels of PodSecurity on namespaces";
    25 "node.k8s.io/v1beta1" "RuntimeClass" "node.k8s.io/v1";
    26 "flowcontrol.apiserver.k8s.io/v1beta1" "" "flowcontrol.apiserver.k8s.io/v1";
    26 "autoscaling/v2beta2" "HorizontalPodAutoscaler" "autoscaling/v2";
    27 "storage.k8s.io/v1beta1" "CSIStorageCapacity" "storage.k8s.io/v1";
    29 "flowcontrol.apiserver.k8s.io/v1beta2" "" "flowcontrol.apiserver.k8s.io/v1";
    32 "flowcontrol.apiserver.k8s.io/v1beta3" "" "flowcontrol.apiserver.k8s.io/v1";
};

/// The row of an object that this minor version does not serve.
pub(in crate::preview) fn removed_api(
    api_version: &str,
    kind: &str,
    minor: Minor,
) -> Option<&'static RemovedApi> {
    APIS.iter().find(|row| {
        let is_kind = row.kinds.is_empty() || row.kinds.split(' ').any(|it| it == kind);
        row.api_version == api_version && is_kind && minor >= row.minor
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_is_gone_from_its_version_on() {
        for (api, kind, minor, gone) in [
            ("policy/v1beta1", "PodDisruptionBudget", 24, false),
            ("policy/v1beta1", "PodDisruptionBudget", 25, true),
            ("extensions/v1beta1", "Ingress", 16, false),
            ("extensions/v1beta1", "Deployment", 16, true),
            ("apps/v1beta1", "StatefulSet", 36, true),
            ("apps/v1", "Deployment", 36, false),
        ] {
            assert_eq!(
                removed_api(api, kind, minor).is_some(),
                gone,
                "{api} {kind}"
            );
        }
    }
}
