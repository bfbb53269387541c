//! A stand-in for the cluster's API server: the model of `quake-apisim` over HTTP or TLS on loopback. It can be taken down and
//! brought back, and tells what it was asked.

mod connection;

use crate::ca::Ca;
use crate::skip::SetUpError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use connection::converse;
use quake_apisim::ApiServer;
use quake_model::time::Timestamp;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The stand-in; it ends with its value.
#[derive(Debug)]
pub struct ApiStandIn {
    address: SocketAddr,
    shared: Arc<Shared>,
    ca: Option<Ca>,
    doors: Mutex<Vec<Door>>,
}

/// A place where it listens while it is up.
struct Door {
    listen: Box<dyn Fn() -> io::Result<TcpListener> + Send + Sync>,
    up: Option<Up>,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("up", &self.up).finish()
    }
}

/// What it listens with.
#[derive(Debug)]
struct Up {
    listener: TcpListener,
    accepting: JoinHandle<()>,
}

impl Door {
    fn open(&mut self, shared: &Arc<Shared>) -> io::Result<()> {
        if self.up.is_none() {
            self.up = Some(listen((self.listen)()?, shared)?);
        }
        Ok(())
    }
}

/// What every connection sees.
#[derive(Debug)]
struct Shared {
    model: Mutex<ApiServer>,
    /// Something of the model may have changed, or the server ends.
    changed: Condvar,
    is_down: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
    tls: Option<Arc<rustls::ServerConfig>>,
}

