//! Keeps secrets out of everything that is shown: a type that never prints, and a scrubber for text of
//! others (errors, URLs, journal lines, files) that may carry one.
//!
//! The scrubber is the last net, not the first: what is known to be a secret is a [`Secret`] from where it is read.
//! It knows secrets by their shape or by the name beside them ([`RULES`]); one that has neither passes.

mod accounts;
mod aligned;
mod arguments;
mod base64;
mod blank;
mod block;
mod calls;
mod chosen;
mod columns;
mod command;
mod compare;
mod credential;
mod credential_files;
mod digits_in_words;
mod directive;
mod encoded;
mod entropy;
mod environment;
mod foreign;
mod form_values;
mod forms;
mod grepped;
mod groups;
mod handed;
mod harmless;
mod hex;
mod items;
mod known;
mod label;
mod line;
mod links;
mod login;
mod mail;
mod manifest;
mod marked;
mod marks;
mod markup;
mod name;
mod opaque;
mod pair;
mod parameter;
mod pem;
mod phrase;
mod phrase_names;
mod piped;
mod prefixed;
mod prefixes;
mod programs;
mod protocol;
mod quote;
mod quoted_text;
mod rule;
mod scrub;
mod secret;
mod secret_names;
mod sentence;
mod shape;
mod shown;
mod subscribers;
mod unfold;
mod url;
mod userlist;
mod value;
mod vendor;
mod web_keys;
mod word;

pub use known::KnownSecrets;
pub use rule::{RULES, Rule, kinds};
pub use scrub::{Redactions, scrub, scrub_and_learn, scrub_by, scrub_counted, scrub_environment};
pub use secret::{MASK, Secret};
