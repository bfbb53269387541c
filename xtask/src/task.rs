//! The command line, read into one value.

use std::path::PathBuf;

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
usage: cargo xtask <task>

  layers [--write]    check who uses whom, each crate's bans, and file lengths; or write the diagram of crates
  words               check that no name or phrase is back that docs/style.md replaced
  faults [--check]    write docs/reference from the catalogue of faults, or check that it is current
  test [--quick]      run every check and test; --quick leaves out cargo-deny and integration
  integration [TIER] [CASE]
                      drive the built agent: the tiers namespace, machine and fleet, or one of them, or one case of it
  demo [--legacy] [--once]
                      rehearse the bundled example cluster as kops 1.36 makes it, or the one of kops 1.8 to 1.15;
                      --once does not stay up at the end
  dist [--target T]   build the static binary, checksums and SBOM into dist/
  dist --reproduce    build it from two clean checkouts in different directories and compare the bytes
  simulate [--seed S] [--boots N] [--minutes M] [--bug NAME] [--trace]
                      run the engine in simulated regions full of faults; simulation/README.md has the laws
  bench [--agent PATH] [SCENARIO...]
                      measure the built agent beside other ways and write bench/REPORT.md; bench/README.md
                      has the scenarios and the options";

/// The target that `dist` builds for when none is named.
pub(crate) const DEFAULT_TARGET: &str = "x86_64-unknown-linux-gnu";

/// Whether the fault reference is written or compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultsMode {
    Write,
    Check,
}

/// How much `test` runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Quick,
    Full,
}

/// How much surrounds the agent in integration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Namespaces, loop devices and servers; seconds.
    Namespace,
    Machine,
    /// Several machines in one region.
    Fleet,
}

impl Tier {
    /// Every tier, the quickest first.
    pub(crate) const ALL: [Self; 3] = [Self::Namespace, Self::Machine, Self::Fleet];

    /// Its name on the command line; the tests of the later ones are in the test binary of this name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Machine => "machine",
            Self::Fleet => "fleet",
        }
    }

    fn new(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.name() == word)
    }
}

/// Which of the bundled clusters the demo boots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Example {
    /// As kops 1.36 makes it.
    Current,
    /// As kops 1.8 to 1.15 made it.
    Legacy,
}

/// What the demo does once the nodes are ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The last node's endpoint stays up until Ctrl-C.
    Stay,
    Leave,
}

/// One task and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Layers,
    /// Writes the diagram of crates.
    Diagram,
    Words,
    Faults(FaultsMode),
    Test(Extent),
    /// All tiers or one, and what the names of its cases hold.
    Integration {
        tier: Option<Tier>,
        case: Option<String>,
    },
    Demo(Example, Ending),
    Dist {
        target: String,
    },
    /// The same from two checkouts, whose bytes are compared.
    Reproduce,
    /// What the simulation is told.
    Simulate(Vec<String>),
    /// The agent where one is built already, and what the harness is told.
    Bench {
        agent: Option<PathBuf>,
        words: Vec<String>,
    },
}

/// Why a command line is not a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("no task named")]
    NoTask,
    #[error("there is no task {0:?}")]
    UnknownTask(String),
    #[error("the task {task:?} does not take {argument:?}")]
    UnknownArgument { task: String, argument: String },
}

