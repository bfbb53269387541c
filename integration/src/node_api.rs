//! A stand-in for a cluster's API server, as far as nodes need it: it keeps those that register, and shows them. Nobody gets
//! an answer but who the cluster's CA certified.

use crate::ca::{Ca, Callers};
use crate::http::{Reply, Request, Server};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

const NODES: &str = "/api/v1/nodes";

/// The stand-in; it ends with its value.
#[derive(Debug)]
pub struct NodeApi {
    _server: Server,
    nodes: Arc<Mutex<BTreeMap<String, Value>>>,
}

impl NodeApi {
    /// Serves on this listener under these names (`DNS:…`), and tells that it is of this version.
    ///
    /// # Errors
    ///
    /// Says what failed.
    pub fn start(
        listener: TcpListener,
        ca: &Ca,
        names: &[&str],
        version: &str,
    ) -> Result<Self, String> {
        let nodes: Arc<Mutex<BTreeMap<String, Value>>> = Arc::default();
        let (own, version) = (Arc::clone(&nodes), version.to_owned());
        let config = ca.serve(names, Callers::Certified)?;
        let server = Server::by_tls(listener, config, move |request| {
            let mut nodes = own.lock().unwrap_or_else(PoisonError::into_inner);
            answer(&mut nodes, &version, request)
        });
        Ok(Self {
            _server: server.map_err(|error| error.to_string())?,
            nodes,
        })
    }

    /// The nodes that have registered, by their names.
    pub fn nodes(&self) -> Vec<String> {
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.keys().cloned().collect()
    }
}

fn answer(nodes: &mut BTreeMap<String, Value>, version: &str, request: &Request) -> Reply {
    let path = request.path();
    let name = path.strip_prefix(NODES);
    match (request.method.as_str(), name) {
        ("POST", Some("")) => {
            let Ok(node) = serde_json::from_slice::<Value>(&request.body) else {
                return Reply::new(400, "{}");
            };
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            nodes.insert(name.to_owned(), node.clone());
            Reply::new(201, node.to_string())
        }
        ("GET", Some(name)) => match nodes.get(name.trim_start_matches('/')) {
            Some(node) => Reply::new(200, node.to_string()),
            None => Reply::new(404, "{}"),
        },
        ("GET", None) if path == "/version" => {
            Reply::new(200, json!({ "gitVersion": version }).to_string())
        }
        ("GET", None) if matches!(path, "/readyz" | "/livez" | "/healthz") => Reply::new(200, "ok"),
        _ => Reply::new(404, "{}"),
    }
}
