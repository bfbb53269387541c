//! Measures boots under a real systemd: a container that has settled, the unit of kops started in it, a worker's files over TLS
//! from nginx beside it. `cargo xtask bench --systemd` runs it and puts what it found into the report.
//!
//! usage: `quake-real-systemd WORK ROUNDS`, where WORK is the bench's directory and `QUAKE_AGENT` names the agent. Where
//! `PEER_NODEUP` names a nodeup, it boots such a container after each of the agent's.

mod boots;

use quake_integration::agent::{self, Running};
use quake_integration::ca::Ca;
use quake_integration::controller::Controller;
use quake_integration::ec2::Rules;
use quake_integration::kops_worker::{API, CONTROLLER, Documents, controller};
use quake_integration::machine::{
    CONTAINERD, CTR, Container, Facts, KOPS_INSTALL, KOPS_KUBELET, KOPS_UNIT, Kind, Lab, Layer,
    MachineBackend, ROUTER,
};
use quake_integration::node_api::NodeApi;
use quake_integration::tree::sha256;
use quake_integration::waiting::wait_until;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// The files of a worker, as the bench makes them.
const WORKLOAD: &str = "k1-seed1-v4";

/// Where nginx is; the bench's certificate has this address.
const SERVER: &str = "172.20.0.1:8443";

/// How many units a node's configuration adds, for the curve.
const UNITS: [usize; 4] = [1, 4, 16, 64];

/// The bench's programs are bytes that nothing can run. They land; the units run others, and put a client of containerd that can
/// be run in the place of the one that landed.
const STAND_INS: [(&str, &str); 2] = [
    (
        "kubelet.service",
        "ExecStart=\nExecStart=/usr/bin/python3 /opt/kubelet.py \"$DAEMON_ARGS\"\n",
    ),
    (
        "containerd.service",
        "ExecStartPre=/usr/bin/cp /opt/ctr /usr/bin/ctr\nExecStart=\nExecStart=/usr/bin/python3 /opt/containerd.py\n",
    ),
];

