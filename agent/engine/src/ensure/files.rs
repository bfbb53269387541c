//! Holds files and directories.

use crate::boot::managed_files::warn_of_overwriting;
use crate::context::{Context, PlannedStep};
use crate::fault_mapping::{Operation, to_fault};
use quake_model::facts::{EntryKind, FileFacts, Owner};
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::{Files, PortError};
use quake_model::step::{Step, Visibility, WriteFile};
use quake_node::managed_files::{ManagedFile, sha256};
use quake_node::up_to_date::{FileDecision, decide_file};

/// The largest file compared byte by byte; nothing the agent renders is near it.
const COMPARE_LIMIT: u64 = 16 << 20;

/// So many are looked at in one call, which has the contents of all of them in memory.
const LOOKED_AT_ONCE: usize = 32;

/// The largest text read here.
const TEXT_LIMIT: u64 = 1 << 20;

/// As many digits of a digest as tell two files apart.
const DIGITS_SHOWN: usize = 12;

/// What a file needs.
enum Due {
    /// Nothing, or nothing now: this is its end.
    Nothing(Outcome),
    Permissions,
    Contents,
}

/// Holds one file.
pub(crate) async fn written<H: Files>(
    context: &Context<'_, H>,
    step: &Step,
    file: &WriteFile,
) -> Result<Outcome, Fault> {
    let mut ended = written_together(context, &[(step, file)]).await;
    ended.pop().map_or(Ok(Outcome::Unchanged), |(_, end)| end)
}

/// Holds files: all are looked at, those that need it are written together, and looked at again. What came of each, in
/// their order, up to the first that cannot be held: none behind it is touched.
pub(crate) async fn written_together<'s, H: Files>(
    context: &Context<'_, H>,
    wanted: &[(&'s Step, &WriteFile)],
) -> Vec<(&'s Step, Result<Outcome, Fault>)> {
    let mut due = Vec::new();
    'all: for group in wanted.chunks(LOOKED_AT_ONCE) {
        let looked = look_together(context, group.iter().map(|(_, file)| *file)).await;
        for ((step, file), found) in group.iter().zip(looked) {
            due.push(found.and_then(|found| decide(context, step, file, found)));
            if matches!(due.last(), Some(Err(_))) {
                break 'all;
            }
        }
    }
    let of_contents = due.iter().zip(wanted);
    let of_contents = of_contents.filter(|(due, _)| matches!(due, Ok(Due::Contents)));
    let contents: Vec<WriteFile> = of_contents.map(|(_, (_, file))| (*file).clone()).collect();
    let mut written = contents_held(context, &contents).await.into_iter();
    let (mut ends, mut has_failed) = (Vec::new(), false);
    for (due, (step, file)) in due.into_iter().zip(wanted) {
        let end = match due {
            Ok(Due::Contents) => match written.next() {
                Some(end) => end,
                None => break,
            },
            // What was written is seen to its end; nothing else is begun.
            _ if has_failed => continue,
            Ok(Due::Permissions) => {
                let set = context.host.set_permissions(file).await;
                held_after(context, file, set).await
            }
            Ok(Due::Nothing(outcome)) => Ok(outcome),
            Err(fault) => Err(fault),
        };
        has_failed |= end.is_err();
        ends.push((*step, end));
    }
    ends
}

/// Writes files together and looks at them again; what came of each, up to the first that cannot be written.
async fn contents_held<H: Files>(
    context: &Context<'_, H>,
    files: &[WriteFile],
) -> Vec<Result<Outcome, Fault>> {
    if files.is_empty() {
        return Vec::new();
    }
    let mut written = context.host.write_files(files).await;
    let failed = written.pop_if(|last| last.is_err());
    let mut ends = Vec::new();
    for group in files[..written.len()].chunks(LOOKED_AT_ONCE) {
        let looked = look_together(context, group).await;
        let judged = group.iter().zip(looked);
        ends.extend(judged.map(|(file, found)| held(context, file, found?.as_ref())));
    }
    if let Some(Err(error)) = failed {
        ends.push(Err(unusable(&files[written.len()].path, error)));
    }
    ends
}

/// Looks whether a file is held after its mode and owner were set.
async fn held_after<H: Files>(
    context: &Context<'_, H>,
    file: &WriteFile,
    acted: Result<(), PortError>,
) -> Result<Outcome, Fault> {
    acted.map_err(|error| unusable(&file.path, error))?;
    let found = look(context, &file.path).await?;
    held(context, file, found.as_ref())
}

/// Whether a file is as wanted after it was acted on.
fn held<H: Files>(
    context: &Context<'_, H>,
    file: &WriteFile,
    found: Option<&FileFacts>,
) -> Result<Outcome, Fault> {
    match decide_file(file, found, context.host.sets_owners()) {
        FileDecision::Keep => Ok(Outcome::Changed),
        _ => Err(Fault::new(
            Code::FilesWriteFailed,
            format!("{} is not as just written", file.path),
        )),
    }
}

