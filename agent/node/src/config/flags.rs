//! Sections of a spec as command-line flags, with the semantics of kops' flag builder
//! (`pkg/flagbuilder/build_flags.go`, the same from 1.8.1 to v1.36.2).

use super::schema::{Field, FlagRule, Kind, Schema};
use quake_formats::duration;
use quake_formats::quantity;
use quake_formats::yaml::{Value, Yaml};
use quake_model::spec::Flag;

/// The flags of a section, in the order kops gives them: sorted as whole words, `--name=value`.
///
/// Null is not set. A list is joined by commas, or repeated; a map is `key=value`, sorted, joined by commas;
/// an empty text, list or map and the value named `empty` in the schema give no flag. Sections inside the
/// section that have no flag of their own are part of it.
pub(super) fn flags_of(schema: &Schema, section: &Yaml, shape: &str) -> Vec<Flag> {
    let mut flags = Vec::new();
    collect(schema, section, shape, &mut flags);
    sort(&mut flags);
    flags
}

/// Sorts flags as kops does: by the whole text, so that `--a-b=` comes before `--a=`.
pub(super) fn sort(flags: &mut [Flag]) {
    flags.sort_by_cached_key(Flag::to_string);
}

fn collect(schema: &Schema, section: &Yaml, shape: &str, flags: &mut Vec<Flag>) {
    for (key, value) in section.entries() {
        let Some(field) = schema.field(shape, &key.name) else {
            continue;
        };
        match (&field.flag, &field.kind) {
            (Some(rule), _) => one(value, field, rule, flags),
            (None, Kind::Shape(inner)) => collect(schema, value, inner, flags),
            (None, _) => {}
        }
    }
}

fn one(value: &Yaml, field: &Field, rule: &FlagRule, flags: &mut Vec<Flag>) {
    match &value.value {
        Value::Null => {}
        Value::Scalar { .. } => {
            let text = scalar(value, &field.kind);
            let empty = text.is_empty() && !rule.keep_empty;
            if !empty && rule.empty.as_ref() != Some(&text) {
                flags.push(Flag::new(&rule.name, text));
            }
        }
        Value::List(items) => {
            let words: Vec<&str> = items.iter().filter_map(Yaml::text).collect();
            if rule.repeat {
                flags.extend(words.iter().map(|word| Flag::new(&rule.name, *word)));
            } else if !words.is_empty() {
                flags.push(Flag::new(&rule.name, words.join(",")));
            }
        }
        Value::Map(entries) => {
            let mut words: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}={}", key.name, value.text().unwrap_or_default()))
                .collect();
            words.sort();
            if !words.is_empty() {
                flags.push(Flag::new(&rule.name, words.join(",")));
            }
        }
    }
}

fn scalar(value: &Yaml, kind: &Kind) -> String {
    let text = value.text().unwrap_or_default();
    match kind {
        Kind::Boolean => value.boolean().unwrap_or_default().to_string(),
        Kind::Duration => duration::normalise(text).unwrap_or_default(),
        Kind::Quantity => quantity_text(value, text).unwrap_or_else(|| text.to_owned()),
        Kind::Float => text
            .parse::<f64>()
            .map_or_else(|_| text.to_owned(), |number| number.to_string()),
        _ => text.to_owned(),
    }
}

/// A quantity as nodeup prints it. YAML's own numbers have lost their trailing zeros by then.
fn quantity_text(value: &Yaml, text: &str) -> Option<String> {
    let is_number = matches!(value.value, Value::Scalar { quoted: false, .. });
    if is_number && text.parse::<f64>().is_ok() {
        quantity::decimal(text)
    } else {
        quantity::flag_text(text)
    }
}