/// What both programs find assets' certificates by.
const TRUST: &str = "Environment=AWS_CA_BUNDLE=/etc/bench.pem SSL_CERT_FILE=/etc/bench.pem\n";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rounds = words.get(1).and_then(|rounds| rounds.parse().ok());
    let (Some(work), Some(rounds)) = (words.first().map(PathBuf::from), rounds) else {
        eprintln!("usage: quake-real-systemd WORK ROUNDS");
        return ExitCode::from(64);
    };
    match measure(&work, rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Who boots a container.
#[derive(Debug, Clone)]
enum Booter {
    Agent(PathBuf),
    Nodeup(PathBuf),
}

impl Booter {
    fn program(&self) -> &Path {
        match self {
            Self::Agent(program) | Self::Nodeup(program) => program,
        }
    }
}

fn measure(work: &Path, rounds: usize) -> Result<(), String> {
    let binary = agent::binary()?;
    let bytes = std::fs::read(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let by_agent = Booter::Agent(binary);
    let by_nodeup = std::env::var_os("PEER_NODEUP").map(|it| Booter::Nodeup(it.into()));
    let worker = open_for(Kind::Containers, "worker", work)?;
    let worker = worker.ok_or("containers cannot be booted here")?;
    let (mut agents, mut nodeups) = (Vec::new(), Vec::new());
    for _ in 0..=rounds {
        agents.push(worker.boot(&by_agent, &[])?);
        if let Some(by_nodeup) = &by_nodeup {
            nodeups.push(worker.boot(by_nodeup, &[])?);
        }
    }
    // The first boots warm up.
    let counted = |boots: Vec<Value>| boots.into_iter().skip(1).collect::<Vec<_>>();
    let mut curve = Vec::new();
    for count in UNITS {
        let names: Vec<String> = (0..count)
            .map(|number| format!("extra-{number}.service"))
            .collect();
        let boot = worker.boot(&by_agent, &names)?;
        curve.push(json!({ "units": count, "boot": boot }));
    }
    drop(worker);
    let boots = boots::measure(work)?;
    // The report tells a binary by the first digits.
    let digest = sha256(&bytes);
    let found = json!({
        "sha256": digest.get(..16), "worker": counted(agents), "nodeup": counted(nodeups), "units": curve,
        "boots": boots,
    });
    let kept = work.join("results/systemd.json");
    std::fs::write(&kept, found.to_string()).map_err(|error| format!("{}: {error}", kept.display()))
}

/// Workers of one network, for machines of this kind; `None`, said aloud, where they cannot be booted here.
fn open_for(kind: Kind, case: &str, work: &Path) -> Result<Option<Worker>, String> {
    let lab = Lab::with("bench", case, kind, Rules::default());
    lab.map(|lab| Worker::open(lab, work)).transpose()
}

/// Programs that can be run in the place of the bench's, and settings for this unit.
fn stand_ins(layer: Layer, ca: &[u8], unit: (&'static str, &'static str)) -> Layer {
    let mut layer = layer
        .file("/etc/bench.pem", 0o644, ca)
        .file("/opt/kubelet.py", 0o755, KOPS_KUBELET)
        .file("/opt/containerd.py", 0o755, CONTAINERD)
        .file("/opt/ctr", 0o755, CTR);
    for (unit, lines) in STAND_INS.into_iter().chain([unit]) {
        let path = format!("/etc/systemd/system/{unit}.d/90-bench.conf");
        layer = layer.file(&path, 0o644, format!("[Service]\n{lines}"));
    }
    layer
}

/// Whom a worker meets at its first boot.
struct Servers {
    _api_server: NodeApi,
    _controller: Controller,
}

/// Workers of one network, with the bench's files.
struct Worker {
    // nginx ends before the network does.
    _server: Running,
    lab: Lab,
    pins: Vec<String>,
    ca: Vec<u8>,
}

impl Worker {
    fn open(lab: Lab, work: &Path) -> Result<Self, String> {
        let router = ROUTER.parse().map_err(|_| "ROUTER is no address")?;
        let names = [CONTROLLER, API].map(|name| (name.to_owned(), router));
        lab.vpc().publish_names(&names.into())?;
        let certificate = work.join("authority/ca.pem");
        Ok(Self {
            _server: serve(&lab, work)?,
            pins: pins(&work.join("served").join(WORKLOAD))?,
            ca: std::fs::read(&certificate).map_err(|error| error.to_string())?,
            lab,
        })
    }

    /// An instance with so many units more, and whom it meets.
    fn launch(&self, units: &[String]) -> Result<((Facts, String), Servers), String> {
        let ca = Ca::new().map_err(|error| format!("{error:?}"))?;
        let documents = Documents::new(&self.pins, units, &ca.certificate()?);
        let user_data = format!(
            "#!/bin/bash\ncat > conf/kube_env.yaml << '__EOF_KUBE_ENV'\n{}\n__EOF_KUBE_ENV\n",
            documents.kube_env
        );
        let group = [("kops.k8s.io/instancegroup", "workers")];
        let facts = self.lab.vpc().launch(&group, user_data.as_bytes());
        let name = format!("DNS:{API}");
        let servers = Servers {
            _api_server: NodeApi::start(self.listen(443)?, &ca, &[&name], "v1.36.1")?,
            _controller: controller(self.listen(3988)?, ca, &facts, documents.config)?,
        };
        Ok(((facts, documents.kube_env), servers))
    }

    /// One boot with so many units more: what systemd saw of kops' unit, in seconds.
    fn boot(&self, by: &Booter, units: &[String]) -> Result<Value, String> {
        let ((facts, kube_env), _servers) = self.launch(units)?;
        let layer = self
            .lab
            .bare()
            .kernel_settings()
            .file("/opt/kops/conf/kube_env.yaml", 0o600, kube_env)
            .copy("/opt/kops/bin/nodeup", 0o755, by.program());
        let layer = stand_ins(layer, &self.ca, (KOPS_UNIT, TRUST));
        let machine = self.lab.container(&facts, layer);
        // It may end with a unit of the base that cannot run in a container; what matters is that nothing starts any more.
        let _ = machine.run(
            "systemctl is-system-running --wait",
            Duration::from_secs(60),
        );
        machine.output(&format!("sync; {KOPS_INSTALL}"));
        let (who, wall, started) = match by {
            Booter::Agent(_) => {
                machine.becomes_ready(120)?;
                let wall = seconds(&machine, "ActiveEnterTimestampMonotonic")?
                    - seconds(&machine, "ExecMainStartTimestampMonotonic")?;
                let reported = machine.last_event("boot-ready");
                // The agent counts from its own first moment, which is milliseconds after its process' start.
                let before = wall - reported["elapsedMs"].as_f64().unwrap_or_default() / 1e3;
                (
                    "quake-agent",
                    wall,
                    before.max(0.0) + services_started(&machine)?,
                )
            }
            Booter::Nodeup(_) => {
                let wall = nodeup_ended(&machine)?;
                ("nodeup", wall, wall)
            }
        };
        println!(
            "{who}, {} more units: units started after {started:.2} s, ready or ended after {wall:.2} s",
            units.len()
        );
        Ok(json!({ "wall": wall, "started": started }))
    }

    fn listen(&self, port: u16) -> Result<TcpListener, String> {
        let listener = self
            .lab
            .vpc()
            .namespace()
            .listen(&format!("{ROUTER}:{port}"));
        listener.map_err(|error| format!("{port}: {error}"))
    }
}

/// When the newest boot's ledger shows the end of the units' start, in seconds of the boot.
fn services_started(machine: &Container) -> Result<f64, String> {
    let mut events = machine.events().into_iter();
    let end = events.find(|event| event["event"] == "phase-done" && event["phase"] == "services");
    let at = end.and_then(|event| event["elapsedMs"].as_f64());
    at.map(|millis| millis / 1e3)
        .ok_or_else(|| "the ledger has no end of the services".to_owned())
}

/// How long nodeup ran, in seconds, once it has ended well.
fn nodeup_ended(machine: &Container) -> Result<f64, String> {
    let ended = format!("systemctl show -p ActiveState --value {KOPS_UNIT} | grep -qx inactive");
    let is_over = machine.comes_true(&ended, 120);
    let result = machine.shows(KOPS_UNIT, "Result");
    if !is_over || result != "success" {
        let journal = machine.output(&format!("journalctl --no-pager -n 30 -u {KOPS_UNIT}"));
        return Err(format!("nodeup: {result}: {journal}"));
    }
    Ok(seconds(machine, "ExecMainExitTimestampMonotonic")?
        - seconds(machine, "ExecMainStartTimestampMonotonic")?)
}

/// A property of kops' unit that is a moment, in seconds.
fn seconds(machine: &Container, property: &str) -> Result<f64, String> {
    let shown = machine.shows(KOPS_UNIT, property);
    let micros: f64 = shown
        .parse()
        .map_err(|_| format!("{property} is {shown:?}"))?;
    Ok(micros / 1e6)
}

/// The pins of the files that the bench made.
fn pins(folder: &Path) -> Result<Vec<String>, String> {
    let manifest = folder.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).map_err(|error| {
        format!(
            "{}: {error}; `cargo xtask bench k1` makes it",
            manifest.display()
        )
    })?;
    let manifest: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let assets = manifest["assets"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let pin = |asset: &Value| {
        let (digest, name) = (asset["sha256"].as_str()?, asset["name"].as_str()?);
        Some(format!("{digest}@https://{SERVER}/{WORKLOAD}/{name}"))
    };
    assets
        .iter()
        .map(|asset| pin(asset).ok_or_else(|| format!("{asset} has no digest")))
        .collect()
}

/// nginx inside the network, with the bench's certificate.
fn serve(lab: &Lab, work: &Path) -> Result<Running, String> {
    let work = std::fs::canonicalize(work).map_err(|error| error.to_string())?;
    let folder = work.join("nginx-systemd");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let (at, root) = (folder.display(), work.join("served").display().to_string());
    let ca = work.join("authority").display().to_string();
    let text = format!(
        "user root;\ndaemon off;\nworker_processes auto;\npid {at}/pid;\nerror_log {at}/error.log warn;\n\
         events {{ worker_connections 1024; }}\nhttp {{\n  access_log off;\n  sendfile on;\n  tcp_nopush on;\n  root {root};\n  \
         client_body_temp_path {at}/body;\n  proxy_temp_path {at}/proxy;\n  fastcgi_temp_path {at}/fastcgi;\n  \
         uwsgi_temp_path {at}/uwsgi;\n  scgi_temp_path {at}/scgi;\n  default_type application/octet-stream;\n  \
         ssl_certificate {ca}/server.pem;\n  ssl_certificate_key {ca}/server.key;\n  ssl_protocols TLSv1.3;\n  \
         server {{ listen {SERVER} ssl; }}\n}}\n"
    );
    let file = folder.join("nginx.conf");
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let mut command = Command::new("setpriv");
    agent::clean(&mut command);
    command
        .args(["--pdeathsig", "TERM", "nginx", "-c"])
        .arg(&file);
    let mut running = Running::start(lab.vpc().namespace().inside(&command));
    let up = wait_until(Duration::from_secs(10), || {
        running.has_ended() || folder.join("pid").exists()
    });
    if !up || running.has_ended() {
        return Err(format!("nginx does not listen: {}", running.stderr()));
    }
    Ok(running)
}
