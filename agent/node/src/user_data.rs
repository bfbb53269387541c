//! Finds `kube_env.yaml` and its companions in user data, without running any of it.
//!
//! kops wraps the three documents as here-documents of a shell script, and that script, where the operator
//! adds user data of their own, as a part of a MIME message; tools around it may encode either in base64.
//! Newer kops may have the script unpack `kube_env.yaml` from gzip and base64 instead.
//! What [`render`] makes is the same script with a delivery of the agent, and may also be a file that a cloud-config
//! writes. A gzip layer is taken off before, by whoever fetched the user data.

mod cloud_config;
pub mod explain;
mod mime;
mod packed;
pub mod render;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_formats::yaml::as_text;
use quake_model::fault::{Code, Fault};
use std::collections::BTreeMap;

/// The largest user data read, in bytes; EC2 allows 16 KiB, which gzip may have made of more.
const MOST_BYTES: usize = 4 << 20;
/// How many layers are taken off; kops makes two.
const MOST_LAYERS: usize = 4;

pub use quake_model::facts::USER_DATA_LIMIT_BYTES as LIMIT_BYTES;

/// From this size on there is little room left below [`LIMIT_BYTES`]: nine tenths of it.
pub const NEAR_LIMIT_BYTES: usize = LIMIT_BYTES / 10 * 9;

/// What user data holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDataDocuments {
    /// `kube_env.yaml`.
    pub kube_env: String,
    /// `cluster_spec.yaml`, where it is there.
    pub cluster_spec: Option<String>,
    /// `ig_spec.yaml`, where it is there.
    pub ig_spec: Option<String>,
    /// How they were wrapped, outermost first, such as `MIME message, shell script`.
    pub form: String,
}

impl UserDataDocuments {
    /// The texts that are there, by the names of their files.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("kube_env.yaml", Some(&self.kube_env)),
            ("cluster_spec.yaml", self.cluster_spec.as_ref()),
            ("ig_spec.yaml", self.ig_spec.as_ref()),
        ];
        all.into_iter()
            .filter_map(|(name, text)| Some((name, text?.as_str())))
    }
}

/// Finds the documents.
///
/// # Errors
///
/// `config.user-data-unusable` where there is no `kube_env.yaml`, where it is cut short or given twice in two
/// versions, with what was seen instead; `config.yaml-syntax` where a document is not UTF-8.
pub fn find_documents(bytes: &[u8]) -> Result<UserDataDocuments, Fault> {
    let mut search = Search::default();
    if bytes.len() > MOST_BYTES {
        return Err(search.unusable(bytes, "the user data is too large"));
    }
    search.look(bytes, None, &mut Vec::new())?;
    let Some(kube_env) = search.documents.remove("kube_env.yaml") else {
        let summary = if bytes.is_empty() {
            "there is no user data"
        } else {
            "the user data holds no kube_env.yaml"
        };
        return Err(search.unusable(bytes, summary));
    };
    Ok(UserDataDocuments {
        kube_env,
        cluster_spec: search.documents.remove("cluster_spec.yaml"),
        ig_spec: search.documents.remove("ig_spec.yaml"),
        form: search.form,
    })
}

/// The line and the column, in characters, at which a text ends; both count from one.
fn end_of(bytes: &[u8]) -> (usize, usize) {
    let text = String::from_utf8_lossy(bytes);
    let last = text.rsplit('\n').next().unwrap_or_default();
    (text.matches('\n').count() + 1, last.chars().count() + 1)
}

/// What was found so far, and what was seen on the way.
#[derive(Default)]
struct Search {
    /// Texts by the names of their files.
    documents: BTreeMap<&'static str, String>,
    /// How `kube_env.yaml` was wrapped.
    form: String,
    seen: Vec<String>,
}

impl Search {
    fn unusable(&self, bytes: &[u8], summary: &str) -> Fault {
        let mut fault = Fault::new(Code::ConfigUserDataUnusable, summary)
            .seen("size", bytes.len())
            .seen("form", describe(bytes));
        if !self.seen.is_empty() {
            fault = fault.seen("parts", self.seen.join("; "));
        }
        fault
    }

