//! The API server's grammar of health checks, read back: `/readyz?verbose` and its kin.

use std::collections::BTreeMap;

/// How one check stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// `[+]name ok`
    Ok,
    /// `[+]name excluded: ok`
    Excluded,
    /// `[-]name failed: reason`
    Failed(String),
}

/// A verbose answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    pub checks: BTreeMap<String, Check>,
    /// Names that were to be excluded and are none.
    pub unmatched: Vec<String>,
    pub passed: bool,
}

/// Reads the verbose answer of the path called `name`, such as `readyz`.
///
/// # Errors
///
/// Returns the first line that the grammar does not have, or what is amiss with all of them.
pub fn read_health(name: &str, text: &str) -> Result<Health, String> {
    let body = text.strip_suffix('\n').ok_or("no line end at the end")?;
    let mut lines: Vec<&str> = body.split('\n').collect();
    let last = lines.pop().unwrap_or_default();
    let passed = match last.strip_prefix(name) {
        Some(" check passed") => true,
        Some(" check failed") => false,
        _ => return Err(format!("the last line is {last:?}")),
    };
    let unmatched = lines.last().and_then(|line| unmatched_in(line));
    if unmatched.is_some() {
        lines.pop();
    }
    let mut checks = BTreeMap::new();
    for line in lines {
        let (name, check) = check_in(line).ok_or(format!("no check: {line:?}"))?;
        if checks.insert(name.to_owned(), check).is_some() {
            return Err(format!("a second line for {name}"));
        }
    }
    let failed = |check: &Check| matches!(check, Check::Failed(_));
    if passed == checks.values().any(failed) {
        return Err(format!("{last:?} contradicts the checks"));
    }
    Ok(Health {
        checks,
        unmatched: unmatched.unwrap_or_default(),
        passed,
    })
}

fn check_in(line: &str) -> Option<(&str, Check)> {
    let (rest, holds) = match line.strip_prefix("[+]") {
        Some(rest) => (rest, true),
        None => (line.strip_prefix("[-]")?, false),
    };
    let (name, end) = rest.split_once(' ')?;
    let check = match (holds, end, end.strip_prefix("failed: ")) {
        (true, "ok", _) => Check::Ok,
        (true, "excluded: ok", _) => Check::Excluded,
        (false, _, Some(reason)) if !reason.is_empty() => Check::Failed(reason.to_owned()),
        _ => return None,
    };
    (!name.is_empty()).then_some((name, check))
}

fn unmatched_in(line: &str) -> Option<Vec<String>> {
    let names =
        line.strip_prefix("warn: some health checks cannot be excluded: no matches for ")?;
    let quoted = |name: &str| Some(name.strip_prefix('"')?.strip_suffix('"')?.to_owned());
    names.split(',').map(quoted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_api_server_reads() {
        let text = "[+]ping ok\n[+]log excluded: ok\n[-]etcd failed: reason withheld\n\
            warn: some health checks cannot be excluded: no matches for \"a\",\"b\"\n\
            readyz check failed\n";
        let health = read_health("readyz", text).expect("it reads");
        let withheld = Check::Failed("reason withheld".into());
        let wanted = [
            ("etcd", withheld),
            ("log", Check::Excluded),
            ("ping", Check::Ok),
        ];
        let wanted = wanted.map(|(name, check)| (name.to_owned(), check));
        assert_eq!(health.checks, BTreeMap::from(wanted));
        assert_eq!(
            (health.unmatched, health.passed),
            (vec!["a".into(), "b".into()], false)
        );
    }

    #[test]
    fn what_the_grammar_does_not_have_does_not_read() {
        for text in [
            "[ ]files pending: waits\nreadyz check failed\n",
            "[+]files ok\nlivez check passed\n",
            "[+]files ok\nreadyz check failed\n",
            "[-]files failed: x\nreadyz check passed\n",
            "[-]files failed: \nreadyz check failed\n",
            "[+]files fine\nreadyz check passed\n",
            "[+]files ok\n[+]files ok\nreadyz check passed\n",
            "[+]files ok\nreadyz check passed",
        ] {
            assert!(read_health("readyz", text).is_err(), "{text}");
        }
    }
}
