//! What a case leaves behind, whatever came of it: a directory with each machine's console, journal, ledgers and
//! timeline, and what was asked of the services.

use super::backend::MachineBackend;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a machine is asked for each; one that hangs has left what its disk has.
const ASKED: Duration = Duration::from_secs(60);

/// What is asked of a machine that is up, and where the answer goes.
const QUESTIONS: [(&str, &str); 5] = [
    (
        "journal.txt",
        "journalctl --no-pager --output=short-precise",
    ),
    ("ledger.jsonl", "cat /var/lib/quake-agent/boots/*.jsonl"),
    (
        "timeline.json",
        "curl -s --unix-socket /run/quake-agent/quake-agent.sock http://localhost/v1/timeline",
    ),
    (
        "timeline.txt",
        "curl -s --unix-socket /run/quake-agent/quake-agent.sock 'http://localhost/v1/timeline?format=text'",
    ),
    (
        "units.txt",
        "systemctl list-units --all --no-pager --plain; systemctl --failed --no-pager --plain",
    ),
];

/// The directory of one case.
#[derive(Debug)]
pub struct Evidence {
    folder: PathBuf,
}

impl Evidence {
    /// An empty directory for this case of this tier, below cargo's target directory.
    ///
    /// # Errors
    ///
    /// Says why it cannot be made.
    pub fn begin(tier: &str, case: &str) -> Result<Self, String> {
        let test = std::env::current_exe().map_err(|error| error.to_string())?;
        // A test is in <target>/debug/deps, a program in <target>/release.
        let mut folders = test.ancestors().skip(1);
        let built = folders.find(|folder| !folder.ends_with("deps"));
        let target = built.and_then(Path::parent).unwrap_or(&test);
        let folder = target.join("integration").join(tier).join(case);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { folder })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps a text.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        let made = path.parent().map(fs::create_dir_all);
        // Evidence that cannot be kept is no reason for a test to fail.
        if made.is_some_and(|made| made.is_ok()) {
            let _ = fs::write(path, text);
        }
    }

    /// Adds what a console showed.
    pub(super) fn add_console(&self, instance: &str, shown: &str) {
        let before = self.console(instance);
        self.write(&format!("{instance}/console.txt"), &(before + shown));
    }

    /// What the consoles of earlier boots showed.
    pub(super) fn console(&self, instance: &str) -> String {
        fs::read_to_string(self.folder.join(instance).join("console.txt")).unwrap_or_default()
    }

    /// Collects what a machine has: from itself while it is up, else from its disk, whose root is at `disk`.
    pub(super) fn collect(&self, machine: &mut impl MachineBackend, disk: &Path) {
        let instance = machine.instance().to_owned();
        if machine.is_up() && machine.holds("true") {
            for (name, script) in QUESTIONS {
                if let Ok(ran) = machine.run(script, ASKED) {
                    self.write(&format!("{instance}/{name}"), &ran.stdout);
                }
            }
        } else {
            self.collect_disk(&instance, disk);
        }
    }

    /// Collects what is on a disk.
    pub(super) fn collect_disk(&self, instance: &str, root: &Path) {
        let ledgers = crate::store::ledgers(root);
        let texts = ledgers
            .iter()
            .map(|path| fs::read_to_string(path).unwrap_or_default());
        self.write(
            &format!("{instance}/ledger.jsonl"),
            &texts.collect::<String>(),
        );
        let journal = Command::new("journalctl")
            .args(["--no-pager", "--output=short-precise", "--directory"])
            .arg(root.join("var/log/journal"))
            .stdin(Stdio::null())
            .output();
        let journal = journal.map(|output| output.stdout).unwrap_or_default();
        self.write(
            &format!("{instance}/journal.txt"),
            &String::from_utf8_lossy(&journal),
        );
    }
}
