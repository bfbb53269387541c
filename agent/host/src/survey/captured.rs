//! A tree that was captured earlier: its files, and the document beside them that holds all that is no file.

use super::files::read_files;
use super::log_files::read_log_files;
use super::pods::{add_logs, read_pods_with_logs};
use quake_model::facts::{RuntimeSeen, SURVEY_FILE, SURVEY_SCHEMA, Seen, Survey, WantedFile};
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
    read_logs(root, &mut survey);
    Ok(survey)
}

/// Reads the logs of a tree: those of its pods, of which the document may know more, and those in `/var/log`.
fn read_logs(root: &Path, survey: &mut Survey) {
    if let Seen::Yes(runtime) = &mut survey.runtime
        && let Some(pods) = &mut runtime.pods
    {
        add_logs(root, pods);
    } else if let Ok(seen) = read_pods_with_logs(root)
        && !seen.containers.is_empty()
    {
        let known = survey.runtime.ok().cloned().unwrap_or_default();
        survey.runtime = Seen::Yes(RuntimeSeen {
            pods: Some(seen.containers),
            ..known
        });
    }
    if let Ok(logs) = read_log_files(root)
        && !logs.is_empty()
    {
        survey.logs = Seen::Yes(logs);
    }
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
