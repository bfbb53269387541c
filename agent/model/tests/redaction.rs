//! Redaction, held to the list of planted secrets: with all rules none of them is seen, and there is no rule
//! without which none would be.

use proptest::prelude::*;
use quake_integration::planted::{Planted, carried, planted_secrets};
use quake_model::redact::{RULES, Rule, scrub, scrub_by, scrub_counted};
use std::time::{Duration, Instant};

#[test]
fn no_planted_secret_is_seen_whatever_carries_it() {
    let planted = planted_secrets();
    let carried: Vec<Planted> = planted.iter().flat_map(carried).collect();
    let seen: Vec<String> = carried
        .iter()
        .filter(|planted| planted.is_seen_in(&scrub(&planted.text)))
        .map(|planted| format!("{}: {}", planted.name, scrub(&planted.text)))
        .collect();
    assert!(
        carried.len() > 4000 && seen.is_empty(),
        "{}",
        seen.join("\n")
    );
}

#[test]
fn every_planted_secret_is_seen_before() {
    for planted in planted_secrets() {
        assert!(planted.is_seen_in(&planted.text), "{}", planted.name);
    }
}

#[test]
fn without_any_one_rule_a_planted_secret_is_seen() {
    let planted = planted_secrets();
    for removed in RULES {
        let rules: Vec<&Rule> = RULES
            .iter()
            .filter(|rule| rule.name != removed.name)
            .collect();
        let survives = |planted: &Planted| planted.is_seen_in(&scrub_by(&rules, &planted.text).0);
        assert!(
            planted.iter().any(survives),
            "{} is needed by nothing",
            removed.name
        );
    }
}

#[test]
fn text_that_was_scrubbed_is_not_changed_again() {
    for planted in planted_secrets().iter().flat_map(carried) {
        let once = scrub(&planted.text);
        assert_eq!(scrub(&once), once, "{}", planted.name);
    }
}

/// What a rule might begin with and then read too far, each repeated without end.
const REPEATED: &[&str] = &[
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "token:\\\"",
    "token: 'a\n",
    "token: |\n ",
    "://a:b@",
    "://",
    "eyJ.",
    "bearer ",
    "UFJJVkFURSBLRV ",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",
    "kind: Secret\ndata:\n",
    "name: token\nvalue: x\n",
    "authorization:",
    "\\u0026sig\\u003d",
    "\\",
    " ",
    "%25",
    "--a ",
    "value: x\nname: token\n",
    "value: x name: token ",
    "<password>",
    "password is ",
    "Private-Lines: 1\n",
    "token: a:",
    "key: a\n  b\n",
    "hooks.slack.com/",
    "abcdef0123.",
    "YWRtaW46aHVudGVyMg",
    "xoxb-",
    "-----BEGIN CERTIFICATE-----",
    "redis-cli -a x ",
    "echo a | ",
    "password=a\\\n",
    "2026-01-01T00:00:00.123456789Z stdout P password=a\n",
    "Jan 01 00:00:00 h app[7]: password=a\n",
    "Environment=A=b ",
    "\"a\" == password ",
    "login a password b ",
    "a -u b -p ",
    "BUNDLE_",
    "cookie: a=\"",
    "INSERT INTO t (password) VALUES ('a",
    "user,password\n",
    "user|password\na|b\n",
    "password of it is ",
    "password of it:\n",
    "AUTH a b\n",
    "https://a/magic/",
    "('a','b'",
    "<<<a",
    "password:send \"a",
    "secrets set a=",
    "+ echo -n a\n+ ",
    "\"kind: Secret\\n",
    "BORG_KEY a\n",
    "K 8\npassword\nV 4\n",
    "\"result\": \"min_special",
    "radius_clients\n",
    ": Flags [PASS a ",
    "mdp a ",
];

/// A hundred times what a piece takes in a build without optimisation; quadratic cost is thousands of times more.
const FAR_TOO_LONG: Duration = Duration::from_secs(20);

#[test]
#[expect(clippy::disallowed_methods, reason = "what it costs is the fact")]
fn a_long_text_in_one_piece_costs_no_more_than_its_length() {
    for piece in REPEATED {
        let began = Instant::now();
        scrub(&piece.repeat((256 << 10) / piece.len()));
        assert!(began.elapsed() < FAR_TOO_LONG, "{piece:?}");
    }
}

/// Pieces of what the rules look for, so that chance finds their seams.
const PIECES: &[&str] = &[
    "token",
    "password",
    "=",
    ": ",
    ":",
    "\"",
    "'",
    "\\",
    "\\n",
    "\n",
    "  ",
    "- ",
    "|",
    "[",
    "]",
    "{",
    "}",
    "@",
    "://",
    "https",
    "%3A%2F%2F",
    "%40",
    "&",
    "?",
    "Authorization",
    "Bearer ",
    "-----BEGIN ",
    "PRIVATE KEY",
    "-----",
    "-----END ",
    "eyJ",
    ".",
    "AKIA",
    "ABCDEFGH23456789",
    "LS0tLS1CRUdJTi",
    "UFJJVkFURSBLRV",
    "kind: Secret",
    "data:",
    "name",
    "value",
    "***",
    "*",
    "ghp_",
    "abcdefghij0123456789",
    "\u{e9}",
    "\u{1f600}",
    "\u{feff}",
    " #",
    "--",
    ",",
    " -u ",
    " -p ",
    "AUTH ",
    "INSERT INTO t (password) VALUES (",
    "(",
    ")",
    "<<<",
    "%22",
    "is ",
    "/magic/",
    "SetCredential=",
    "send \"",
    "+ echo -n ",
    "+ restic",
    "data:\n",
];

fn pieces() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PIECES), 0..24)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_can_be_scrubbed_and_a_second_time_changes_nothing(bytes: Vec<u8>) {
        let text = String::from_utf8_lossy(&bytes);
        let once = scrub(&text);
        prop_assert_eq!(scrub(&once), once);
    }

    #[test]
    fn any_seam_of_two_rules_is_read_once(text in pieces()) {
        let (once, counts) = scrub_counted(&text);
        prop_assert_eq!(scrub(&once), once.as_str());
        prop_assert_eq!(counts.total() == 0, once == text);
    }
}
