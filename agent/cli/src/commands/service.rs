//! The agent's own service, as systemd shows it.

use quake_host::systemd::Systemd;
use quake_model::facts::UnitFacts;
use quake_model::ports::{PortError, Units};
use quake_plan::lasting::{Service, service_of};
use std::path::Path;

/// The unit that runs the agent.
pub(crate) const UNIT: &str = "quake-agent.service";

/// Looks at the service of the agent on one machine.
pub(crate) struct AgentService {
    /// `None` where the root is not the machine's own, and so no service acts on it.
    systemd: Option<Systemd>,
}

/// How it stands, and how its process last ended, such as `exit status 64`.
pub(crate) type Standing = (Service, Option<String>);

impl AgentService {
    /// The service of the agent whose files are below `root`.
    pub(crate) fn of(root: &Path) -> Self {
        Self {
            systemd: (root == Path::new("/")).then(Systemd::new),
        }
    }

    /// Looks once. Below a root of its own nothing starts an agent again.
    pub(crate) async fn look(&self) -> Standing {
        let Some(systemd) = &self.systemd else {
            return (Service::Down, None);
        };
        match look_at(systemd).await {
            Ok((facts, has_job)) => (service_of(&facts, has_job), facts.main_ended),
            Err(_) => (Service::Unknown, None),
        }
    }
}

async fn look_at(systemd: &Systemd) -> Result<(UnitFacts, bool), PortError> {
    Ok((systemd.look_unit(UNIT).await?, systemd.has_job(UNIT).await?))
}
