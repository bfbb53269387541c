//! Planted secrets: each kind that may come near the agent, in each form it may come in. None is real; they are
//! made when a test runs, so that no search for credentials finds one in this repository.
//!
//! A test puts [`Planted::text`] wherever something of others may come from, and looks for [`Planted::is_seen_in`]
//! wherever the agent shows something.

mod carriers;
mod clusters;
mod keys;
mod settings;
mod tokens;
mod urls;
mod words;

pub use carriers::carried;
pub use keys::private_key;

use sha2::{Digest, Sha256};

/// A secret in a text that carries it.
#[derive(Debug, Clone)]
pub struct Planted {
    /// What it is, and in which form.
    pub name: String,
    /// What must never be seen, nor a good part of it.
    pub secret: String,
    pub text: String,
    /// Whether only whole lines tell that it is one, which not every carrier leaves.
    of_lines: bool,
}

/// How long a part of a secret must be to count as the secret.
const TELLING: usize = 8;

impl Planted {
    /// A secret in a text of the caller's.
    pub fn new(name: impl Into<String>, secret: &str, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            secret: secret.to_owned(),
            text: text.into(),
            of_lines: false,
        }
    }

    fn of_lines(self) -> Self {
        Self {
            of_lines: true,
            ..self
        }
    }

    /// Whether the secret, or a good part of it, stands in `shown`.
    pub fn is_seen_in(&self, shown: &str) -> bool {
        let mut parts = self
            .secret
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|part| part.len() >= TELLING);
        parts.any(|part| shown.contains(part))
    }
}

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/// A secret without a shape: so many letters and digits, the same for the same `seed`.
pub fn made_up(seed: &str, count: usize) -> String {
    letters(seed, LETTERS, count)
}

const CAPITALS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const SMALL: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// So many letters of this alphabet, which are the same for the same `seed`.
fn letters(seed: &str, alphabet: &[u8], count: usize) -> String {
    let digests = (0_u32..).flat_map(|turn| Sha256::digest(format!("{seed} {turn}")).to_vec());
    let chosen = digests.map(|byte| char::from(alphabet[usize::from(byte) % alphabet.len()]));
    chosen.take(count).collect()
}

fn bytes(seed: &str, count: usize) -> Vec<u8> {
    letters(seed, LETTERS, count).into_bytes()
}

/// Every planted secret in every form.
pub fn planted_secrets() -> Vec<Planted> {
    let mut all = settings::settings();
    all.extend(clusters::aws());
    all.extend(keys::keys());
    all.extend(tokens::tokens());
    all.extend(tokens::forms_of_vendors());
    all.extend(words::words());
    all.extend(urls::urls());
    all.extend(clusters::registries());
    all.extend(clusters::kubernetes());
    all
}

fn hex(seed: &str) -> String {
    letters(seed, b"0123456789abcdef", 64)
}
