//! The innermost cause of a line: what stands last in a chain of errors, without what wraps it.

use super::logs::message;
use quake_formats::yaml::shorten;

/// How much of the end of a chain says what went wrong.
const LONGEST: usize = 170;

/// Of an end that is shorter than this, what stands before it is told too.
const SHORTEST: usize = 50;

/// Fields of structured lines that hold the error, the more telling ones first.
const FIELDS: &[&str] = &[
    " err=\"",
    " error=\"",
    "\"error\":\"",
    "\"err\":\"",
    " output=\"",
    " msg=\"",
    "\"msg\":\"",
];

/// What wraps an error in clients of gRPC.
const DESCRIPTION: &str = "desc = ";

/// The error that a line ends with: `open /x: permission denied` of `failed to a: failed to b: open /x: permission denied`.
pub(super) fn innermost(line: &str) -> String {
    let field = FIELDS.iter().find_map(|mark| {
        let (_, rest) = line.split_once(mark)?;
        Some(quoted(rest))
    });
    let text = field.filter(|text| text.len() > 8);
    let text = text.unwrap_or_else(|| message(line));
    let text = plain(text);
    let is_edge = |c: char| c == '"' || c.is_whitespace();
    let text = text.trim_matches(is_edge);
    // What AWS SDKs add to an error.
    let text = text.split(" status code: ").next().unwrap_or(text);
    let text = text
        .rsplit_once(", api error ")
        .map_or(text, |(_, error)| error);
    // What the runtime adds where it has no kind for an error.
    let text = text.strip_suffix(": unknown").unwrap_or(text);
    let text = text.strip_suffix(": <nil>").unwrap_or(text);
    let text = text.trim_matches(is_edge);
    let text = text.rsplit(DESCRIPTION).next().unwrap_or(text);
    shorten(end_of(text), 2 * LONGEST)
}

/// What stands up to the closing quotation mark.
pub(super) fn quoted(text: &str) -> &str {
    let bytes = text.as_bytes();
    let closing = |at: &usize| bytes[*at] == b'"' && (*at == 0 || bytes[at - 1] != b'\\');
    let end = (0..bytes.len()).find(closing).unwrap_or(bytes.len());
    &text[..end]
}

/// Without the escapes of quoted text, which stand in several layers.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut is_escape = false;
    for c in text.chars() {
        match c {
            '\\' => is_escape = true,
            'n' | 't' if is_escape => {
                plain.push(' ');
                is_escape = false;
            }
            c => {
                plain.push(c);
                is_escape = false;
            }
        }
    }
    plain
}

/// As many parts of the chain from its end as are not too long, and one more where they are short.
fn end_of(text: &str) -> &str {
    if text.len() <= LONGEST {
        return text;
    }
    let starts = text.match_indices(": ").map(|(at, mark)| at + mark.len());
    let mut before = 0;
    for start in starts {
        let length = text.len() - start;
        match length {
            ..SHORTEST => return &text[before..],
            SHORTEST..=LONGEST => return &text[start..],
            _ => before = start,
        }
    }
    &text[before..]
}

/// Whether a remedy says no more than that the line itself tells the reason.
pub(crate) fn is_in_line(fix: &str) -> bool {
    const SAYING: &[&str] = &[
        "line's end says",
        "line says",
        "line names",
        "end of the line",
    ];
    SAYING.iter().any(|words| fix.contains(words))
}

/// What a known line means, with its innermost cause where the remedy leaves that to the line.
pub(super) fn meaning(means: &str, fix: &str, line: &str) -> String {
    let cause = innermost(line);
    match is_in_line(fix) && !means.contains(&cause) {
        true => format!("{means}: {cause}"),
        false => means.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_chain_is_told_without_its_quotation_marks() {
        let line = r#"E1122 03:57:44.510433    1201 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to \"CreatePodSandbox\" for \"dns_kube-system(0a3f)\" with CreatePodSandboxError: \"Failed to create sandbox for pod \\\"dns_kube-system(0a3f)\\\": rpc error: code = Unknown desc = failed to setup network for sandbox \\\"3f5ab0\\\": plugin type=\\\"calico\\\" failed (add): fork/exec /opt/cni/bin/calico: operation not permitted\"" pod="kube-system/dns""#;
        let said = innermost(line);
        assert!(
            said.ends_with("fork/exec /opt/cni/bin/calico: operation not permitted"),
            "{said}"
        );
        assert!(
            !said.contains('\\') && !said.contains("CreatePodSandboxError"),
            "{said}"
        );
    }

    #[test]
    fn a_long_chain_is_cut_at_its_front_and_plain_text_is_kept() {
        let path = "/var/lib/kubelet/pods/5e0c0c0d-1b0a-4b7e-9d1d-1f0a2b3c4d05/token";
        let end = format!("open {path}: permission denied");
        let chain = format!("{}: {end}", "failed to do this".repeat(12));
        assert_eq!(innermost(&chain), end);
        let chain = format!(
            "{}: mkdir {path}: no space left\": unknown",
            "failed".repeat(30)
        );
        assert_eq!(innermost(&chain), format!("mkdir {path}: no space left"));
        assert_eq!(
            innermost("Error: unknown flag: --x"),
            "Error: unknown flag: --x"
        );
        assert_eq!(
            innermost("F1122 03:57:33.110114 1 x.go:225] no flux"),
            "no flux"
        );
    }
}
