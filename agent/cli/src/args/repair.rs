//! The arguments of `boot` for the repair of a node that stays unhealthy.

use super::variable::WrongVariable;
use clap::{Args, ValueEnum};
use quake_model::location::Location;
use quake_model::repair::{RepairConfig, RepairShare};

/// Each flag has a variable, for hosts whose units nobody edits.
const ON_UNHEALTHY: &str = "QUAKE_AGENT_ON_UNHEALTHY";
const SHARE: &str = "QUAKE_AGENT_REPAIR_SHARE";
const STORE: &str = "QUAKE_AGENT_REPAIR_STORE";

/// What is done about a ready node that stays unhealthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnUnhealthy {
    /// Report to the Auto Scaling group that the instance is unhealthy; the group replaces it
    SetUnhealthy,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RepairArguments {
    /// Have the Auto Scaling group replace the instance when the ready node stays unhealthy, unless the cause is shared
    /// (also: QUAKE_AGENT_ON_UNHEALTHY) [default: nothing]
    #[arg(long, value_enum, value_name = "SIGNAL")]
    pub(crate) on_unhealthy: Option<OnUnhealthy>,
    /// The largest share of the group that may be away at a time; of two instances it is one
    /// (also: QUAKE_AGENT_REPAIR_SHARE) [default: 10%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) repair_share: Option<RepairShare>,
    /// The cluster's directory in the state store, where unhealthy nodes leave notes for each other: for nodes that use no
    /// state store (also: QUAKE_AGENT_REPAIR_STORE) [default: that of the boot reports]
    #[arg(long, value_name = "LOCATION")]
    pub(crate) repair_store: Option<Location>,
}

impl RepairArguments {
    /// What is allowed: by a flag, else by its variable, which `lookup` answers for.
    ///
    /// # Errors
    ///
    /// Returns the variable that is of no meaning.
    pub(crate) fn requested(
        &self,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<RepairConfig>, WrongVariable> {
        let set = |name: &str| lookup(name).map(|value| value.trim().to_owned());
        let set = |name: &str| set(name).filter(|value| !value.is_empty());
        let is_on = match (self.on_unhealthy, set(ON_UNHEALTHY).as_deref()) {
            (Some(OnUnhealthy::SetUnhealthy), _) | (None, Some("set-unhealthy")) => true,
            (None, None | Some("off")) => false,
            (None, Some(other)) => {
                return Err(WrongVariable {
                    name: ON_UNHEALTHY,
                    why: format!("it is set-unhealthy or off, not {other:?}"),
                });
            }
        };
        let share = match (self.repair_share, set(SHARE)) {
            (Some(share), _) => share,
            (None, None) => RepairShare::default(),
            (None, Some(word)) => word.parse().map_err(WrongVariable::of(SHARE))?,
        };
        let store = match (&self.repair_store, set(STORE)) {
            (Some(store), _) => Some(store.clone()),
            (None, None) => None,
            (None, Some(word)) => Some(word.parse().map_err(WrongVariable::of(STORE))?),
        };
        Ok(is_on.then_some(RepairConfig { share, store }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requested(
        flags: &RepairArguments,
        variables: &[(&str, &str)],
    ) -> Result<Option<RepairConfig>, WrongVariable> {
        flags.requested(|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_is_replaced_unless_it_is_asked_for() {
        let flags = RepairArguments::default();
        assert_eq!(requested(&flags, &[]), Ok(None));
        assert_eq!(
            requested(&flags, &[(SHARE, "50%"), (ON_UNHEALTHY, "off")]),
            Ok(None)
        );
        let share = RepairArguments {
            repair_share: Some("50%".parse().expect("a literal")),
            ..RepairArguments::default()
        };
        assert_eq!(requested(&share, &[]), Ok(None));
    }

    #[test]
    fn a_variable_asks_as_its_flag_does_and_the_flag_wins() {
        let variables = [
            (ON_UNHEALTHY, " set-unhealthy "),
            (SHARE, "25%"),
            (STORE, "s3://store/c.example"),
        ];
        let by_variable = requested(&RepairArguments::default(), &variables);
        let config = by_variable
            .expect("they are well-formed")
            .expect("it is asked for");
        assert_eq!(config.share.to_string(), "25%");
        assert_eq!(
            config.store.map(|it| it.to_string()).as_deref(),
            Some("s3://store/c.example")
        );
        let flags = RepairArguments {
            on_unhealthy: Some(OnUnhealthy::SetUnhealthy),
            repair_share: Some("5%".parse().expect("a literal")),
            repair_store: None,
        };
        let by_flag = requested(&flags, &[(ON_UNHEALTHY, "off"), (SHARE, "25%")]);
        let config = by_flag
            .expect("they are well-formed")
            .expect("it is asked for");
        assert_eq!(
            (config.share.to_string().as_str(), config.store),
            ("5%", None)
        );
    }

    #[test]
    fn a_variable_of_no_meaning_is_named() {
        for (name, value) in [
            (ON_UNHEALTHY, "terminate"),
            (SHARE, "0"),
            (STORE, "c.example"),
        ] {
            let wrong = requested(&RepairArguments::default(), &[(name, value)]);
            let error = wrong.expect_err("it has no meaning").to_string();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
