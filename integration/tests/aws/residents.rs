//! Control planes whose agents stay: their cluster's API server at its own port, their components, and their channel.

use crate::lab::{BUCKET, KEY, Lab, keyset_of};
use crate::members::{Cluster, Group, Instance};
use quake_apisim::{ApiServer, Request};
use quake_integration::agent::{Ended, Running, run};
use quake_integration::api_server::ApiStandIn;
use quake_integration::ca::Ca;
use quake_integration::ec2::Rules;
use quake_integration::http::{Endpoint, Reply, get};
use quake_integration::node::CONFIG_BASE;
use quake_integration::random::Random;
use quake_integration::skip::SetUpError;
use quake_integration::tree::sha256;
use quake_integration::waiting::wait_until;
use quake_model::time::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// What is not real: health is, and with it the API server.
const SIMULATED: &str = "disks,kernel,units";

/// Where components of a control plane of Kubernetes 1.15 answer.
const COMPONENTS: [&str; 5] = [
    "127.0.0.1:10248",
    "127.0.0.1:4001",
    "127.0.0.1:4002",
    "127.0.0.1:10251",
    "127.0.0.1:10252",
];

/// The longest that an add-on takes from a change in the store or in the cluster to what comes of it: the agent looks at a
/// channel every 60 to 90 seconds, in rounds that are up to 25 seconds apart.
pub(crate) const LONGEST_LOOK: Duration = Duration::from_secs(150);

/// A cluster whose state store has its keys and its channel, and whoever its API server is.
pub(crate) struct Ground {
    pub(crate) cluster: Cluster,
}

impl Ground {
    /// A cluster of these groups, with these pairs of certificates and keys by their names.
    ///
    /// # Errors
    ///
    /// Says what is missing here, or what failed.
    pub(crate) fn start(
        groups: &[Group],
        keys: [(&str, (String, String)); 3],
    ) -> Result<Self, SetUpError> {
        let cluster = Cluster::start(groups, Rules::default(), Random::from_environment())?;
        let ground = Self { cluster };
        for (name, (certificate, key)) in keys {
            let keyset = keyset_of(name, &certificate, &key);
            for folder in ["issued", "private"] {
                ground.put(&format!("pki/{folder}/{name}/keyset.yaml"), &keyset);
            }
        }
        ground.write_channel("100m");
        ground.cluster.add_volumes();
        Ok(ground)
    }

    /// Puts an object of the cluster into the state store.
    pub(crate) fn put(&self, key: &str, text: &str) {
        let moto = self.cluster.ec2.moto();
        let put = moto.put_object(BUCKET, &format!("{KEY}/{key}"), text.as_bytes());
        put.expect("moto takes it");
    }

    /// Writes the manifests, and the channel that names them; of one of them the limit may differ.
    pub(crate) fn write_channel(&self, limit: &str) {
        let mut channel =
            "kind: Addons\nmetadata:\n  name: bootstrap\nspec:\n  addons:\n".to_owned();
        for (name, manifest) in [
            (LIMITS, LIMIT_RANGE.replace("100m", limit)),
            (DNS, COREDNS.to_owned()),
            (RBAC, KUBELET_API.to_owned()),
        ] {
            let path = format!("{name}/k8s-1.12.yaml");
            let hash = sha256(manifest.trim().as_bytes());
            self.put(&format!("addons/{path}"), &manifest);
            channel.push_str(&format!(
                "  - id: k8s-1.12\n    manifest: {path}\n    manifestHash: {hash}\n    name: {name}\n    selector:\n      k8s-addon: {name}\n"
            ));
        }
        self.put("addons/bootstrap-channel.yaml", &channel);
    }

    /// Launches an instance of a group whose components are well, and its API server while it says so.
    pub(crate) fn launch(
        &self,
        group: &str,
        is_up: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Resident {
        let channel = format!("channels:\n- {CONFIG_BASE}/addons/bootstrap-channel.yaml\n");
        let mut instance = self.cluster.launch_saying(group, &channel);
        for address in COMPONENTS {
            let well = |_: &_| Reply::new(200, r#"{"health": "true"}"#);
            instance.lab.add_component(address, well);
        }
        let health = move |_: &_| match is_up() {
            true => Reply::new(200, "ok"),
            false => Reply::new(503, "etcd failed"),
        };
        instance.lab.add_component("127.0.0.1:8080", health);
        Resident { instance }
    }
}

/// A cluster with the stand-in of an API server.
pub(crate) struct Served {
    pub(crate) ground: Ground,
    pub(crate) api: Arc<ApiStandIn>,
}

impl Served {
    /// A cluster of these groups.
    ///
    /// # Errors
    ///
    /// As [`Ground::start`].
    pub(crate) fn start(groups: &[Group]) -> Result<Self, SetUpError> {
        let ca = Ca::new()?;
        let ca_pem = (ca.certificate()?, ca.key()?);
        let api = ApiStandIn::by_tls(ApiServer::new("v1.15.12"), ca)?;
        let kops = api.client("/O=system:masters/CN=kops")?;
        let kops = (kops.certificate, kops.key);
        let kubelet = api.client("/O=system:nodes/CN=kubelet")?;
        let kubelet = (kubelet.certificate, kubelet.key);
        let keys = [("ca", ca_pem), ("kops", kops), ("kubelet", kubelet)];
        Ok(Self {
            ground: Ground::start(groups, keys)?,
            api: Arc::new(api),
        })
    }

    /// Launches an instance of a group whose components are well, and whose own API server is the cluster's.
    pub(crate) fn launch(&self, group: &str) -> Resident {
        let api = Arc::clone(&self.api);
        let node = self.ground.launch(group, move || api.is_up());
        let namespace = node.instance.lab.namespace();
        let opened = self.api.add_door(move || namespace.listen("127.0.0.1:443"));
        opened.expect("nobody else listens inside");
        node
    }

    /// What kubelet registers as its node; nothing but its name.
    pub(crate) fn register(&self, node: &str) {
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}});
        let made = Request::new("POST", "/api/v1/nodes").with_body("application/json", &object);
        self.api
            .cluster(|model| drop(model.answer(&made, Timestamp(1))));
    }

    /// An object as the API server has it; null without one.
    pub(crate) fn object(&self, kind: &str, namespace: &str, name: &str) -> Value {
        let found = self
            .api
            .cluster(|model| model.object(kind, namespace, name).cloned());
        found.unwrap_or_default()
    }

    /// Who holds the lease.
    pub(crate) fn holder(&self) -> String {
        let lease = self.object("Lease", "kube-system", "quake-agent");
        let holder = lease["spec"]["holderIdentity"].as_str();
        holder.unwrap_or_default().to_owned()
    }

    /// What was written of the cluster since, without the lease; and forgotten.
    pub(crate) fn writes(&self) -> Vec<String> {
        let mut writes = self.api.cluster(|model| {
            let writes = model.journal().writes();
            model.clear_journal();
            writes
        });
        writes.retain(|written| written != "Lease/kube-system/quake-agent");
        writes
    }
}

