//! The table of rules: what counts as a secret, and how each kind is found.

use super::known::KnownSecrets;
use super::label::{Form, Label, Sign};
use super::{
    aligned, chosen, columns, command, compare, credential, directive, encoded, entropy,
    environment, foreign, forms, groups, handed, hex, key_exports, links, login, mail, manifest,
    marked, markup, name, pem, phrase, protocol, radius, sentence, shape, shown, stored,
    subscribers, url, vendor, web_keys,
};
use std::ops::Range;

/// One kind of secret that is masked wherever text is shown.
#[derive(Debug)]
pub struct Rule {
    /// Stable name, as it stands in a redaction report.
    pub name: &'static str,
    /// What it keeps from being seen.
    pub purpose: &'static str,
    pub(super) finds: &'static [Finder],
}

/// One way to find a secret. All of them read the text a bounded number of times.
#[derive(Debug)]
pub(super) enum Finder {
    /// It looks like one, whatever stands beside it: the places, in order and apart.
    Shape(fn(&str) -> Vec<Range<usize>>),
    /// It is the value of a setting, header or parameter with such a name.
    Label(Label),
    /// It is the value beside a name for which this says how to read it.
    Names(fn(&[u8], Sign) -> Option<Form>),
    /// It is the `value` beside a `name` that tells of a secret, as in a list of environment variables.
    Paired,
    /// As a shape, in what all others left.
    Last(fn(&str) -> Vec<Range<usize>>),
}

use Finder::{Last, Names, Paired, Shape};

const fn setting(exact: &'static [&'static str], ends: &'static [&'static str]) -> Finder {
    label(exact, ends, Form::Setting)
}

const fn label(
    exact: &'static [&'static str],
    ends: &'static [&'static str],
    form: Form,
) -> Finder {
    Finder::Label(Label { exact, ends, form })
}

