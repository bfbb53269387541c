//! A real kube-apiserver and its etcd on loopback, of the folder that `QUAKE_KUBERNETES_BIN` names. Both end with the value.
//!
//! It was never run with real programs, because none were at hand.

use crate::agent::{Running, clean};
use crate::api_server::{Client, kubeconfig};
use crate::authority::{Authority, Wanted};
use crate::skip::SetUpError;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Names the folder of `kube-apiserver` and `etcd`.
const FOLDER: &str = "QUAKE_KUBERNETES_BIN";

/// How long either may take until its port is open; a guess for slow machines.
const PATIENCE: Duration = Duration::from_secs(90);

/// The two programs, running.
#[derive(Debug)]
pub struct RealApiServer {
    url: String,
    client: Client,
    _programs: [Running; 2],
    _folder: TempDir,
}

impl RealApiServer {
    /// Starts both with certificates of an authority of their own. Its port is open then; `/readyz` says when it is ready.
    ///
    /// # Errors
    ///
    /// Says that no programs are named, or what failed.
    pub fn start() -> Result<Self, SetUpError> {
        let Some(programs) = std::env::var_os(FOLDER).map(PathBuf::from) else {
            return Err(SetUpError::Missing("no kubernetes binaries".to_owned()));
        };
        for name in ["etcd", "kube-apiserver"] {
            if !programs.join(name).is_file() {
                let why = format!("{} has no {name}", programs.display());
                return Err(SetUpError::Missing(why));
            }
        }
        let authority = Authority::new()?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let client = write_certificates(&authority, folder.path())?;
        let [store, peer, port] = [free_port()?, free_port()?, free_port()?];
        let within = |name: &str| folder.path().join(name).display().to_string();
        let (store_url, peer_url) = (
            format!("http://127.0.0.1:{store}"),
            format!("http://127.0.0.1:{peer}"),
        );
        let etcd = start(
            &programs.join("etcd"),
            &[
                format!("--data-dir={}", within("etcd")),
                format!("--listen-client-urls={store_url}"),
                format!("--advertise-client-urls={store_url}"),
                format!("--listen-peer-urls={peer_url}"),
                format!("--initial-advertise-peer-urls={peer_url}"),
                format!("--initial-cluster=default={peer_url}"),
            ],
            store,
        )?;
        let server = start(
            &programs.join("kube-apiserver"),
            &[
                format!("--etcd-servers={store_url}"),
                "--bind-address=127.0.0.1".to_owned(),
                "--advertise-address=127.0.0.1".to_owned(),
                format!("--secure-port={port}"),
                format!("--client-ca-file={}", within("ca.crt")),
                format!("--tls-cert-file={}", within("server.crt")),
                format!("--tls-private-key-file={}", within("server.key")),
                "--service-account-issuer=https://localhost".to_owned(),
                format!("--service-account-key-file={}", within("server.key")),
                format!(
                    "--service-account-signing-key-file={}",
                    within("server.key")
                ),
                "--service-cluster-ip-range=100.64.0.0/16".to_owned(),
                "--authorization-mode=RBAC".to_owned(),
                "--allow-privileged=true".to_owned(),
                // No controller makes accounts, and no pod runs.
                "--disable-admission-plugins=ServiceAccount".to_owned(),
            ],
            port,
        )?;
        Ok(Self {
            url: format!("https://127.0.0.1:{port}"),
            client,
            _programs: [server, etcd],
            _folder: folder,
        })
    }

    /// Its URL, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A client who may do everything.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A kubeconfig for that client.
    pub fn kubeconfig(&self) -> String {
        kubeconfig(&self.url, Some(&self.client))
    }
}

fn write_certificates(authority: &Authority, folder: &Path) -> Result<Client, String> {
    let (server, server_key) = authority.pair(&Wanted {
        subject: "/CN=kube-apiserver".to_owned(),
        usage: "serverAuth",
        names: ["IP:127.0.0.1", "DNS:localhost"]
            .map(str::to_owned)
            .to_vec(),
    })?;
    let (certificate, key) = authority.pair(&Wanted {
        subject: "/O=system:masters/CN=kubecfg".to_owned(),
        usage: "clientAuth",
        names: Vec::new(),
    })?;
    let client = Client {
        authority: authority.certificate()?,
        certificate,
        key,
    };
    let files = [
        ("ca.crt", &client.authority),
        ("server.crt", &server),
        ("server.key", &server_key),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).map_err(|error| error.to_string())?;
    }
    Ok(client)
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16, String> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = bound.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|error| error.to_string())
}

/// Starts a program, which a killed test run does not leave behind, and waits until its port is open.
fn start(program: &Path, arguments: &[String], port: u16) -> Result<Running, String> {
    let mut command = Command::new("setpriv");
    clean(&mut command);
    command
        .args(["--pdeathsig", "KILL"])
        .arg(program)
        .args(arguments);
    let mut running = Running::start(command);
    let is_open = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
    let opened = crate::waiting::wait_until(PATIENCE, || running.has_ended() || is_open());
    if opened && !running.has_ended() {
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
