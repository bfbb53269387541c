//! What the server is asked, as it comes over a connection.

use crate::failure::Failure;
use serde_json::Value;

/// A request.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: Vec<(String, String)>,
    /// The content type, without parameters.
    pub content_type: String,
    /// Who asks, in its own words.
    pub user_agent: String,
    /// Who asks, as its certificate says.
    pub user: String,
    pub body: Vec<u8>,
}

impl Request {
    /// A request for a target: a path with a query.
    pub fn new(method: &str, target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = query.split('&').filter(|pair| !pair.is_empty());
        let query = query.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name, true), decode(value, true))
        });
        Self {
            method: method.to_owned(),
            path: decode(path, false),
            query: query.collect(),
            content_type: "application/json".to_owned(),
            user: "kubernetes-admin".to_owned(),
            ..Self::default()
        }
    }

    /// The same with a body of this type.
    #[must_use]
    pub fn with_body(mut self, content_type: &str, body: &Value) -> Self {
        content_type.clone_into(&mut self.content_type);
        self.body = body.to_string().into_bytes();
        self
    }

    /// One more part of the query.
    #[must_use]
    pub fn with_query(mut self, name: &str, value: &str) -> Self {
        self.query.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The part of the query with this name; empty without one.
    pub fn query(&self, name: &str) -> &str {
        let found = self.query.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    pub(crate) fn has_flag(&self, name: &str) -> bool {
        matches!(self.query(name), "1" | "true" | "True")
    }

    pub(crate) fn json(&self) -> Result<Value, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Failure::bad_request(format!("the body cannot be read as JSON: {error}"))
        })
    }

    /// Who holds what this request changes: whoever it names, or the first word of who asks.
    pub(crate) fn manager(&self) -> String {
        let named = self.query("fieldManager");
        let word = self.user_agent.split(['/', ' ']).next();
        match (named, word) {
            ("", Some(word)) if !word.is_empty() => word.to_owned(),
            ("", _) => "unknown".to_owned(),
            (named, _) => named.to_owned(),
        }
    }
}

fn decode(text: &str, plus: bool) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3);
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, escaped) {
            (b'%', Some(escaped)) => {
                decoded.push(escaped);
                at += 3;
            }
            (b'+', _) if plus => {
                decoded.push(b' ');
                at += 1;
            }
            (byte, _) => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// What is done, in the words of RBAC; an apply, which is a patch there, is told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// What the server is and serves.
    Discover,
    Get,
    List,
    Watch,
    Create,
    Update,
    Apply,
    /// An object is patched in another way.
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discover | Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Apply | Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// Whether it changes something.
    pub fn is_write(self) -> bool {
        match self {
            Self::Discover | Self::Get | Self::List | Self::Watch => false,
            Self::Create
            | Self::Update
            | Self::Apply
            | Self::Patch
            | Self::Delete
            | Self::DeleteCollection => true,
        }
    }
}

/// What is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub status: u16,
    /// `Retry-After`, where it is told, in seconds.
    pub retry_after: Option<u32>,
    /// The body; a text alone is sent as it is, anything else as JSON.
    pub body: Value,
}

impl Reply {
    pub(crate) fn with_body(status: u16, body: Value) -> Self {
        Self {
            status,
            retry_after: None,
            body,
        }
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        Self {
            status: failure.code,
            retry_after: failure.retry_after,
            body: failure.body(),
        }
    }
}
