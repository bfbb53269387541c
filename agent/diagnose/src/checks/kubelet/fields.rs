//! The fields of kubelet's configuration: their kinds, and names that are one slip away from theirs.

use crate::checks::check::{Finding, Verdict};
use quake_formats::yaml::{Value, Yaml};
use quake_model::facts::Unseen;

/// Fields that are whole numbers.
const NUMBERS: &[&str] = &[
    "containerLogMaxFiles",
    "eventBurst",
    "eventRecordQPS",
    "evictionMaxPodGracePeriod",
    "healthzPort",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "kubeAPIBurst",
    "kubeAPIQPS",
    "maxOpenFiles",
    "maxParallelImagePulls",
    "maxPods",
    "nodeLeaseDurationSeconds",
    "nodeStatusMaxImages",
    "oomScoreAdj",
    "podPidsLimit",
    "podsPerCore",
    "port",
    "readOnlyPort",
    "registryBurst",
    "registryPullQPS",
];

/// Fields that are true or false.
const TRUTHS: &[&str] = &[
    "cgroupsPerQOS",
    "cpuCFSQuota",
    "enableContentionProfiling",
    "enableControllerAttachDetach",
    "enableDebugFlagsHandler",
    "enableDebuggingHandlers",
    "enableProfilingHandler",
    "enableServer",
    "enableSystemLogHandler",
    "failCgroupV1",
    "failSwapOn",
    "kernelMemcgNotification",
    "localStorageCapacityIsolation",
    "makeIPTablesUtilChains",
    "protectKernelDefaults",
    "registerNode",
    "rotateCertificates",
    "seccompDefault",
    "serializeImagePulls",
    "serverTLSBootstrap",
];

/// Fields that are times with a unit, such as `10s`.
const TIMES: &[&str] = &[
    "containerLogMonitorInterval",
    "cpuCFSQuotaPeriod",
    "cpuManagerReconcilePeriod",
    "evictionPressureTransitionPeriod",
    "fileCheckFrequency",
    "httpCheckFrequency",
    "imageMaximumGCAge",
    "imageMinimumGCAge",
    "nodeStatusReportFrequency",
    "nodeStatusUpdateFrequency",
    "runtimeRequestTimeout",
    "shutdownGracePeriod",
    "shutdownGracePeriodCriticalPods",
    "streamingConnectionIdleTimeout",
    "syncFrequency",
    "volumeStatsAggPeriod",
];

/// Fields of other kinds (kubelet.config.k8s.io/v1beta1, up to Kubernetes 1.34).
const OTHERS: &[&str] = &[
    "address",
    "allowedUnsafeSysctls",
    "apiVersion",
    "authentication",
    "authorization",
    "cgroupDriver",
    "cgroupRoot",
    "clusterDNS",
    "clusterDomain",
    "configMapAndSecretChangeDetectionStrategy",
    "containerLogMaxSize",
    "containerLogMaxWorkers",
    "containerRuntimeEndpoint",
    "contentType",
    "cpuManagerPolicy",
    "cpuManagerPolicyOptions",
    "crashLoopBackOff",
    "enforceNodeAllocatable",
    "evictionHard",
    "evictionMinimumReclaim",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "featureGates",
    "hairpinMode",
    "healthzBindAddress",
    "imagePullCredentialsVerificationPolicy",
    "imageServiceEndpoint",
    "iptablesDropBit",
    "iptablesMasqueradeBit",
    "kind",
    "kubeReserved",
    "kubeReservedCgroup",
    "kubeletCgroups",
    "logging",
    "memoryManagerPolicy",
    "memorySwap",
    "memoryThrottlingFactor",
    "mergeDefaultEvictionSettings",
    "podCIDR",
    "preloadedImagesVerificationAllowlist",
    "providerID",
    "qosReserved",
    "registerWithTaints",
    "reservedMemory",
    "reservedSystemCPUs",
    "resolvConf",
    "showHiddenMetricsForVersion",
    "shutdownGracePeriodByPodPriority",
    "singleProcessOOMKill",
    "staticPodPath",
    "staticPodURL",
    "staticPodURLHeader",
    "systemCgroups",
    "systemReserved",
    "systemReservedCgroup",
    "tlsCertFile",
    "tlsCipherSuites",
    "tlsMinVersion",
    "tlsPrivateKeyFile",
    "topologyManagerPolicy",
    "topologyManagerPolicyOptions",
    "topologyManagerScope",
    "tracing",
    "userNamespaces",
    "volumePluginDir",
];

const AFTER: &str = "then: systemctl restart kubelet.service";

