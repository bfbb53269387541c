//! Reads YAML strictly, with line and column in every error.
//!
//! This module and the one inside it alone know the YAML library: everything else sees the tree [`Yaml`], whose scalars keep
//! the text they were written with, so `1.10` stays `1.10` and `0755` stays `0755`. Stricter than YAML
//! where a lenient reading loses something: duplicate keys, merge keys, keys that are not text, unknown
//! tags and, where one document is asked for, a second one are errors. A document that expands beyond [`MAX_NODES`], [`MAX_TEXT`],
//! [`MAX_DEPTH`] or [`MAX_BYTES`] is `config.yaml-too-large`, whatever it is made of.

mod json;
mod tree;

use quake_model::fault::{Code, Fault};
use quake_model::memo::Memo;

/// The largest document read, in bytes; a full cluster spec has some tens of kilobytes.
pub const MAX_BYTES: usize = 4 << 20;
/// The most nodes a document may have once its aliases are replaced; a full cluster spec has some thousand.
pub const MAX_NODES: usize = 100_000;
/// The most bytes of text a document may have once its aliases are replaced.
pub const MAX_TEXT: usize = 8 << 20;
/// How deep lists and maps may nest; a full cluster spec nests eight deep.
pub const MAX_DEPTH: usize = 64;

/// A node of a document, and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Yaml {
    /// The line it starts on, from 1.
    pub line: usize,
    /// The column it starts at, in characters, from 1.
    pub column: usize,
    pub value: Value,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// A text, number or boolean, as it was written.
    Scalar {
        /// The text after quotes and escapes are taken off.
        text: String,
        /// Whether it was quoted, a block, or tagged `!!str`: then it is a text and nothing else.
        quoted: bool,
    },
    List(Vec<Yaml>),
    /// A map, in the order written; no key occurs twice.
    Map(Vec<(Key, Yaml)>),
}

/// A key of a map, and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
}

impl Key {
    /// A fault about this key of the document `source`.
    pub fn fault(&self, source: &str, code: Code, summary: impl Into<String>) -> Fault {
        fault_at(source, (self.line, self.column), code, summary)
    }
}

impl Yaml {
    /// A fault about this node of the document `source`.
    pub fn fault(&self, source: &str, code: Code, summary: impl Into<String>) -> Fault {
        fault_at(source, (self.line, self.column), code, summary)
    }

    /// Another value in the place of this one.
    #[must_use]
    pub fn with(&self, value: Value) -> Self {
        let (line, column) = (self.line, self.column);
        Self {
            line,
            column,
            value,
        }
    }

    /// The value of `key`, unless it is absent or null.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let (_, value) = self.entries().iter().find(|(name, _)| name.name == key)?;
        (value.value != Value::Null).then_some(value)
    }

    /// Whether the map has `key`, be it null.
    pub fn has(&self, key: &str) -> bool {
        self.entries().iter().any(|(name, _)| name.name == key)
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The text of the scalar at `key`, unless it is empty.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.text().filter(|text| !text.is_empty())
    }

    /// The boolean at `key`: an unquoted `true` or `false`.
    pub fn boolean_of(&self, key: &str) -> Option<bool> {
        self.get(key)?.boolean()
    }

    /// The boolean this is: an unquoted `true` or `false`, in any of the three spellings of YAML's core schema.
    pub fn boolean(&self) -> Option<bool> {
        match &self.value {
            Value::Scalar {
                text,
                quoted: false,
            } => match text.as_str() {
                "true" | "True" | "TRUE" => Some(true),
                "false" | "False" | "FALSE" => Some(false),
                _ => None,
            },
            Value::Scalar { .. } | Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            Value::Null | Value::Scalar { .. } | Value::Map(_) => &[],
        }
    }

    /// The items of the list at `key`; none where it is absent.
    pub fn items_of(&self, key: &str) -> &[Self] {
        self.get(key).map_or(&[], Self::items)
    }

    /// The entries of a map; none for anything else.
    pub fn entries(&self) -> &[(Key, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Null | Value::Scalar { .. } | Value::List(_) => &[],
        }
    }

    /// Whether there is nothing in it: null, an empty text, list or map.
    pub fn is_empty(&self) -> bool {
        match &self.value {
            Value::Null => true,
            Value::Scalar { text, .. } => text.is_empty(),
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
        }
    }

    /// What this is, in words, for a message.
    pub fn describe(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Scalar { quoted: true, .. } => "a quoted text",
            Value::Scalar { quoted: false, .. } => "a plain value",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

/// Reads one document from bytes.
///
/// # Errors
///
/// As [`parse`] and [`as_text`].
pub fn parse_bytes(source: &str, bytes: &[u8]) -> Result<Yaml, Fault> {
    parse(source, as_text(source, bytes)?)
}

/// The text that `bytes` are.
///
/// # Errors
///
/// `config.yaml-syntax` at the line and column of the first byte that is not UTF-8.
pub fn as_text<'a>(source: &str, bytes: &'a [u8]) -> Result<&'a str, Fault> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let line = good.matches('\n').count() + 1;
        let column = good.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let summary = "the document is not UTF-8";
        fault_at(source, (line, column), Code::ConfigYamlSyntax, summary)
    })
}

/// Reads one document. An empty one is null.
///
/// `source` is the file name or URL that faults name.
///
/// # Errors
///
/// `config.yaml-syntax` for what is not YAML or is refused by this module, `config.yaml-too-large` for what
/// exceeds a limit; both with `source`, `line` and `column`.
pub fn parse(source: &str, text: &str) -> Result<Yaml, Fault> {
    thread_local! {
        static READ: Memo<Yaml> = Memo::empty();
    }
    let read = || {
        let mut roots = tree::grow(source, text, Documents::One)?.into_iter();
        Ok(roots.next().unwrap_or(Yaml {
            line: 1,
            column: 1,
            value: Value::Null,
        }))
    };
    READ.with(|memo| memo.or_error(text, read))
}

/// Reads all documents of a text, in order; what is empty between two `---` is null. All of them together are within the
/// limits of one.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_all(source: &str, text: &str) -> Result<Vec<Yaml>, Fault> {
    thread_local! {
        static READ: Memo<Vec<Yaml>> = Memo::empty();
    }
    READ.with(|memo| memo.or_error(text, || tree::grow(source, text, Documents::Several)))
}

/// How many documents a text may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Documents {
    /// One; a second that says something is an error.
    One,
    Several,
}

/// A line and a column, from 1.
type Place = (usize, usize);

/// The longest summary of a fault; a message may quote the document, which may be anything.
const LONGEST_SUMMARY: usize = 400;

/// A fault about a place in the document `source`.
pub fn fault_at(source: &str, place: Place, code: Code, summary: impl Into<String>) -> Fault {
    Fault::new(code, shorten(&summary.into(), LONGEST_SUMMARY))
        .seen("source", source)
        .seen("line", place.0)
        .seen("column", place.1)
}

/// The first `most` characters of a text, and a mark where there were more.
pub fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
