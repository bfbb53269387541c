//! Units of systemd and answers of components.

use serde::{Deserialize, Serialize};

/// A unit's active state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActiveState {
    Active,
    Activating,
    Deactivating,
    Reloading,
    #[default]
    Inactive,
    Failed,
}

/// A unit as systemd shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitFacts {
    /// Its name with its suffix.
    pub name: String,
    /// Whether systemd found a unit file of this name.
    pub found: bool,
    pub active: ActiveState,
    /// The finer state, such as `running` or `auto-restart`.
    #[serde(alias = "sub_state")]
    pub sub_state: String,
    /// Whether it starts at boot.
    pub enabled: bool,
    /// Whether it can be enabled at all (it has an `[Install]` section).
    pub installable: bool,
    /// Whether its file changed on disk since systemd read it.
    #[serde(alias = "needs_reload")]
    pub needs_reload: bool,
    /// How often systemd restarted it by itself.
    pub restarts: u32,
    /// Microseconds since the epoch at which it became active; zero if it is not.
    #[serde(alias = "active_since_us")]
    pub active_since_us: u64,
    /// Why it last ended, such as `exit-code`; `success` if it did not.
    pub result: String,
    /// Microseconds since the epoch at which its main process was last started; zero if it has none.
    #[serde(alias = "main_started_us", default)]
    pub main_started_us: u64,
    /// How its main process last ended, such as `exit status 255`; `None` while it runs.
    #[serde(alias = "main_ended", default)]
    pub main_ended: Option<String>,
    /// Whether it is active only once its program says so (`Type=notify`).
    #[serde(default)]
    pub notifies: bool,
}

/// What a component answered to its health check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ProbeFacts {
    /// It answered with this HTTP status and these first bytes of its body.
    Answered {
        status: u16,
        /// The start of the body.
        body: String,
    },
    Silent {
        reason: String,
    },
}

impl ProbeFacts {
    /// Whether it answered with a 2xx status.
    pub fn is_healthy(&self) -> bool {
        matches!(self, Self::Answered { status, .. } if (200..300).contains(status))
    }
}
