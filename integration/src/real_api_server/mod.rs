//! A real kube-apiserver and its etcd on loopback, of the directory that `QUAKE_KUBERNETES_BIN` names. Both end with the value.
//!
//! Its operator may do everything, as a user whom the server may throttle and whose requests it keeps in its audit log.

mod audit;
mod scheduler;
mod throttled;
mod webhook;

use crate::agent::{Running, clean};
use crate::api_server::{Client, kubeconfig};
use crate::ca::Ca;
use crate::http::{Answer, Endpoint, get, send_by_tls};
use crate::skip::SetUpError;
use crate::waiting::wait_until;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

pub use throttled::Throttled;
pub use webhook::Webhook;

/// Names the directory of `kube-apiserver` and `etcd`.
const FOLDER: &str = "QUAKE_KUBERNETES_BIN";

/// How long either may take until it answers; a guess for slow machines.
const PATIENCE: Duration = Duration::from_secs(90);

/// Whom the server keeps in its audit log.
const OPERATOR: &str = "operator";

/// The two programs, running.
#[derive(Debug)]
pub struct RealApiServer {
    address: SocketAddr,
    ca: Ca,
    administrator: Arc<rustls::ClientConfig>,
    operator: Client,
    reported: Mutex<audit::ReadState>,
    command: (PathBuf, Vec<String>),
    server: Mutex<Option<Running>>,
    _etcd: Running,
    folder: TempDir,
}

impl RealApiServer {
    /// Starts both with certificates of a CA of their own, and waits until the server is ready.
    ///
    /// # Errors
    ///
    /// Says that no programs are named, or what failed.
    pub fn start() -> Result<Self, SetUpError> {
        Self::start_by(Ca::new()?)
    }

    /// The same with the CA of a cluster.
    ///
    /// # Errors
    ///
    /// As [`RealApiServer::start`].
    pub fn start_by(ca: Ca) -> Result<Self, SetUpError> {
        let Some(programs) = std::env::var_os(FOLDER).map(PathBuf::from) else {
            return Err(SetUpError::Missing("no kubernetes binaries".to_owned()));
        };
        for name in ["etcd", "kube-apiserver"] {
            if !programs.join(name).is_file() {
                let why = format!("{} has no {name}", programs.display());
                return Err(SetUpError::Missing(why));
            }
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        write_certificates(&ca, folder.path())?;
        let [store, peer, port] = [free_port()?, free_port()?, free_port()?];
        let etcd = start(
            &programs.join("etcd"),
            &store_arguments(folder.path(), store, peer),
            || {
                let at = SocketAddr::from((Ipv4Addr::LOCALHOST, store));
                get(&Endpoint::Tcp(at), "/health").is_ok_and(|answer| answer.status == 200)
            },
        )?;
        let command = (
            programs.join("kube-apiserver"),
            server_arguments(folder.path(), store, port),
        );
        let operator = client(&ca, &format!("/CN={OPERATOR}"))?;
        let administrator = client(&ca, "/O=system:masters/CN=kubecfg")?;
        let started = Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            administrator: ca.introduce(&administrator.certificate, &administrator.key)?,
            ca,
            operator,
            reported: Mutex::default(),
            command,
            server: Mutex::default(),
            _etcd: etcd,
            folder,
        };
        started.bring_back()?;
        started.allow()?;
        Ok(started)
    }

    /// Its URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Lets it be asked at one more place, such as the API server's own port in a namespace, for as long as it is there.
    pub fn add_door(&self, listener: TcpListener) {
        let address = self.address;
        std::thread::spawn(move || {
            for inside in listener.incoming().flatten() {
                // A server that is down has its caller's connection end.
                let Ok(server) = TcpStream::connect(address) else {
                    continue;
                };
                std::thread::spawn(move || join(&inside, &server));
            }
        });
    }

    /// Whether it says that it is ready.
    pub fn is_ready(&self) -> bool {
        let answer = self.ask("GET", "/readyz", &Value::Null);
        answer.is_ok_and(|answer| answer.status == 200)
    }

    /// Its operator, who may do everything.
    pub fn client(&self) -> &Client {
        &self.operator
    }

    /// Someone whom it knows, and who may do nothing.
    ///
    /// # Errors
    ///
    /// What openssl says.
    pub fn stranger(&self) -> Result<Client, String> {
        client(&self.ca, "/CN=stranger")
    }

    /// A kubeconfig for that operator.
    pub fn kubeconfig(&self) -> String {
        kubeconfig(&self.url(), Some(&self.operator))
    }

    /// Takes the server down, and leaves its etcd.
    pub fn take_down(&self) {
        drop(self.running().take());
    }

    /// Brings the server back where it was, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// Says what the server said last.
    pub fn bring_back(&self) -> Result<(), String> {
        let (program, arguments) = &self.command;
        let server = start(program, arguments, || self.is_ready())?;
        *self.running() = Some(server);
        Ok(())
    }

    /// Asks as an administrator whom nothing holds up; a body is JSON, and for `PATCH` a merge patch.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the connection.
    pub fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Answer, String> {
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let headers = [("content-type", kind), ("accept", "application/json")];
        let server = (self.address, &self.administrator);
        let answer = send_by_tls(server, method, path, &headers, &body);
        answer.map_err(|error| error.to_string())
    }

