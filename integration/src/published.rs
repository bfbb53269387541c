//! The published schemas of the agent's JSON, `docs/reference/*.schema.json`. Everything that a test of this
//! crate lets the agent print or answer is checked against them.

use crate::key_case::odd_keys;
use crate::schema::Schema;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The schemas that were read so far, by name.
static READ: Mutex<BTreeMap<String, Published>> = Mutex::new(BTreeMap::new());

/// A schema, as it is published and as documents are checked.
struct Published {
    text: Value,
    closed: Schema,
}

/// Names of all published schemas.
///
/// # Errors
///
/// Returns the error of the directory.
pub fn names() -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for file in std::fs::read_dir(directory())? {
        let name = file?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".schema.json").map(str::to_owned));
    }
    Ok(names)
}

/// Names of the schemas that a document of this process has matched.
pub fn matched() -> BTreeSet<String> {
    let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.keys().cloned().collect()
}

/// The directory of the schemas.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference")
}

/// Checks each line that is a JSON object with a `schemaVersion` of the agent's.
///
/// # Errors
///
/// Names the line, its schema and each place that is not as the schema wants it.
pub fn check_lines(text: &str) -> Result<(), String> {
    // The end of a killed run may be half a line.
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let documents = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    documents.into_iter().try_for_each(|value| check(&value))
}

/// Checks a document against the schema that it names, and the case of its keys. One that names none of the agent's
/// schemas is left alone.
///
/// # Errors
///
/// As [`check_lines`].
pub fn check(document: &Value) -> Result<(), String> {
    let Some(name) = schema_of(document) else {
        return Ok(());
    };
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = match read.remove(name) {
        Some(schema) => schema,
        None => load(name)?,
    };
    let checked = schema.closed.check(document);
    let odd = odd_keys(&schema.text, document);
    checked.map_err(|why| format!("{name}: {why}\n{document}"))?;
    if !odd.is_empty() {
        return Err(format!("{name}: not in camelCase: {odd:?}\n{document}"));
    }
    read.insert(name.to_owned(), schema);
    Ok(())
}

/// The name in a `schemaVersion` such as `quake-agent/status/v1`.
fn schema_of(document: &Value) -> Option<&str> {
    let version = document["schemaVersion"].as_str()?;
    version.strip_prefix("quake-agent/")?.strip_suffix("/v1")
}

fn load(name: &str) -> Result<Published, String> {
    let path = directory().join(format!("{name}.schema.json"));
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let text: Value =
        serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut closed = text.clone();
    close(&mut closed);
    let closed = Schema::new(closed)?;
    Ok(Published { text, closed })
}

/// Forbids keys that the schema does not name. The published schema allows them, so that a reader survives a
/// newer agent; a test must find the key that nobody documented.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.contains_key("properties") && !members.contains_key("additionalProperties") {
                members.insert("additionalProperties".to_owned(), false.into());
            }
            for (key, member) in members {
                // A condition describes a part of the document.
                if key != "if" {
                    close(member);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{check, check_lines};
    use serde_json::json;

    #[test]
    fn a_key_that_no_schema_names_is_found() {
        let mut version = json!({
            "schemaVersion": "quake-agent/version/v1", "name": "quake-agent", "version": "1",
            "architecture": "x86_64", "kopsVersions": [],
        });
        assert_eq!(check(&version), Ok(()));
        version["secret_key"] = 1.into();
        let found = check_lines(&version.to_string()).expect_err("no schema has it");
        assert!(found.contains("secret_key"), "{found}");
    }

    #[test]
    fn a_document_of_somebody_else_is_left_alone() {
        assert_eq!(
            check_lines("{\"schemaVersion\": 2}\n{\"torn\": \nREADY\n"),
            Ok(())
        );
        check(&json!({"schemaVersion": "quake-agent/nothing/v1"})).expect_err("it has no schema");
    }
}