/// Judges the document at `path`.
pub(super) fn judge(path: &str, document: &Yaml) -> Result<Verdict, Unseen> {
    if let Some(finding) = another_document(path, document).or_else(|| wrong_kind(path, document)) {
        return finding.fail();
    }
    match slip(path, document) {
        Some(finding) => finding.warn(),
        None => Verdict::ok(format!("{} fields in {path}", document.entries().len())),
    }
}

fn another_document(path: &str, document: &Yaml) -> Option<Finding> {
    let kind = document.text_of("kind").unwrap_or_default();
    let group = document.text_of("apiVersion").unwrap_or_default();
    const KNOWN: &str = "kubelet.config.k8s.io/v1beta1";
    if kind == "KubeletConfiguration" && group == KNOWN {
        return None;
    }
    if kind == "KubeletConfiguration" && group.starts_with("kubelet.config.k8s.io/") {
        let summary = format!(
            "{path} is of another version than kubelet knows: apiVersion {group}, and KubeletConfiguration is in {KNOWN} alone"
        );
        return Some(Finding::new(
            summary,
            format!("write apiVersion: {KNOWN}; {AFTER}"),
        ));
    }
    let summary =
        format!("{path} is no configuration of kubelet: apiVersion {group:?}, kind {kind:?}");
    let fix = format!(
        "begin it with apiVersion: kubelet.config.k8s.io/v1beta1 and kind: KubeletConfiguration; {AFTER}"
    );
    Some(Finding::new(summary, fix))
}

fn wrong_kind(path: &str, document: &Yaml) -> Option<Finding> {
    document.entries().iter().find_map(|(key, value)| {
        let wanted = wanted_of(&key.name, value)?;
        let (line, column) = (value.line, value.column);
        let summary = format!(
            "{path} line {line}, column {column}: {} wants {wanted}, and is {}",
            key.name,
            value.describe()
        );
        let finding = Finding::new(summary, format!("write {wanted} there; {AFTER}"));
        Some(match value.text() {
            Some(text) => finding.seen(&key.name, text),
            None => finding,
        })
    })
}

/// What a field wants to be, unless it is that.
fn wanted_of(name: &str, value: &Yaml) -> Option<&'static str> {
    let plain = match &value.value {
        Value::Null => return None,
        Value::Scalar { text, quoted } => Some((text.as_str(), *quoted)),
        Value::List(_) | Value::Map(_) => None,
    };
    let is_number = |text: &str| text.parse::<i64>().is_ok();
    if NUMBERS.contains(&name) {
        let fits = plain.is_some_and(|(text, quoted)| !quoted && is_number(text));
        return (!fits).then_some("a whole number without quotes");
    }
    if TRUTHS.contains(&name) {
        return value
            .boolean()
            .is_none()
            .then_some("true or false without quotes");
    }
    if TIMES.contains(&name) {
        let fits = plain.is_some_and(|(text, _)| text.ends_with(['s', 'm', 'h']));
        return (!fits).then_some("a time with its unit, such as 10s");
    }
    None
}

/// A field that kubelet does not know and that is almost one it knows. Others may be newer than this table.
fn slip(path: &str, document: &Yaml) -> Option<Finding> {
    let known = || NUMBERS.iter().chain(TRUTHS).chain(TIMES).chain(OTHERS);
    document.entries().iter().find_map(|(key, _)| {
        let name = key.name.as_str();
        if known().any(|field| *field == name) {
            return None;
        }
        let expected = known().find(|field| is_close(field, name))?;
        let summary = format!(
            "{path} line {}: kubelet does not know {name}; {expected} may be meant",
            key.line
        );
        Some(Finding::new(
            summary,
            format!("write {expected} if that is meant; {AFTER}"),
        ))
    })
}

/// Whether two names differ in their case alone, or in one letter more, less or another.
fn is_close(one: &str, other: &str) -> bool {
    if one.eq_ignore_ascii_case(other) {
        return true;
    }
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let same_start = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let ends = one.iter().rev().zip(other.iter().rev());
    let same_end = ends.take_while(|(a, b)| a == b).count();
    let longest = one.len().max(other.len());
    longest > 5 && one.len().abs_diff(other.len()) <= 1 && same_start + same_end + 1 >= longest
}

#[cfg(test)]
mod tests {
    use super::is_close;

    #[test]
    fn one_slip_of_the_pen_is_close() {
        for (one, other, wanted) in [
            ("maxPods", "maxpods", true),
            ("maxPods", "maxPod", true),
            ("maxPods", "maxPodss", true),
            ("cgroupDriver", "cgroupDrivr", true),
            ("cgroupDriver", "cgroupRoot", false),
            ("evictionHard", "evictionSoft", false),
            ("port", "pork", false),
        ] {
            assert_eq!(is_close(one, other), wanted, "{one} {other}");
        }
    }
}
