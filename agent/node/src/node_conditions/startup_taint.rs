//! The taint that an operator has kubelet register the node with until the agent's conditions hold.

use super::{ConditionKind, PREFIX};
use crate::node_identity::Taint;
use std::str::FromStr;

/// The effects that a taint may have.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// The effect of a taint that names none: pods that run already are left alone.
const EFFECT: &str = "NoSchedule";

/// What must hold before the taint goes, unless the operator says it: drift alone keeps no pod from running.
pub const UNTIL: [ConditionKind; 3] = [
    ConditionKind::BootComplete,
    ConditionKind::VolumesSafe,
    ConditionKind::NetworkReady,
];

/// Who removes the taint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RemoverChoice {
    /// The agent, by what the node has.
    #[default]
    Agent,
    /// The agent, by this kubeconfig.
    Kubeconfig(String),
    /// The Node Readiness Controller of the cluster.
    Controller,
}

/// What an operator asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartupTaint {
    pub taint: Taint,
    /// What must hold before it is removed.
    pub until: Vec<ConditionKind>,
    pub remover: RemoverChoice,
}

impl StartupTaint {
    /// Reads `KEY`, `KEY=VALUE`, `KEY:EFFECT` or `KEY=VALUE:EFFECT`.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it.
    pub fn read_taint(text: &str) -> Result<Taint, String> {
        let (name, effect) = text.split_once(':').unwrap_or((text, EFFECT));
        let (key, value) = name.split_once('=').unwrap_or((name, ""));
        let (key, value, effect) = (key.to_owned(), value.to_owned(), effect.to_owned());
        if !is_qualified(&key) {
            Err(format!(
                "{key:?} is not a taint's key such as example.com/starting"
            ))
        } else if !value.is_empty() && !is_word(&value) {
            Err(format!(
                "{value:?} is not a taint's value: at most 63 letters, digits, '-', '_' and '.'"
            ))
        } else if !EFFECTS.contains(&effect.as_str()) {
            Err(format!(
                "{effect:?} is not an effect: {}",
                EFFECTS.join(", ")
            ))
        } else {
            Ok(Taint { key, value, effect })
        }
    }

    /// Reads the name of one condition, with or without its prefix.
    ///
    /// # Errors
    ///
    /// Lists the conditions.
    pub fn read_condition(text: &str) -> Result<ConditionKind, String> {
        ConditionKind::from_name(text.trim()).ok_or_else(|| {
            let names: Vec<&str> = ConditionKind::all().map(ConditionKind::name).collect();
            let names = names.join(", ");
            format!("{text:?} is not one of {names} (each also with {PREFIX})")
        })
    }
}

impl FromStr for RemoverChoice {
    type Err = String;

    /// `agent`, `controller`, or the absolute path of a kubeconfig.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "agent" => Ok(Self::Agent),
            "controller" => Ok(Self::Controller),
            path if path.starts_with('/') => Ok(Self::Kubeconfig(path.to_owned())),
            other => Err(format!(
                "{other:?} is not agent, controller, or the absolute path of a kubeconfig"
            )),
        }
    }
}

/// The way back, for whoever hands it on.
impl std::fmt::Display for RemoverChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Agent => "agent",
            Self::Controller => "controller",
            Self::Kubeconfig(path) => path,
        })
    }
}

/// A name with or without a domain before it, as labels have them.
fn is_qualified(key: &str) -> bool {
    match key.split_once('/') {
        None => is_word(key),
        Some((domain, name)) => {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let is_label = |label: &str| {
                !label.is_empty()
                    && !label.starts_with('-')
                    && !label.ends_with('-')
                    && label.chars().all(is_plain)
            };
            domain.len() <= 253 && domain.split('.').all(is_label) && is_word(name)
        }
    }
}

fn is_word(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.len() <= 63
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taint_is_read_in_each_of_its_forms_and_its_effect_is_no_schedule_unless_it_says() {
        for (text, key, value, effect) in [
            ("a.io/starting", "a.io/starting", "", "NoSchedule"),
            ("starting=yes", "starting", "yes", "NoSchedule"),
            ("a.io/b:NoExecute", "a.io/b", "", "NoExecute"),
            (
                "a.io/b=c:PreferNoSchedule",
                "a.io/b",
                "c",
                "PreferNoSchedule",
            ),
        ] {
            let taint = StartupTaint::read_taint(text).expect("it is one");
            assert_eq!(
                (&*taint.key, &*taint.value, &*taint.effect),
                (key, value, effect)
            );
        }
        for wrong in [
            "", "a b", "/x", "a/", "A.io/x", "a=b=c", "a:Never", "a=-", "-a.io/x",
        ] {
            assert!(StartupTaint::read_taint(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_remover_is_read_back_from_its_words() {
        for text in ["agent", "controller", "/etc/remover.kubeconfig"] {
            let choice: RemoverChoice = text.parse().expect("it is one");
            assert_eq!(choice.to_string(), text);
        }
        assert!("kubeconfig".parse::<RemoverChoice>().is_err());
    }

    #[test]
    fn a_condition_is_named_with_or_without_its_prefix_and_an_unknown_one_lists_all() {
        let read = StartupTaint::read_condition;
        assert_eq!(read(" NoDrift"), Ok(ConditionKind::NoDrift));
        assert_eq!(read("quake.io/NoDrift"), Ok(ConditionKind::NoDrift));
        let wrong = read("Ready").expect_err("it is kubelet's");
        assert!(wrong.contains("BootComplete, VolumesSafe"), "{wrong}");
    }
}
