//! What is in a bundle, and what is not and why.

use super::masked::mask;
use quake_model::redact::{RULES, Redactions, scrub};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The version of the layout of bundles.
const VERSION: u32 = 1;

/// Names that the bundle gives to files of its own.
const OWN: [&str; 3] = ["manifest.json", "redaction.json", "errors.json"];

/// Whether secrets are masked on their way into a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redaction {
    /// They are, and files that are no text stay out.
    Masked,
    /// Everything goes in as it is.
    AsIs,
}

/// The files of a bundle to be.
#[derive(Debug)]
pub struct Bundle {
    redaction: Redaction,
    files: BTreeMap<String, Vec<u8>>,
    redactions: BTreeMap<String, Redactions>,
    errors: BTreeMap<String, Vec<String>>,
}

/// How a file is described in the manifest.
#[derive(Debug, Serialize)]
struct Described<'bundle> {
    path: &'bundle str,
    size: usize,
    sha256: String,
}

impl Bundle {
    /// An empty bundle.
    pub fn new(redaction: Redaction) -> Self {
        Self {
            redaction,
            files: BTreeMap::new(),
            redactions: BTreeMap::new(),
            errors: BTreeMap::new(),
        }
    }

    /// Adds a file, with what looks like a secret masked.
    ///
    /// What cannot go in is told in `errors.json` instead: bytes that are no text, a second file of one path, and a
    /// path that leads out of the bundle or is one of its own.
    pub fn add(&mut self, path: &str, bytes: &[u8]) {
        let name = self.shown(path);
        if !is_inside(&name) || OWN.contains(&name.as_str()) {
            return self.add_error(&name, "a bundle has no such path");
        }
        if self.files.contains_key(&name) {
            return self.add_error(&name, "there is another file of that path, which stayed");
        }
        let bytes = match (self.redaction, std::str::from_utf8(bytes)) {
            (Redaction::AsIs, _) => bytes.to_vec(),
            (Redaction::Masked, Ok(text)) => {
                let (text, redactions) = mask(&name, text);
                if redactions.total() > 0 {
                    self.redactions.insert(name.clone(), redactions);
                }
                text.into_bytes()
            }
            (Redaction::Masked, Err(_)) => {
                let why = format!(
                    "{} bytes that are no text: left out, for secrets cannot be masked in them",
                    bytes.len()
                );
                return self.add_error(&name, &why);
            }
        };
        self.files.insert(name, bytes);
    }

    /// Tells why a file is not there.
    pub fn add_failed(&mut self, path: &str, why: &str) {
        let name = self.shown(path);
        self.add_error(&name, why);
    }

    /// Tells what is missing from a file that is there.
    pub fn add_cut(&mut self, path: &str, what: &str) {
        let name = self.shown(path);
        self.add_error(&name, what);
    }

    fn add_error(&mut self, name: &str, why: &str) {
        let why = match self.redaction {
            Redaction::Masked => scrub(why),
            Redaction::AsIs => why.to_owned(),
        };
        self.errors.entry(name.to_owned()).or_default().push(why);
    }

    /// A path may carry a secret as well as a file does.
    fn shown(&self, path: &str) -> String {
        match self.redaction {
            Redaction::Masked => scrub(path),
            Redaction::AsIs => path.to_owned(),
        }
    }

    /// How often each kind of secret was masked in all files.
    pub fn masked(&self) -> Redactions {
        let mut all = Redactions::default();
        for redactions in self.redactions.values() {
            all.add(redactions);
        }
        all
    }

    /// How many files it has, without its own.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether it has no file but its own.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// All files in the order of their paths, with those of the bundle's own.
    pub(super) fn entries(&self) -> BTreeMap<String, Vec<u8>> {
        let mut entries = self.files.clone();
        entries.insert(
            "redaction.json".to_owned(),
            text_of(&self.redaction_report()),
        );
        entries.insert("errors.json".to_owned(), text_of(&self.error_report()));
        let files: Vec<Described<'_>> = entries
            .iter()
            .map(|(path, bytes)| Described {
                path,
                size: bytes.len(),
                sha256: hex(&Sha256::digest(bytes)),
            })
            .collect();
        let manifest = json!({"version": VERSION, "files": files});
        entries.insert("manifest.json".to_owned(), text_of(&manifest));
        entries
    }

    fn redaction_report(&self) -> Value {
        let all = self.masked();
        let kinds = RULES.iter().map(
            |rule| json!({"name": rule.name, "purpose": rule.purpose, "masked": all.of(rule.name)}),
        );
        json!({
            "version": VERSION,
            "redacted": self.redaction == Redaction::Masked,
            "total": all.total(),
            "kinds": kinds.collect::<Vec<_>>(),
            "note": "these kinds were looked for; secrets of other kinds may remain",
            "byRule": all,
            "byFile": self.redactions,
        })
    }

    fn error_report(&self) -> Value {
        let errors = self.errors.iter().flat_map(|(path, reasons)| {
            reasons.iter().map(move |why| {
                json!({"path": path, "inBundle": self.files.contains_key(path), "why": why})
            })
        });
        json!({"version": VERSION, "errors": errors.collect::<Vec<_>>()})
    }
}

/// Whether a path stays below the directory that a bundle is unpacked in, for every program that may unpack it.
fn is_inside(path: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name != "." && name != "..";
    path.len() < 1024 && path.split('/').all(is_name) && !path.chars().any(char::is_control)
}

fn text_of(value: &Value) -> Vec<u8> {
    let mut text = format!("{value:#}").into_bytes();
    text.push(b'\n');
    text
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