/// Every rule. Where two would mask the same text, the one that stands first is counted.
pub const RULES: &[Rule] = &[
    Rule {
        name: "private-key",
        purpose: "PEM private keys of any kind, also escaped, indented or cut off at either end, and keys that programs export below a line of their own",
        finds: &[Shape(pem::find_keys), Shape(key_exports::find_key_exports)],
    },
    Rule {
        name: "encoded-private-key",
        purpose: "base64 of PEM that holds a private key, as in kubeconfigs and Secrets",
        finds: &[Shape(pem::find_encoded_keys)],
    },
    Rule {
        name: "encoded-secret",
        purpose: "base64 that holds any of these, a user and a password, packed data, or a key in DER",
        finds: &[Shape(encoded::find_encoded)],
    },
    Rule {
        name: "age-key",
        purpose: "secret keys of age",
        finds: &[Shape(shape::find_age_keys)],
    },
    Rule {
        name: "kubernetes-secret",
        purpose: "the data of Secret manifests",
        finds: &[Shape(manifest::find_secret_data)],
    },
    Rule {
        name: "json-web-token",
        purpose: "signed and encrypted JSON web tokens, such as those of service accounts",
        finds: &[Shape(shape::find_web_tokens)],
    },
    Rule {
        name: "bootstrap-token",
        purpose: "tokens with which nodes join a cluster",
        finds: &[Shape(shape::find_bootstrap_tokens)],
    },
    Rule {
        name: "vendor-token",
        purpose: "tokens to which vendors give a prefix of their own, such as GitHub, GitLab, Slack, Stripe, Google, npm, PyPI and Vault",
        finds: &[Shape(vendor::find_by_prefix), Shape(vendor::find_by_form)],
    },
    Rule {
        name: "presigned-url",
        purpose: "parts of URLs that sign them, name a credential or open something by themselves",
        finds: &[
            Shape(links::find_in_links),
            label(&["sig"], &[], Form::Query),
            label(
                &[],
                &[
                    "signature",
                    "xamzcredential",
                    "xamzsecuritytoken",
                    "awsaccesskeyid",
                ],
                Form::Parameter,
            ),
        ],
    },
    Rule {
        name: "aws-secret",
        purpose: "secret access keys and session tokens of AWS",
        finds: &[
            Shape(shape::find_keys_beside_ids),
            setting(
                &[],
                &[
                    "secretaccesskey",
                    "awssecretkey",
                    "sessiontoken",
                    "securitytoken",
                ],
            ),
        ],
    },
    Rule {
        name: "aws-key-id",
        purpose: "access key ids of AWS",
        finds: &[Shape(shape::find_key_ids)],
    },
    Rule {
        name: "imds-token",
        purpose: "session tokens of the instance metadata service",
        finds: &[
            Shape(shape::find_metadata_tokens),
            setting(&[], &["ec2metadatatoken"]),
        ],
    },
    Rule {
        name: "url-user",
        purpose: "user names and passwords in URLs",
        finds: &[Shape(url::find_user_information)],
    },
    Rule {
        name: "password-hash",
        purpose: "hashes of passwords, as in /etc/shadow and htpasswd files",
        finds: &[Shape(credential::find_hashes)],
    },
    Rule {
        name: "command-password",
        purpose: "passwords of command lines, of sessions with a server, and of addresses without a scheme",
        finds: &[
            Shape(command::find_in_commands),
            Shape(credential::find_arguments),
            Shape(credential::find_in_addresses),
            Shape(directive::find_in_directives),
            Shape(login::find_logins),
            Shape(handed::find_handed),
            Shape(marked::find_marked),
            Shape(protocol::find_in_protocols),
            Shape(shown::find_shown),
            Shape(forms::find_in_forms),
            Shape(mail::find_in_mail),
            Shape(stored::find_stored),
            Shape(radius::find_in_radius),
        ],
    },
    Rule {
        name: "recovery-phrase",
        purpose: "phrases that restore a wallet, codes that replace a second factor, and keys in groups or in base 16",
        finds: &[
            Shape(phrase::find_phrases),
            Shape(groups::find_groups),
            Shape(hex::find_numbers),
            Shape(subscribers::find_of_subscribers),
        ],
    },
    Rule {
        name: "unit-environment",
        purpose: "variables of units, but for those that say how a node is set up",
        finds: &[Shape(environment::find_in_units)],
    },
    Rule {
        name: "compared",
        purpose: "values that a program compares with a name that tells of a secret",
        finds: &[Shape(compare::find_compared)],
    },
    Rule {
        name: "authorization",
        purpose: "headers that authorise a request, of any scheme, and cookies",
        finds: &[label(
            &["cookie", "setcookie"],
            &["authorization"],
            Form::Header,
        )],
    },
    Rule {
        name: "bearer",
        purpose: "bearer and basic credentials outside a header",
        finds: &[Shape(shape::find_bearers)],
    },
    Rule {
        name: "registry-auth",
        purpose: "credentials of image registries, in Docker's and containerd's forms",
        finds: &[
            label(&["auth"], &[], Form::Encoded),
            setting(
                &[],
                &[
                    "identitytoken",
                    "registrytoken",
                    "dockerconfigjson",
                    "dockercfg",
                ],
            ),
        ],
    },
    Rule {
        name: "kubeconfig",
        purpose: "keys, tokens and passwords of kubeconfigs",
        finds: &[label(
            &["token", "password"],
            &["clientkeydata"],
            Form::Doubtful,
        )],
    },
    Rule {
        name: "secret-setting",
        purpose: "settings, flags, variables, columns of tables and parts of sentences whose name tells of a secret",
        finds: &[
            Shape(web_keys::find_in_web_keys),
            Shape(columns::find_in_tables),
            Shape(aligned::find_in_columns),
            Shape(markup::find_in_markup),
            Shape(sentence::find_in_sentences),
            Shape(foreign::find_foreign),
            Names(name::form_of),
        ],
    },
    Rule {
        name: "secret-variable",
        purpose: "values of named variables, as in the environment of a container",
        finds: &[Paired],
    },
    Rule {
        name: "unknown",
        purpose: "words that chance made, or that people choose as passwords, in places that tell nothing of them: a guess",
        finds: &[
            Last(entropy::find_unknown),
            Last(chosen::find_chosen),
            Last(chosen::find_odd),
        ],
    },
];

/// The name and the purpose of every kind of secret that is looked for: the rules', and what they found elsewhere.
pub fn kinds() -> impl ExactSizeIterator<Item = (&'static str, &'static str)> {
    let rules = RULES.iter().map(|rule| (rule.name, rule.purpose));
    let all: Vec<_> = rules.chain([KnownSecrets::RULE]).collect();
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_has_a_name_of_its_own_and_says_what_it_is_for() {
        let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
        assert!(
            RULES
                .iter()
                .all(|rule| !rule.purpose.is_empty() && !rule.finds.is_empty())
        );
    }
}