    /// Asks as somebody whose certificate is of its CA; a patch of a status is a merge patch, too.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the connection.
    pub fn ask_as(
        &self,
        (certificate, key): &(String, String),
        (method, path): (&str, &str),
        body: &Value,
    ) -> Result<Answer, String> {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let headers = [("content-type", kind), ("accept", "application/json")];
        let tls = self.ca.introduce(certificate, key)?;
        let body = body.to_string();
        let server = (self.address, &tls);
        let answer = send_by_tls(server, method, path, &headers, body.as_bytes());
        answer.map_err(|error| error.to_string())
    }

    /// Makes an object of a collection, such as `/api/v1/namespaces`, or replaces it; the object afterwards.
    ///
    /// # Errors
    ///
    /// Returns the server's refusal.
    pub fn put(&self, collection: &str, object: &Value) -> Result<Value, String> {
        let answer = self.ask("POST", collection, object)?;
        if answer.status < 300 {
            self.is_known(&answer.json());
            return Ok(answer.json());
        }
        Err(format!("{collection}: {} {}", answer.status, answer.text()))
    }

    /// An object, such as `/api/v1/namespaces/kube-system`.
    pub fn get(&self, path: &str) -> Option<Value> {
        let answer = self.ask("GET", path, &Value::Null).ok()?;
        (answer.status == 200).then(|| answer.json())
    }

    fn as_operator(&self, path: &str) -> Result<Answer, String> {
        let tls = self.operators_tls()?;
        let answer = send_by_tls((self.address, &tls), "GET", path, &[], b"");
        answer.map_err(|error| error.to_string())
    }

    fn operators_tls(&self) -> Result<Arc<rustls::ClientConfig>, String> {
        self.ca
            .introduce(&self.operator.certificate, &self.operator.key)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Running>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The operator may do everything.
    fn allow(&self) -> Result<(), String> {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": OPERATOR },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": OPERATOR }],
        });
        let collection = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        self.put(collection, &binding)?;
        // What may be done is learned by a watch.
        let may = || {
            let answer = self.as_operator("/api/v1/namespaces/kube-system");
            answer.is_ok_and(|answer| answer.status == 200)
        };
        if wait_until(PATIENCE, may) {
            return Ok(());
        }
        Err("the operator is never let in".to_owned())
    }
}

fn store_arguments(folder: &Path, store: u16, peer: u16) -> Vec<String> {
    let (store, peer) = (
        format!("http://127.0.0.1:{store}"),
        format!("http://127.0.0.1:{peer}"),
    );
    vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={store}"),
        format!("--advertise-client-urls={store}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
    ]
}

fn server_arguments(folder: &Path, store: u16, port: u16) -> Vec<String> {
    let within = |name: &str| folder.join(name).display().to_string();
    vec![
        format!("--etcd-servers=http://127.0.0.1:{store}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--client-ca-file={}", within("ca.crt")),
        format!("--tls-cert-file={}", within("server.crt")),
        format!("--tls-private-key-file={}", within("server.key")),
        "--service-account-issuer=https://localhost".to_owned(),
        // Its public key is read from here.
        format!("--service-account-key-file={}", within("server.crt")),
        format!(
            "--service-account-signing-key-file={}",
            within("server.key")
        ),
        "--service-cluster-ip-range=100.64.0.0/16".to_owned(),
        // An address of loopback may not be an endpoint.
        "--endpoint-reconciler-type=none".to_owned(),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--enable-admission-plugins=NodeRestriction".to_owned(),
        "--allow-privileged=true".to_owned(),
        // No controller makes accounts, and no pod runs.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        format!("--audit-policy-file={}", within(audit::POLICY)),
        format!("--audit-log-path={}", within(audit::LOG)),
        "--audit-log-mode=blocking".to_owned(),
    ]
}

fn client(ca: &Ca, subject: &str) -> Result<Client, String> {
    let (certificate, key) = ca.client_pair(subject)?;
    Ok(Client {
        ca: ca.certificate()?,
        certificate,
        key,
    })
}

fn write_certificates(ca: &Ca, folder: &Path) -> Result<(), String> {
    let names = ["IP:127.0.0.1", "DNS:localhost"];
    let (server, key) = ca.server_pair("kube-apiserver", &names)?;
    let files = [
        ("ca.crt", ca.certificate()?),
        ("server.crt", server),
        ("server.key", key),
        (audit::POLICY, audit::policy()),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Passes on what either says, until one of them ends.
fn join(one: &TcpStream, other: &TcpStream) {
    let pass = |mut from: &TcpStream, mut to: &TcpStream| {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| pass(one, other));
        pass(other, one);
    });
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16, String> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = bound.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|error| error.to_string())
}

/// Starts a program, which a killed test run does not leave behind, and waits until it is ready.
fn start(
    program: &Path,
    arguments: &[String],
    is_ready: impl Fn() -> bool,
) -> Result<Running, String> {
    let mut command = Command::new("setpriv");
    clean(&mut command);
    command
        .args(["--pdeathsig", "KILL"])
        .arg(program)
        .args(arguments);
    let mut running = Running::start(command);
    let became_ready = wait_until(PATIENCE, || running.has_ended() || is_ready());
    if became_ready && !running.has_ended() {
        return Ok(running);
    }
    let said = running.stderr();
    let last: Vec<&str> = said.lines().rev().take(5).collect();
    Err(format!(
        "{} does not start: {}",
        program.display(),
        last.join(" / ")
    ))
}
