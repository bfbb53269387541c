//! Feature gates that are gone. A component refuses to start with a gate that it does not know.
//!
//! Up to 1.26 the rows are those of Kubernetes' own list: the page "Feature Gates (removed)" of its documentation. From 1.27 on
//! they are from the release notes in kubernetes/sig-release. Some gates have no note: those that the programs of 1.35 do not know
//! are in the row of 1.34, though an earlier version may have been the last. Locks are from
//! `test/compatibility_lifecycle/reference/feature_list.md` of kubernetes/kubernetes (1.36), and those of 1.37 from its release
//! notes. What is listed up to 1.35 was tried with the kube-apiserver of 1.35.6. Windows' own are left out, and those that were
//! gone before 1.15, whose last version ran on no kops that the agent reads.

use super::Minor;
use std::sync::LazyLock;

/// The last minor version that knows each: the version, and the gates.
const GONE: &str = "
16 CSIPersistentVolume CustomPodDNS ExperimentalCriticalPodAnnotation GCERegionalPersistentDisk HugePages \
   KubeletPluginsWatcher PersistentLocalVolumes PodReadinessGates VolumeScheduling
17 EnableAggregatedDiscoveryTimeout MountContainers RequestManagement
18 CustomResourceDefaulting CustomResourcePublishOpenAPI CustomResourceSubresources CustomResourceValidation \
   CustomResourceWebhookConversion PodPriority ResourceQuotaScopeSelectors ScheduleDaemonSetPods TaintNodesByCondition
19 DynamicAuditing PodShareProcessNamespace ResourceLimitsPriorityFunction
20 HyperVContainer ServiceLoadBalancerFinalizer SupportIPVSProxyMode TaintBasedEvictions
21 AttachVolumeLimit BlockVolume CSIBlockVolume CSIDriverRegistry CSIMigrationAWSComplete EvenPodsSpread \
   RotateKubeletClientCertificate TokenRequest TokenRequestProjection VolumePVCDataSource
22 BalanceAttachedNodeVolumes CRIContainerLogRotation CSINodeInfo ExternalPolicyForExternalIP LegacyNodeRoleBehavior \
   NodeDisruptionExclusion RootCAConfigMap RunAsGroup SCTPSupport ServiceAppProtocol ServiceNodeExclusion \
   ServiceTopology Sysctls VolumeSnapshotDataSource
23 BoundServiceAccountTokenVolume CronJobControllerV2 EnableEquivalenceClassCache NamespaceDefaultLabelName NodeLease \
   ServiceAccountIssuerDiscovery StartupProbe SupportNodePidsLimit SupportPodPidsLimit
24 CSIServiceAccountToken EndpointSlice EndpointSliceNodeName EndpointSliceProxying GenericEphemeralVolume \
   HugePageStorageMediumSize IPv6DualStack ImmutableEphemeralVolumes IngressClassNamespacedParams RuntimeClass \
   SetHostnameAsFQDN StorageObjectInUseProtection StreamingProxyRedirects TTLAfterFinished ValidateProxyRedirects \
   VolumeSubpath VolumeSubpathEnvExpansion WarningHeaders
25 AllowInsecureBackendProxy CSIVolumeFSGroupPolicy CSRDuration ConfigurableFSGroupPolicy DefaultPodTopologySpread \
   DynamicKubeletConfig IndexedJob NonPreemptingPriority PodAffinityNamespaceSelector PodDisruptionBudget PodOverhead \
   PreferNominatedNode SelectorIndex ServiceLBNodePortControl ServiceLoadBalancerClass SuspendJob
26 CSIInlineVolume CSIMigration CSIMigrationAWS ControllerManagerLeaderMigration DaemonSetUpdateSurge \
   EphemeralContainers ExpandCSIVolumes ExpandInUsePersistentVolumes ExpandPersistentVolumes IdentifyPodOS \
   LocalStorageCapacityIsolation NetworkPolicyEndPort StatefulSetMinReadySeconds
27 AdvancedAuditing CSIStorageCapacity DelegateFSGroupToCSIDriver DevicePlugins DisableAcceleratorUsageMetrics \
   EndpointSliceTerminatingCondition MixedProtocolLBService PodSecurity ServiceIPStaticSubrange \
   ServiceInternalTrafficPolicy
