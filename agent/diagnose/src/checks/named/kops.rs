//! Flags of the cluster's programs, and the keys of kops' cluster spec that they come from.

use super::words;

/// The sections of the cluster spec, by the program that they are for.
const SECTIONS: &[(&str, &str)] = &[
    ("kube-apiserver", "spec.kubeAPIServer"),
    ("kube-controller-manager", "spec.kubeControllerManager"),
    ("kube-scheduler", "spec.kubeScheduler"),
    ("kube-proxy", "spec.kubeProxy"),
    ("kubelet", "spec.kubelet"),
    (
        "aws-cloud-controller-manager",
        "spec.cloudControllerManager",
    ),
    ("cloud-controller-manager", "spec.cloudControllerManager"),
    ("cluster-autoscaler", "spec.clusterAutoscaler"),
];

/// Parts of names that are written in capitals within a key.
const CAPITALS: &[(&str, &str)] = &[
    ("ca", "CA"),
    ("cfs", "CFS"),
    ("cidr", "CIDR"),
    ("cidrs", "CIDRs"),
    ("cpu", "CPU"),
    ("dns", "DNS"),
    ("id", "ID"),
    ("ip", "IP"),
    ("url", "URL"),
];

/// Flags that any message may mention.
const COMMON: &[&str] = &["help", "version", "v"];

/// The section of the cluster spec for a program.
fn section(program: &str) -> Option<&'static str> {
    let found = SECTIONS.iter().find(|(name, _)| *name == program);
    found.map(|(_, section)| *section)
}

/// The key of a flag: `spec.kubeAPIServer.tlsCipherSuites` of kube-apiserver's `tls-cipher-suites`.
pub(super) fn key(program: &str, flag: &str) -> Option<String> {
    let section = section(program)?;
    let mut key = String::new();
    for (number, part) in flag.split('-').enumerate() {
        let capitals = CAPITALS.iter().find(|(small, _)| *small == part);
        match (number, capitals) {
            (0, _) => key.push_str(part),
            (_, Some((_, large))) => key.push_str(large),
            (_, None) => {
                key.extend(part.get(..1).map(str::to_uppercase));
                key.push_str(part.get(1..).unwrap_or_default());
            }
        }
    }
    Some(format!("{section}.{key}"))
}

/// Where a flag is set, in words.
pub(in crate::checks) fn place(program: &str, flag: &str) -> String {
    match key(program, flag) {
        Some(key) => format!("--{flag} of {program}, which is {key} in kops edit cluster"),
        None => format!("--{flag} in the command of {program}"),
    }
}

/// What to do about a flag that an error names.
pub(super) fn of_flag(error: &str, program: &str) -> Option<String> {
    let is_name = |name: &&str| {
        name.len() > 1
            && !COMMON.contains(name)
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let mut flags = words(error).filter_map(|word| word.strip_prefix("--"));
    let flag = flags.find(is_name)?;
    let place = place(program, flag);
    let is_unknown = ["unknown flag", "not defined", "unknown shorthand"]
        .iter()
        .any(|words| error.contains(words));
    Some(match is_unknown {
        true => format!("take out {place}: this version does not know it"),
        false => format!("correct {place}"),
    })
}