    /// Looks into bytes; `kind` is the media type that a message gives them.
    fn look(
        &mut self,
        bytes: &[u8],
        kind: Option<&str>,
        layers: &mut Vec<&'static str>,
    ) -> Result<(), Fault> {
        if layers.len() >= MOST_LAYERS {
            return Ok(());
        }
        if let Some(message) = mime::read(bytes) {
            layers.push("MIME message");
            for part in message.parts {
                let summary = format!("{}, {} bytes", part.kind, part.body.len());
                self.seen.push(summary);
                self.look(&part.body, Some(&part.kind), layers)?;
            }
            layers.pop();
            return Ok(());
        }
        if cloud_config::is_one(bytes, kind) {
            layers.push("cloud-config");
            self.cloud_config(bytes, layers)?;
            layers.pop();
            return Ok(());
        }
        if self.here_documents(bytes, layers)? {
            return Ok(());
        }
        if let Some(decoded) = decode(bytes) {
            layers.push("base64");
            self.seen.push(format!("base64 of {}", describe(&decoded)));
            self.look(&decoded, None, layers)?;
            layers.pop();
        }
        Ok(())
    }

    /// Takes the documents out of the files that a cloud-config writes. One that cannot be read may be the operator's
    /// own, beside a script that holds everything, and so stops nothing.
    fn cloud_config(&mut self, bytes: &[u8], layers: &mut Vec<&'static str>) -> Result<(), Fault> {
        let files = match cloud_config::written_files(bytes) {
            Ok(written) => written.files,
            Err(fault) => {
                self.seen
                    .push(format!("cloud-config, {}", place_of(&fault)));
                return Ok(());
            }
        };
        for file in files {
            let Some(content) = file.content else {
                self.seen.push(format!("file {}, compressed", file.path));
                continue;
            };
            match document_named(&file.path) {
                Some(name) => self.keep(name, as_text(name, &content)?, layers, bytes)?,
                None => self.look(&content, None, layers)?,
            }
        }
        Ok(())
    }

    /// Takes the documents out of a script; whether there was any.
    fn here_documents(&mut self, bytes: &[u8], layers: &[&'static str]) -> Result<bool, Fault> {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let mut any = false;
        while let Some(line) = lines.next() {
            let Ok(line) = std::str::from_utf8(line) else {
                continue;
            };
            if let Some((name, content)) = packed::read(line) {
                let content =
                    content.map_err(|what| self.unusable(bytes, &format!("{name} {what}")))?;
                let mut layers = layers.to_vec();
                layers.extend(["shell script", "gzip"]);
                self.keep(name, as_text(name, &content)?, &layers, bytes)?;
                any = true;
                continue;
            }
            let Some(start) = read_start(line) else {
                continue;
            };
            let mut content = Vec::new();
            let mut ended = false;
            for line in lines.by_ref() {
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let line = if start.dashed { trim_tabs(line) } else { line };
                if line == start.marker.as_bytes() {
                    ended = true;
                    break;
                }
                content.extend_from_slice(line);
                content.push(b'\n');
            }
            let name = start.name;
            if !ended {
                let (line, column) = end_of(bytes);
                let summary = format!(
                    "{name} is cut short: the user data ends within it at line {line}, column {column}"
                );
                let fault = self.unusable(bytes, &summary);
                return Err(fault.seen("line", line).seen("column", column));
            }
            if !start.literal && content.iter().any(|byte| b"$`\\".contains(byte)) {
                let summary = format!("{name} is made by the shell, and nothing here runs it");
                return Err(self.unusable(bytes, &summary));
            }
            any = true;
            let mut layers = layers.to_vec();
            layers.push("shell script");
            self.keep(name, as_text(name, &content)?, &layers, bytes)?;
        }
        Ok(any)
    }

    fn keep(
        &mut self,
        name: &'static str,
        text: &str,
        layers: &[&'static str],
        bytes: &[u8],
    ) -> Result<(), Fault> {
        let old = self.documents.insert(name, text.to_owned());
        if old.is_some_and(|old| old != text) {
            let summary = format!("{name} is given twice, in two versions");
            return Err(self.unusable(bytes, &summary));
        }
        if name == "kube_env.yaml" {
            self.form = layers.join(", ");
        }
        Ok(())
    }
}

/// The first line of a here-document of ours.
struct Start<'a> {
    name: &'static str,
    marker: &'a str,
    literal: bool,
    dashed: bool,
}

/// Reads `cat > <name> << 'MARKER'`, in any order of its parts, and `: <name> << 'MARKER'`, which writes nothing.
fn read_start(line: &str) -> Option<Start<'_>> {
    let (before, after) = line.split_once("<<")?;
    if before.trim_start().starts_with('#') {
        return None;
    }
    let (dashed, after) = match after.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, after.trim_start()),
    };
    let quote = after.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let (marker, rest) = match quote {
        Some(quote) => after[1..].split_once(quote)?,
        None => {
            let end = after.find([' ', '\t', '\r', ';', '>', '|']);
            let end = end.unwrap_or(after.len());
            after.split_at(end)
        }
    };
    let noted = before.trim_start().strip_prefix(": ").map(str::trim);
    let target = target(before).or_else(|| target(rest)).or(noted)?;
    let name = document_named(target)?;
    let literal = quote.is_some() || marker.starts_with('\\');
    let marker = marker.trim_start_matches('\\');
    (!marker.is_empty()).then_some(Start {
        name,
        marker,
        literal,
        dashed,
    })
}

