//! The arguments about the conditions of the Node object: the startup taint of `boot`, `nodeup` and `install`, and the command
//! `conditions`.

use clap::Args;
use quake_node::node_conditions::{ConditionKind, RemoverChoice, StartupTaint, UNTIL};
use quake_node::node_identity::Taint;
use std::path::PathBuf;

/// Each flag has a variable, for hosts whose units nobody edits.
pub(crate) const TAINT: &str = "QUAKE_AGENT_STARTUP_TAINT";
pub(crate) const TAINT_UNTIL: &str = "QUAKE_AGENT_STARTUP_TAINT_UNTIL";
pub(crate) const TAINT_REMOVER: &str = "QUAKE_AGENT_STARTUP_TAINT_REMOVER";

/// Turns the conditions off.
const CONDITIONS: &str = "QUAKE_AGENT_NODE_CONDITIONS";

/// What is shown below the help of `conditions`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  quake-agent conditions # what the last boot of this host comes to
  quake-agent conditions --remove # before the agent is uninstalled; stop it first";

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StartupTaintArguments {
    /// Have kubelet register the node with this taint, and remove it once conditions hold; the effect is NoSchedule unless
    /// it is named (also: QUAKE_AGENT_STARTUP_TAINT) [default: no taint]
    #[arg(long, value_parser = StartupTaint::read_taint, value_name = "KEY[=VALUE][:EFFECT]")]
    startup_taint: Option<Taint>,
    /// What must hold before the taint is removed (also: QUAKE_AGENT_STARTUP_TAINT_UNTIL)
    /// [default: BootComplete,VolumesSafe,NetworkReady]
    #[arg(long, value_delimiter = ',', value_parser = StartupTaint::read_condition, value_name = "CONDITIONS")]
    startup_taint_until: Vec<ConditionKind>,
    /// Who removes the taint: agent, controller (the Node Readiness Controller), or the path of a kubeconfig for the agent.
    /// A worker of kops 1.32 and newer needs one of the last two (also: QUAKE_AGENT_STARTUP_TAINT_REMOVER) [default: agent]
    #[arg(long, value_name = "WHO")]
    startup_taint_remover: Option<RemoverChoice>,
}

impl StartupTaintArguments {
    /// What is asked for: by a flag, else by its variable, which `lookup` answers for.
    ///
    /// # Errors
    ///
    /// Says which variable is wrong, or what is of no meaning without a taint.
    pub(crate) fn requested(
        &self,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<StartupTaint>, String> {
        let set = |name: &str| lookup(name).filter(|set| !set.trim().is_empty());
        let wrong = |name: &'static str| move |why: String| format!("{name}: {why}");
        let taint = match (&self.startup_taint, set(TAINT)) {
            (Some(taint), _) => taint.clone(),
            (None, Some(text)) => StartupTaint::read_taint(text.trim()).map_err(wrong(TAINT))?,
            (None, None) if self.has_details() => {
                return Err(
                    "--startup-taint is not given, and the other flags are about it".into(),
                );
            }
            (None, None) => return Ok(None),
        };
        let until = match (self.startup_taint_until.as_slice(), set(TAINT_UNTIL)) {
            ([], None) => UNTIL.to_vec(),
            ([], Some(text)) => {
                let read = text.split(',').map(StartupTaint::read_condition);
                let read: Result<Vec<ConditionKind>, String> = read.collect();
                read.map_err(wrong(TAINT_UNTIL))?
            }
            (named, _) => named.to_vec(),
        };
        let remover = match (&self.startup_taint_remover, set(TAINT_REMOVER)) {
            (Some(named), _) => named.clone(),
            (None, Some(text)) => text.trim().parse().map_err(wrong(TAINT_REMOVER))?,
            (None, None) => RemoverChoice::default(),
        };
        Ok(Some(StartupTaint {
            taint,
            until,
            remover,
        }))
    }

    fn has_details(&self) -> bool {
        !self.startup_taint_until.is_empty() || self.startup_taint_remover.is_some()
    }

    /// The variables that ask for the same, each with its value; none without a taint.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let Ok(Some(requested)) = self.requested(|_| None) else {
            return Vec::new();
        };
        let until: Vec<&str> = requested.until.iter().map(|kind| kind.name()).collect();
        vec![
            (TAINT, requested.taint.to_string()),
            (TAINT_UNTIL, until.join(",")),
            (TAINT_REMOVER, requested.remover.to_string()),
        ]
    }

    /// The flags that ask for the same.
    pub(crate) fn words(&self) -> Vec<String> {
        let flag = |name: &str| name.trim_start_matches("QUAKE_AGENT_").to_lowercase();
        let variables = self.variables().into_iter();
        let words =
            variables.map(|(name, value)| format!("--{}={value}", flag(name).replace('_', "-")));
        words.collect()
    }
}

