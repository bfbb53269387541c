//! Files, directories and links.

use super::Kubeconfig;
use crate::step::{Contents, Keep, Visibility};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// Where. The directories above it are made, 0755, root's.
    pub path: String,
    pub source: Source,
    pub mode: u32,
    pub owner: FileOwner,
    /// What to do if it is there with other contents.
    pub keep: Keep,
    /// Whether its contents may be shown.
    pub visibility: Visibility,
    /// What must follow a change of it, in this order. It is owed until it has succeeded once, whatever happens between.
    pub on_change: Vec<Reaction>,
}

impl File {
    /// A plain file of root's, 0644, that is kept equal to `contents`.
    pub fn plain(path: &str, contents: impl Into<Contents>) -> Self {
        Self {
            path: path.to_owned(),
            source: Source::Bytes(contents.into()),
            mode: 0o644,
            owner: FileOwner::default(),
            keep: Keep::Never,
            visibility: Visibility::Plain,
            on_change: Vec::new(),
        }
    }

    /// A file of root's, 0600, whose contents are never shown.
    pub fn secret(path: &str, source: Source) -> Self {
        Self {
            source,
            mode: 0o600,
            visibility: Visibility::Secret,
            ..Self::plain(path, "")
        }
    }

    /// An empty file that only has to exist.
    pub fn present(path: &str) -> Self {
        Self {
            keep: Keep::IfPresent,
            ..Self::plain(path, "")
        }
    }

    /// Its text; `None` where its bytes come from a certificate that is ordered.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match &self.source {
            Source::Bytes(contents) => Some(String::from_utf8_lossy(&contents.0)),
            Source::Issued { .. } | Source::Kubeconfig(_) => None,
        }
    }

    /// The same with other permission bits.
    #[must_use]
    pub fn mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    /// The same owned by a user; its group stays root's, as nodeup leaves it.
    #[must_use]
    pub fn owned_by(self, user: &str) -> Self {
        let owner = FileOwner {
            user: user.to_owned(),
            ..FileOwner::default()
        };
        Self { owner, ..self }
    }

    /// The same with something that must follow a change.
    #[must_use]
    pub fn then(mut self, reaction: Reaction) -> Self {
        self.on_change.push(reaction);
        self
    }
}

/// Who owns a file, by name: a user's number may be known only once the user is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileOwner {
    pub user: String,
    pub group: String,
}

impl Default for FileOwner {
    fn default() -> Self {
        let root = "root".to_owned();
        Self {
            user: root.clone(),
            group: root,
        }
    }
}

/// Where a file's bytes come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    Bytes(Contents),
    /// They are part of what an ordered certificate brings.
    Issued {
        /// The order's name.
        order: String,
        part: IssuedPart,
    },
    /// They are a kubeconfig around an ordered certificate.
    Kubeconfig(Kubeconfig),
}

impl Source {
    /// These bytes.
    pub fn bytes(contents: impl Into<Contents>) -> Self {
        Self::Bytes(contents.into())
    }
}

/// A part of what an ordered certificate brings, PEM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IssuedPart {
    Certificate,
    /// The certificate, an empty line, and the CA that signed it.
    Chain,
    Key,
}

/// What must follow a change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reaction {
    /// The kernel's settings are set from all files, as `sysctl --system` does.
    ApplySysctls,
    /// udev reads its rules again.
    ReloadUdev,
    /// A unit is restarted, if it runs; not before all packages are installed, for it may cut the network.
    RestartUnit(String),
    /// A command is run, without a shell.
    Run(Vec<String>),
}

impl Reaction {
    /// A name for it: two reactions of one name are the same.
    pub fn subject(&self) -> String {
        match self {
            Self::ApplySysctls => "sysctl".to_owned(),
            Self::ReloadUdev => "udev".to_owned(),
            Self::RestartUnit(unit) => format!("restart/{unit}"),
            Self::Run(words) => format!("run/{}", words.join(" ")),
        }
    }
}

/// A directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Directory {
    pub path: String,
    /// Its permission bits; one that exists is given them, too.
    pub mode: u32,
    pub owner: FileOwner,
}

impl Directory {
    /// A directory of root's, 0755.
    pub fn plain(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            mode: 0o755,
            owner: FileOwner::default(),
        }
    }
}

/// A static pod that is not to be there: the manifest by which it was laid down goes, and nothing else that stands in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RetiredPod {
    /// Where its manifest was laid down.
    pub path: String,
    /// Its name. What stands at the path and is no pod of this name is somebody's own, and stays.
    pub name: String,
}

/// A symbolic link. Something else in its place is left there, with a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    pub path: String,
    pub target: String,
}