/// What a file needs as it was found; notes what is planned, and warns of what is overwritten.
fn decide<H: Files>(
    context: &Context<'_, H>,
    step: &Step,
    file: &WriteFile,
    found: Option<FileFacts>,
) -> Result<Due, Fault> {
    let owners = context.host.sets_owners();
    let decision = decide_file(file, found.as_ref(), owners);
    if let FileDecision::Refuse(kind) = decision {
        return Err(occupied(&file.path, kind));
    }
    if decision == FileDecision::Keep {
        return Ok(Due::Nothing(Outcome::Unchanged));
    }
    let drift = context.ownership.drift_of(file, found.as_ref(), owners);
    if context.is_planning() {
        let differs = how_it_differs(file, found.as_ref(), owners);
        let planned = PlannedStep::differing(step, differs, drift);
        let before = found.and_then(|found| found.contents);
        context.note_planned(planned.showing(file, before));
        return Ok(Due::Nothing(Outcome::WouldChange));
    }
    if let Some(what) = drift {
        warn_of_overwriting(context, &file.path, &what);
    }
    context.announce(step);
    match decision {
        FileDecision::SetPermissions => Ok(Due::Permissions),
        _ => Ok(Due::Contents),
    }
}

/// How a file differs from what is wanted, in words. Of secrets only digests tell one from another.
fn how_it_differs(file: &WriteFile, found: Option<&FileFacts>, owners: bool) -> Option<String> {
    let Some(found) = found else {
        return Some("missing".to_owned());
    };
    let differs = ManagedFile::from_file(file).differs(Some(found), owners)?;
    match (file.visibility, &found.contents) {
        (Visibility::Secret, Some(contents)) if *contents != file.contents.0 => {
            let (is, wanted) = (sha256(contents), sha256(&file.contents.0));
            Some(format!(
                "{differs}: secret, sha256 {} instead of {}",
                &is[..DIGITS_SHOWN],
                &wanted[..DIGITS_SHOWN]
            ))
        }
        (Visibility::Secret | Visibility::Plain, _) => Some(differs),
    }
}

pub(crate) async fn directory<H: Files>(
    context: &Context<'_, H>,
    step: &Step,
    path: &str,
    mode: u32,
    owner: Owner,
) -> Result<Outcome, Fault> {
    // One of root's that an operator gave away stays given away.
    let any_owner = !context.host.sets_owners() || owner == Owner::default();
    match look(context, path).await? {
        Some(found)
            if found.kind == EntryKind::Directory
                && found.mode == mode
                && (any_owner || found.owner == owner) =>
        {
            return Ok(Outcome::Unchanged);
        }
        // A link to a directory is an operator's choice of where the data lives.
        Some(found) if found.kind == EntryKind::Link => return Ok(Outcome::Unchanged),
        Some(found) if found.kind != EntryKind::Directory => {
            return Err(occupied(path, found.kind));
        }
        _ => {}
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    let made = context.host.make_directory(path, mode, owner).await;
    made.map_err(|error| unusable(path, error))?;
    Ok(Outcome::Changed)
}

pub(crate) async fn look<H: Files>(
    context: &Context<'_, H>,
    path: &str,
) -> Result<Option<FileFacts>, Fault> {
    look_at(context, path, COMPARE_LIMIT).await
}

/// Looks at a file without reading it: programs have tens of megabytes.
pub(crate) async fn glance<H: Files>(
    context: &Context<'_, H>,
    path: &str,
) -> Result<Option<FileFacts>, Fault> {
    look_at(context, path, 0).await
}

/// Reads a text; a file that is not there has none.
pub(crate) async fn text<H: Files>(context: &Context<'_, H>, path: &str) -> Result<String, Fault> {
    let looked = context.host.look_file(path, TEXT_LIMIT).await;
    let found = looked.map_err(|error| unusable(path, error))?;
    let bytes = found.and_then(|found| found.contents).unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn look_at<H: Files>(
    context: &Context<'_, H>,
    path: &str,
    limit: u64,
) -> Result<Option<FileFacts>, Fault> {
    let looked = context.host.look_file(path, limit).await;
    looked.map_err(|error| unusable(path, error))
}

/// Looks at files as [`look`] does, all in one call.
async fn look_together<'f, H: Files>(
    context: &Context<'_, H>,
    files: impl IntoIterator<Item = &'f WriteFile>,
) -> Vec<Result<Option<FileFacts>, Fault>> {
    let paths = files.into_iter().map(|file| file.path.clone());
    let paths: Vec<String> = paths.collect();
    let looked = context.host.look_files(&paths, COMPARE_LIMIT).await;
    let named = looked.into_iter().zip(&paths);
    let named = named.map(|(looked, path)| looked.map_err(|error| unusable(path, error)));
    named.collect()
}

fn unusable(path: &str, error: PortError) -> Fault {
    to_fault(Operation::UseFile, error).seen("path", path)
}

fn occupied(path: &str, kind: EntryKind) -> Fault {
    let what = match kind {
        EntryKind::Directory => "a directory",
        EntryKind::File => "a file",
        EntryKind::Link => "a symbolic link",
        EntryKind::Other => "a device, socket or pipe",
    };
    Fault::new(Code::FilesOccupied, format!("{what} stands at {path}")).seen("path", path)
}
