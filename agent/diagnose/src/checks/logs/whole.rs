//! Errors of several lines: klog ends the first with `err=<`, indents those that follow, and ends with ` >` (k8s.io/klog
//! `internal/serialize`).

use std::borrow::Cow;

/// How klog opens a value of several lines.
const OPENS: &str = "=<";

/// So many lines of a value are said at most.
const MOST: usize = 8;

/// The line at this place, with the lines of its error in it where they follow.
pub(super) fn whole(lines: &[String], at: usize) -> Cow<'_, str> {
    let Some(line) = lines.get(at) else {
        return Cow::Borrowed("");
    };
    let Some(opened) = line.trim_end().strip_suffix('<') else {
        return Cow::Borrowed(line);
    };
    if !line.trim_end().ends_with(OPENS) {
        return Cow::Borrowed(line);
    }
    // A line that is not indented is another message's, where the journal lost the end of the value.
    let follow = lines[at + 1..].iter();
    let follow = follow.take_while(|line| line.is_empty() || line.starts_with(['\t', ' ']));
    let follow = follow.map(|line| line.trim());
    let follow = follow.take_while(|line| !line.starts_with('>'));
    let mut said: Vec<&str> = follow.filter(|line| !line.is_empty()).take(MOST).collect();
    said.dedup();
    match said.is_empty() {
        true => Cow::Borrowed(line),
        false => Cow::Owned(format!("{opened}\"{}\"", said.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn the_lines_of_an_error_become_one() {
        let lines = [
            "E1122 proxier.go:1564] \"Failed to execute iptables-restore\" err=<",
            "\texit status 4: iptables-restore v1.8.9 (nf_tables):",
            "\tline 119: RULE_APPEND failed",
            " > ipFamily=\"IPv4\"",
            "I1122 next",
        ]
        .map(str::to_owned);
        let first = whole(&lines, 0);
        assert!(first.ends_with("err=\"exit status 4: iptables-restore v1.8.9 (nf_tables):; line 119: RULE_APPEND failed\""), "{first}");
        assert_eq!(whole(&lines, 4), "I1122 next");
        assert_eq!(whole(&lines[..1], 0), lines[0]);
        assert_eq!(whole(&lines, 9), "");
        let cut = [lines[0].clone(), lines[1].clone(), lines[4].clone()];
        assert!(!whole(&cut, 0).contains("I1122 next"));
        let cut = [lines[0].clone(), lines[4].clone()];
        assert_eq!(whole(&cut, 0), lines[0]);
    }
}