/// An instance whose agent stays when it is ready.
pub(crate) struct Resident {
    pub(crate) instance: Instance,
}

impl Resident {
    fn lab(&self) -> &Lab {
        &self.instance.lab
    }

    /// Boots it; the agent stays, and reports no conditions of the node.
    pub(crate) fn boot(&self) -> Running {
        let arguments = ["--assets", "stub", "--no-boot-report"];
        let mut command = self.lab().boot(SIMULATED, &arguments);
        command.env("QUAKE_AGENT_NODE_CONDITIONS", "off");
        Running::start(command)
    }

    /// Boots it with these arguments; the agent stays, and reports the conditions of the node.
    pub(crate) fn boot_reporting(&self, more: &[&str]) -> Running {
        let arguments = [&["--assets", "stub", "--no-boot-report"], more].concat();
        Running::start(self.lab().boot(SIMULATED, &arguments))
    }

    /// What the agent's socket answers; empty while it does not.
    pub(crate) fn ask(&self, path: &str) -> String {
        let socket = self.lab().root().join("run/quake-agent/quake-agent.sock");
        let answer = get(&Endpoint::Unix(socket), path);
        answer.map(|answer| answer.text()).unwrap_or_default()
    }

    /// The status of the agent.
    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.ask("/v1/status")).unwrap_or_default()
    }

    /// Runs a command of an operator on this node.
    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        let root = self.lab().root();
        let socket = root.join("run/quake-agent/quake-agent.sock");
        let (root, socket) = (root.to_str(), socket.to_str());
        let mut arguments = words.to_vec();
        arguments.extend(["--root", root.expect("a plain name")]);
        arguments.extend(["--socket", socket.expect("a plain name")]);
        run(&arguments)
    }

    /// One add-on, as the status tells it.
    pub(crate) fn addon(&self, name: &str) -> Value {
        addon(&self.status(), name).clone()
    }

    /// How often the channel was asked for.
    pub(crate) fn looks(&self) -> usize {
        self.lab().objects_asked("addons/bootstrap-channel.yaml")
    }

    /// Waits until the status is as wanted; what it was last.
    ///
    /// # Panics
    ///
    /// With the status and what the agent printed, when that does not come within `longest`.
    #[track_caller]
    pub(crate) fn until(
        &self,
        what: &str,
        longest: Duration,
        running: &Running,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut status = Value::Null;
        let held = wait_until(longest, || {
            status = self.status();
            holds(&status)
        });
        let (unmet, addons) = (&status["pending"], &status["addons"]);
        assert!(held, "{what}: {unmet:#}\n{addons:#}\n{}", running.stderr());
        status
    }
}

/// One add-on in a status.
pub(crate) fn addon<'a>(status: &'a Value, name: &str) -> &'a Value {
    let addons = status["addons"]["addons"].as_array();
    let found = addons.and_then(|addons| addons.iter().find(|addon| addon["name"] == name));
    found.unwrap_or(&Value::Null)
}

/// Whether every add-on of the channel is in this state.
pub(crate) fn all_are(status: &Value, state: &str) -> bool {
    [LIMITS, DNS, RBAC]
        .iter()
        .all(|name| addon(status, name)["state"] == state)
}

pub(crate) const LIMITS: &str = "limit-range.addons.k8s.io";
pub(crate) const DNS: &str = "coredns.addons.k8s.io";
pub(crate) const RBAC: &str = "kubelet-api.rbac.addons.k8s.io";

const LIMIT_RANGE: &str = "apiVersion: v1
kind: LimitRange
metadata:
  name: limits
  namespace: default
spec:
  limits:
  - type: Container
    defaultRequest:
      cpu: 100m
";

const COREDNS: &str = "apiVersion: v1
kind: ServiceAccount
metadata:
  name: coredns
  namespace: kube-system
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: coredns
  namespace: kube-system
data:
  Corefile: '.:53 { cache 30 }'
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: coredns
  namespace: kube-system
spec:
  selector:
    matchLabels:
      k8s-app: kube-dns
  template:
    metadata:
      labels:
        k8s-app: kube-dns
    spec:
      serviceAccountName: coredns
      containers:
      - name: coredns
        image: registry.example/coredns:1.6.2
";

const KUBELET_API: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kubelet-api
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:kubelet-api-admin
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: kubelet-api
";
