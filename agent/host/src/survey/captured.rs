//! A tree that was captured earlier: its files, and the document beside them that holds all that is no file.

use super::files::read_files;
use quake_model::facts::{SURVEY_FILE, SURVEY_SCHEMA, Survey, WantedFile};
use quake_model::ports::{Condition, PortError};
use quake_tree::{Last, locate};
use std::path::Path;

/// Reads the survey of a captured tree. A tree without a document is one of files alone.
///
/// # Errors
///
/// `Missing` when there is no such directory, `Malformed` when the document is not one of a survey.
pub fn read_captured(root: &Path, wanted: &[WantedFile]) -> Result<Survey, PortError> {
    if !root.is_dir() {
        let summary = format!("there is no directory {}", root.display());
        return Err(PortError::new(Condition::Missing, summary));
    }
    let document = locate(root, SURVEY_FILE, Last::Followed)?;
    let mut survey = match std::fs::read(&document) {
        Ok(bytes) => read_document(&document, &bytes)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Survey::default(),
        Err(error) => {
            let summary = format!("{} cannot be read", document.display());
            return Err(PortError::new(Condition::Io, summary).because(&error));
        }
    };
    // What the document says of an entry stands: modes and owners of the tree are those of whoever unpacked it.
    read_files(root, wanted, &mut survey);
    Ok(survey)
}

fn read_document(path: &Path, bytes: &[u8]) -> Result<Survey, PortError> {
    let malformed = |summary: String| PortError::new(Condition::Malformed, summary);
    let survey: Survey = serde_json::from_slice(bytes).map_err(|error| {
        malformed(format!("{} is not a survey", path.display())).because(&error)
    })?;
    match survey.schema_version.as_str() {
        "" | SURVEY_SCHEMA => Ok(survey),
        other => Err(malformed(format!(
            "{} is of the form {other}, and this agent reads {SURVEY_SCHEMA}",
            path.display()
        ))),
    }
}

/// The document of a survey, for a captured tree.
pub fn capture_text(survey: &Survey) -> String {
    let survey = Survey {
        schema_version: SURVEY_SCHEMA.to_owned(),
        ..survey.clone()
    };
    // Its maps have keys of text, so it always serialises.
    serde_json::to_string_pretty(&survey).unwrap_or_default()
}
