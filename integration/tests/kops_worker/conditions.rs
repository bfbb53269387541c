//! What breaks a worker of today's kops, as the conditions of its Node object show it to a cluster; and its startup taint, which its
//! kubelet's certificate may not remove. By the agent's own process, with the stand-in of an API server.

use crate::lab::{API, CNI, Lab};
use quake_apisim::{ApiServer, Request};
use quake_integration::agent::{LIMIT, Running, run_command};
use quake_integration::api_server::ApiStandIn;
use quake_integration::ca::Ca;
use quake_integration::http::{Reply, Server};
use quake_integration::node_conditions::{Wanted, await_false, reported};
use quake_integration::skip::{conformance, unless_missing};
use quake_integration::waiting::wait_until;
use quake_model::time::Timestamp;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Today's kops names a node by its instance.
const NAME: &str = "i-0123456789abcdef0";

const SETTINGS: &str = "etc/sysctl.d/99-k8s-general.conf";
const PLUGIN: &str = "opt/cni/bin/ptp";

const TAINT: &str = "quake.io/starting";

/// What is dropped first listens in the namespace of the lab.
struct World {
    _kubelet: Server,
    api: ApiStandIn,
    lab: Lab,
}

impl World {
    fn open() -> Option<Self> {
        let lab = Lab::open()?;
        let ca = conformance("kops")?.join("ca/kubernetes-ca");
        let api =
            Ca::open(&ca).and_then(|ca| ApiStandIn::by_tls_as(ApiServer::new("v1.35.0"), ca, API));
        let api = unless_missing(api)?;
        let namespace = lab.namespace();
        let opened = api.add_door(move || namespace.listen("127.0.0.1:443"));
        opened.expect("nobody else listens inside");
        let healthz = lab.namespace().listen("127.0.0.1:10248");
        let healthz = healthz.expect("nobody else listens inside");
        let kubelet = Server::on(healthz, |_| Reply::new(200, "ok"));
        Some(Self {
            _kubelet: kubelet.expect("the listener listens"),
            api,
            lab,
        })
    }

    /// As kubelet registers its node.
    fn register(&self, taints: &Value) {
        let object = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": NAME },
            "spec": { "taints": taints },
        });
        let made = Request::new("POST", "/api/v1/nodes").with_body("application/json", &object);
        self.api
            .cluster(|model| drop(model.answer(&made, Timestamp(1))));
    }

    fn node(&self) -> Value {
        let found = self
            .api
            .cluster(|model| model.object("Node", "", NAME).cloned());
        found.unwrap_or_default()
    }

    fn boot(&self, more: &[&str]) -> Running {
        Running::start(self.lab.boot_and_stay(more))
    }

    #[track_caller]
    fn until(&self, what: &str, running: &Running, wanted: &[Wanted<'_>]) {
        await_false(what, || self.node(), wanted, || said(running));
    }

    fn has_taint(&self) -> bool {
        self.node()["spec"]["taints"].to_string().contains(TAINT)
    }

    /// `conditions --remove`, as who uninstalls the agent runs it; its status, and what it prints.
    fn remove(&self) -> (i32, String) {
        let root = self.lab.root();
        let root = root.to_str().expect("a plain name");
        let ended = run_command(
            self.lab
                .elsewhere(&["conditions", "--remove", "--root", root]),
        );
        (ended.status, ended.text())
    }
}

