//! Settings of kubelet's spec that its configuration has under the same names.

use crate::config::current::Section;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A configuration under construction, sorted by its keys.
pub(super) type Fields = BTreeMap<&'static str, Value>;

/// How a setting of the spec is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A text, unless it is empty.
    Text,
    /// True or false, where it is given.
    Truth,
    /// True; what is false is kubelet's default.
    True,
    /// A number, where it is given.
    Number,
    /// A number that is not 0, which is kubelet's default.
    NotZero,
    /// A duration, where it is given.
    Duration,
    /// A duration, else 0.
    DurationOrZero,
    Texts,
    Map,
}

/// Settings that are taken over under their own names: those that kops has no flag for.
const SETTINGS: [(Form, &str); 9] = [
    (
        Form::Text,
        "cgroupDriver cgroupRoot clusterDomain containerLogMaxSize cpuManagerPolicy hairpinMode kubeReservedCgroup \
         kubeletCgroups podCIDR systemCgroups systemReservedCgroup tlsMinVersion topologyManagerPolicy",
    ),
    (
        Form::Truth,
        "cpuCFSQuota enableDebuggingHandlers failSwapOn seccompDefault serializeImagePulls",
    ),
    (
        Form::True,
        "kernelMemcgNotification protectKernelDefaults rotateCertificates",
    ),
    (
        Form::Number,
        "containerLogMaxFiles eventRecordQPS imageGCHighThresholdPercent imageGCLowThresholdPercent \
         maxParallelImagePulls podPidsLimit registryPullQPS",
    ),
    (
        Form::NotZero,
        "evictionMaxPodGracePeriod nodeLeaseDurationSeconds readOnlyPort",
    ),
    (Form::Duration, "cpuCFSQuotaPeriod"),
    (
        Form::DurationOrZero,
        "evictionPressureTransitionPeriod imageMaximumGCAge nodeStatusUpdateFrequency shutdownGracePeriod \
         shutdownGracePeriodCriticalPods",
    ),
    (Form::Texts, "allowedUnsafeSysctls tlsCipherSuites"),
    (Form::Map, "kubeReserved systemReserved"),
];

/// Durations that the spec has as flags or not at all. Zero is kubelet's word for its own default, and a flag wins over the
/// file. nodeup's file has them, being written by a Go program that cannot leave them out; equal is easier to trust than
/// equivalent.
const ZERO: &[&str] = &[
    "cpuManagerReconcilePeriod",
    "fileCheckFrequency",
    "httpCheckFrequency",
    "imageMinimumGCAge",
    "nodeStatusReportFrequency",
    "runtimeRequestTimeout",
    "streamingConnectionIdleTimeout",
    "syncFrequency",
    "volumeStatsAggPeriod",
];

pub(super) fn take_over(spec: &Section) -> Fields {
    let mut fields = Fields::new();
    for (form, keys) in SETTINGS {
        for key in keys.split_whitespace() {
            fields.extend(read(spec, key, form).map(|value| (key, value)));
        }
    }
    for key in ZERO {
        fields.insert(key, "0s".into());
    }
    // The older name of the two; kops lets it win.
    if let Some(limit) = spec.integer("eventQPS") {
        fields.insert("eventRecordQPS", limit.into());
    }
    fields
}

fn read(spec: &Section, key: &str, form: Form) -> Option<Value> {
    match form {
        Form::Text => spec.text(key).map(Value::from),
        Form::Truth => spec.boolean(key).map(Value::from),
        Form::True => spec.is_set(key).then(|| true.into()),
        Form::Number => spec.integer(key).map(Value::from),
        Form::NotZero => {
            let number = spec.integer(key).filter(|number| *number != 0);
            number.map(Value::from)
        }
        Form::Duration => spec.duration(key).map(Value::from),
        Form::DurationOrZero => Some(spec.duration(key).unwrap_or_else(|| "0s".to_owned()).into()),
        Form::Texts => Some(spec.texts(key))
            .filter(|texts| !texts.is_empty())
            .map(Value::from),
        Form::Map => Some(spec.map(key))
            .filter(|map| !map.is_empty())
            .map(|map| json!(map)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use std::collections::BTreeSet;

    /// Settings that the configuration has in another form, or that the node knows better.
    const ELSEWHERE: &str = "anonymousAuth authenticationTokenWebhook authorizationMode clientCAFile clusterDNS \
        crashLoopBackOffMaxContainerRestartPeriod enforceNodeAllocatable eventQPS evictionHard \
        evictionMinimumReclaim evictionSoft evictionSoftGracePeriod featureGates logFormat \
        maxPods memorySwapBehavior podManifestPath resolvConf taints tlsCertFile \
        tlsPrivateKeyFile volumePluginDirectory";

    /// Settings that nobody reads: pods' sandboxes are the runtime's matter.
    const UNREAD: &[&str] = &["podInfraContainerImage"];

    /// Settings of the shape that become no flags.
    fn without_flags() -> BTreeSet<&'static str> {
        let table = include_str!("../../config/current/schema.txt");
        let shape = table.split("[KubeletConfigSpec]\n").nth(1);
        let lines = shape.expect("the shape is there").lines();
        let lines = lines.take_while(|line| !line.trim().is_empty());
        let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
        words
            .filter_map(|words| (words.len() == 2).then_some(words[0]))
            .collect()
    }

    #[test]
    fn every_setting_that_is_no_flag_is_in_the_configuration() {
        let keys = SETTINGS
            .iter()
            .flat_map(|(_, keys)| keys.split_whitespace());
        let mut read: Vec<&str> = keys.collect();
        read.extend(ELSEWHERE.split(' '));
        read.extend(UNREAD);
        let unique: BTreeSet<&str> = read.iter().copied().collect();
        assert_eq!(unique.len(), read.len(), "no setting is read twice");
        assert_eq!(unique, without_flags());
    }

    fn taken(keys: &str) -> Fields {
        let sample = Sample::worker(&format!("KubeletConfig: {{{keys}}}\n"));
        take_over(&sample.config.kubelet)
    }

    #[test]
    fn what_is_not_given_is_left_to_kubelet() {
        let found = taken("");
        for (key, value) in &found {
            assert_eq!(value, "0s", "{key}");
        }
        assert_eq!(found.len(), ZERO.len() + 5);
    }

    #[test]
    fn values_keep_their_kinds() {
        let found = taken(
            "podPidsLimit: 0, readOnlyPort: 0, evictionMaxPodGracePeriod: 5, failSwapOn: false, rotateCertificates: false, \
             cpuCFSQuotaPeriod: 90s, kubeReserved: {cpu: 500m, memory: 1G}, tlsCipherSuites: [a, b]",
        );
        assert_eq!(found["podPidsLimit"], 0);
        assert_eq!(found.get("readOnlyPort"), None);
        assert_eq!(found["evictionMaxPodGracePeriod"], 5);
        assert_eq!(found["failSwapOn"], false);
        assert_eq!(found.get("rotateCertificates"), None);
        assert_eq!(found["cpuCFSQuotaPeriod"], "1m30s");
        let reserved = json!({"cpu": "500m", "memory": "1G"});
        assert_eq!(found["kubeReserved"], reserved);
        assert_eq!(found["tlsCipherSuites"], json!(["a", "b"]));
    }

    #[test]
    fn of_two_names_of_one_setting_the_older_wins() {
        assert_eq!(taken("eventRecordQPS: 5")["eventRecordQPS"], 5);
        let both = taken("eventRecordQPS: 5, eventQPS: 0");
        assert_eq!(both["eventRecordQPS"], 0);
    }
}
