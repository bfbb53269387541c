//! The arguments of `boot` for notifications at the end of a boot.

use super::repair::RepairArguments;
use super::variable::WrongVariable;
use clap::Args;
use quake_model::signal::{OnFatal, OnReady, ParseSignalError, SignalConfig};
use std::str::FromStr;

/// Each flag has a variable, for hosts whose units nobody edits.
const ON_FATAL: &str = "QUAKE_AGENT_ON_FATAL";
const ON_READY: &str = "QUAKE_AGENT_ON_READY";
const NODE_EVENT: &str = "QUAKE_AGENT_NODE_EVENT";

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SignalArguments {
    /// Notify the Auto Scaling group when a boot failed for good: set-unhealthy or abandon:HOOK. With :refused also when
    /// it was refused, with :all always; may be repeated (also: QUAKE_AGENT_ON_FATAL) [default: nothing]
    #[arg(long, value_delimiter = ',', value_name = "SIGNAL")]
    pub(crate) on_fatal: Vec<OnFatal>,
    /// Complete a lifecycle hook when the node is ready: continue:HOOK; may be repeated (also: QUAKE_AGENT_ON_READY)
    /// [default: nothing]
    #[arg(long, value_delimiter = ',', value_name = "SIGNAL")]
    pub(crate) on_ready: Vec<OnReady>,
    /// Write the result of the boot as an event of the Node object (also: QUAKE_AGENT_NODE_EVENT=on)
    #[arg(long)]
    pub(crate) node_event: bool,
    #[command(flatten)]
    pub(crate) repair: RepairArguments,
}

impl SignalArguments {
    /// What is requested: by a flag, else by its variable, which `lookup` answers for.
    ///
    /// # Errors
    ///
    /// Returns the variable that is of no meaning.
    pub(crate) fn config(
        &self,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<SignalConfig, WrongVariable> {
        let set = |name: &str| lookup(name).unwrap_or_default();
        Ok(SignalConfig {
            on_fatal: flag_or(&self.on_fatal, ON_FATAL, &set(ON_FATAL))?,
            on_ready: flag_or(&self.on_ready, ON_READY, &set(ON_READY))?,
            node_event: self.node_event || is_on(&set(NODE_EVENT))?,
        })
    }
}

fn flag_or<T>(flag: &[T], name: &'static str, set: &str) -> Result<Vec<T>, WrongVariable>
where
    T: FromStr<Err = ParseSignalError> + Clone,
{
    if !flag.is_empty() {
        return Ok(flag.to_vec());
    }
    let words = set.split(',').map(str::trim);
    let read = words.filter(|word| !word.is_empty()).map(str::parse);
    let read: Result<Vec<T>, ParseSignalError> = read.collect();
    read.map_err(WrongVariable::of(name))
}

fn is_on(set: &str) -> Result<bool, WrongVariable> {
    match set.trim() {
        "" | "off" => Ok(false),
        "on" => Ok(true),
        other => Err(WrongVariable {
            name: NODE_EVENT,
            why: format!("it is on or off, not {other:?}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(
        flags: &SignalArguments,
        variables: &[(&str, &str)],
    ) -> Result<SignalConfig, WrongVariable> {
        flags.config(|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn fatal(word: &str) -> OnFatal {
        word.parse().expect("a literal")
    }

    #[test]
    fn nothing_is_told_unless_it_is_asked_for() {
        let flags = SignalArguments::default();
        assert_eq!(config(&flags, &[]), Ok(SignalConfig::default()));
        let empty = [(ON_FATAL, " "), (ON_READY, ""), (NODE_EVENT, "off")];
        assert_eq!(config(&flags, &empty), Ok(SignalConfig::default()));
    }

    #[test]
    fn a_variable_asks_as_its_flag_does_and_the_flag_wins() {
        let variables = [
            (ON_FATAL, "abandon:launch:refused, set-unhealthy"),
            (ON_READY, "continue:launch"),
            (NODE_EVENT, "on"),
        ];
        let mut flags = SignalArguments::default();
        let by_variable = config(&flags, &variables).expect("they are well-formed");
        let both = [fatal("abandon:launch:refused"), fatal("set-unhealthy")];
        assert_eq!(by_variable.on_fatal, both);
        assert_eq!(
            (by_variable.on_ready.len(), by_variable.node_event),
            (1, true)
        );
        flags.on_fatal = vec![fatal("set-unhealthy:all")];
        let by_flag = config(&flags, &variables).expect("they are well-formed");
        assert_eq!(by_flag.on_fatal, [fatal("set-unhealthy:all")]);
    }

    #[test]
    fn a_variable_of_no_meaning_is_named() {
        for (name, value) in [
            (ON_FATAL, "terminate"),
            (ON_READY, "abandon:launch"),
            (NODE_EVENT, "yes"),
        ] {
            let wrong = config(&SignalArguments::default(), &[(name, value)]);
            let error = wrong.expect_err("it has no meaning").to_string();
            assert!(error.starts_with(name) && error.contains(value), "{error}");
        }
    }
}
