//! One conversation with a cluster's API server: what it serves, what it has, and one change at a time.

mod apply_object;

use super::places::namespaces;
use crate::access::access_by;
use crate::context::lock;
use crate::resident::addons::AddonPorts;
use crate::retry::{arrives, retry_transient};
use futures_util::future::try_join_all;
use quake_addons::{
    applied_versions, fault_of_api, fault_of_change, is_same, prune_failed, unserved,
};
use quake_model::addon::AddonVersion;
use quake_model::cluster_object::{ClusterObject, ObjectKind, ObjectPlace, ServedKind};
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Change, Condition, ObjectQuery, PortError, ServedGroup};
use quake_model::signal::ApiAccess;
use quake_model::spec::KubernetesVersion;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Who holds the fields of what the agent applies.
pub(crate) const MANAGER: &str = "quake-agent";

/// How many requests for add-ons are under way at once, of however many add-ons. A guess: an API server that has just started
/// serves other nodes too. Watches, which wait, and the lease, which cannot, are not among them.
const AT_ONCE: usize = 4;

/// How long transient failures of one request are tried through; of a change also a server that is away, for an answer may be lost.
pub(super) const RETRY_LIMIT: Duration = Duration::from_secs(10);

/// Where objects of a namespaced kind are that name no namespace, as for every client of Kubernetes.
const DEFAULT_NAMESPACE: &str = "default";

/// A conversation with an API server. Everything is asked once, transient failures apart.
pub struct ClusterClient<'a, H> {
    host: &'a H,
    access: ApiAccess,
    version: KubernetesVersion,
    served: Mutex<Served>,
    requests: Semaphore,
    noting: tokio::sync::Mutex<()>,
}

/// What the server was found to serve.
#[derive(Default)]
struct Served {
    groups: Option<Vec<ServedGroup>>,
    /// By group and version; `None` for one that is not served.
    kinds: BTreeMap<(String, String), Option<Vec<ServedKind>>>,
}

/// What applying one object came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Applied {
    pub(crate) place: ObjectPlace,
    pub(crate) before: Option<ClusterObject>,
    pub(crate) after: ClusterObject,
}

impl Applied {
    /// Whether the object is another than before.
    pub(crate) fn is_changed(&self) -> bool {
        self.before
            .as_ref()
            .is_none_or(|before| !is_same(before, &self.after))
    }
}

impl<'a, H: AddonPorts> ClusterClient<'a, H> {
    /// Begins a conversation with the server of `access`.
    ///
    /// # Errors
    ///
    /// The fault of a server that does not answer, or does not accept the certificate.
    pub async fn open(host: &'a H, access: ApiAccess) -> Result<Self, Fault> {
        let reported = retry_transient("version", RETRY_LIMIT, || async {
            host.ask_version(&access).await.map_err(fault_of_api)
        })
        .await?;
        let version = reported.parse().map_err(|error| {
            let reported =
                PortError::new(Condition::Unreachable, "the API server reports no version");
            fault_of_api(reported.because(&error))
        })?;
        Ok(Self {
            host,
            access,
            version,
            served: Mutex::default(),
            requests: Semaphore::new(AT_ONCE),
            noting: tokio::sync::Mutex::default(),
        })
    }

    /// Held while a note is written.
    pub(super) fn noting(&self) -> &tokio::sync::Mutex<()> {
        &self.noting
    }

    /// Begins one with the server that the kubeconfig at `path` leads to.
    ///
    /// # Errors
    ///
    /// `addons.api-unreachable` while it leads nowhere; else as [`ClusterClient::open`].
    pub(crate) async fn by_kubeconfig(host: &'a H, path: &str) -> Result<Self, Fault> {
        let access = access_by(host, path).await.ok_or_else(|| {
            let summary = format!("{path} leads to no API server yet");
            Fault::new(Code::AddonsApiUnreachable, summary).seen("kubeconfig", path)
        })?;
        Self::open(host, access).await
    }

    /// The server's version.
    pub fn version(&self) -> KubernetesVersion {
        self.version
    }

