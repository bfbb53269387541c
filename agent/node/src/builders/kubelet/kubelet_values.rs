//! Settings that the spec writes as one text and kubelet's configuration as a list or a map.

use crate::builders::Context;
use quake_model::fault::{Code, Fault};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What a taint does to pods that do not tolerate it.
const EFFECTS: &[&str] = &["NoExecute", "NoSchedule", "PreferNoSchedule"];

/// A text such as `memory.available<100Mi,nodefs.available<10%` as a map; `None` where it is not given.
pub(super) fn pairs(
    context: &Context<'_>,
    key: &str,
    separator: char,
) -> Result<Option<Value>, Fault> {
    let Some(text) = context.config.kubelet.text(key) else {
        return Ok(None);
    };
    let mut found = BTreeMap::new();
    for part in text.split(',') {
        let pair = part.split_once(separator);
        let (name, value) = pair.ok_or_else(|| {
            let summary = format!("{part:?} is not a name and a value with {separator:?} between");
            malformed(context, key, summary)
        })?;
        found.insert(name.trim(), value.trim());
    }
    Ok(Some(json!(found)))
}

/// The feature gates, which the spec writes as texts; `None` where there are none.
pub(super) fn feature_gates(context: &Context<'_>) -> Result<Option<Value>, Fault> {
    const KEY: &str = "featureGates";
    let mut found = Map::new();
    for (name, text) in context.config.kubelet.map(KEY) {
        let is_on = match text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
            "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
            _ => {
                let summary =
                    format!("the feature gate {name} is {text:?}, neither true nor false");
                return Err(malformed(context, KEY, summary));
            }
        };
        found.insert(name.to_owned(), is_on.into());
    }
    Ok((!found.is_empty()).then_some(found.into()))
}

/// The taints the node registers itself with; `None` where there are none. The API server refuses a node with an effect that it
/// does not know.
pub(super) fn taints(context: &Context<'_>) -> Result<Option<Value>, Fault> {
    const KEY: &str = "taints";
    let mut found = Vec::new();
    for text in context.config.kubelet.texts(KEY) {
        let taint = taint(text).ok_or_else(|| {
            let summary =
                format!("{text:?} is not `key=value:effect` with an effect of {EFFECTS:?}");
            malformed(context, KEY, summary)
        })?;
        found.push(taint);
    }
    // What the operator of the machine asks for was read before.
    let startup = context.machine.startup_taint.as_deref();
    found.extend(startup.and_then(taint));
    Ok((!found.is_empty()).then_some(found.into()))
}

/// `key=value:effect`, `key=:effect` or `key:effect`.
fn taint(text: &str) -> Option<Value> {
    let (pair, effect) = text.split_once(':')?;
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    if key.is_empty() || value.contains('=') || !EFFECTS.contains(&effect) {
        return None;
    }
    let mut taint = json!({"effect": effect, "key": key});
    if !value.is_empty() {
        taint["value"] = value.into();
    }
    Some(taint)
}

fn malformed(context: &Context<'_>, key: &str, summary: String) -> Fault {
    setting_fault(context, key, Code::ConfigWrongType, summary)
}

/// The fault of a setting of kubelet's, at its place.
pub(super) fn setting_fault(
    context: &Context<'_>,
    key: &str,
    code: Code,
    summary: String,
) -> Fault {
    let path = format!("KubeletConfig.{key}");
    context.fault_at(&context.config.kubelet, &path, code, summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taint_has_a_key_an_effect_and_perhaps_a_value() {
        let taint = |text: &str| taint(text);
        let wanted = json!({"effect": "NoSchedule", "key": "a/b"});
        assert_eq!(taint("a/b=:NoSchedule"), Some(wanted.clone()));
        assert_eq!(taint("a/b:NoSchedule"), Some(wanted));
        let wanted = json!({"effect": "NoExecute", "key": "a", "value": "c"});
        assert_eq!(taint("a=c:NoExecute"), Some(wanted));
        for text in [
            "",
            "a",
            "a=b",
            "=b:NoExecute",
            "a=b=c:NoExecute",
            "a:Never",
            "a:b:NoExecute",
        ] {
            assert_eq!(taint(text), None, "{text:?}");
        }
    }
}
