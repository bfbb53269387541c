//! What the agent has written and enabled on a node, noted beside its ledgers so that the next boot, and whoever asks for a
//! plan, can tell what somebody else changed since from what the configuration changed.
//!
//! It holds digests and no contents, and nothing rests on it but what is told: without it, as after an upgrade of an older
//! agent, nothing counts as changed by somebody.

use crate::builders::is_kops_block;
use crate::dns::is_own_block;
use quake_model::facts::{EntryKind, FileFacts, Owner};
use quake_model::step::{Action, Keep, Place, StartUnit, Step, WriteFile};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Where it is kept.
pub const PATH: &str = "/var/lib/quake-agent/owned.json";

/// Only root reads it: a short secret could be guessed from its digest.
const MODE: u32 = 0o600;

const SCHEMA: &str = "quake-agent/owned/v1";

/// The file that others write too, each between marks of its own: etcd-manager, kops, cloud-init and operators.
const SHARED: &str = "/etc/hosts";

/// Files, programs and units that are the agent's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedFiles {
    schema_version: String,
    /// Files that were rendered, by path.
    pub files: BTreeMap<String, ManagedFile>,
    /// Programs and other files from the store, by path.
    pub programs: BTreeMap<String, ManagedProgram>,
    /// Units that start at boot because the agent enabled them.
    pub units: BTreeSet<String>,
}

/// One file as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagedFile {
    /// SHA-256 of its bytes. There are two from before such a file is written with other bytes until the boot is over, so
    /// that whichever of them a crash leaves is known. None where the bytes are not the agent's.
    pub sha256: BTreeSet<String>,
    /// Only the lines of the agent's block are the agent's, and the digests are of these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_shared: bool,
    /// Its permission bits, such as `0644`.
    mode: String,
    owner: Owner,
}

/// One file from the store as it was placed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagedProgram {
    asset: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<String>,
    mode: String,
}

impl Default for ManagedFiles {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA.to_owned(),
            files: BTreeMap::new(),
            programs: BTreeMap::new(),
            units: BTreeSet::new(),
        }
    }
}

impl ManagedFiles {
    /// Reads what an earlier boot noted; `None` where it is not in a form that is known here.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let managed_files: Self = serde_json::from_slice(bytes).ok()?;
        (managed_files.schema_version == SCHEMA).then_some(managed_files)
    }

    /// The file to write. Equal values give equal bytes.
    pub fn file(&self) -> WriteFile {
        // Strings, numbers, maps and sets: nothing that JSON could refuse.
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        WriteFile::secret(PATH, MODE, text)
    }

    /// Notes what a step holds once it is done.
    pub fn note(&mut self, step: &Step) {
        match &step.action {
            Action::WriteFile(file) => {
                self.files
                    .insert(file.path.clone(), ManagedFile::left(file));
            }
            Action::Place(place) => {
                let program = ManagedProgram::from_place(place);
                self.programs.insert(place.path.clone(), program);
            }
            Action::StartUnit(StartUnit { unit, enable, .. }) if *enable => {
                self.units.insert(unit.clone());
            }
            _ => {}
        }
    }

    /// This, and the bytes that `steps` are about to give to files it has with others; `None` where there are none.
    pub fn with_intents(&self, steps: &[Step]) -> Option<Self> {
        let mut with = self.clone();
        for step in steps {
            if let Action::WriteFile(file) = &step.action
                && let Some(known) = with.files.get_mut(&file.path)
            {
                let next = ManagedFile::left(file);
                if next.is_shared == known.is_shared {
                    known.sha256.extend(next.sha256);
                } else {
                    *known = next;
                }
            }
        }
        (with != *self).then_some(with)
    }

    /// What a boot that did not come to its end leaves: what it noted, and for all else what was known before.
    #[must_use]
    pub fn or(self, before: &Self) -> Self {
        let mut all = before.clone();
        all.files.extend(self.files);
        all.programs.extend(self.programs);
        all.units.extend(self.units);
        all
    }
}

