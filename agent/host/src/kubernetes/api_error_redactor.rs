//! How much of an API server's message is shown. It may quote what was sent: a value that is not valid, or whatever the
//! author of a webhook thought fit.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use quake_model::redact::{MASK, scrub};
use serde_json::Value;

/// How much of a message is shown, in characters.
const SHOWN: usize = 400;

/// The shortest value that is looked for in a message: a shorter one is in every second sentence.
const SHORTEST: usize = 6;

/// What the server says before it quotes a value (`k8s.io/apimachinery`, `pkg/util/validation/field`).
const QUOTES: [&str; 6] = [
    "Invalid value: ",
    "Unsupported value: ",
    "Duplicate value: ",
    "Forbidden value: ",
    "Too long: value: ",
    // Of an apply whose field has another type (`sigs.k8s.io/structured-merge-diff`).
    "valueUnstructured{Value:",
];

/// What it says before it quotes a piece of the JSON that it could not read.
const EXCERPTS: [&str; 2] = ["error found in #", "bigger context"];

/// The words up to which a message about a Secret is shown: nothing of it is quoted before them.
const HARMLESS: [&str; 6] = [
    "denied the request",
    "is invalid",
    "is forbidden",
    "cannot be handled",
    "not found",
    "already exists",
];

/// What of an answer may be shown.
#[derive(Debug, Default)]
pub(super) struct ApiErrorRedactor {
    /// Whether it is about a Secret.
    secret: bool,
    /// What is not shown, the longest first.
    held: Vec<String>,
}

impl ApiErrorRedactor {
    /// What may be shown of answers to what is sent about an object of this kind.
    pub(super) fn about(kind: &str, sent: Option<&Value>) -> Self {
        let mut held = Vec::new();
        if let Some(sent) = sent {
            collect(sent, "", &mut held);
        }
        held.retain(|value| value.len() >= SHORTEST);
        held.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        held.dedup();
        Self {
            secret: kind == "Secret",
            held,
        }
    }

    /// The message, as far as it may be shown.
    pub(super) fn redact(&self, message: &str) -> String {
        let mut text = if self.secret {
            harmless_start(message)
        } else {
            message.to_owned()
        };
        for excerpt in EXCERPTS {
            if let Some(at) = text.find(excerpt) {
                text.truncate(at);
                text.push('…');
            }
        }
        for value in &self.held {
            text = text.replace(value.as_str(), MASK);
        }
        let text = scrub(&without_values(&text));
        let words: Vec<&str> = text.split_whitespace().collect();
        cut(&words.join(" "))
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn harmless_start(message: &str) -> String {
    let ends = HARMLESS
        .iter()
        .filter_map(|words| Some(message.find(words)? + words.len()));
    match ends.min() {
        Some(end) => message[..end].to_owned(),
        None => "what it says is not shown: it is about a Secret".to_owned(),
    }
}

/// The message with what the server quotes of values masked; why they are not valid comes after them, and stays.
fn without_values(message: &str) -> String {
    let mut reported = String::new();
    let mut rest = message;
    loop {
        let next = QUOTES
            .iter()
            .filter_map(|words| Some(rest.find(words)? + words.len()));
        let Some(at) = next.min() else {
            reported.push_str(rest);
            return reported;
        };
        reported.push_str(&rest[..at]);
        reported.push_str(MASK);
        rest = &rest[at + length_of_value(&rest[at..])..];
    }
}

/// How long a value is, as Go prints it: to the first `: ` that is in no quotes, or to the end of its own.
fn length_of_value(text: &str) -> usize {
    let mut quote: Option<u8> = None;
    let mut escaped = false;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            _ if escaped => escaped = false,
            (Some(b'"'), b'\\') => escaped = true,
            (Some(open), byte) if open == *byte => {
                quote = None;
                if at + 1 == bytes.len() || bytes[0] == open && bytes[at + 1..].starts_with(b", ") {
                    return at + 1;
                }
            }
            (None, b'"' | b'`') => quote = Some(*byte),
            (None, b':') if bytes[at + 1..].starts_with(b" ") => return at,
            _ => {}
        }
    }
    bytes.len()
}