/// `base` with the values of `over` laid over it, as kops merges an instance group's kubelet over the
/// cluster's: through JSON, so what is null or empty overrides nothing, maps are merged and lists replaced.
pub(super) fn overlay(base: &Yaml, over: &Yaml) -> Yaml {
    let (Value::Map(under), Value::Map(above)) = (&base.value, &over.value) else {
        return over.clone();
    };
    let mut entries = under.clone();
    for (key, value) in above {
        // An empty resolvConf means something: kubelet then hands pods no resolver at all.
        if value.value == Value::Null || (value.is_empty() && key.name != "resolvConf") {
            continue;
        }
        match entries.iter_mut().find(|(name, _)| name.name == key.name) {
            Some((_, old)) => *old = overlay(old, value),
            None => entries.push((key.clone(), value.clone())),
        }
    }
    base.with(Value::Map(entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{current, legacy};
    use quake_formats::yaml::parse;

    fn flags(shape: &str, text: &str) -> Vec<String> {
        let section = parse("x", text).expect("a literal document");
        let flags = flags_of(&legacy::SCHEMA, &section, shape);
        flags.iter().map(Flag::to_string).collect()
    }

    /// Shape, section, and the flags kops makes of it.
    const TABLE: &str = r#"
        KubeletConfigSpec | allowPrivileged: true | --allow-privileged=true
        KubeletConfigSpec | allowPrivileged: false | --allow-privileged=false
        KubeletConfigSpec | cgroupRoot: / | --cgroup-root=/
        KubeletConfigSpec | cgroupRoot: "" |
        KubeletConfigSpec | resolvConf: "" | --resolv-conf=
        KubeletConfigSpec | logLevel: 2 | --v=2
        KubeletConfigSpec | logLevel: 0 |
        KubeProxyConfig | logLevel: 0 | --v=0
        KubeletConfigSpec | evictionPressureTransitionPeriod: 0s |
        KubeletConfigSpec | runtimeRequestTimeout: 60s | --runtime-request-timeout=1m0s
        KubeletConfigSpec | maxPods: null |
        KubeletConfigSpec | featureGates: {B: "1", A: x} | --feature-gates=A=x,B=1
        KubeletConfigSpec | featureGates: {} |
        KubeAPIServerConfig | etcdServers: [b, a] | --etcd-servers=b,a
        KubeAPIServerConfig | etcdServers: [] |
        KubeAPIServerConfig | {image: x, disableBasicAuth: true} |
        DockerConfig | logOpt: [b=1, a=2] | --log-opt=a=2 --log-opt=b=1
        DockerConfig | storage: "overlay2,aufs" | --storage-driver=overlay2,aufs
        DockerConfig | {version: 1.10, skipInstall: true} |
        KubeControllerManagerConfig | leaderElection: {leaderElect: true} | --leader-elect=true
        KubeControllerManagerConfig | kubeAPIQPS: 20.5 | --kube-api-qps=20.5
    "#;

    #[test]
    fn each_kind_of_value_becomes_the_flag_kops_makes_of_it() {
        for line in TABLE.lines().filter(|line| !line.trim().is_empty()) {
            let [shape, text, wanted] = line.split('|').map(str::trim).collect::<Vec<_>>()[..]
            else {
                panic!("{line}")
            };
            assert_eq!(flags(shape, text).join(" "), wanted, "{line}");
        }
    }

    #[test]
    fn a_quantity_becomes_the_number_that_nodeup_prints() {
        for (text, wanted) in [
            ("3140m", "3.140"),
            ("\"3.10\"", "3.10"),
            ("3.10", "3.1"),
            ("42", "42"),
        ] {
            let section = format!("auditWebhookBatchThrottleQps: {text}");
            let section = parse("x", &section).expect("a literal");
            let flags = flags_of(&current::SCHEMA, &section, "KubeAPIServerConfig");
            let name = "audit-webhook-batch-throttle-qps";
            assert_eq!(flags, [Flag::new(name, wanted)], "{text}");
        }
    }

    #[test]
    fn flags_are_sorted_as_whole_words() {
        let text = "authorizationMode: RBAC\nauthorizationRbacSuperUser: admin\naddress: 1.2.3.4";
        let wanted = [
            "--address=1.2.3.4",
            "--authorization-mode=RBAC",
            "--authorization-rbac-super-user=admin",
        ];
        assert_eq!(flags("KubeAPIServerConfig", text), wanted);
        let text = "kubeReservedCgroup: a\nkubeReserved: {cpu: 1}";
        let wanted = ["--kube-reserved-cgroup=a", "--kube-reserved=cpu=1"];
        assert_eq!(flags("KubeletConfigSpec", text), wanted);
    }

    #[test]
    fn an_overlay_replaces_merges_and_never_clears() {
        let base = parse("x", "a: 1\nb: [1, 2]\nm: {x: 1, y: 2}\nkeep: 5").expect("a literal");
        let over =
            parse("x", "a: 2\nb: [3]\nm: {y: 3, z: 4}\nkeep: null\nnew: n").expect("a literal");
        let merged = overlay(&base, &over);
        assert_eq!(merged.text_of("a"), Some("2"));
        assert_eq!(merged.items_of("b").len(), 1);
        let map = merged.get("m").expect("a map");
        let texts = ["x", "y", "z"].map(|key| map.text_of(key).unwrap_or_default());
        assert_eq!(texts, ["1", "3", "4"]);
        assert_eq!(merged.text_of("keep"), Some("5"));
        assert_eq!(merged.text_of("new"), Some("n"));
    }
}
