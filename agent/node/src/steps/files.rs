//! Files, directories, links and programs, and what must follow a change of them.

use super::sources::{contents, not_issued};
use super::{Issued, Owners, steps_of};
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Reaction};
use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step, WriteFile};
use std::collections::BTreeSet;

/// Plans every file of the node, and after them what is owed to those that change. `is_planning` leaves out files around
/// certificates that nobody issued yet.
///
/// # Errors
///
/// `files.owner-unknown` for owners that the machine does not have.
pub fn files(
    spec: &NodeSpec,
    issued: &Issued,
    owners: &Owners,
    is_planning: bool,
) -> Result<Vec<Step>, Fault> {
    let mut actions = Vec::new();
    for item in &spec.items {
        match item {
            Item::File(file) if is_held(spec, file) => {}
            Item::File(file) => match write(file, issued, owners)? {
                Some(file) => actions.push(Action::WriteFile(file)),
                None if is_planning => {}
                None => return Err(not_issued(&file.path, &file.source)),
            },
            Item::Directory(directory) => {
                actions.push(Action::MakeDirectory {
                    path: directory.path.trim_end_matches('/').to_owned(),
                    mode: directory.mode,
                    owner: owners.number(&directory.path, &directory.owner)?,
                });
            }
            Item::Link(link) => actions.push(Action::MakeLink(link.clone())),
            Item::RetiredPod(pod) => actions.push(Action::RetirePod(pod.clone())),
            Item::Program(place) => actions.push(Action::Place(place.clone())),
            Item::Unit(unit) => actions.extend(unit.file.as_ref().map(|file| {
                Action::WriteFile(WriteFile::plain(&file.path, 0o644, file.text.clone()))
            })),
            _ => {}
        }
    }
    // A directory's mode and owner are set before a file of it is written by somebody else than root.
    actions.sort_by_key(|action| !matches!(action, Action::MakeDirectory { .. }));
    let mut seen = BTreeSet::new();
    let pending = spec.files().flat_map(|file| &file.on_change);
    let pending: Vec<Action> = pending
        .filter(|reaction| seen.insert(reaction.subject()))
        .cloned()
        .map(Action::React)
        .collect();
    actions.extend(pending);
    Ok(steps_of(Phase::Files, actions))
}

/// The manifests of etcd-manager, which appear only once the volumes are mounted: the last steps of the storage phase.
///
/// # Errors
///
/// `files.owner-unknown`, as every file.
pub fn etcd_manifests(spec: &NodeSpec) -> Result<Vec<Step>, Fault> {
    let (issued, owners) = (Issued::default(), Owners::default());
    let mut steps = Vec::new();
    for file in spec.files().filter(|file| is_held(spec, file)) {
        if let Some(file) = write(file, &issued, &owners)? {
            steps.push(Step::new(Phase::Storage, Action::WriteFile(file)));
        }
    }
    Ok(steps)
}

/// Whether a file is a manifest that waits for a volume of etcd.
fn is_held(spec: &NodeSpec, file: &File) -> bool {
    let mut manifests = spec.etcd.iter().filter_map(|etcd| etcd.manifest.as_deref());
    manifests.any(|path| path == file.path)
}

/// What must follow a change of the file at `path`.
pub fn reactions<'a>(spec: &'a NodeSpec, path: &str) -> &'a [Reaction] {
    spec.file_at(path).map_or(&[], |file| &file.on_change)
}

pub(super) fn write(
    file: &File,
    issued: &Issued,
    owners: &Owners,
) -> Result<Option<WriteFile>, Fault> {
    let Some(contents) = contents(&file.source, issued) else {
        return Ok(None);
    };
    Ok(Some(WriteFile {
        path: file.path.clone(),
        contents,
        mode: file.mode,
        owner: owners.number(&file.path, &file.owner)?,
        keep: file.keep,
        visibility: file.visibility,
    }))
}
