//! The API server of a cluster whose machines have stand-ins for their programs.

use super::vpc::{ROUTER, Vpc};
use crate::api_server::ApiStandIn;
use crate::ca::Ca;
use crate::skip::SetUpError;
use quake_apisim::ApiServer;
use std::sync::Arc;

impl Vpc {
    /// The stand-in for the API server of the one cluster in this network: at the router's port 443, under this name.
    ///
    /// # Errors
    ///
    /// Says what is missing here, or what failed.
    pub fn api_server(&self, name: &str) -> Result<&ApiStandIn, SetUpError> {
        let made = self.api_server.get_or_init(|| {
            let made = ApiStandIn::by_tls_as(ApiServer::new("v1.15.12"), Ca::new()?, name)?;
            let namespace = Arc::clone(&self.namespace);
            let opened = made.add_door(move || namespace.listen(&format!("{ROUTER}:443")));
            opened.map_err(|error| SetUpError::Failed(error.to_string()))?;
            Ok(made)
        });
        made.as_ref().map_err(Clone::clone)
    }
}
