//! Lines of files that hold a secret and nothing else, as a search over several files prints them: `/etc/agent.psk:secret`,
//! `/etc/app/db_password:1:secret`.

use super::opaque::{is_odd, is_opaque};
use super::shape::run;
use std::ops::Range;

/// No path is longer, nor such a line.
const LONGEST: usize = 256;

/// What a search shows of a file whose name ends at `from`.
pub(super) fn line_beside(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if bytes.get(from) != Some(&b':') {
        return None;
    }
    let path = path_before(text, from)?;
    let near = &bytes[from + 1..bytes.len().min(from + 1 + LONGEST)];
    // The number of the line, of `grep -n`.
    let digits = run(near, |b| b.is_ascii_digit());
    let number = match near.get(digits) {
        Some(b':') if (1..=5).contains(&digits) => digits + 1,
        Some(_) | None => 0,
    };
    let start = from + 1 + number;
    let rest = &near[number..];
    let length = run(rest, |b| b.is_ascii_graphic() && !b"\"'\\".contains(&b));
    let ends = rest.get(length).is_none_or(|b| b"\r\n\"'\\".contains(b));
    let word = &text[start..start + length];
    // `identity:secret`
    let secret = word.rsplit(':').next().unwrap_or_default();
    let is_absolute = path.starts_with(['/', '~', '.']);
    let is_number = secret.len() >= 20 && secret.bytes().all(|b| b.is_ascii_digit());
    let is_secret = is_opaque(secret, true) || is_number || is_absolute && is_odd(secret);
    let is_cut = near.len() == LONGEST && length == rest.len();
    let is_address = word.contains("//");
    (ends && is_secret && !is_cut && !is_address)
        .then(|| start + length - secret.len()..start + length)
}

/// The path that ends here, if its line begins with it.
fn path_before(text: &str, end: usize) -> Option<&str> {
    let near = &text.as_bytes()[end.saturating_sub(LONGEST)..end];
    let is_of_path = |b: &&u8| b.is_ascii_alphanumeric() || b"/._-~@+".contains(b);
    let length = near.iter().rev().take_while(is_of_path).count();
    let before = &text.as_bytes()[..end - length];
    let path = &text[end - length..end];
    match before.last() {
        None | Some(b'\n' | b'\r' | b'"' | b'\'') => Some(path),
        Some(b'\\') => path.strip_prefix('n'),
        Some(b' ') => (before.ends_with(b": ") || before.ends_with(b" F ")).then_some(path),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn lines_of_files_of_secrets_are_masked() {
        for (text, scrubbed) in [
            (
                "/etc/ipsec/hub.psk:7d1f0c2a9be84411d35aa0c6e5f2178890ab34cd",
                "/etc/ipsec/hub.psk:***",
            ),
            (
                "/var/lib/app/session.key:1:9f86d081884c7d659a2feaa0c55ad015\n/etc/app.conf:2:a = b",
                "/var/lib/app/session.key:1:***\n/etc/app.conf:2:a = b",
            ),
            ("/root/.db_pass:Marsh-Wren-77", "/root/.db_pass:***"),
            (
                "/etc/hub.psk:node-1:9f86d081884c7d659a2feaa0c55ad015",
                "/etc/hub.psk:node-1:***",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn what_is_said_of_such_files_stays() {
        for text in [
            "/srv/kubernetes/ca.key: no such file or directory",
            "/etc/ssl/ca.key:-----BEGIN CERTIFICATE-----",
            "registry.lan/team/app_token:v1.29.3",
            "/var/run/app-secret:/run/app-secret:ro",
            "/etc/app.key:12: syntax error near line 14a",
            "/etc/pki/tls.crt:9f86d081884c7d659a2feaa0c55ad015",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