/// The agent's last events.
fn said(running: &Running) -> String {
    let stdout = running.stdout();
    let lines: Vec<&str> = stdout.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

#[track_caller]
fn stop(running: Running) {
    running.terminate().expect("it runs");
    let ended = running.end(LIMIT);
    assert_eq!(ended.status, 0, "{}", ended.text());
}

#[test]
fn what_breaks_a_worker_of_todays_kops_flips_its_condition_and_back() {
    let Some(world) = World::open() else { return };
    world.register(&json!([]));
    let running = world.boot(&[]);
    world.until("it is ready", &running, &[]);

    let root = world.lab.root();
    let aside = |path: &str| root.join(path.replace('/', "_"));
    for path in [CNI, PLUGIN] {
        fs::rename(root.join(path), aside(path)).expect("it is there");
    }
    let settings = fs::read_to_string(root.join(SETTINGS)).expect("the agent wrote it");
    fs::write(root.join(SETTINGS), format!("{settings}# mine\n")).expect("it can be written");
    let network = ("NetworkReady", "ReadyCniMissing", "ready.cni-missing: ");
    let drift = ("NoDrift", "Drifted", "2 drifted, such as /etc/sysctl.d/99");
    world.until("files are gone", &running, &[network, drift]);
    fs::rename(aside(CNI), root.join(CNI)).expect("it can be put back");
    // Without its plugin the configuration leads to no network.
    let plugin = "ready.cni-missing: systemctl restart quake-agent.service places it again";
    let network = ("NetworkReady", "ReadyCniMissing", plugin);
    world.until("a plugin is gone", &running, &[network, drift]);
    fs::rename(aside(PLUGIN), root.join(PLUGIN)).expect("it can be put back");
    fs::write(root.join(SETTINGS), settings).expect("it can be written");
    world.until("they are as they were", &running, &[]);
    stop(running);

    // A disk that was cleaned, and mirrors that do not have the release any more.
    let store = root.join("var/lib/quake-agent/store");
    fs::remove_dir_all(&store).expect("it is there");
    fs::remove_file(root.join("usr/local/bin/kubelet")).expect("it is there");
    let empty = tempfile::tempdir().expect("a temporary directory");
    let ended = Running::start(world.lab.boot_from(empty.path(), &[])).end(LIMIT);
    assert_ne!(ended.status, 0, "{}", ended.text());
    let found = reported(&world.node());
    for name in ["ImagesPresent", "BootComplete"] {
        let one = &found[name];
        assert_eq!(
            (&*one.status, &*one.reason),
            ("False", "AssetsNotFound"),
            "{found:#?}"
        );
        assert!(one.message.starts_with("assets.not-found: "), "{found:#?}");
    }
    let running = world.boot(&[]);
    world.until("the mirror has it again", &running, &[]);
    stop(running);
    let (status, text) = world.remove();
    assert_eq!(status, 0, "{text}");
    assert!(reported(&world.node()).is_empty(), "{:#}", world.node());
}

#[test]
fn a_workers_startup_taint_goes_by_its_remover_and_with_the_flag_or_the_agent() {
    let Some(world) = World::open() else { return };
    let taints =
        json!([{ "key": TAINT, "effect": "NoSchedule" }, { "key": "a", "effect": "NoExecute" }]);
    world.register(&taints);
    let remover = world.lab.root().join("etc/remover.kubeconfig");
    fs::write(&remover, world.kubeconfig("/CN=remover")).expect("the root is ours");
    let arguments = [
        "--startup-taint",
        TAINT,
        "--startup-taint-remover",
        "/etc/remover.kubeconfig",
    ];
    let longest = Duration::from_secs(120);
    let running = world.boot(&arguments);
    let is_gone = wait_until(longest, || !world.has_taint());
    assert!(is_gone, "{:#}\n{}", world.node(), said(&running));
    let flags = kubelet_flags(&world.lab.root());
    assert!(
        flags.contains("quake.io/starting"),
        "kubelet registers with it: {flags}"
    );
    stop(running);

    // The node was registered anew while no agent ran, and the flag is dropped.
    world.taint(&taints);
    let running = world.boot(&[]);
    let is_gone = wait_until(longest, || !world.has_taint());
    assert!(is_gone, "{:#}\n{}", world.node(), said(&running));
    stop(running);
    let taints_left = world.node()["spec"]["taints"].to_string();
    assert!(taints_left.contains("NoExecute"), "{taints_left}");
    assert!(!kubelet_flags(&world.lab.root()).contains(TAINT));

    // Who uninstalls the agent leaves none of it.
    let running = world.boot(&arguments);
    // Its conditions are those of the boots before.
    let is_ready = wait_until(longest, || running.stdout().contains("\"boot-ready\""));
    assert!(is_ready, "{}", said(&running));
    stop(running);
    world.taint(&taints);
    let (status, text) = world.remove();
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("quake.io/starting=:NoSchedule"), "{text}");
    assert!(!world.has_taint() && reported(&world.node()).is_empty());

    // What only kubelet's certificate could remove stays, and the command that removes it is named.
    world.taint(&taints);
    let note = world
        .lab
        .root()
        .join("var/lib/quake-agent/startup-taints.json");
    let controllers = json!([{ "taint": format!("{TAINT}=:NoSchedule"), "remover": "controller" }]);
    fs::write(note, controllers.to_string()).expect("the root is ours");
    let (status, text) = world.remove();
    assert_eq!(status, 77, "{text}");
    let command = format!("kubectl taint node {NAME} {TAINT}:NoSchedule-");
    assert!(text.contains(&command), "{text}");
    assert!(world.has_taint());
}

/// What kubelet is started with.
fn kubelet_flags(root: &Path) -> String {
    let files = [
        "etc/sysconfig/kubelet",
        "etc/default/kubelet",
        "var/lib/kubelet/kubelet.conf",
    ];
    let texts = files.map(|file| fs::read_to_string(root.join(file)).unwrap_or_default());
    texts.concat()
}

impl World {
    /// Somebody gives the node these taints.
    fn taint(&self, taints: &Value) {
        let patch = json!({ "spec": { "taints": taints } });
        let path = format!("/api/v1/nodes/{NAME}");
        let patch = Request::new("PATCH", &path).with_body("application/merge-patch+json", &patch);
        self.api
            .cluster(|model| drop(model.answer(&patch, Timestamp(2))));
    }

    /// A kubeconfig of this subject for the API server of the cluster.
    fn kubeconfig(&self, subject: &str) -> String {
        let client = self.api.client(subject).expect("it speaks TLS");
        let url = format!("https://{API}");
        self.api
            .kubeconfig(Some(&client))
            .replace(&self.api.url(), &url)
    }
}