28 CronJobTimeZone DownwardAPIHugePages GRPCContainerProbe JobMutableNodeSchedulingDirectives \
   JobTrackingWithFinalizers KubeletCredentialProviders LegacyServiceAccountTokenNoAutoGeneration OpenAPIV3 \
   ProbeTerminationGracePeriod RetroactiveDefaultStorageClass SeccompDefault TopologyManager
29 APISelfSubjectReview ExpandedDNSConfig ExperimentalHostUserNamespaceDefaulting IPTablesOwnershipCleanup \
   KubeletPodResources KubeletPodResourcesGetAllocatable LegacyServiceAccountTokenTracking MinimizeIPTablesRestore \
   ProxyTerminatingEndpoints RemoveSelfLink
30 APIPriorityAndFairness CSINodeExpandSecret ConsistentHTTPGetHandlers CustomResourceValidationExpressions \
   DefaultHostNetworkHostPortsInPodTemplates InTreePluginAWSUnregister JobReadyPods ReadWriteOncePod \
   ServiceNodePortStaticSubrange SkipReadOnlyValidationGCE
31 AllowServiceLBStatusOnNonLB CloudDualStackNodeIPs ComponentSLIs DRAControlPlaneController HPAContainerMetrics KMSv2 \
   KMSv2KDF LegacyServiceAccountTokenCleanUp MinDomainsInPodTopologySpread NewVolumeManagerReconstruction \
   NodeOutOfServiceVolumeDetach PodHostIPs ServerSideApply ServerSideFieldValidation StableLoadBalancerNodeSet \
   ValidatingAdmissionPolicy ZeroLimitedNominalConcurrencyShares
32 AdmissionWebhookMatchConditions AppArmor AppArmorFields CPUManager DisableCloudProviders \
   DisableKubeletCloudCredentialProviders JobPodFailurePolicy KubeProxyDrainingTerminatingNodes \
   PDBUnhealthyPodEvictionPolicy PersistentVolumeLastPhaseTransitionTime VolumeCapacityPriority
33 DevicePluginCDIDevices LegacySidecarContainers PodDisruptionConditions
34 APIListChunking AggregatedDiscoveryEndpoint CSIMigrationRBD EfficientWatchResumption ElasticIndexedJob \
   LoadBalancerIPMode MultiCIDRRangeAllocator PodIndexLabel RemainingItemCount SizeMemoryBackedVolumes \
   StatefulSetAutoDeletePVC StatefulSetStartOrdinal StrictCostEnforcementForVAP StrictCostEnforcementForWebhooks \
   UserNamespacesPodSecurityStandards WatchBookmark
35 CSIMigrationPortworx HonorPVReclaimPolicy InTreePluginPortworxUnregister WatchFromStorageWithoutResourceVersion
36 APIServerTracing AnyVolumeDataSource BtreeWatchCache ConsistentListFromCache GangScheduling \
   OrderedNamespaceDeletion PreventStaticPodAPIReferences RelaxedDNSSearchValidation ResilientWatchCacheInitialization \
   RetryGenerateName SidecarContainers StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf \
   WorkloadAwarePreemption
";

/// The first minor version that locks each gate, the value that it is locked to, and the gates. A component refuses to start with
/// the other value.
const LOCKS: &str = "
30 true PodSchedulingReadiness
31 true LogarithmicScaleDown
32 true CustomResourceFieldSelectors RetryGenerateName ServiceAccountTokenJTI ServiceAccountTokenNodeBindingValidation \
   ServiceAccountTokenPodNodeInfo
33 true AnyVolumeDataSource BtreeWatchCache CPUManagerPolicyOptions CRDValidationRatcheting HonorPVReclaimPolicy \
   JobBackoffLimitPerIndex JobSuccessPolicy MatchLabelKeysInPodAffinity NFTablesProxyMode \
   NodeInclusionPolicyInPodTopologySpread RecursiveReadOnlyMounts ServiceAccountTokenNodeBinding SidecarContainers
34 true APIServerTracing AnonymousAuthConfigurableEndpoints AuthorizeNodeWithSelectors AuthorizeWithSelectors \
   ConsistentListFromCache JobPodReplacementPolicy KubeletCgroupDriverFromCRI KubeletTracing MultiCIDRServiceAllocator \
   NodeSwap OrderedNamespaceDeletion PodLifecycleSleepAction PodLifecycleSleepActionAllowZero \
   RecoverVolumeExpansionFailure RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation \
   ResilientWatchCacheInitialization SchedulerQueueingHints SeparateTaintEvictionController \
   StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
