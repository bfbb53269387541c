//! What is in a bundle, and what is not and why.

use super::masked::{mask, mask_known};
use quake_model::redact::{KnownSecrets, Redactions, kinds, scrub};
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
    known: KnownSecrets,
}

/// How a file is described in the manifest.
#[derive(Debug, Serialize)]
struct Described<'bundle> {
    path: &'bundle str,
    size: usize,
    sha256: String,
}

impl Bundle {
    /// An empty bundle. What is in `known` is masked in all its files, as is what the rules find in any of them.
    pub fn new(redaction: Redaction, known: KnownSecrets) -> Self {
        Self {
            redaction,
            known,
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
                let (text, redactions) = mask(&name, text, &mut self.known);
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

    /// Masks in every file, and in their names, what was masked in any.
    pub(super) fn settle(&mut self) {
        if self.redaction == Redaction::AsIs {
            return;
        }
        self.known.prepare();
        let known = &self.known;
        let shown = |path: String| known.mask(&path).0;
        let mut files = BTreeMap::new();
        let mut redactions = std::mem::take(&mut self.redactions);
        for (path, bytes) in std::mem::take(&mut self.files) {
            let masked = std::str::from_utf8(&bytes).map(|text| mask_known(&path, text, known));
            let mut counts = redactions.remove(&path).unwrap_or_default();
            let path = free_path(&files, &shown(path));
            let bytes = match masked {
                Ok((text, times)) => {
                    counts.add_known(times);
                    text.into_bytes()
                }
                Err(_) => bytes,
            };
            if counts.total() > 0 {
                self.redactions.insert(path.clone(), counts);
            }
            files.insert(path, bytes);
        }
        self.files = files;
        for (path, reasons) in std::mem::take(&mut self.errors) {
            let reasons = reasons.into_iter().map(shown);
            let all = self.errors.entry(shown(path)).or_default();
            all.extend(reasons);
        }
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
        let kinds = kinds().map(
            |(name, purpose)| json!({"name": name, "purpose": purpose, "masked": all.of(name)}),
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

/// The path, or the first like it that no file has: two names that differed in a secret are one without it.
fn free_path(files: &BTreeMap<String, Vec<u8>>, path: &str) -> String {
    let mut free = path.to_owned();
    let mut number = 1;
    while files.contains_key(&free) {
        number += 1;
        free = format!("{path}.{number}");
    }
    free
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
