//! Feature gates that are gone. A component refuses to start with a gate that it does not know.
//!
//! The rows are those of Kubernetes' own list: the page "Feature Gates (removed)" of its documentation, and since 1.27 the files
//! `feature-gates/<name>.md` of kubernetes/website with `removed: true`. Windows' own are left out, and those that were gone
//! before 1.15, whose last version ran on no kops that the agent reads.

use super::Minor;

/// Where the facts are from.
pub(in crate::preview) const SOURCE: &str =
    "https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates-removed/";

/// The last minor version that knows each.
const LAST: &[(Minor, &str)] = &[
    (
        16,
        "CSIPersistentVolume CustomPodDNS ExperimentalCriticalPodAnnotation GCERegionalPersistentDisk HugePages \
         KubeletPluginsWatcher PersistentLocalVolumes PodReadinessGates VolumeScheduling",
    ),
    (
        17,
        "EnableAggregatedDiscoveryTimeout MountContainers RequestManagement",
    ),
    (
        18,
        "CustomResourceDefaulting CustomResourcePublishOpenAPI CustomResourceSubresources CustomResourceValidation \
         CustomResourceWebhookConversion PodPriority ResourceQuotaScopeSelectors ScheduleDaemonSetPods TaintNodesByCondition",
    ),
    (
        19,
        "DynamicAuditing PodShareProcessNamespace ResourceLimitsPriorityFunction",
    ),
    (
        20,
        "HyperVContainer ServiceLoadBalancerFinalizer SupportIPVSProxyMode TaintBasedEvictions",
    ),
    (
        21,
        "AttachVolumeLimit BlockVolume CSIBlockVolume CSIDriverRegistry CSIMigrationAWSComplete EvenPodsSpread \
         RotateKubeletClientCertificate TokenRequest TokenRequestProjection VolumePVCDataSource",
    ),
    (
        22,
        "BalanceAttachedNodeVolumes CRIContainerLogRotation CSINodeInfo ExternalPolicyForExternalIP LegacyNodeRoleBehavior \
         NodeDisruptionExclusion RootCAConfigMap RunAsGroup SCTPSupport ServiceAppProtocol ServiceNodeExclusion ServiceTopology \
         Sysctls VolumeSnapshotDataSource",
    ),
    (
        23,
        "BoundServiceAccountTokenVolume CronJobControllerV2 EnableEquivalenceClassCache NamespaceDefaultLabelName NodeLease \
         ServiceAccountIssuerDiscovery StartupProbe SupportNodePidsLimit SupportPodPidsLimit",
    ),
    (
        24,
        "CSIServiceAccountToken EndpointSlice EndpointSliceNodeName EndpointSliceProxying GenericEphemeralVolume \
         HugePageStorageMediumSize IPv6DualStack ImmutableEphemeralVolumes IngressClassNamespacedParams RuntimeClass \
         SetHostnameAsFQDN StorageObjectInUseProtection StreamingProxyRedirects TTLAfterFinished ValidateProxyRedirects \
         VolumeSubpath VolumeSubpathEnvExpansion WarningHeaders",
    ),
    (
        25,
        "AllowInsecureBackendProxy CSIVolumeFSGroupPolicy CSRDuration ConfigurableFSGroupPolicy DefaultPodTopologySpread \
         DynamicKubeletConfig IndexedJob NonPreemptingPriority PodAffinityNamespaceSelector PodDisruptionBudget PodOverhead \
         PreferNominatedNode SelectorIndex ServiceLBNodePortControl ServiceLoadBalancerClass SuspendJob",
    ),
    (
        26,
        "CSIInlineVolume CSIMigration CSIMigrationAWS ControllerManagerLeaderMigration DaemonSetUpdateSurge \
         EphemeralContainers ExpandCSIVolumes ExpandInUsePersistentVolumes ExpandPersistentVolumes IdentifyPodOS \
         LocalStorageCapacityIsolation NetworkPolicyEndPort StatefulSetMinReadySeconds",
    ),
    (27, "AdvancedAuditing DevicePlugins PodSecurity"),
    (
        28,
        "GRPCContainerProbe KubeletCredentialProviders LegacyServiceAccountTokenNoAutoGeneration SeccompDefault TopologyManager",
    ),
    (30, "InTreePluginAWSUnregister"),
    (
        31,
        "CloudDualStackNodeIPs MinDomainsInPodTopologySpread PodHostIPs ServerSideApply",
    ),
    (
        32,
        "AdmissionWebhookMatchConditions AppArmor KubeProxyDrainingTerminatingNodes",
    ),
];

/// The last minor version that knows a gate, where this one does not.
pub(in crate::preview) fn removed_gate(gate: &str, minor: Minor) -> Option<Minor> {
    let knows = |names: &str| names.split_whitespace().any(|name| name == gate);
    let last = LAST.iter().find(|(_, names)| knows(names))?.0;
    (minor > last).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_gate_is_gone_after_its_last_version() {
        for (gate, minor, last) in [
            ("CSIMigrationAWS", 26, None),
            ("CSIMigrationAWS", 27, Some(26)),
            ("AppArmor", 36, Some(32)),
            ("ImageVolume", 36, None),
            ("CSIMigration", 27, Some(26)),
        ] {
            assert_eq!(removed_gate(gate, minor), last, "{gate} 1.{minor}");
        }
    }

    #[test]
    fn no_gate_is_listed_twice() {
        let all = LAST.iter().flat_map(|(_, names)| names.split_whitespace());
        let all: Vec<&str> = all.collect();
        let distinct: BTreeSet<&&str> = all.iter().collect();
        assert_eq!(all.len(), distinct.len());
    }
}