35 false AllowOverwriteTerminationGracePeriodSeconds WatchFromStorageWithoutResourceVersion
35 true AggregatedDiscoveryRemoveBetaType DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout \
   ImageMaximumGCAge InPlacePodVerticalScaling JobManagedBy PodObservedGenerationTracking \
   PreferSameTrafficDistribution SupplementalGroupsPolicy SystemdWatchdog
36 false SeparateCacheWatchRPC
36 true CSIServiceAccountTokenSecrets DisableNodeKubeProxyVersion KubeletFineGrainedAuthz \
   MutableCSINodeAllocatableCount VolumeAttributesClass
37 false DeclarativeValidationTakeover
37 true DRAPrioritizedList HostnameOverride
";

static LAST: LazyLock<Vec<(Minor, &str)>> = LazyLock::new(|| lines_by_version(GONE).collect());

static LOCKED: LazyLock<Vec<(Minor, bool, &str)>> = LazyLock::new(|| {
    let locked = lines_by_version(LOCKS).filter_map(|(minor, rest)| {
        let (value, names) = rest.split_once(' ')?;
        Some((minor, value.parse::<bool>().ok()?, names))
    });
    locked.collect()
});

/// The lines of a text that begin with a version: the version, and the rest.
fn lines_by_version(text: &'static str) -> impl Iterator<Item = (Minor, &'static str)> {
    text.lines().filter_map(|line| {
        let (minor, rest) = line.split_once(' ')?;
        Some((minor.parse::<Minor>().ok()?, rest))
    })
}

/// The last minor version that knows a gate, where this one does not.
pub(in crate::preview) fn removed_gate(gate: &str, minor: Minor) -> Option<Minor> {
    let last = LAST.iter().find(|(_, names)| has(names, gate))?.0;
    (minor > last).then_some(last)
}

/// The value that this minor version has a gate locked to, and since when.
pub(in crate::preview) fn locked_gate(gate: &str, minor: Minor) -> Option<(bool, Minor)> {
    let mut rows = LOCKED.iter();
    let row = rows.find(|(since, _, names)| minor >= *since && has(names, gate))?;
    Some((row.1, row.0))
}

fn has(names: &str, gate: &str) -> bool {
    names.split_whitespace().any(|name| name == gate)
}

#[cfg(test)]
mod tests {
    use super::super::NEWEST;
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
    fn a_gate_is_locked_from_its_version_on_to_one_value() {
        for (gate, minor, locked) in [
            ("SidecarContainers", 32, None),
            ("SidecarContainers", 33, Some((true, 33))),
            (
                "WatchFromStorageWithoutResourceVersion",
                35,
                Some((false, 35)),
            ),
            ("ImageVolume", 37, None),
        ] {
            assert_eq!(locked_gate(gate, minor), locked, "{gate} 1.{minor}");
        }
    }

    #[test]
    fn every_line_is_a_row() {
        assert_eq!(LAST.len(), GONE.trim().lines().count());
        assert_eq!(LOCKED.len(), LOCKS.trim().lines().count());
    }

    #[test]
    fn rows_are_sorted_and_their_versions_are_of_kubernetes() {
        assert!(LAST.iter().map(|row| row.0).is_sorted());
        assert!(LOCKED.iter().map(|row| (row.0, row.1)).is_sorted());
        let minors = LAST.iter().map(|row| row.0);
        let minors = minors.chain(LOCKED.iter().map(|row| row.0));
        for minor in minors {
            assert!((15..=NEWEST).contains(&minor), "1.{minor}");
        }
        let names = LAST.iter().map(|row| row.1);
        for names in names.chain(LOCKED.iter().map(|row| row.2)) {
            assert!(names.split_whitespace().is_sorted(), "{names}");
        }
    }

    #[test]
    fn a_gate_is_locked_before_it_is_gone() {
        for (since, _, names) in LOCKED.iter() {
            for gate in names.split_whitespace() {
                let last = LAST.iter().find(|(_, names)| has(names, gate));
                assert!(last.is_none_or(|(last, _)| last >= since), "{gate}");
            }
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