impl ManagedFile {
    /// The file as a step leaves it.
    pub fn from_file(file: &WriteFile) -> Self {
        let digest = match file.keep {
            Keep::Never => Some(sha256(&file.contents.0)),
            Keep::IfPresent => None,
        };
        Self {
            sha256: digest.into_iter().collect(),
            is_shared: false,
            mode: octal(file.mode),
            owner: file.owner,
        }
    }

    /// What is the agent's of the file: all of it, or of [`SHARED`] its block. The other lines are somebody else's to change.
    pub fn left(file: &WriteFile) -> Self {
        let whole = Self::from_file(file);
        if file.path != SHARED {
            return whole;
        }
        Self {
            sha256: BTreeSet::from([sha256(&own_lines(&file.contents.0))]),
            is_shared: true,
            ..whole
        }
    }

    /// How what stands at its path differs from it, in words; `None` where it does not. `owners` is false where owners cannot be
    /// set, as without root.
    pub fn differs(&self, found: Option<&FileFacts>, owners: bool) -> Option<String> {
        let Some(found) = found else {
            return Some("removed".to_owned());
        };
        match found.kind {
            EntryKind::File => {}
            EntryKind::Directory => return Some("a directory in its place".to_owned()),
            EntryKind::Link => return Some("a symbolic link in its place".to_owned()),
            EntryKind::Other => return Some("a device, socket or pipe in its place".to_owned()),
        }
        let mut what = Vec::new();
        let digest = found.contents.as_deref().map(|contents| {
            if self.is_shared {
                sha256(&own_lines(contents))
            } else {
                sha256(contents)
            }
        });
        let is_known = digest.is_some_and(|digest| self.sha256.contains(&digest));
        if !self.sha256.is_empty() && !is_known {
            what.push("other contents".to_owned());
        }
        let mode = octal(found.mode);
        if mode != self.mode {
            what.push(format!("mode {mode} instead of {}", self.mode));
        }
        if owners && found.owner != self.owner {
            let (is, was) = (found.owner, self.owner);
            what.push(format!(
                "owner {}:{} instead of {}:{}",
                is.uid, is.gid, was.uid, was.gid
            ));
        }
        (!what.is_empty()).then(|| what.join(", "))
    }
}

/// The lines between marks of the agent's, in either kops generation.
fn own_lines(contents: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(contents);
    let (mut own, mut is_inside) = (String::new(), false);
    for line in text.lines() {
        if is_own_block(line) || is_kops_block(line) {
            is_inside = !is_inside;
        } else if is_inside {
            own.push_str(line);
            own.push('\n');
        }
    }
    own.into_bytes()
}

impl ManagedProgram {
    /// The file as a step leaves it.
    pub fn from_place(place: &Place) -> Self {
        Self {
            asset: place.asset.to_string(),
            member: place.member.clone(),
            mode: octal(place.mode),
        }
    }
}

