//! What the node is made by: the kops generation of its configuration, the hash of that, and the pods that it runs from files.

use quake_model::phase::Phase;
use quake_model::record::Record;
use quake_model::spec::KopsGeneration;
use serde_json::{Value, json};

/// The instance; null while it is not known.
pub(crate) fn instance_json(record: &Record) -> Value {
    record.instance.as_ref().map_or(Value::Null, |it| {
        json!({
            "instanceId": it.instance_id,
            "instanceType": it.instance_type,
            "zone": it.zone,
            "region": it.region,
            "accountId": it.account_id,
            "imageId": it.image_id,
            "privateIp": it.private_ip,
            "localHostname": it.local_hostname,
            "mac": it.mac,
            "architecture": it.architecture,
        })
    })
}

/// What the node is to be; null while it is not known.
pub(crate) fn spec_json(record: &Record) -> Value {
    record.spec.as_ref().map_or(Value::Null, |it| {
        json!({
            "cluster": it.cluster,
            "instanceGroup": it.instance_group,
            "role": it.role,
            "kubernetes": it.kubernetes,
            "source": it.source,
            "digest": it.digest,
        })
    })
}

/// Which kops wrote the configuration; `None` while it is not known.
pub(crate) fn generation_of(record: &Record) -> Option<KopsGeneration> {
    record.expected.as_ref()?.generation
}

/// How the pods stand that the node runs from files, as the boot saw them: `up`, `late` with why, or `pending`. kops legacy
/// does not await them, and lists none.
pub(crate) fn static_pods(record: &Record) -> Vec<Value> {
    let expected = record.expected.as_ref();
    let is_awaited = generation_of(record) == Some(KopsGeneration::Current);
    let pods = expected
        .filter(|_| is_awaited)
        .map(|expected| &expected.static_pods);
    let ready = record.phases.get(&Phase::Ready);
    let one = |pod: &String| {
        let step = format!("ready:pod/{pod}");
        let unmet = ready.and_then(|phase| phase.unmet.get(&step));
        let is_up = record.steps.iter().any(|done| done.step == step);
        let state = match (unmet, is_up) {
            (Some(_), _) => "late",
            (None, true) => "up",
            (None, false) => "pending",
        };
        json!({
            "name": pod,
            "state": state,
            "why": unmet.map(|unmet| unmet.fault.to_string()),
        })
    };
    pods.into_iter().flatten().map(one).collect()
}

/// By which kops and which configuration the node is made, in a line; nothing while that is not known.
pub(crate) fn configured_by(record: &Record) -> String {
    match (generation_of(record), &record.spec) {
        (Some(KopsGeneration::Current), Some(spec)) => {
            format!("made by   kops, configuration {}\n", spec.digest)
        }
        (Some(_) | None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::expected::Expected;
    use quake_model::outcome::Outcome;
    use quake_model::record::{SpecRecord, StepRecord};

    fn record(generation: KopsGeneration) -> Record {
        let expected = Expected {
            generation: Some(generation),
            static_pods: vec!["kube-apiserver".to_owned(), "kube-proxy".to_owned()],
            ..Expected::default()
        };
        let spec = SpecRecord {
            cluster: "c.example".into(),
            instance_group: "nodes".into(),
            role: "worker".into(),
            kubernetes: "1.35.0".into(),
            source: "user-data".into(),
            digest: "sha256:abc".into(),
        };
        let done = StepRecord {
            phase: Phase::Ready,
            step: "ready:pod/kube-apiserver".into(),
            outcome: Outcome::Unchanged,
            ended_ms: 1,
            took_ms: 1,
        };
        Record {
            expected: Some(expected),
            spec: Some(spec),
            steps: vec![done],
            ..Record::default()
        }
    }

    #[test]
    fn pods_of_files_are_up_once_they_were_seen_so() {
        let pods = static_pods(&record(KopsGeneration::Current));
        let states: Vec<&str> = pods
            .iter()
            .filter_map(|pod| pod["state"].as_str())
            .collect();
        assert_eq!(states, ["up", "pending"]);
        assert_eq!(
            static_pods(&record(KopsGeneration::Legacy)),
            Vec::<Value>::new()
        );
    }

    #[test]
    fn a_node_of_kops_1_32_or_newer_says_by_which_configuration_it_is_made() {
        let line = configured_by(&record(KopsGeneration::Current));
        assert_eq!(line, "made by   kops, configuration sha256:abc\n");
        assert_eq!(configured_by(&record(KopsGeneration::Legacy)), "");
        assert_eq!(configured_by(&Record::default()), "");
    }
}
