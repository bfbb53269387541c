//! `diagnose --bundle`: one file with the report, the node as it was surveyed, and what others wrote on it.
//!
//! The directory `node/` of a bundle is a captured tree: unpacked, it can be diagnosed again with `--root`.

use super::super::below::found_below;
use crate::args::diagnose::DiagnoseArguments;
use crate::exit;
use crate::output;
use crate::render::diagnose::{Detail, report_json, report_text};
use quake_diagnose::checks::Report;
use quake_host::bundle::{Bundle, Existing, Recipients, Redaction, check_target};
use quake_host::collect::{Limits, collect};
use quake_host::survey::capture_text;
use quake_model::facts::{SURVEY_FILE, Seen, Survey};
use quake_model::ports::PortError;
use quake_model::redact::{self, KnownSecrets, Redactions};
use quake_tree::{Last, locate};
use std::path::Path;
use std::time::Duration;

/// Where the agent's own records are in a tree, so that a bundle's tree has them too.
const RECORDS: &[&str] = &["var/lib/quake-agent/boots", "run/quake-agent/status.json"];

/// How many ledgers go along: the latest, and those it may have to be compared with.
const LEDGERS: usize = 3;

/// What is to be written, checked before anything is looked at.
pub(super) struct BundleOptions<'a> {
    target: &'a Path,
    existing: Existing,
    redaction: Redaction,
    recipients: Recipients,
}

/// The options of the bundle; `None` when none was requested.
///
/// # Errors
///
/// Those of [`check_target`]; `Malformed` when a recipient is none.
pub(super) fn options(
    arguments: &DiagnoseArguments,
) -> Result<Option<BundleOptions<'_>>, PortError> {
    let Some(target) = &arguments.bundle else {
        return Ok(None);
    };
    let existing = match arguments.replace {
        true => Existing::Replace,
        false => Existing::Keep,
    };
    check_target(target, existing)?;
    let redaction = match arguments.no_redact {
        true => Redaction::AsIs,
        false => Redaction::Masked,
    };
    Ok(Some(BundleOptions {
        target,
        existing,
        redaction,
        recipients: Recipients::parse(&arguments.recipient)?,
    }))
}

/// Collects and writes the bundle, in which what is known to be a secret is masked; the exit status.
pub(super) async fn write(
    options: &BundleOptions<'_>,
    root: &Path,
    (report, known): (&Report, KnownSecrets),
    survey: &Survey,
    took: Duration,
) -> u8 {
    let mut bundle = Bundle::new(options.redaction, known);
    bundle.add(
        "report.json",
        report_json(report, survey, took).to_string().as_bytes(),
    );
    let text = report_text(report, survey, took, Detail::Everything);
    bundle.add("report.txt", output::without_style(&text).as_bytes());
    add_tree(&mut bundle, root, survey);
    for collected in collect(root, Limits::default()).await {
        if let Some(bytes) = &collected.bytes {
            bundle.add(&collected.path, bytes);
        }
        match (&collected.error, collected.bytes.is_some()) {
            (Some(error), true) => bundle.add_cut(&collected.path, error),
            (Some(error), false) => bundle.add_failed(&collected.path, error),
            (None, _) => {}
        }
    }
    match bundle.write(options.target, options.existing, &options.recipients) {
        Ok(written) => {
            output::error_line(format_args!(
                "bundle: {} ({} bytes, {} files, {}, sha256:{})",
                options.target.display(),
                written.bytes,
                written.files,
                masked(options.redaction, &written.masked),
                written.sha256
            ));
            exit::DONE
        }
        Err(error) => super::cannot(&error),
    }
}

/// How often which kinds were masked, and that this is not all that there can be.
fn masked(redaction: Redaction, counts: &Redactions) -> String {
    if redaction == Redaction::AsIs {
        return "nothing masked".to_owned();
    }
    let kinds: Vec<String> = counts
        .by_rule()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let kinds = match kinds.is_empty() {
        true => String::new(),
        false => format!(" ({})", kinds.join(", ")),
    };
    format!(
        "{} secrets masked{kinds}; {} kinds were looked for, others may remain",
        counts.total(),
        redact::kinds().len()
    )
}

/// Adds the captured tree: the texts that were read, the agent's records, and the document of all else.
fn add_tree(bundle: &mut Bundle, root: &Path, survey: &Survey) {
    for (path, text) in &survey.texts {
        let place = format!("node{path}");
        match text {
            Seen::Yes(text) => bundle.add(&place, text.as_bytes()),
            Seen::NotTaken(why) | Seen::Denied(why) => bundle.add_failed(&place, why),
            Seen::Failed(why) => bundle.add_failed(&place, &why.text),
            Seen::TimedOut(millis) => {
                bundle.add_failed(&place, &format!("not read within {millis} ms"));
            }
        }
    }
    for record in RECORDS {
        add_record(bundle, root, record);
    }
    let document = format!("node/{SURVEY_FILE}");
    bundle.add(&document, capture_text(survey).as_bytes());
}

/// Adds a file, or the last files of a directory.
fn add_record(bundle: &mut Bundle, root: &Path, record: &str) {
    let Some(path) = found_below(root, record) else {
        return;
    };
    let mut files = vec![record.to_owned()];
    if path.is_dir() {
        let names = std::fs::read_dir(&path).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        files = names.map(|name| format!("{record}/{name}")).collect();
        // Their names begin with when they began.
        files.sort_by(|one, other| other.cmp(one));
        files.truncate(LEDGERS);
    }
    for file in files {
        let found = locate(root, &file, Last::Followed).map_err(std::io::Error::other);
        match found.and_then(std::fs::read) {
            Ok(bytes) => bundle.add(&format!("node/{file}"), &bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => bundle.add_failed(&format!("node/{file}"), &error.to_string()),
        }
    }
}
