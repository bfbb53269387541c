//! systemd units of any type: services, slices, timers, mounts.

use crate::step::Need;
use serde::Serialize;

/// A unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unit {
    /// Its name with its suffix.
    pub name: String,
    /// Its file; `None` for a unit that a package or the distribution brings, or whose file is an item of its own, because its
    /// text may not be shown.
    pub file: Option<UnitFile>,
    pub state: UnitState,
    /// Whether it starts at boot by itself.
    pub autostart: Autostart,
    /// Files that it reads at its start: if one is newer than the unit, it is restarted.
    pub inputs: Vec<String>,
    /// Whether the node can do without it.
    pub need: Need,
}

/// The file of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnitFile {
    pub path: String,
    pub text: String,
}

/// Whether a unit runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitState {
    Running,
    /// It does not, as kubelet on an instance that warms up.
    Stopped,
    /// Others decide, as with a slice.
    Unmanaged,
}

/// Whether a unit starts at boot by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Autostart {
    Enabled,
    Disabled,
    Unmanaged,
}

impl Unit {
    /// A unit with a file, which runs, starts at boot, and is restarted when its file is newer.
    pub fn running(name: &str, path: &str, text: String) -> Self {
        let file = UnitFile {
            path: path.to_owned(),
            text,
        };
        Self {
            name: name.to_owned(),
            inputs: vec![file.path.clone()],
            file: Some(file),
            state: UnitState::Running,
            autostart: Autostart::Enabled,
            need: Need::Required,
        }
    }

    /// A unit that a package brings, which runs and starts at boot.
    pub fn packaged(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            file: None,
            state: UnitState::Running,
            autostart: Autostart::Enabled,
            inputs: Vec::new(),
            need: Need::Required,
        }
    }

    /// The same with files that it reads at its start.
    #[must_use]
    pub fn reading<Path: Into<String>>(mut self, inputs: impl IntoIterator<Item = Path>) -> Self {
        self.inputs.extend(inputs.into_iter().map(Into::into));
        self
    }

    /// The same, but the node can do without it.
    #[must_use]
    pub fn optional(self) -> Self {
        Self {
            need: Need::Optional,
            ..self
        }
    }
}
