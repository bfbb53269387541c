//! The finding for a document that cannot be read.

use super::check::Finding;
use quake_formats::syntax::Misread;
use quake_formats::yaml::shorten;

/// The finding about the document at `path`, whose text is `text`.
pub(super) fn read_error(
    misread: &Misread,
    path: &str,
    text: &str,
    fix: impl Into<String>,
) -> Finding {
    let finding = Finding::new(format!("{path} cannot be read: {misread}"), fix);
    match text.lines().nth(misread.line.saturating_sub(1)) {
        Some(line) => finding.seen("line", shorten(line.trim(), 160)),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_formats::syntax::toml;

    #[test]
    fn a_finding_shows_the_line_without_its_secrets() {
        let text = "a = 1\npassword=hunter2 x\n";
        let broken = toml(text).expect_err("a bare word");
        let finding = read_error(&broken, "/etc/x.toml", text, "fix it");
        assert!(
            finding
                .summary
                .starts_with("/etc/x.toml cannot be read: line 2"),
            "{finding:?}"
        );
        let shown = &finding.evidence[0].value;
        assert!(
            shown.contains("***") && !shown.contains("hunter2"),
            "{shown}"
        );
    }
}