/// SHA-256 of some bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use quake_model::item::HostRecord;
    use quake_model::phase::Phase;

    fn step(contents: &str) -> Step {
        let file = WriteFile::plain("/etc/x", 0o644, contents);
        Step::new(Phase::Files, Action::WriteFile(file))
    }

    /// A file of root's with this mode and these contents.
    pub(crate) fn found(mode: u32, contents: &str) -> FileFacts {
        FileFacts {
            kind: EntryKind::File,
            mode,
            owner: Owner::default(),
            contents: Some(contents.as_bytes().to_vec()),
            modified_us: 0,
        }
    }

    fn noted(contents: &str) -> ManagedFiles {
        let mut managed_files = ManagedFiles::default();
        managed_files.note(&step(contents));
        managed_files
    }

    #[test]
    fn a_file_differs_by_its_bytes_its_mode_its_owner_and_its_kind() {
        let file = &noted("a").files["/etc/x"];
        let other_owner = FileFacts {
            owner: Owner { uid: 7, gid: 8 },
            ..found(0o644, "a")
        };
        let link = FileFacts {
            kind: EntryKind::Link,
            contents: None,
            ..found(0o777, "")
        };
        let table = [
            (Some(found(0o644, "a")), None),
            (None, Some("removed")),
            (Some(found(0o644, "b")), Some("other contents")),
            (Some(found(0o600, "a")), Some("mode 0600 instead of 0644")),
            (
                Some(found(0o600, "b")),
                Some("other contents, mode 0600 instead of 0644"),
            ),
            (Some(other_owner.clone()), Some("owner 7:8 instead of 0:0")),
            (Some(link), Some("a symbolic link in its place")),
        ];
        for (found, wanted) in table {
            let what = file.differs(found.as_ref(), true);
            assert_eq!(what.as_deref(), wanted, "{found:?}");
        }
        assert_eq!(file.differs(Some(&other_owner), false), None);
    }

    #[test]
    fn whichever_bytes_a_crash_leaves_are_the_agents() {
        let before = noted("a");
        let with = before.with_intents(&[step("b")]).expect("it is another");
        for contents in ["a", "b"] {
            let found = found(0o644, contents);
            let what = with.files["/etc/x"].differs(Some(&found), true);
            assert_eq!(what, None, "{contents}");
        }
        let other = found(0o644, "c");
        let what = with.files["/etc/x"].differs(Some(&other), true);
        assert_eq!(what.as_deref(), Some("other contents"));
        assert_eq!(before.with_intents(&[step("a")]), None, "nothing to write");
        assert_eq!(ManagedFiles::default().with_intents(&[step("a")]), None);
    }

    #[test]
    fn of_a_file_that_others_write_too_only_the_block_is_the_agents() {
        let records = [HostRecord {
            name: "api.internal.c".to_owned(),
            address: "10.0.0.1".to_owned(),
        }];
        let texts: [fn(&str, &[HostRecord]) -> String; 2] =
            [crate::dns::hosts_text, crate::builders::hosts_text];
        for text in texts {
            let written = text("127.0.0.1 localhost\n", &records);
            let file = ManagedFile::left(&WriteFile::plain(SHARED, 0o644, written.clone()));
            let differs = |text: &str| file.differs(Some(&found(0o644, text)), true);
            assert_eq!(differs(&written), None);
            let by_others = format!("{written}\n10.0.0.2 etcd-b.internal.c\n");
            assert_eq!(differs(&by_others), None, "another's line");
            let what = Some("other contents".to_owned());
            assert_eq!(differs(&written.replace("10.0.0.1", "10.0.0.9")), what);
            assert_eq!(differs("127.0.0.1 localhost\n"), what, "the block is gone");
            let mut noted = ManagedFiles::default();
            let step = |text: String| {
                let file = WriteFile::plain(SHARED, 0o644, text);
                Step::new(Phase::Files, Action::WriteFile(file))
            };
            noted.note(&step(written.clone()));
            assert_eq!(noted.with_intents(&[step(by_others)]), None);
        }
    }

    #[test]
    fn a_file_that_only_has_to_exist_may_have_any_bytes() {
        let log = WriteFile::present("/var/log/x.log", 0o644);
        let file = ManagedFile::from_file(&log);
        assert_eq!(file.differs(Some(&found(0o644, "lines")), true), None);
        assert!(file.differs(None, true).is_some());
    }

    #[test]
    fn what_is_written_reads_back_and_what_another_agent_wrote_is_not_guessed_at() {
        let managed_files = noted("a");
        let file = managed_files.file();
        assert_eq!(ManagedFiles::parse(&file.contents.0), Some(managed_files));
        for bytes in [
            "",
            "{}",
            "[]",
            r#"{"schemaVersion":"quake-agent/owned/v9","files":{},"programs":{},"units":[]}"#,
        ] {
            assert_eq!(ManagedFiles::parse(bytes.as_bytes()), None, "{bytes}");
        }
    }

    #[test]
    fn a_boot_that_did_not_end_forgets_nothing_of_the_one_before() {
        let before = noted("a");
        assert_eq!(ManagedFiles::default().or(&before), before);
        assert_eq!(noted("b").or(&before), noted("b"));
    }
}