/// Whether the agent reports conditions, as the variable has it.
///
/// # Errors
///
/// Says that the variable is wrong.
pub(crate) fn reports_conditions(lookup: impl Fn(&str) -> Option<String>) -> Result<bool, String> {
    match lookup(CONDITIONS).unwrap_or_default().trim() {
        "" | "on" => Ok(true),
        "off" => Ok(false),
        other => Err(format!("{CONDITIONS} is on or off, not {other:?}")),
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ConditionsArguments {
    /// Remove the agent's conditions and its startup taints from the Node object
    #[arg(long)]
    pub(crate) remove: bool,
    /// The root of the node's files
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// The node's name [default: from the last boot of this host]
    #[arg(long, value_name = "NAME", requires = "remove")]
    pub(crate) node: Option<String>,
    /// The kubeconfig to remove them with
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/var/lib/kubelet/kubeconfig"
    )]
    pub(crate) kubeconfig: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    fn parsed(words: &[&str]) -> StartupTaintArguments {
        let all = ["quake-agent", "boot"].iter().chain(words);
        match Arguments::try_parse_from(all).map(|parsed| parsed.command) {
            Ok(Command::Boot(boot)) => boot.run.startup_taint,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_taint_alone_has_the_usual_rest_and_what_is_said_is_handed_on_as_it_is() {
        let requested = parsed(&["--startup-taint", "a.io/b"]).requested(|_| None);
        let requested = requested.expect("it is sound").expect("there is one");
        assert_eq!(
            (requested.until, requested.remover),
            (UNTIL.to_vec(), RemoverChoice::Agent)
        );
        let words = [
            "--startup-taint=readiness.k8s.io/x=y:NoExecute",
            "--startup-taint-until=NoDrift,ImagesPresent",
            "--startup-taint-remover=controller",
        ];
        assert_eq!(parsed(&words).words(), words);
        assert_eq!(parsed(&[]).words(), [""; 0]);
    }

    #[test]
    fn a_flag_wins_over_its_variable_and_a_wrong_variable_is_named() {
        let set = |name: &str| match name {
            TAINT => Some("a.io/of-variable".to_owned()),
            TAINT_UNTIL => Some("BootComplete".to_owned()),
            _ => None,
        };
        let requested = parsed(&[]).requested(set).expect("it is sound");
        let requested = requested.expect("there is one");
        assert_eq!(requested.taint.key, "a.io/of-variable");
        assert_eq!(requested.until, [ConditionKind::BootComplete]);
        let flagged = parsed(&["--startup-taint", "a.io/of-flag"]).requested(set);
        let flagged = flagged.expect("it is sound").expect("there is one");
        assert_eq!(flagged.taint.key, "a.io/of-flag");
        let wrong = parsed(&[]).requested(|name| (name == TAINT).then(|| "a b".to_owned()));
        assert!(wrong.is_err_and(|why| why.starts_with(TAINT)));
        assert!(
            parsed(&["--startup-taint-until", "NoDrift"])
                .requested(|_| None)
                .is_err()
        );
    }

    #[test]
    fn conditions_are_reported_unless_they_are_turned_off() {
        let set = |text: &'static str| move |_: &str| Some(text.to_owned());
        assert_eq!(reports_conditions(|_| None), Ok(true));
        assert_eq!(reports_conditions(set("off")), Ok(false));
        assert!(reports_conditions(set("no")).is_err());
    }
}