impl Task {
    /// Reads the words after `cargo xtask`.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the words.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] => Err(UsageError::NoTask),
            ["help" | "--help" | "-h", ..] => Ok(Self::Help),
            ["layers"] => Ok(Self::Layers),
            ["layers", "--write"] => Ok(Self::Diagram),
            ["words"] => Ok(Self::Words),
            ["faults"] => Ok(Self::Faults(FaultsMode::Write)),
            ["faults", "--check"] => Ok(Self::Faults(FaultsMode::Check)),
            ["test"] => Ok(Self::Test(Extent::Full)),
            ["test", "--quick"] => Ok(Self::Test(Extent::Quick)),
            ["integration"] => Ok(Self::integration(None, None)),
            ["integration", tier] if Tier::new(tier).is_some() => {
                Ok(Self::integration(Tier::new(tier), None))
            }
            ["integration", tier, case] if Tier::new(tier).is_some() && !case.starts_with('-') => {
                Ok(Self::integration(Tier::new(tier), Some(case)))
            }
            ["demo"] => Ok(Self::Demo(Example::Current, Ending::Stay)),
            ["demo", "--once"] => Ok(Self::Demo(Example::Current, Ending::Leave)),
            ["demo", "--legacy"] => Ok(Self::Demo(Example::Legacy, Ending::Stay)),
            ["demo", "--legacy", "--once"] | ["demo", "--once", "--legacy"] => {
                Ok(Self::Demo(Example::Legacy, Ending::Leave))
            }
            ["dist"] => Ok(Self::dist(DEFAULT_TARGET)),
            ["dist", "--target", target] => Ok(Self::dist(target)),
            ["dist", "--reproduce"] => Ok(Self::Reproduce),
            ["simulate", words @ ..] => Ok(Self::Simulate(owned(words))),
            ["bench", "--agent", agent, words @ ..] => Ok(Self::bench(Some(agent), words)),
            ["bench", words @ ..] => Ok(Self::bench(None, words)),
            [
                task @ ("layers" | "words" | "faults" | "test" | "integration" | "demo" | "dist"),
                rest @ ..,
            ] => Err(UsageError::UnknownArgument {
                task: (*task).to_owned(),
                argument: rest.join(" "),
            }),
            [task, ..] => Err(UsageError::UnknownTask((*task).to_owned())),
        }
    }

    fn dist(target: &str) -> Self {
        Self::Dist {
            target: target.to_owned(),
        }
    }

    fn integration(tier: Option<Tier>, case: Option<&str>) -> Self {
        Self::Integration {
            tier,
            case: case.map(str::to_owned),
        }
    }

    /// The harness reads its own words, so that they are said in one place.
    fn bench(agent: Option<&str>, words: &[&str]) -> Self {
        Self::Bench {
            agent: agent.map(PathBuf::from),
            words: owned(words),
        }
    }
}

/// Words that a program of ours reads itself, so that they are said in one place.
fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Task, UsageError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Task::parse(&words)
    }

    #[test]
    fn a_task_without_options_has_its_defaults() {
        assert_eq!(parse("test"), Ok(Task::Test(Extent::Full)));
        assert_eq!(
            parse("demo"),
            Ok(Task::Demo(Example::Current, Ending::Stay))
        );
        assert_eq!(parse("dist"), Ok(Task::dist(DEFAULT_TARGET)));
        assert_eq!(parse("dist --reproduce"), Ok(Task::Reproduce));
    }

    #[test]
    fn the_demo_takes_its_options_in_any_order() {
        let legacy = Ok(Task::Demo(Example::Legacy, Ending::Leave));
        assert_eq!(parse("demo --legacy --once"), legacy);
        assert_eq!(parse("demo --once --legacy"), legacy);
    }

    #[test]
    fn an_option_of_another_task_is_refused() {
        let refused = UsageError::UnknownArgument {
            task: "layers".to_owned(),
            argument: "--quick".to_owned(),
        };
        assert_eq!(parse("layers --quick"), Err(refused));
    }

    #[test]
    fn the_simulation_reads_its_own_words() {
        let words = Task::Simulate(vec!["--seed".to_owned(), "7".to_owned()]);
        assert_eq!(parse("simulate --seed 7"), Ok(words));
        assert_eq!(parse("simulate"), Ok(Task::Simulate(Vec::new())));
    }

    #[test]
    fn the_words_of_a_bench_are_the_harness_own() {
        let with = parse("bench --agent a/b w1 --rounds 3");
        assert_eq!(with, Ok(Task::bench(Some("a/b"), &["w1", "--rounds", "3"])));
        assert_eq!(parse("bench w1@ec2"), Ok(Task::bench(None, &["w1@ec2"])));
    }

    #[test]
    fn integration_takes_a_tier_and_a_case_of_it() {
        let machine = Some(Tier::Machine);
        assert_eq!(parse("integration"), Ok(Task::integration(None, None)));
        assert_eq!(
            parse("integration machine"),
            Ok(Task::integration(machine, None))
        );
        assert_eq!(
            parse("integration machine reboot"),
            Ok(Task::integration(machine, Some("reboot")))
        );
        assert!(parse("integration reboot").is_err());
    }

    #[test]
    fn an_unknown_task_is_refused() {
        let refused = UsageError::UnknownTask("deploy".to_owned());
        assert_eq!(parse("deploy"), Err(refused));
    }
}
