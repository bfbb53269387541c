//! Masks what the rules find, and counts it.

use super::environment::find_in_file;
use super::known::KnownSecrets;
use super::label::find_labelled;
use super::rule::Finder;
use super::unfold::Unfolded;
use super::{MASK, RULES, Rule};
use crate::memo::Memo;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// How often a text is read anew after something in it was masked. What is masked may uncover something, as a quote
/// that now ends elsewhere; two rounds are the rule, and nothing written by hand has needed four.
const ROUNDS: usize = 12;

/// How often each rule masked something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Redactions(BTreeMap<&'static str, usize>);

impl Redactions {
    /// How often all rules together did.
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// How often one rule did.
    pub fn of(&self, rule: &str) -> usize {
        self.0.get(rule).copied().unwrap_or_default()
    }

    /// The rules that masked something, by name.
    pub fn by_rule(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.0.iter().map(|(name, count)| (*name, *count))
    }

    /// Adds what another text had.
    pub fn add(&mut self, others: &Redactions) {
        for (name, count) in others.by_rule() {
            *self.0.entry(name).or_default() += count;
        }
    }

    /// Adds how often something was masked because it was masked elsewhere.
    pub fn add_known(&mut self, times: usize) {
        if times > 0 {
            self.count(KnownSecrets::RULE.0, times);
        }
    }

    fn count(&mut self, rule: &'static str, times: usize) {
        *self.0.entry(rule).or_default() += times;
    }
}

/// Returns `text` with what looks like a credential replaced by [`MASK`].
///
/// Text without any is unchanged; so is text that went through it before. What counts as one is in [`RULES`].
pub fn scrub(text: &str) -> String {
    thread_local! {
        static SCRUBBED: Memo<String> = Memo::empty();
    }
    SCRUBBED.with(|scrubbed| scrubbed.of(text, || scrub_counted(text).0))
}

/// Like [`scrub`], and tells how often each rule masked something.
pub fn scrub_counted(text: &str) -> (String, Redactions) {
    let rules: Vec<&Rule> = RULES.iter().collect();
    scrub_by(&rules, text)
}

/// Like [`scrub_counted`], and adds the values that were masked to `known`.
pub fn scrub_and_learn(text: &str, known: &mut KnownSecrets) -> (String, Redactions) {
    let rules: Vec<&Rule> = RULES.iter().collect();
    let mut found = Found::learning(known);
    (scrub_all(&rules, text, &mut found), found.counts)
}

/// Like [`scrub_counted`], by these rules alone: for those who ask what one rule is good for.
pub fn scrub_by(rules: &[&Rule], text: &str) -> (String, Redactions) {
    let mut found = Found::default();
    (scrub_all(rules, text, &mut found), found.counts)
}

fn scrub_all(rules: &[&Rule], text: &str, found: &mut Found<'_>) -> String {
    let mut scrubbed = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let before = found.counts.total();
        scrubbed = scrub_once(rules, scrubbed, found);
        if found.counts.total() == before {
            return scrubbed.into_owned();
        }
    }
    // A text made to uncover ever more is withheld: to show it would be a guess.
    MASK.to_owned()
}

/// What was masked so far.
#[derive(Debug, Default)]
struct Found<'known> {
    counts: Redactions,
    known: Option<&'known mut KnownSecrets>,
}

impl<'known> Found<'known> {
    fn learning(known: &'known mut KnownSecrets) -> Self {
        Self {
            known: Some(known),
            ..Self::default()
        }
    }

    fn add(&mut self, rule: &'static str, value: &str) {
        self.counts.count(rule, 1);
        if let Some(known) = self.known.as_mut() {
            known.learn(rule, value);
        }
    }
}

/// Whether any rule finds something in a text, which is read once.
pub(super) fn holds_secret(text: &str) -> bool {
    let rules: Vec<&Rule> = RULES.iter().collect();
    let mut found = Found::default();
    scrub_once(&rules, Cow::Borrowed(text), &mut found);
    found.counts.total() > 0
}

/// Like [`holds_secret`], without what is a guess.
pub(super) fn surely_holds_secret(text: &str) -> bool {
    let is_guess = |rule: &&Rule| {
        rule.finds
            .iter()
            .all(|finder| matches!(finder, Finder::Last(_)))
    };
    let rules: Vec<&Rule> = RULES.iter().filter(|rule| !is_guess(rule)).collect();
    let mut found = Found::default();
    scrub_once(&rules, Cow::Borrowed(text), &mut found);
    found.counts.total() > 0
}