/// Collects what an object holds that is nobody's business: its data, the values of environment variables, and what was
/// applied last, which quotes both.
fn collect(value: &Value, under: &str, held: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let below = match key.as_str() {
                    "data" | "stringData" | "binaryData" => "held",
                    "kubectl.kubernetes.io/last-applied-configuration" => "held",
                    "value" if under == "env" => "held",
                    "env" => "env",
                    _ if under == "held" => "held",
                    _ => "",
                };
                collect(value, below, held);
            }
        }
        Value::Array(values) => {
            for value in values {
                collect(value, under, held);
            }
        }
        Value::String(text) if under == "held" => hold(text, held),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Holds a text in each way in which a message may quote it: whole, by lines, as JSON has it, and out of its base64.
fn hold(text: &str, held: &mut Vec<String>) {
    let decoded = BASE64_STANDARD.decode(text.trim()).ok();
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    for text in [Some(text), decoded.as_deref()].into_iter().flatten() {
        let lines = text.lines().map(str::trim);
        for part in [text].into_iter().chain(lines) {
            held.push(part.to_owned());
            let quoted = Value::from(part).to_string();
            held.push(quoted[1..quoted.len() - 1].to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn why_a_value_is_not_valid_is_told_and_the_value_is_not() {
        let redactor = ApiErrorRedactor::default();
        for (message, expected) in [
            (
                "Deployment.apps \"x\" is invalid: spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{\"a\":\"b: c\"}}: field is immutable",
                "Deployment.apps \"x\" is invalid: spec.selector: Invalid value: ***: field is immutable",
            ),
            (
                "x: Invalid value: \"hush: \\\"hush\": must be short, y: Invalid value: -1: must be more",
                "x: Invalid value: ***: must be short, y: Invalid value: ***: must be more",
            ),
            ("x: Duplicate value: \"hush\"", "x: Duplicate value: ***"),
            (
                ".data.x: expected string, got &value.valueUnstructured{Value:5555}",
                ".data.x: expected string, got &value.valueUnstructured{Value:***",
            ),
            (
                "[x: Duplicate value: \"hush\", y: Required value]",
                "[x: Duplicate value: ***, y: Required value]",
            ),
        ] {
            assert_eq!(redactor.redact(message), expected.replace("***", MASK));
        }
    }

    #[test]
    fn what_an_object_holds_is_not_told_in_whatever_way_it_is_quoted() {
        let sent = json!({
            "kind": "ConfigMap",
            "data": {"Corefile": "first hushed line\n  second \"hushed\" line\n"},
            "spec": {"env": [{"name": "A", "value": "hushed-too"}]},
            "binaryData": {"b": "aHVzaGVkLWJ5dGVz"},
        });
        let redactor = ApiErrorRedactor::about("ConfigMap", Some(&sent));
        let said = "admission webhook \"x\" denied the request: first hushed line, second \\\"hushed\\\" line and hushed-too or hushed-bytes";
        let reported = redactor.redact(said);
        assert!(!reported.contains("hushed"), "{reported}");
        assert!(
            reported.starts_with("admission webhook \"x\" denied the request"),
            "{reported}"
        );
    }

    #[test]
    fn of_what_is_said_of_a_secret_only_its_start_is_told() {
        let redactor = ApiErrorRedactor::about("Secret", None);
        let said = "admission webhook \"x\" denied the request: hush is too short";
        assert_eq!(
            redactor.redact(said),
            "admission webhook \"x\" denied the request"
        );
        assert!(!redactor.redact("the data hush").contains("hush"));
    }

    #[test]
    fn a_piece_of_json_and_the_rest_of_a_long_message_are_cut() {
        let redactor = ApiErrorRedactor::default();
        let said = "ReadString: expects \", error found in #10 byte of ...|\"hush\":8|..., bigger context ...|hush|...";
        assert_eq!(redactor.redact(said), "ReadString: expects \", …");
        assert_eq!(
            redactor.redact(&"x ".repeat(900)).chars().count(),
            SHOWN + 1
        );
    }
}
