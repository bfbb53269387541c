//! The command line of the harness, read into one value.

use crate::scenario::{Scenario, USUAL};
use std::path::PathBuf;

/// What is printed when the words make no sense.
pub(crate) const USAGE: &str = "\
usage: quake-side-by-side --agent PATH [--kops-worker PATH] [--work DIR] [--report FILE] [--rounds N] [--seed N]
                          [--curves] [--only LETTERS] [--keep] [SCENARIO...]

  SCENARIO   k1, k5, w1 to w4, w5, w5b, w6; with a profile as in w1@ec2, w1@rtt, w1@flaky [default: all of these]
  --kops-worker  the services of a worker of today's kops (quake-kops-worker); k1 and k5 need it
  --curves   measure how the agent scales, too
  --only-curves  measure nothing else
  --only-report  measure nothing, and write the report of what was measured before
  --rounds   rounds after the warm-up [default: 7]
  --seed     which cuts of the toolchain's files the assets are [default: 1]
  --report   where the report is written [default: not written]
  --only     letters of the subjects that take part, such as AC [default: all]
  --keep     keep what the last run of each subject left

nodeup takes part in k1 and k5 where PEER_NODEUP names its binary.";

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) agent: PathBuf,
    pub(crate) kops_worker: Option<PathBuf>,
    pub(crate) work: PathBuf,
    pub(crate) report: Option<PathBuf>,
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
    pub(crate) curves: bool,
    pub(crate) keep: bool,
    /// Letters of the subjects that take part.
    pub(crate) only: String,
    pub(crate) scenarios: Vec<Scenario>,
}

impl Arguments {
    /// Reads the words after the program's name.
    ///
    /// # Errors
    ///
    /// Says which word is wrong.
    pub(crate) fn parse(words: &[String]) -> Result<Self, String> {
        let mut read = Self {
            agent: PathBuf::new(),
            kops_worker: None,
            work: PathBuf::from("target/bench-data"),
            report: None,
            rounds: 7,
            seed: 1,
            curves: false,
            keep: false,
            only: "ABCDE".to_owned(),
            scenarios: Vec::new(),
        };
        let (mut only_curves, mut only_report) = (false, false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} wants a value"));
            let number = |text: &String| {
                let number = text
                    .parse::<u32>()
                    .map_err(|_| format!("{text:?} is no count"));
                number.map(|number| number.max(1))
            };
            match word.as_str() {
                "--agent" => read.agent = value()?.into(),
                "--kops-worker" => read.kops_worker = Some(value()?.into()),
                "--work" => read.work = value()?.into(),
                "--report" => read.report = Some(value()?.into()),
                "--rounds" => read.rounds = number(value()?)? as usize,
                "--seed" => read.seed = number(value()?)?.into(),
                "--curves" => read.curves = true,
                "--only-curves" => only_curves = true,
                "--only-report" => only_report = true,
                "--only" => read.only = value()?.to_ascii_uppercase(),
                "--keep" => read.keep = true,
                name => read
                    .scenarios
                    .push(Scenario::parse(name).ok_or(format!("there is no scenario {name:?}"))?),
            }
        }
        if read.agent.as_os_str().is_empty() {
            return Err("--agent PATH is missing".to_owned());
        }
        if only_report {
            read.scenarios.clear();
        } else if only_curves {
            read.curves = true;
            read.scenarios.clear();
        } else if read.scenarios.is_empty() {
            read.scenarios = USUAL
                .iter()
                .filter_map(|name| Scenario::parse(name))
                .collect();
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Arguments::parse(&words)
    }

    #[test]
    fn without_a_scenario_all_usual_ones_are_run_seven_times() {
        let read = parse("--agent a").expect("it is enough");
        assert_eq!((read.scenarios.len(), read.rounds), (USUAL.len(), 7));
        let few = parse("--agent a --only ac w4").expect("it is enough");
        assert_eq!((few.only.as_str(), few.scenarios.len()), ("AC", 1));
        let curves = parse("--agent a --only-curves").expect("it is enough");
        assert!(curves.curves && curves.scenarios.is_empty());
        let nothing = parse("--agent a --only-report").expect("it is enough");
        assert!(!nothing.curves && nothing.scenarios.is_empty());
    }

    #[test]
    fn a_wrong_word_is_named() {
        assert_eq!(
            parse("--agent a w9"),
            Err("there is no scenario \"w9\"".to_owned())
        );
        assert_eq!(parse("w1"), Err("--agent PATH is missing".to_owned()));
        assert_eq!(parse("--agent"), Err("--agent wants a value".to_owned()));
    }
}
