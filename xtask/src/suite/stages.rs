//! The stages of a test run: each is timed, a failed one does not stop the next.

use crate::chain;
use crate::error::TaskError;
use std::fmt;
use std::time::{Duration, Instant};

struct Stage {
    name: &'static str,
    took: Duration,
    /// What it has to say, or why it failed.
    result: Result<String, TaskError>,
}

/// What ran so far. Prints as a table.
#[derive(Default)]
pub(super) struct Stages(Vec<Stage>);

impl Stages {
    /// Runs one stage to its end and keeps what came of it.
    pub(super) fn run(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<String, TaskError>,
    ) {
        println!("\n== {name}");
        let start = Instant::now();
        let result = work();
        match &result {
            Ok(note) => println!("{note}"),
            Err(error) => println!("{}", chain(error)),
        }
        self.0.push(Stage {
            name,
            took: start.elapsed(),
            result,
        });
    }

    /// Why stages failed, in order.
    pub(super) fn failures(&self) -> impl Iterator<Item = &TaskError> {
        self.0
            .iter()
            .filter_map(|stage| stage.result.as_ref().err())
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stage in &self.0 {
            let (verdict, note) = match &stage.result {
                Ok(note) => ("ok", note.lines().next_back().unwrap_or_default()),
                Err(_) => ("FAILED", ""),
            };
            let seconds = stage.took.as_secs_f64();
            let line = format!("{verdict:<7} {:<12} {seconds:>7.1} s  {note}", stage.name);
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> TaskError {
        TaskError::Findings {
            check: "layers",
            findings: vec!["an arrow".to_owned()],
        }
    }

    #[test]
    fn a_failed_stage_does_not_stop_the_next() {
        let mut stages = Stages::default();
        stages.run("first", || Err(failure()));
        stages.run("second", || Ok("all well".to_owned()));
        assert_eq!(stages.failures().count(), 1);
        let table = stages.to_string();
        assert!(table.contains("FAILED  first"), "{table}");
        assert!(table.contains("ok      second"), "{table}");
        assert!(table.contains("all well"), "{table}");
    }
}
