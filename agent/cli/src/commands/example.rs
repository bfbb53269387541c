//! The bundled examples: a cluster of today's kops, and one of kops legacy.

use super::below::below;
use super::running::usage;
use super::scratch::{self, Keep};
use super::state_store::{self, Found, StateStoreQuery};
use quake_host::clock::SystemClock;
use quake_model::facts::InstanceFacts;
use quake_model::ports::Clock;
use quake_node::config::legacy::Document;
use quake_testkit::example::{self, CaBundle, kops};
use quake_testkit::{Controller, SimHost};
use std::io::ErrorKind;
use std::path::Path;

/// Where the keys of the example's cluster are kept below the scratch root, so that a second run is of the same cluster.
const CA_BUNDLE: &str = "var/lib/quake-agent/rehearsal/authorities.json";

/// The group of a node that nobody chose.
const FIRST_GROUP: &str = "control-plane";

/// A bundled example.
#[derive(Debug)]
pub(crate) enum Example {
    /// As kops 1.8 to 1.15 makes clusters.
    Legacy,
    /// As kops 1.36 does.
    Kops {
        group: String,
        /// The cluster, once it has keys.
        cluster: Option<kops::Cluster>,
    },
}

/// What is rehearsed: a bundled example where neither a state store nor a `kube_env.yaml` is named.
pub(crate) async fn find(query: StateStoreQuery<'_>, is_legacy: bool) -> Result<Found, u8> {
    if query.store.is_some() || query.has_kube_env {
        return state_store::find(query).await;
    }
    let group = query.instance_group.unwrap_or(FIRST_GROUP);
    let groups = match is_legacy {
        true => example::INSTANCE_GROUPS,
        false => kops::INSTANCE_GROUPS,
    };
    if !groups.contains(&group) {
        return Err(usage(&format!(
            "the bundled example has no instance group {group:?}; it has: {}",
            groups.join(", ")
        )));
    }
    let example = match is_legacy {
        true => Example::Legacy,
        false => Example::Kops {
            group: group.to_owned(),
            cluster: None,
        },
    };
    let kube_env = is_legacy.then(|| example::kube_env(group));
    Ok(Found {
        kube_env: kube_env
            .flatten()
            .map(|text| document(group, text.to_owned())),
        example: Some(example),
        ..Found::default()
    })
}

/// Gives today's example the keys of this root, and so its user data. Everything else stays as it is.
pub(crate) fn with_keys(found: Found, root: &Path, keep: Keep) -> Result<Found, u8> {
    let Some(Example::Kops { group, .. }) = found.example else {
        return Ok(found);
    };
    let cluster = kops::Cluster::new(ca_bundle(&below(root, CA_BUNDLE)?, keep)?);
    let kube_env = cluster.kube_env(&group);
    Ok(Found {
        kube_env: kube_env.map(|text| document(&group, text)),
        example: Some(Example::Kops {
            group,
            cluster: Some(cluster),
        }),
        ..found
    })
}

impl Example {
    /// Puts the example's objects into the region, and its kops-controller where it has one.
    pub(crate) fn surround(&self, sim: &SimHost, instance: &InstanceFacts) -> Result<(), u8> {
        match self {
            Self::Legacy => {
                for (location, text) in example::objects() {
                    sim.put_object(&location, text);
                }
            }
            Self::Kops { cluster, .. } => {
                if let Some(cluster) = cluster {
                    for (location, text) in cluster.objects() {
                        sim.put_object(&location, text);
                    }
                    sim.answer_bootstrap(controller(cluster, instance)?);
                }
            }
        }
        Ok(())
    }
}

fn controller(cluster: &kops::Cluster, instance: &InstanceFacts) -> Result<Controller, u8> {
    let made = cluster.controller(instance);
    made.map_err(|fault| usage(&fault.to_string()))
}

fn document(group: &str, text: String) -> Document {
    Document {
        source: format!("example/{group}/kube_env.yaml"),
        text,
    }
}

fn ca_bundle(path: &Path, keep: Keep) -> Result<CaBundle, u8> {
    let shown = path.display();
    match std::fs::read(path) {
        Ok(bytes) => {
            let read = serde_json::from_slice(&bytes);
            return read.map_err(|error| usage(&format!("{shown} has no keys: {error}")));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(usage(&format!("{shown} cannot be read: {error}"))),
    }
    let made = CaBundle::make(SystemClock.now());
    let made = made.map_err(|error| usage(&format!("no keys can be made: {error}")))?;
    if keep == Keep::Yes {
        scratch::write(path, &made)
            .map_err(|error| usage(&format!("{shown} cannot be written: {error}")))?;
    }
    Ok(made)
}
