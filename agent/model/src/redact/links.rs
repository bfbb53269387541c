//! Links that open something by themselves: what stands in them behind a word that says so.

use super::marks::Marks;
use super::opaque::{is_aws_id, is_opaque, is_uuid};
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

/// What such a link is for, as a part of its path.
static PURPOSES: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "?code=",
        "&code=",
        "?ticket=",
        "&ticket=",
        "?session_id=",
        "&session_id=",
        ";jsessionid=",
        ";JSESSIONID=",
        ";sid=",
        ";session=",
        ";phpsessid=",
        ";token=",
        "?sid=",
        "&sid=",
        "?t=",
        "&t=",
        "?k=",
        "&k=",
        "/heartbeat",
        "webhook",
        "/ping/",
        "/key/",
        "/secret",
        "/ingest",
        "/collect/",
        "/magic",
        "/reset",
        "/invite",
        "/invitation",
        "/verify",
        "/confirm",
        "/activate",
        "/unsubscribe",
        "/accept",
        "/join/",
        "/signin/",
        "/login/",
        "/token/",
        "/share/",
        "/s/",
        "/otp/",
        "/recover",
        "/password",
        "/set-password",
        "/i/",
        "/auth/",
        "/hook/",
        "/hooks/",
        "/webhook/",
        "/trigger/",
        "/callback/",
        "/notify/",
        "/push/",
        "/send/",
        "/t/",
        "/integration",
        "/alert",
        "/inbound",
        "/incoming",
        "/notif",
        "/bot",
        "/chat",
        "/catch/",
        "/beacon/",
        "/cron/",
        "/input/",
        "/inputs/",
        "/signatures/",
        "/receive",
        "/oncall",
        "://hook",
        "://alert",
        "://notify",
        "://push",
        "://chat",
        "://ingest",
        "://uptime",
        "://cron",
        "://heartbeat",
        "://inbound",
        "://in.",
        "://events.",
    ])
});

/// No such word is shorter.
const SHORTEST: usize = 10;

/// An address has no more bytes.
const LONGEST: usize = 512;

pub(super) fn find_in_links(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut behind = 0;
    for (at, _, mark) in PURPOSES.places_in(text) {
        let is_host = mark.starts_with("://");
        let is_session = mark.starts_with(';');
        if at < behind
            || !is_host && !is_session && !is_of_address(&bytes[at.saturating_sub(LONGEST)..at])
        {
            continue;
        }
        let mut start = at + mark.len();
        let end = start + run(&bytes[start..bytes.len().min(start + LONGEST)], is_of_link);
        behind = end;
        while start < end {
            let length = run(&bytes[start..end], |b| {
                b.is_ascii_alphanumeric() || b"_-.~".contains(&b)
            });
            let word = &text[start..start + length];
            // A server puts its own name behind a session's.
            let said = word.split('.').next().unwrap_or_default();
            let is_of_session = mark.ends_with('=') && said.len() >= 16 && is_secret(said);
            // `/t/xk-123e4567-e89b-12d3-a456-426614174000/`
            let id = word.split_once('-').map_or("", |(_, id)| id);
            let is_of_channel = mark == "/t/" && is_uuid(id);
            if is_secret(word) || is_of_session || is_of_channel {
                found.push(start..start + length);
            }
            start += length.max(1);
        }
    }
    apart(found)
}

fn is_of_link(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.~/?=&%".contains(&byte)
}

/// Whether the host and the path of an address end here, or the path that is asked of a server.
fn is_of_address(before: &[u8]) -> bool {
    const METHODS: [&[u8]; 7] = [
        b"GET ",
        b"POST ",
        b"PUT ",
        b"HEAD ",
        b"DELETE ",
        b"PATCH ",
        b"OPTIONS ",
    ];
    let is_of_path = |b: &&u8| is_of_link(**b) || b":;".contains(b);
    let length = before.iter().rev().take_while(is_of_path).count();
    let (method, word) = before.split_at(before.len() - length);
    word.windows(3).any(|three| three == b"://")
        || METHODS.iter().any(|known| method.ends_with(known))
}

fn is_secret(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    word.len() >= SHORTEST
        && is_opaque(word, true)
        && digits < word.len()
        && !word.contains('.')
        && !is_uuid(word)
        && !is_aws_id(word)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn what_opens_a_link_is_masked() {
        for (text, scrubbed) in [
            (
                "open https://app.io/magic/Zx8kQ2mN7vL4pR9w now",
                "open https://app.io/magic/*** now",
            ),
            (
                "https://app.io/invite?id=Zx8kQ2mN7vL4",
                "https://app.io/invite?id=***",
            ),
            (
                "GET /a/;jsessionid=B29005FACA31BBBB1FDFECF7EFA69C3D.node7 HTTP",
                "GET /a/;jsessionid=*** HTTP",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_addresses_stay() {
        for text in [
            "https://app.io/login/settings/node-1",
            "GET https://10.0.0.1/api/v1/namespaces/kube-system/pods/coredns-5d78c9869d-abcde",
            "/var/lib/reset/Zx8kQ2mN7vL4pR9w",
            "https://app.io/token/kubernetes.io/serviceaccount",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