    pub(crate) fn host(&self) -> &'a H {
        self.host
    }

    pub(crate) fn access(&self) -> &ApiAccess {
        &self.access
    }

    /// Which add-ons the cluster has in which version, by namespace and name.
    pub(crate) async fn versions(&self) -> Result<BTreeMap<(String, String), AddonVersion>, Fault> {
        let query = ObjectQuery {
            served: namespaces(),
            namespace: None,
            labels: String::new(),
            fields: String::new(),
        };
        let found = self.list(&query).await?;
        let noted = found.iter().flat_map(|namespace| {
            let versions = applied_versions(namespace).into_iter();
            let within = namespace.name().to_owned();
            versions.map(move |(addon, version)| ((within.clone(), addon), version))
        });
        Ok(noted.collect())
    }

    pub(crate) async fn list(&self, query: &ObjectQuery) -> Result<Vec<ClusterObject>, Fault> {
        let _permit = self.requests.acquire().await;
        retry_transient(&query.served.plural, RETRY_LIMIT, || async {
            let listed = self.host.list_cluster_objects(&self.access, query).await;
            listed.map_err(fault_of_api)
        })
        .await
    }

    pub(super) async fn look(&self, place: &ObjectPlace) -> Result<Option<ClusterObject>, Fault> {
        retry_transient(&place.name, RETRY_LIMIT, || async {
            let found = self.host.get_object(&self.access, place).await;
            found.map_err(|error| fault_of_change(place, error))
        })
        .await
    }

    /// How a kind is asked for.
    ///
    /// # Errors
    ///
    /// `addons.kind-unserved` when the server does not serve it.
    pub(crate) async fn served(&self, kind: &ObjectKind, name: &str) -> Result<ServedKind, Fault> {
        let key = (kind.group.clone(), kind.version.clone());
        let known = || lock(&self.served).kinds.get(&key).cloned();
        let kinds = match known() {
            Some(kinds) => kinds,
            None => {
                let _permit = self.requests.acquire().await;
                // Another may have asked the same while this one waited for its turn.
                match known() {
                    Some(kinds) => kinds,
                    None => {
                        let kinds = self.ask_kinds(kind).await?;
                        lock(&self.served).kinds.insert(key.clone(), kinds.clone());
                        kinds
                    }
                }
            }
        };
        let mut kinds = kinds.into_iter().flatten();
        let found = kinds.find(|served| served.kind.kind == kind.kind);
        found.ok_or_else(|| unserved(kind, name))
    }

    async fn ask_kinds(&self, kind: &ObjectKind) -> Result<Option<Vec<ServedKind>>, Fault> {
        retry_transient(&kind.group, RETRY_LIMIT, || async {
            let listed = self
                .host
                .list_kinds(&self.access, &kind.group, &kind.version);
            match listed.await {
                Ok(kinds) => Ok(Some(kinds)),
                Err(error) if error.condition == Condition::Missing => Ok(None),
                Err(error) => Err(fault_of_api(error)),
            }
        })
        .await
    }

    /// A kind of which only the group is known, in the version that the server likes best.
    pub(crate) async fn served_in_group(
        &self,
        group: &str,
        kind: &str,
    ) -> Result<ServedKind, Fault> {
        let known = lock(&self.served).groups.clone();
        let groups = match known {
            Some(groups) => groups,
            None => {
                let requested = retry_transient("groups", RETRY_LIMIT, || async {
                    let listed = self.host.list_groups(&self.access).await;
                    listed.map_err(fault_of_api)
                });
                let groups = requested.await?;
                lock(&self.served).groups = Some(groups.clone());
                groups
            }
        };
        let of_group = groups.into_iter().filter(|served| served.group == group);
        for version in of_group.flat_map(|served| served.versions) {
            let kind = ObjectKind {
                group: group.to_owned(),
                version,
                kind: kind.to_owned(),
            };
            match self.served(&kind, "*").await {
                // Another version may have it.
                Err(fault) if fault.code == Code::AddonsKindUnserved => {}
                ended => return ended,
            }
        }
        let kind = ObjectKind::from_version(&format!("{group}/*"), kind);
        Err(unserved(&kind, "*"))
    }

    /// Forgets what the server serves, for it may serve more by now.
    pub(crate) fn forget_kinds(&self) {
        *lock(&self.served) = Served::default();
    }

    /// Where an object of a manifest belongs.
    pub(crate) async fn place_of(&self, object: &ClusterObject) -> Result<ObjectPlace, Fault> {
        let served = self.served(&object.kind(), object.name()).await?;
        let namespace = object.namespace().unwrap_or(DEFAULT_NAMESPACE);
        let namespace = served.namespaced.then(|| namespace.to_owned());
        Ok(ObjectPlace {
            served,
            namespace,
            name: object.name().to_owned(),
        })
    }

    /// Brings one object about, or with `dry_run` has the server say what would come of it.
    ///
    /// What another manager holds is taken over: the channel is what the cluster's operators asked for.
    pub(crate) async fn apply(
        &self,
        object: &ClusterObject,
        dry_run: bool,
    ) -> Result<Applied, Fault> {
        let place = self.place_of(object).await?;
        let name = place.to_string();
        let _permit = self.requests.acquire().await;
        arrives(&name, RETRY_LIMIT, || async {
            let got = self.host.get_object(&self.access, &place).await;
            let before = got.map_err(|error| fault_of_change(&place, error))?;
            let after = self.apply_object(&place, object, before.as_ref(), dry_run);
            let after = after
                .await
                .map_err(|error| fault_of_change(&place, error))?;
            Ok(Applied {
                place: place.clone(),
                before,
                after,
            })
        })
        .await
    }

    pub(crate) async fn change(
        &self,
        place: &ObjectPlace,
        change: &Change,
        dry_run: bool,
    ) -> Result<ClusterObject, PortError> {
        // Servers before 1.13 take a dry run for a real one.
        if dry_run && !self.version.at_least(1, 13) {
            let summary = "this API server knows no dry run (Kubernetes 1.13 does)";
            return Err(PortError::new(Condition::Impossible, summary));
        }
        let requested = self
            .host
            .change_object(&self.access, place, change, dry_run);
        requested.await
    }

    /// Changes a few fields of an object that is there.
    pub(crate) async fn patch(&self, place: &ObjectPlace, patch: Value) -> Result<(), Fault> {
        let change = Change::Merge {
            patch,
            manager: MANAGER.to_owned(),
        };
        let _permit = self.requests.acquire().await;
        arrives(&place.name, RETRY_LIMIT, || async {
            let changed = self.change(place, &change, false).await;
            changed
                .map(drop)
                .map_err(|error| fault_of_change(place, error))
        })
        .await
    }

    /// Deletes objects, each only while it is the one that was seen.
    pub(crate) async fn delete(
        &self,
        served: &ServedKind,
        objects: &[&ClusterObject],
    ) -> Result<usize, Fault> {
        let deleted = objects.iter().map(|object| async move {
            let place = ObjectPlace {
                served: served.clone(),
                namespace: object.namespace().map(str::to_owned),
                name: object.name().to_owned(),
            };
            let _permit = self.requests.acquire().await;
            retry_transient(&place.name, RETRY_LIMIT, || async {
                let ended = self.host.delete_object(&self.access, &place, object.uid());
                ended.await.map_err(|error| prune_failed(&place, error))
            })
            .await
        });
        Ok(try_join_all(deleted).await?.len())
    }
}
