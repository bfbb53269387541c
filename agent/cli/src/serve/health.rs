//! The grammar of health checks, which is the API server's: `/readyz`, `/livez` and `/healthz` have one `[+]` or `[-]` line
//! for each check and one line on all of them (k8s.io/apiserver, `pkg/server/healthz`, as of Kubernetes 1.34).
//!
//! Two things differ. Reasons are given, not withheld: the endpoint is on loopback and no record has a secret. And what
//! fails is answered 503 rather than 500, for a node that is not ready yet is no error of the server.

use std::collections::BTreeSet;
use std::fmt::Write;

/// One check: its name, and why it fails if it does.
pub(crate) type Check = (&'static str, Result<(), String>);

/// The answer of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) passed: bool,
    pub(crate) text: String,
}

/// Judges every check that is not excluded, for the path called `name`. A failure is always told in full.
pub(crate) fn health(name: &str, checks: &[Check], excluded: &[String], verbose: bool) -> Health {
    let mut unmatched: BTreeSet<&str> = excluded.iter().map(String::as_str).collect();
    let mut text = String::new();
    let mut passed = true;
    for (check, outcome) in checks {
        let _ = match outcome {
            _ if unmatched.remove(check) => writeln!(text, "[+]{check} excluded: ok"),
            Ok(()) => writeln!(text, "[+]{check} ok"),
            Err(why) => {
                passed = false;
                writeln!(text, "[-]{check} failed: {}", on_one_line(why))
            }
        };
    }
    if !unmatched.is_empty() {
        let names: Vec<String> = unmatched.iter().map(|name| format!("{name:?}")).collect();
        let names = names.join(",");
        let _ = writeln!(
            text,
            "warn: some health checks cannot be excluded: no matches for {names}"
        );
    }
    if passed && !verbose {
        "ok".clone_into(&mut text);
    } else {
        let end = if passed { "passed" } else { "failed" };
        let _ = writeln!(text, "{name} check {end}");
    }
    Health { passed, text }
}

/// A reason as one line: a fault's cause may have several, and each line of the answer is a check.
fn on_one_line(why: &str) -> String {
    let lines: Vec<&str> = why.lines().map(str::trim).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> Vec<Check> {
        vec![
            ("config", Ok(())),
            ("assets", Err("no mirror\nanswered".into())),
        ]
    }

    fn text(checks: &[Check], excluded: &[&str], verbose: bool) -> String {
        let excluded: Vec<String> = excluded.iter().map(|name| (*name).to_owned()).collect();
        health("readyz", checks, &excluded, verbose).text
    }

    #[test]
    fn what_fails_is_told_in_full_even_to_who_did_not_ask() {
        let wanted = "[+]config ok\n[-]assets failed: no mirror; answered\nreadyz check failed\n";
        assert_eq!(text(&checks(), &[], false), wanted);
        assert_eq!(text(&checks(), &[], true), wanted);
    }

    #[test]
    fn what_passes_is_ok_and_told_in_full_to_who_asks() {
        assert_eq!(text(&checks()[..1], &[], false), "ok");
        let wanted = "[+]config ok\nreadyz check passed\n";
        assert_eq!(text(&checks()[..1], &[], true), wanted);
    }

    #[test]
    fn an_excluded_check_passes_and_an_unknown_one_is_warned_of() {
        let wanted = "[+]config ok\n[+]assets excluded: ok\n\
            warn: some health checks cannot be excluded: no matches for \"a\",\"z\"\n\
            readyz check passed\n";
        assert_eq!(text(&checks(), &["z", "assets", "a", "z"], true), wanted);
    }
}
