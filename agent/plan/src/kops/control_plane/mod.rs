//! The control plane and the API server: their pods, and what those read beside keys.

mod api_server;
mod api_server_flags;
mod controller_manager;
mod scheduler;
mod sidecar;
mod static_pod;

use super::Builder;

/// The group's builders.
pub(super) const BUILDERS: &[Builder] = &[
    Builder {
        name: "api_server",
        build: api_server::build,
    },
    Builder {
        name: "controller_manager",
        build: controller_manager::build,
    },
    Builder {
        name: "scheduler",
        build: scheduler::build,
    },
];