/// Like [`scrub_counted`], for a file of variables, of which only those stay that say how a node is set up.
pub fn scrub_environment(text: &str, known: &mut KnownSecrets) -> (String, Redactions) {
    let mut found = Found::learning(known);
    let places = find_in_file(text);
    for place in &places {
        found.add("unit-environment", &text[place.clone()]);
    }
    let rules: Vec<&Rule> = RULES.iter().collect();
    let scrubbed = scrub_all(&rules, &masked(text, places.into_iter()), &mut found);
    (scrubbed, found.counts)
}

/// Masks what a line break splits, which no rule sees whole.
fn scrub_split<'text>(
    rules: &[&Rule],
    text: Cow<'text, str>,
    seen: &mut Found<'_>,
) -> Cow<'text, str> {
    let Some(unfolded) = Unfolded::of(&text) else {
        return text;
    };
    let shapes = rules.iter().flat_map(|rule| {
        let found = rule.finds.iter().filter_map(|finder| match finder {
            Finder::Shape(find) => Some(find(&unfolded.text)),
            _ => None,
        });
        found.flatten().map(|place| (rule.name, place))
    });
    let mut found: Vec<(&'static str, Range<usize>)> = shapes.collect();
    found.extend(find_labelled(&unfolded.text, rules));
    let mut parts: Vec<(&'static str, Range<usize>)> = found
        .iter()
        .flat_map(|(rule, place)| unfolded.split(place).into_iter().map(|part| (*rule, part)))
        .filter(|(_, part)| text[part.clone()].bytes().any(|b| b != b'*'))
        .collect();
    parts.sort_by_key(|(_, part)| (part.start, std::cmp::Reverse(part.end)));
    parts.dedup_by(|later, earlier| later.1.start < earlier.1.end);
    if parts.is_empty() {
        return text;
    }
    for (rule, part) in &parts {
        seen.add(rule, &text[part.clone()]);
    }
    Cow::Owned(masked(&text, parts.into_iter().map(|(_, part)| part)))
}

fn scrub_once<'text>(
    rules: &[&Rule],
    text: Cow<'text, str>,
    seen: &mut Found<'_>,
) -> Cow<'text, str> {
    let mut text = scrub_split(rules, text, seen);
    for rule in rules {
        for finder in rule.finds {
            if let Finder::Shape(find) = finder {
                text = mask_found(rule, *find, text, seen);
            }
        }
    }
    let found = find_labelled(&text, rules);
    if !found.is_empty() {
        for (rule, place) in &found {
            seen.add(rule, &text[place.clone()]);
        }
        text = Cow::Owned(masked(&text, found.into_iter().map(|(_, place)| place)));
    }
    for rule in rules {
        for finder in rule.finds {
            if let Finder::Last(find) = finder {
                text = mask_found(rule, *find, text, seen);
            }
        }
    }
    text
}

fn mask_found<'text>(
    rule: &Rule,
    find: fn(&str) -> Vec<Range<usize>>,
    text: Cow<'text, str>,
    seen: &mut Found<'_>,
) -> Cow<'text, str> {
    let mut found = find(&text);
    // What is masked already is not found again: else a text would never be done.
    found.retain(|place| text[place.clone()].bytes().any(|b| b != b'*'));
    if found.is_empty() {
        return text;
    }
    for place in &found {
        seen.add(rule.name, &text[place.clone()]);
    }
    Cow::Owned(masked(&text, found.into_iter()))
}

