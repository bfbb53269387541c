//! Reads what libtest prints and counts it, line by line while it runs.
//!
//! libtest has no way for a running test to say that it could not run: it passes. Our tests then print
//! `skipped: <why>`, `--show-output` makes libtest repeat what passing tests printed, and the count here
//! moves such a test from passed to skipped.

/// What ran, summed over every test binary.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Tests that libtest calls passed, those that skipped themselves included.
    succeeded: usize,
    /// Tests that said that they could not run.
    skipped_themselves: usize,
    pub(super) failed: Vec<String>,
    /// Names of tests that did not run, each with its reason.
    pub(super) skipped: Vec<String>,
    section: Section,
}

/// The part of libtest's output that is being read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum Section {
    /// One line per test as it ends.
    #[default]
    Listing,
    /// What passing tests printed: whose output it is, and whether it said that it was skipped.
    Successes {
        test: String,
        skipped: bool,
    },
    Failures,
}

/// Whether a line is for the reader of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Echo {
    Show,
    Hide,
}

impl Tally {
    /// Takes one line of a test run, and says whether to show it: what passing tests printed is not.
    pub(super) fn read(&mut self, line: &str) -> Echo {
        match line {
            "successes:" => self.section = Section::successes_of(""),
            "failures:" => self.section = Section::Failures,
            _ if line.starts_with("test result: ") => {
                self.section = Section::Listing;
                self.succeeded += number_before(line, " passed");
            }
            _ => self.read_within(line),
        }
        match self.section {
            Section::Successes { .. } => Echo::Hide,
            Section::Listing | Section::Failures => Echo::Show,
        }
    }

    fn read_within(&mut self, line: &str) {
        match &mut self.section {
            Section::Listing => self.read_listed(line),
            Section::Successes { test, skipped } => {
                if let Some(name) = output_header(line) {
                    self.section = Section::successes_of(name);
                } else if let Some(reason) = line.strip_prefix("skipped: ") {
                    // A test may skip several of its cases; it is one test all the same.
                    if !*skipped {
                        *skipped = true;
                        self.skipped_themselves += 1;
                        self.skipped.push(format!("{test}: {reason}"));
                    }
                }
            }
            Section::Failures => {}
        }
    }

    /// Reads `test name ... ok`, `... FAILED` or `... ignored, reason`.
    fn read_listed(&mut self, line: &str) {
        let Some((name, verdict)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.rsplit_once(" ... "))
        else {
            return;
        };
        if verdict == "FAILED" {
            self.failed.push(name.to_owned());
        } else if verdict == "ignored" {
            self.skipped
                .push(format!("{name}: ignored, and no reason given"));
        } else if let Some(reason) = verdict.strip_prefix("ignored, ") {
            self.skipped.push(format!("{name}: {reason}"));
        }
    }

    /// Adds what another run counted.
    pub(super) fn add(&mut self, other: Self) {
        self.succeeded += other.succeeded;
        self.skipped_themselves += other.skipped_themselves;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }

    /// The last line of a run; a stage that failed otherwise than by a test counts as one failure each.
    pub(super) fn closing_line(&self, failed_stages: usize) -> String {
        let passed = self.succeeded.saturating_sub(self.skipped_themselves);
        let failed = self.failed.len() + failed_stages;
        format!(
            "{passed} passed, {failed} failed, {} skipped",
            self.skipped.len()
        )
    }
}

impl Section {
    fn successes_of(test: &str) -> Self {
        Self::Successes {
            test: test.to_owned(),
            skipped: false,
        }
    }
}

/// The test named by `---- name stdout ----`.
fn output_header(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

fn number_before(line: &str, word: &str) -> usize {
    line.split(';')
        .find_map(|part| part.trim_end().strip_suffix(word))
        .and_then(|part| part.split_whitespace().next_back())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of two binaries as libtest prints it with `--show-output`.
    const RUN: &str = "
running 4 tests
test boots_parse ... ok
test noise ... ok
test slow_network ... ignored, needs a network
test wrong ... FAILED

successes:

---- boots_parse stdout ----
skipped: the conformance data is not here
skipped: neither are the specs

---- noise stdout ----
the word skipped: in the middle of a line is no skip


successes:
    boots_parse
    noise

failures:

---- wrong stdout ----
skipped: a failed test is not skipped


failures:
    wrong

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s


running 1 test
test src/lib.rs - read (line 5) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.30s
";

    fn read(run: &str) -> (Tally, Vec<&str>) {
        let mut tally = Tally::default();
        let shown = run
            .lines()
            .filter(|line| tally.read(line) == Echo::Show)
            .collect();
        (tally, shown)
    }

    #[test]
    fn a_test_that_skips_itself_is_skipped_and_not_passed() {
        let (tally, _) = read(RUN);
        assert_eq!(tally.closing_line(0), "2 passed, 1 failed, 2 skipped");
    }

    #[test]
    fn skipped_tests_are_named_with_their_reasons() {
        let (tally, _) = read(RUN);
        let expected = [
            "slow_network: needs a network",
            "boots_parse: the conformance data is not here",
        ];
        assert_eq!(tally.skipped, expected);
    }

    #[test]
    fn failed_tests_are_named() {
        let (tally, _) = read(RUN);
        assert_eq!(tally.failed, ["wrong"]);
    }

    #[test]
    fn what_failing_tests_printed_is_shown_and_what_passing_ones_printed_is_not() {
        let (_, shown) = read(RUN);
        assert!(shown.contains(&"skipped: a failed test is not skipped"));
        assert!(!shown.contains(&"skipped: neither are the specs"));
        assert!(shown.contains(&"test src/lib.rs - read (line 5) ... ok"));
    }

    #[test]
    fn a_stage_that_failed_otherwise_counts_as_a_failure() {
        let (tally, _) = read("");
        assert_eq!(tally.closing_line(2), "0 passed, 2 failed, 0 skipped");
    }
}