impl Shared {
    fn model(&self) -> MutexGuard<'_, ApiServer> {
        lock(&self.model)
    }

    fn is_down(&self) -> bool {
        self.is_down.load(Ordering::SeqCst)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Now, as the model is told it.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Timestamp(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// Who may ask a stand-in that speaks TLS; all PEM.
#[derive(Debug, Clone)]
pub struct Client {
    /// The CA of the server.
    pub ca: String,
    pub certificate: String,
    pub key: String,
}

impl ApiStandIn {
    /// Serves a cluster in the clear on a free port of loopback; anyone may ask.
    ///
    /// # Errors
    ///
    /// Returns the error of the listener.
    pub fn plain(model: ApiServer) -> io::Result<Self> {
        Self::start(model, None, None)
    }

    /// Serves a cluster over TLS: whoever has no certificate of `ca` is answered 401.
    ///
    /// # Errors
    ///
    /// Says what is missing here, or what failed.
    pub fn by_tls(model: ApiServer, ca: Ca) -> Result<Self, SetUpError> {
        Self::by_tls_as(model, ca, "localhost")
    }

    /// The same under this name, too.
    ///
    /// # Errors
    ///
    /// As [`ApiStandIn::by_tls`].
    pub fn by_tls_as(model: ApiServer, ca: Ca, name: &str) -> Result<Self, SetUpError> {
        let names = ["IP:127.0.0.1", &format!("DNS:{name}")];
        let (certificate, key) = ca.server_pair("kube-apiserver", &names)?;
        let config = tls(&ca.certificate()?, &certificate, &key)?;
        let made = Self::start(model, Some(config), Some(ca));
        made.map_err(|error| SetUpError::Failed(error.to_string()))
    }

    fn start(
        model: ApiServer,
        tls: Option<Arc<rustls::ServerConfig>>,
        ca: Option<Ca>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            model: Mutex::new(model),
            changed: Condvar::new(),
            is_down: AtomicBool::new(false),
            connections: Mutex::default(),
            tls,
        });
        let up = listen(listener, &shared)?;
        Ok(Self {
            address,
            shared,
            ca,
            doors: Mutex::new(vec![Door {
                listen: Box::new(move || TcpListener::bind(address)),
                up: Some(up),
            }]),
        })
    }

    /// Lets it listen at one more place, such as the API server's own port in a namespace. It is closed while the server is down.
    ///
    /// # Errors
    ///
    /// Returns the error of the listener.
    pub fn add_door(
        &self,
        listen: impl Fn() -> io::Result<TcpListener> + Send + Sync + 'static,
    ) -> io::Result<()> {
        let mut door = Door {
            listen: Box::new(listen),
            up: None,
        };
        let mut doors = lock(&self.doors);
        if !self.shared.is_down() {
            door.open(&self.shared)?;
        }
        doors.push(door);
        Ok(())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL, without a slash at the end.
    pub fn url(&self) -> String {
        let scheme = if self.shared.tls.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// Looks into the cluster, or changes it, as someone outside would.
    pub fn cluster<T>(&self, look: impl FnOnce(&mut ApiServer) -> T) -> T {
        let seen = look(&mut self.shared.model());
        self.shared.changed.notify_all();
        seen
    }

    /// A certificate of its CA with this subject, such as `/O=system:masters/CN=kubecfg`.
    ///
    /// # Errors
    ///
    /// Says that it speaks no TLS, or what openssl says.
    pub fn client(&self, subject: &str) -> Result<Client, String> {
        let ca = self.ca.as_ref().ok_or("it speaks no TLS")?;
        let (certificate, key) = ca.client_pair(subject)?;
        Ok(Client {
            ca: ca.certificate()?,
            certificate,
            key,
        })
    }

    /// A kubeconfig for it; with a client's certificate where it speaks TLS.
    pub fn kubeconfig(&self, client: Option<&Client>) -> String {
        kubeconfig(&self.url(), client)
    }

    /// Whether it is up.
    pub fn is_up(&self) -> bool {
        !self.shared.is_down()
    }

    /// Takes it down: its ports refuse connections, and those that were open end.
    pub fn take_down(&self) {
        let mut doors = lock(&self.doors);
        self.shared.is_down.store(true, Ordering::SeqCst);
        self.shared.changed.notify_all();
        for up in doors.iter_mut().filter_map(|door| door.up.take()) {
            // Shutting a listening socket down wakes its accept.
            let _ = TcpStream::from(OwnedFd::from(up.listener)).shutdown(Shutdown::Both);
            let _ = up.accepting.join();
        }
        for connection in lock(&self.shared.connections).drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Brings it back, at the same addresses.
    ///
    /// # Errors
    ///
    /// Returns the error of the listener.
    pub fn bring_back(&self) -> io::Result<()> {
        let mut doors = lock(&self.doors);
        self.shared.is_down.store(false, Ordering::SeqCst);
        doors
            .iter_mut()
            .try_for_each(|door| door.open(&self.shared))
    }
}

/// A kubeconfig for a server; with a client's certificate where it is asked over TLS.
pub(crate) fn kubeconfig(url: &str, client: Option<&Client>) -> String {
    let (mut ca, mut user) = (String::new(), " {}".to_owned());
    if let Some(client) = client {
        let [of, certificate, key] =
            [&client.ca, &client.certificate, &client.key].map(|pem| STANDARD.encode(pem));
        ca = format!("\n    certificate-authority-data: {of}");
        user = format!("\n    client-certificate-data: {certificate}\n    client-key-data: {key}");
    }
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: local\n  cluster:\n    server: {url}{ca}\n\
         users:\n- name: local\n  user:{user}\n\
         contexts:\n- name: local\n  context:\n    cluster: local\n    user: local\ncurrent-context: local\n"
    )
}

impl Drop for ApiStandIn {
    fn drop(&mut self) {
        self.take_down();
    }
}

fn listen(listener: TcpListener, shared: &Arc<Shared>) -> io::Result<Up> {
    let (accepting, shared) = (listener.try_clone()?, Arc::clone(shared));
    let accepting = std::thread::spawn(move || {
        while let Ok((stream, _)) = accepting.accept() {
            if shared.is_down() {
                return;
            }
            let Ok(kept) = stream.try_clone() else {
                continue;
            };
            lock(&shared.connections).push(kept);
            let shared = Arc::clone(&shared);
            // A client that goes away in the middle is no failure of the server.
            std::thread::spawn(move || drop(converse(stream, &shared)));
        }
    });
    Ok(Up {
        listener,
        accepting,
    })
}

/// A server's TLS that asks clients for a certificate and lets them go without.
fn tls(ca: &str, certificate: &str, key: &str) -> Result<Arc<rustls::ServerConfig>, String> {
    let text = |error: &dyn fmt::Display| error.to_string();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let read = |pem: &str| -> Result<Vec<CertificateDer<'static>>, String> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        read.map_err(|error| text(&error))
    };
    let mut roots = RootCertStore::empty();
    for root in read(ca)? {
        roots.add(root).map_err(|error| text(&error))?;
    }
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .map_err(|error| text(&error))?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| text(&error))?;
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| text(&error))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(read(certificate)?, key)
        .map_err(|error| text(&error))?;
    Ok(Arc::new(config))
}

/// The longest a watch goes on that names no end of its own, and any connection without a word.
const LONGEST: Duration = Duration::from_secs(60);