/// The text with the mask at these places, which are in order and apart.
pub(super) fn masked(text: &str, places: impl Iterator<Item = Range<usize>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut shown = 0;
    for place in places {
        out.push_str(&text[shown..place.start]);
        out.push_str(MASK);
        shown = place.end;
    }
    out.push_str(&text[shown..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_urls_are_masked() {
        let url = "https://user:pa55@host/x?X-Amz-Signature=abc&X-Amz-Credential=AKIA1/x&part=1";
        let scrubbed = "https://***@host/x?X-Amz-Signature=***&X-Amz-Credential=***&part=1";
        assert_eq!(scrub(url), scrubbed);
    }

    #[test]
    fn private_keys_are_masked_and_certificates_are_not() {
        let text = "a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb";
        assert_eq!(scrub(text), "a ***\nb");
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----";
        assert_eq!(scrub(certificate), certificate);
    }

    #[test]
    fn key_ids_and_tokens_are_masked() {
        let text = "key ASIAQWERTYUIOPASDFGH, Authorization: Bearer abc.def.ghi, --token=t0k3n x";
        let scrubbed = "key ASIA***, Authorization: Bearer ***, --token=*** x";
        assert_eq!(scrub(text), scrubbed);
    }

    #[test]
    fn what_is_masked_is_counted_by_the_rule_that_found_it() {
        let (_, counts) = scrub_counted("with password=a1 secret=b2 https://u:p@h/");
        let counts: Vec<_> = counts.by_rule().collect();
        assert_eq!(
            counts,
            [("kubeconfig", 1), ("secret-setting", 1), ("url-user", 1)]
        );
    }

    #[test]
    fn only_the_value_is_masked_and_what_stands_around_it_stays() {
        for (text, scrubbed) in [
            (
                "{\"password\": \"a b\", \"c\": 1}",
                "{\"password\": \"***\", \"c\": 1}",
            ),
            (
                "a: 1\npassword: x y # why\nb: 2",
                "a: 1\npassword: *** # why\nb: 2",
            ),
            ("- token: |\n    x\n    y\n  b: 2", "- token: ***\n  b: 2"),
            ("(given token=x1, then b)", "(given token=***, then b)"),
            ("run --token x1 --b 2", "run --token *** --b 2"),
            (
                "- name: A_TOKEN\n  value: x1\n- name: B",
                "- name: A_TOKEN\n  value: ***\n- name: B",
            ),
            (
                "Authorization: AWS4-HMAC-SHA256 Credential=x, Signature=y\nB: c",
                "Authorization: AWS4-HMAC-SHA256 ***\nB: c",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
        }
    }

    /// What looks a little like a secret and is none.
    const HARMLESS: &[&str] = &[
        "GET s3://bucket/key as arn:aws:sts::1:assumed-role/x/i-0 -> 403 AccessDenied",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709@https://a.example/kubelet,https://b.example/kubelet",
        "registry.k8s.io/pause:3.9@sha256:7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097",
        "--token-auth-file=/srv/kubernetes/known_tokens.csv --authorization-mode=Node,RBAC",
        "--authentication-token-webhook=true --service-account-key-file=/srv/kubernetes/sa.pub",
        "--use-service-account-credentials --tls-private-key-file=/srv/kubernetes/server.key",
        "tokenFile: /var/lib/kubelet/token\nrotateCertificates: true",
        "token: /var/run/secrets/kubernetes.io/serviceaccount/token",
        "serviceAccountToken:\n  expirationSeconds: 3607\n  path: token",
        "secret:\n  secretName: pull\n  optional: true",
        "imagePullSecrets:\n- name: pull",
        "automountServiceAccountToken: false",
        "controllers: -tokencleaner,bootstrapsigner tokenCleaner=on",
        "authorization:\n  mode: Webhook\n  webhook:\n    cacheAuthorizedTTL: 0s",
        "authorization:\n  rbac: {}",
        "TOKEN=$(curl -X PUT http://169.254.169.254/latest/api/token) PASSWORD=${PASSWORD}",
        "X-aws-ec2-metadata-token-ttl-seconds: 21600",
        "HttpTokens: required, HttpPutResponseHopLimit: 2",
        "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUMKLS0tLS0K",
        "client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUMKLS0tLS0K",
        "ssh://git@git.example.com/repository and git@git.example.com:repository",
        "http://127.0.0.1:2381/health?serializable=true http://[::1]:80/a@b",
        "https://host:8443/x@2.png oci://registry/image:1@sha256:0",
        "the metadata service gives no token: it is turned off",
        "cannot read the token: open /var/x: no such file",
        "basic.target - Basic System. Bearer authentication is off; basic authentication too",
        "coredns-abcde.17a1b2c3d4e5f6a7 12345.1234567890123456 kubelet.service",
        "kind: ConfigMap\ndata:\n  a: b",
        "std::token::Token and secret::Secret are paths",
        "arn:aws:secretsmanager:eu-west-1:1:secret:name",
    ];

    #[test]
    fn what_is_no_secret_is_unchanged() {
        for text in HARMLESS {
            assert_eq!(scrub(text), *text);
        }
    }
}
