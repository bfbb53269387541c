//! Readiness over HTTP, on loopback and a unix socket. Read-only; nothing secret is ever in a record.

mod addon_metrics;
mod connections;
mod exposition;
mod guard;
mod health;
mod metrics;
mod readiness;
mod routes;

pub(crate) use readiness::{Condition, condition_of, fault_of_condition};
pub(crate) use routes::routes;

use crate::args::Listen;
use crate::sinks::Published;
use axum::Router;
use axum::middleware::from_fn;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, UnixListener};

/// Where the endpoint is served; the socket's file is removed when this is dropped.
pub(crate) struct Served {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) socket: Option<PathBuf>,
    /// What could not be served, as one line each.
    pub(crate) problems: Vec<String>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Served {
    /// Takes over the address that `other` serves, and with it its tasks.
    pub(crate) fn adopt(&mut self, mut other: Self) {
        self.address = other.address.take();
        self.tasks.append(&mut other.tasks);
        if self.address.is_some() {
            self.problems.clear();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        if let Some(socket) = &self.socket {
            // It may be gone already, as when its directory was removed.
            let _ = std::fs::remove_file(socket);
        }
    }
}

/// Serves the published record. A place that cannot be served is a problem to report, not a failed boot.
pub(crate) async fn serve(published: &Published, listen: Listen, socket: Option<&Path>) -> Served {
    let mut served = Served {
        address: None,
        socket: None,
        problems: Vec::new(),
        tasks: Vec::new(),
    };
    if let Listen::At(address) = listen {
        match TcpListener::bind(address).await {
            Ok(listener) => {
                served.address = listener.local_addr().ok();
                let app = guarded(routes(published.clone()), Some(guard::names()));
                let serving = connections::serve(listener, app, connections::LIMITS);
                served.tasks.push(tokio::spawn(serving));
            }
            Err(error) => served
                .problems
                .push(format!("{address} cannot be listened on: {error}")),
        }
    }
    if let Some(socket) = socket {
        match bind_socket(socket) {
            Ok(listener) => {
                served.socket = Some(socket.to_owned());
                // Who may open the socket's file needs no name.
                let app = guarded(routes(published.clone()), None);
                let serving = connections::serve(listener, app, connections::LIMITS);
                served.tasks.push(tokio::spawn(serving));
            }
            Err(error) => {
                served.problems.push(format!(
                    "{} cannot be listened on: {error}",
                    socket.display()
                ));
            }
        }
    }
    served
}

/// The routes behind the guard.
fn guarded(app: Router, names: Option<guard::Names>) -> Router {
    app.layer(from_fn(move |request, next| {
        guard::guarded(names.clone(), request, next)
    }))
}

fn bind_socket(path: &Path) -> std::io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(std::io::Error::new(
            std::io::ErrorKind::AddrInUse,
            "another agent serves it",
        ));
    }
    // The socket of an agent that was killed stays behind as a file nobody listens on.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
    Ok(listener)
}
