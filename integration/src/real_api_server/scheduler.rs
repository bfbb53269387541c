//! A real kube-scheduler of a real server.

use super::{FOLDER, RealApiServer, start};
use crate::agent::Running;
use crate::skip::SetUpError;
use std::path::PathBuf;

impl RealApiServer {
    /// Starts the scheduler of the server's own version; it ends with the value.
    ///
    /// # Errors
    ///
    /// Says that there is none, or what failed.
    pub fn schedule(&self) -> Result<Running, SetUpError> {
        let programs = std::env::var_os(FOLDER).map(PathBuf::from);
        let program = programs.unwrap_or_default().join("kube-scheduler");
        if !program.is_file() {
            let why = format!("no {}", program.display());
            return Err(SetUpError::Missing(why));
        }
        let kubeconfig = self.folder.path().join("scheduler.kubeconfig");
        std::fs::write(&kubeconfig, self.kubeconfig()).map_err(|error| error.to_string())?;
        let kubeconfig = kubeconfig.display();
        let arguments = [
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            "--leader-elect=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            // It listens nowhere.
            "--secure-port=0".to_owned(),
        ];
        Ok(start(&program, &arguments, || true)?)
    }
}
