//! Measures boots under a real systemd: a container that has settled, the agent's own unit started in it, a worker's
//! files over TLS from nginx beside it. `cargo xtask bench --systemd` runs it and puts what it found into the report.
//!
//! usage: `quake-real-systemd WORK ROUNDS`, where WORK is the bench's directory and `QUAKE_AGENT` names the agent.

use quake_integration::agent::{self, Running};
use quake_integration::ec2::Rules;
use quake_integration::machine::{Cluster, Container, KUBELET_STAND_IN, Kind, Lab, MachineBackend};
use quake_integration::tree::sha256;
use quake_integration::waiting::wait_until;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// The files of a worker, as the bench makes them.
const WORKLOAD: &str = "w1-seed1-v4";

/// Where nginx is; the bench's certificate has this address.
const SERVER: &str = "172.20.0.1:8443";

/// How many units a node's spec adds, for the curve.
const UNITS: [usize; 4] = [1, 4, 16, 64];

/// The last unit of a worker: when it is started, nodeup has ended.
const LAST_START: &str = "services:kubelet.service";

/// The unit waits for this, so that the machine has settled before it starts.
const GATE: &str = "/run/settled";

/// The bench's kubelet and docker are bytes that nothing can run. They land; the units run others.
const KUBELET: &str =
    "[Service]\nExecStart=\nExecStart=/usr/bin/python3 /opt/kubelet.py \"$DAEMON_ARGS\"\n";
const DOCKER: &str = "[Service]\nEnvironment=PATH=/opt/docker:/usr/sbin:/usr/bin:/sbin:/bin\n\
    ExecStart=\nExecStart=/opt/docker/dockerd $DOCKER_OPTS\n";

/// The base's docker and what it starts.
const RUNTIME: [&str; 6] = [
    "usr/sbin/dockerd",
    "usr/sbin/runc",
    "usr/bin/containerd",
    "usr/bin/containerd-shim",
    "usr/bin/containerd-shim-runc-v2",
    "usr/sbin/docker-proxy",
];

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

fn measure(work: &Path, rounds: usize) -> Result<(), String> {
    let binary = agent::binary()?;
    let bytes = std::fs::read(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let worker = worker(work, rounds)?;
    let mut units = Vec::new();
    for count in UNITS {
        units.push(json!({ "units": count, "boot": with_units(work, count)? }));
    }
    // The report tells a binary by the first digits.
    let digest = sha256(&bytes);
    let found = json!({ "sha256": digest.get(..16), "worker": worker, "units": units });
    let kept = work.join("results/systemd.json");
    std::fs::write(&kept, found.to_string()).map_err(|error| format!("{}: {error}", kept.display()))
}

/// Boots of a worker with the bench's files; the first is left out, for it warms up.
fn worker(work: &Path, rounds: usize) -> Result<Vec<Value>, String> {
    let lab = open("worker")?;
    let mut cluster = lab.cluster();
    cluster.pin_only(pins(&work.join("served").join(WORKLOAD))?);
    let _server = serve(&lab, work)?;
    let mut boots = Vec::new();
    for _ in 0..=rounds {
        boots.push(boot(&lab, &cluster, work)?);
    }
    boots.remove(0);
    Ok(boots)
}

/// A boot whose spec adds so many units.
fn with_units(work: &Path, count: usize) -> Result<Value, String> {
    let lab = open(&format!("units-{count}"))?;
    let hooks: String = (0..count)
        .map(|number| {
            format!("  - name: extra-{number}.service\n    manifest: |\n      Type=oneshot\n      RemainAfterExit=yes\n      ExecStart=/bin/true\n")
        })
        .collect();
    let cluster =
        lab.cluster_with(|spec| spec.replacen("spec:\n", &format!("spec:\n  hooks:\n{hooks}"), 1));
    boot(&lab, &cluster, work)
}

fn open(case: &str) -> Result<Lab, String> {
    let lab = Lab::with("bench", case, Kind::Containers, Rules::default());
    lab.ok_or_else(|| "containers cannot be booted here".to_owned())
}

/// When the newest boot's ledger shows this step's end, in seconds of the boot.
fn elapsed(machine: &Container, step: &str) -> Result<f64, String> {
    let mut events = machine.events().into_iter();
    let end = events.find(|event| event["event"] == "step-done" && event["step"] == step);
    let at = end.and_then(|event| event["elapsedMs"].as_f64());
    at.map(|millis| millis / 1e3)
        .ok_or_else(|| format!("the ledger has no end of {step}"))
}

/// One boot: what systemd saw of the unit, in seconds, and what the agent told.
fn boot(lab: &Lab, cluster: &Cluster, work: &Path) -> Result<Value, String> {
    let facts = cluster.launch("workers");
    let ca = std::fs::read(work.join("authority/ca.pem")).unwrap_or_default();
    let gate = format!(
        "[Unit]\nConditionPathExists={GATE}\n[Service]\nEnvironment=AWS_CA_BUNDLE=/etc/bench.pem\n"
    );
    let mut layer = lab
        .baked()
        .file("/etc/bench.pem", 0o644, ca)
        .file(&drop_in("quake-agent"), 0o644, gate)
        .file("/opt/kubelet.py", 0o755, KUBELET_STAND_IN)
        .file(&drop_in("kubelet"), 0o644, KUBELET)
        .file(&drop_in("docker"), 0o644, DOCKER);
    for program in RUNTIME {
        let name = program.rsplit('/').next().unwrap_or(program);
        let path = lab.base().root().join(program);
        layer = layer.copy(&format!("/opt/docker/{name}"), 0o755, &path);
    }
    let machine = lab.container(&facts, layer);
    // It may end with a unit of the base that cannot run in a container; what matters is that nothing starts any more.
    let _ = machine.run(
        "systemctl is-system-running --wait",
        Duration::from_secs(60),
    );
    machine.output(&format!(
        "sync; touch {GATE}; systemctl start --no-block quake-agent.service"
    ));
    machine.becomes_ready(120)?;
    let began = seconds(&machine, "ExecMainStartTimestampMonotonic")?;
    let ready = seconds(&machine, "ActiveEnterTimestampMonotonic")?;
    let reported = machine.last_event("boot-ready");
    let (wall, last) = (ready - began, elapsed(&machine, LAST_START)?);
    // The agent counts from its own first moment, which is milliseconds after its process' start.
    let before = wall - reported["elapsedMs"].as_f64().unwrap_or_default() / 1e3;
    let started = before.max(0.0) + last;
    println!(
        "{}: units started after {started:.2} s, ready after {wall:.2} s",
        facts.instance
    );
    Ok(json!({ "wall": wall, "started": started }))
}

fn seconds(machine: &Container, property: &str) -> Result<f64, String> {
    let shown = machine.shows("quake-agent.service", property);
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
            "{}: {error}; `cargo xtask bench w1` makes it",
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

fn drop_in(unit: &str) -> String {
    format!("/etc/systemd/system/{unit}.service.d/90-bench.conf")
}
