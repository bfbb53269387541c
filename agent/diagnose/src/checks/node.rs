//! The node as a check sees it: a survey, and questions to it that say when something was not seen.

use super::check::{Finding, Verdict};
use super::wanted;
use quake_model::boot::CONFIGURATION_UNIT;
use quake_model::expected::Expected;
use quake_model::facts::{EntryFacts, EntryKind, MountFacts, PodSeen, Survey, UnitFacts, Unseen};
use quake_model::record::{BootState, Record};
use quake_model::time::Timestamp;

/// The unit that runs the agent, by the name that systemd knows it by everywhere.
pub(in crate::checks) const AGENT_UNIT: &str = "quake-agent.service";

/// Where that name leads to the unit of kops.
const AGENT_UNIT_LINK: &str = "/etc/systemd/system/quake-agent.service";

/// A surveyed node.
pub struct Node<'a> {
    survey: &'a Survey,
}

impl<'a> Node<'a> {
    /// The node of a survey.
    pub fn new(survey: &'a Survey) -> Self {
        Self { survey }
    }

    /// Everything that was seen.
    pub fn survey(&self) -> &'a Survey {
        self.survey
    }

    /// When it was seen, by the node's clock.
    pub fn taken(&self) -> Timestamp {
        self.survey.taken
    }

    /// The text of a file; `None` where no file stands.
    ///
    /// # Errors
    ///
    /// `Denied` or `Failed` when it stands there and could not be read.
    pub fn text(&self, path: &str) -> Result<Option<&'a str>, Unseen> {
        if let Some(seen) = self.survey.texts.get(path) {
            return seen.get().map(|text| Some(text.as_str()));
        }
        if let Some(why) = self.survey.unreadable.get(path) {
            return Err(Unseen::Failed(format!("{path}: {why}")));
        }
        match self.survey.entries.get(path) {
            Some(entry) if entry.kind == EntryKind::File => {
                Err(Unseen::NotTaken(format!("the text of {path} was not read")))
            }
            _ => Ok(None),
        }
    }

    /// The text of a file that every running Linux has.
    ///
    /// # Errors
    ///
    /// `NotTaken` when it is not there, as in the tree of an image; else as [`Node::text`].
    pub fn need_text(&self, path: &str) -> Result<&'a str, Unseen> {
        self.text(path)?
            .ok_or_else(|| Unseen::NotTaken(format!("there is no {path} in what was looked at")))
    }

    /// What stands at a path.
    ///
    /// # Errors
    ///
    /// `Failed` when it could not be looked at.
    pub fn entry(&self, path: &str) -> Result<Option<&'a EntryFacts>, Unseen> {
        if let Some(why) = self.survey.unreadable.get(path) {
            return Err(Unseen::Failed(format!("{path}: {why}")));
        }
        Ok(self.survey.entries.get(path))
    }

    /// Proves that nothing found at a path means that nothing is there.
    ///
    /// # Errors
    ///
    /// `NotTaken` in a tree that was captured by hand, and for paths that no survey looks at.
    pub fn was_surveyed(&self, path: &str) -> Result<(), Unseen> {
        match !self.survey.schema_version.is_empty() && wanted::is_wanted(path) {
            true => Ok(()),
            false => Err(Unseen::NotTaken(format!(
                "there is no {path} in what was looked at"
            ))),
        }
    }

    /// Whether the modes of what stands here are those of the node. A tree that was copied without a survey has them
    /// where whoever copied it kept them; where no program at all may be executed, nobody did.
    pub fn has_modes(&self) -> bool {
        const FOLDERS: &[&str] = &["/usr/local/bin/", "/usr/bin/", "/opt/cni/bin/"];
        let is_program = |(path, entry): (&String, &EntryFacts)| {
            entry.kind == EntryKind::File
                && entry.mode & 0o111 != 0
                && FOLDERS.iter().any(|folder| path.starts_with(folder))
        };
        !self.survey.schema_version.is_empty() || self.survey.entries.iter().any(is_program)
    }

    /// The names directly in a directory that were looked at, sorted, with what stands there.
    pub fn list(&self, directory: &str) -> Vec<(&'a str, &'a EntryFacts)> {
        let prefix = format!("{}/", directory.trim_end_matches('/'));
        let within = self.survey.entries.range(prefix.clone()..);
        within
            .take_while(|(path, _)| path.starts_with(&prefix))
            .map(|(path, entry)| (&path[prefix.len()..], entry))
            .filter(|(name, _)| !name.is_empty() && !name.contains('/'))
            .collect()
    }

    /// A setting of the kernel, `net.ipv4.ip_forward`; `None` when the kernel has none of this name.
    ///
    /// # Errors
    ///
    /// `NotTaken` where the tree has no `/proc/sys`.
    pub fn sysctl(&self, key: &str) -> Result<Option<&'a str>, Unseen> {
        let found = self.text(&format!("/proc/sys/{}", key.replace('.', "/")))?;
        if found.is_none() {
            self.need_text("/proc/sys/kernel/osrelease")?;
        }
        Ok(found.map(str::trim))
    }

    /// The host of the API server that kubelet goes to.
    pub(in crate::checks) fn api_server_host(&self) -> Option<&'a str> {
        let servers = &self.expected().ok()?.api_servers;
        let (_, url) = servers.first()?.split_once("://")?;
        url.split(['/', ':']).next()
    }

    /// The mounts, in the order of the table; the last on a path is the one that is seen.
    ///
    /// # Errors
    ///
    /// `NotTaken` where the tree has no mount table.
    pub fn mounts(&self) -> Result<Vec<Mount>, Unseen> {
        let table = self.need_text("/proc/self/mountinfo")?;
        Ok(table.lines().filter_map(mount).collect())
    }

    /// The mount that holds a path.
    ///
    /// # Errors
    ///
    /// As [`Node::mounts`].
    pub fn mount_of(&self, path: &str) -> Result<Option<Mount>, Unseen> {
        let holds = |mount: &&Mount| {
            let target = mount.facts.target.trim_end_matches('/');
            path == target || path.starts_with(&format!("{target}/"))
        };
        let mounts = self.mounts()?;
        let longest = mounts
            .iter()
            .filter(holds)
            .map(|m| m.facts.target.len())
            .max();
        let of_length = |mount: &&Mount| Some(mount.facts.target.len()) == longest;
        Ok(mounts.iter().filter(holds).rfind(of_length).cloned())
    }

    /// The latest boot.
    ///
    /// # Errors
    ///
    /// `NotTaken` when none is recorded.
    pub fn record(&self) -> Result<&'a Record, Unseen> {
        let why = || Unseen::NotTaken("no boot of the agent is recorded here".to_owned());
        self.survey.record.as_ref().ok_or_else(why)
    }

    /// A finding of what comes about by itself: it fails once the boot has ended. Before that it warns, and the boot says
    /// itself when it takes too long.
    ///
    /// # Errors
    ///
    /// As [`Node::record`].
    pub(in crate::checks) fn fail_after_boot(&self, finding: Finding) -> Result<Verdict, Unseen> {
        match self.record()?.state {
            BootState::Ready | BootState::Failed | BootState::Stopped => finding.fail(),
            BootState::Starting
            | BootState::Configuring
            | BootState::Preparing
            | BootState::Joining => finding.warn(),
        }
    }

    /// What the node is expected to have.
    ///
    /// # Errors
    ///
    /// `NotTaken` when no boot came so far as to know it.
    pub fn expected(&self) -> Result<&'a Expected, Unseen> {
        let why =
            || Unseen::NotTaken("no boot came as far as to know what the node is to be".to_owned());
        self.record()?.expected.as_ref().ok_or_else(why)
    }

    /// The role's word; `None` while it is not known.
    pub fn role(&self) -> Option<&'a str> {
        let spec = self.survey.record.as_ref()?.spec.as_ref()?;
        Some(spec.role.as_str())
    }

    /// Whether the node is known to be a control plane.
    pub fn is_control_plane(&self) -> bool {
        self.role() == Some("control-plane")
    }

    /// A unit; `None` when it was looked at and systemd does not know it.
    ///
    /// # Errors
    ///
    /// `NotTaken` when this unit was not looked at; else why units are not known.
    pub fn unit(&self, name: &str) -> Result<Option<&'a UnitFacts>, Unseen> {
        let units = self.survey.units.get()?;
        match units.iter().find(|unit| unit.name == name) {
            Some(unit) => Ok(unit.found.then_some(unit)),
            None => Err(Unseen::NotTaken(format!("{name} was not looked at"))),
        }
    }

    /// The unit that runs the agent, by the name that its file has: on a node that kops' user data brought up the agent's own
    /// is a second name of kops'.
    pub fn agent_unit(&self) -> &'static str {
        let link = self.survey.entries.get(AGENT_UNIT_LINK);
        let target = link.and_then(|entry| entry.target.as_deref());
        match target.and_then(|target| target.rsplit('/').next()) {
            Some(CONFIGURATION_UNIT) => CONFIGURATION_UNIT,
            _ => AGENT_UNIT,
        }
    }

    /// The last journal lines of a unit; empty where there are none.
    pub fn journal(&self, unit: &str) -> &'a [String] {
        let journals = self.survey.journals.ok();
        journals
            .and_then(|all| all.get(unit))
            .map_or(&[], Vec::as_slice)
    }

    /// The containers that the runtime listed; none where it was not seen.
    pub fn pods(&self) -> impl DoubleEndedIterator<Item = &'a PodSeen> {
        let runtime = self.survey.runtime.ok();
        runtime
            .and_then(|it| it.pods.as_ref())
            .into_iter()
            .flatten()
    }

    /// Whether a phase of the latest boot is done, so that what it brings about is to be expected.
    pub fn has_done(&self, phase: quake_model::phase::Phase) -> bool {
        use quake_model::record::PhaseStatus;
        let record = self.survey.record.as_ref();
        let found = record.and_then(|record| record.phases.get(&phase));
        found.is_some_and(|found| found.status == PhaseStatus::Done)
    }
}

/// A line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// What is mounted where.
    pub facts: MountFacts,
    /// The options of this mount, such as `noexec`.
    pub options: Vec<String>,
    /// The options of its filesystem, such as `ro`.
    pub filesystem_options: Vec<String>,
}

impl Mount {
    /// Whether it or its filesystem has an option.
    pub fn has(&self, option: &str) -> bool {
        let both = self.options.iter().chain(&self.filesystem_options);
        both.into_iter().any(|found| found == option)
    }
}

/// Reads a line of `/proc/self/mountinfo` (proc(5)).
fn mount(line: &str) -> Option<Mount> {
    let (place, what) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let (number, _root, target, options) =
        (place.next()?, place.next()?, place.next()?, place.next()?);
    let mut what = what.split(' ');
    let (filesystem, source) = (what.next()?, what.next()?);
    let split = |options: &str| options.split(',').map(str::to_owned).collect();
    Some(Mount {
        facts: MountFacts {
            source: source.replace("\\040", " "),
            target: target.replace("\\040", " "),
            filesystem: filesystem.to_owned(),
            number: number.to_owned(),
        },
        options: split(options),
        filesystem_options: split(what.next().unwrap_or_default()),
    })
}