/// The document that a file of this path is.
fn document_named(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let names = ["kube_env.yaml", "cluster_spec.yaml", "ig_spec.yaml"];
    names.into_iter().find(|known| *known == name)
}

/// What is wrong with a document and where, in words.
fn place_of(fault: &Fault) -> String {
    let summary = &fault.summary;
    match (fault.evidence_named("line"), fault.evidence_named("column")) {
        (Some(line), Some(column)) => format!("{summary} (line {line}, column {column})"),
        _ => summary.clone(),
    }
}

/// The file a command writes to.
fn target(command: &str) -> Option<&str> {
    let (_, file) = command.split_once('>')?;
    let file = file.trim_start_matches('>').trim_start();
    let end = file.find([' ', '\t', '\r', ';']).unwrap_or(file.len());
    Some(file[..end].trim_matches(['\'', '"']))
}

fn trim_tabs(line: &[u8]) -> &[u8] {
    let tabs = line.iter().take_while(|byte| **byte == b'\t').count();
    &line[tabs..]
}

/// What base64 text stands for; `None` for anything else. Line breaks do not matter.
fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let digits = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
    // A short word is base64 by accident only.
    let is_long = digits.count() >= 16;
    is_long.then(|| from_base64(bytes)).flatten()
}

/// What base64 digits stand for, whatever line breaks are between them.
fn from_base64(bytes: &[u8]) -> Option<Vec<u8>> {
    let digits = bytes.iter().copied();
    let digits = digits.filter(|byte| !byte.is_ascii_whitespace());
    STANDARD.decode(digits.collect::<Vec<u8>>()).ok()
}

/// What bytes look like, in words.
fn describe(bytes: &[u8]) -> &'static str {
    let start = bytes.trim_ascii_start();
    if start.is_empty() {
        "nothing"
    } else if start.starts_with(&[0x1f, 0x8b]) {
        "gzip"
    } else if mime::read(bytes).is_some() {
        "MIME message"
    } else if start.starts_with(b"#!") {
        "script"
    } else if start.starts_with(b"#cloud-config") {
        "cloud-config"
    } else if start.starts_with(b"#cloud-boothook") || start.starts_with(b"#include") {
        "cloud-init directive"
    } else if decode(bytes).is_some() {
        "base64"
    } else if std::str::from_utf8(bytes).is_ok() {
        "text"
    } else {
        "binary"
    }
}
