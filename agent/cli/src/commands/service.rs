//! The agent's own service, as systemd shows it.

use quake_host::systemd::Systemd;
use quake_model::facts::UnitFacts;
use quake_model::ports::{PortError, Units};
use quake_node::configuration_unit;
use quake_node::restart_policy::{Service, service_of};
use quake_tree::{Last, locate};
use std::path::Path;

/// The unit that runs the agent. On a node that kops' user data brought up it is another name of
/// [`configuration_unit::UNIT`], so systemd knows it by this one all the same; the journal does not.
pub(crate) const UNIT: &str = "quake-agent.service";

/// The name by which the journal knows the unit that runs the agent whose files are below `root`.
pub(crate) fn unit_of(root: &Path) -> &'static str {
    let link = locate(root, Path::new("etc/systemd/system").join(UNIT), Last::Kept);
    let target = link.ok().and_then(|link| std::fs::read_link(link).ok());
    let target = target.unwrap_or_default();
    match target.file_name().and_then(|name| name.to_str()) {
        Some(configuration_unit::UNIT) => configuration_unit::UNIT,
        _ => UNIT,
    }
}

/// Looks at the service of the agent on one machine.
pub(crate) struct AgentService {
    /// `None` where the root is not the machine's own, and so no service acts on it.
    systemd: Option<Systemd>,
}

/// The state of the service, and how its process last ended, such as `exit status 64`.
pub(crate) type ServiceLook = (Service, Option<String>);

impl AgentService {
    /// The service of the agent whose files are below `root`.
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            systemd: (root == Path::new("/")).then(Systemd::new),
        }
    }

    /// Looks once. Below a root of its own nothing starts an agent again.
    pub(crate) async fn look(&self) -> ServiceLook {
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
