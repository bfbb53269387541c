//! A stand-in for kops-controller (`cmd/kops-controller/pkg/server` and `upup/pkg/fi/cloudup/awsup/aws_verifier.go`, v1.36.2):
//! it checks the proof that comes with a request as the real one and STS would, gives the configuration, and signs what it may.
//! A script lets it answer otherwise, and it may know one version of the proof alone.

use crate::ca::{Ca, Callers, Wanted};
use crate::ec2::pairs;
use crate::http::{Reply, Request, Server};
use crate::imds::{ACCESS_KEY_ID, SECRET_ACCESS_KEY, SESSION_TOKEN};
use crate::sigv4::{self, Signed, Signer};
use crate::waiting::unix_now;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What STS is asked; no part of the token says so.
const STS_BODY: &str = "Action=GetCallerIdentity&Version=2011-06-15";

/// The cluster that a stand-in serves, and the node that may ask.
#[derive(Debug)]
pub struct Served {
    /// The nodeup configuration of the node's group.
    pub config: String,
    /// Secrets that come with it.
    pub secrets: BTreeMap<String, String>,
    /// The node's name in the cluster.
    pub node: String,
    pub address: String,
    /// The region of the cluster.
    pub region: String,
    /// The certificates that are signed.
    pub signs: Vec<String>,
    /// What the server's own certificate is for, as openssl takes it.
    pub names: Vec<String>,
    /// How long what is signed rests before it is sent. kops dates certificates back by two days, which openssl does only since 3.4;
    /// to a machine whose clock is a second behind one that was just signed is not valid yet.
    pub rest: Duration,
}

/// What is done with a request in the place of an honest answer.
#[derive(Debug, Clone)]
pub enum Turn {
    Reply(Reply),
    Hang(Duration),
    /// The headers of the request, as a server that logs into its answers.
    Echo,
}

/// The stand-in; it ends with its value.
#[derive(Debug)]
pub struct Controller {
    server: Server,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    ca: Ca,
    served: Served,
    signer: Signer,
    turns: Mutex<VecDeque<Turn>>,
    refusals: Mutex<Vec<String>>,
    takes: Mutex<Vec<Version>>,
    accepted: Mutex<Vec<Version>>,
}

/// A version of the proof, which kops calls a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The headers of a signed request.
    V1,
    V2,
}

impl Controller {
    /// Serves on this listener with a certificate of `ca`.
    ///
    /// # Errors
    ///
    /// Says what failed.
    pub fn start(listener: TcpListener, ca: Ca, served: Served) -> Result<Self, String> {
        let names: Vec<&str> = served.names.iter().map(String::as_str).collect();
        let config = ca.serve(&names, Callers::Anybody)?;
        let signer = Signer {
            key_id: ACCESS_KEY_ID.to_owned(),
            secret: SECRET_ACCESS_KEY.to_owned(),
            session: Some(SESSION_TOKEN.to_owned()),
            region: served.region.clone(),
            service: "sts".to_owned(),
        };
        let state = Arc::new(State {
            ca,
            served,
            signer,
            turns: Mutex::default(),
            refusals: Mutex::default(),
            takes: Mutex::new(vec![Version::V1, Version::V2]),
            accepted: Mutex::default(),
        });
        let own = Arc::clone(&state);
        let server = Server::by_tls(listener, config, move |request| own.answer(request));
        let server = server.map_err(|error| error.to_string())?;
        Ok(Self { server, state })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its CA.
    pub fn ca(&self) -> &Ca {
        &self.state.ca
    }

    /// Lets the next requests be answered so.
    pub fn turn(&self, turns: impl IntoIterator<Item = Turn>) {
        lock(&self.state.turns).extend(turns);
    }

    /// Lets it know this version of the proof alone, as servers before kops 1.30 know the first.
    pub fn take_only(&self, version: Version) {
        *lock(&self.state.takes) = vec![version];
    }

    /// The version of each proof that was good, in their order.
    pub fn accepted(&self) -> Vec<Version> {
        lock(&self.state.accepted).clone()
    }

    /// Why requests were refused, in the words of its log and in their order.
    pub fn refusals(&self) -> Vec<String> {
        lock(&self.state.refusals).clone()
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Request> {
        self.server.seen()
    }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The hash of its body that a proof must be for.
fn request_hash(request: &Request) -> String {
    STANDARD_NO_PAD.encode(Sha256::digest(&request.body))
}

fn must_sign(names: &[String], wanted: &[&str]) -> Result<(), String> {
    let is_signed = |name: &&str| names.iter().any(|signed| signed == name);
    match wanted.iter().find(|name| !is_signed(name)) {
        None => Ok(()),
        Some(name) => Err(format!("{name} is not signed")),
    }
}

impl State {
    fn answer(&self, request: &Request) -> Reply {
        let turn = lock(&self.turns).pop_front();
        match turn {
            Some(Turn::Reply(reply)) => return reply,
            Some(Turn::Hang(time)) => {
                crate::waiting::pause(time);
                return Reply::nothing();
            }
            Some(Turn::Echo) => {
                let headers = request.headers.iter();
                let shown = headers.map(|(name, value)| format!("{name}: {value} "));
                return Reply::new(403, shown.collect::<String>());
            }
            None => {}
        }
        if (request.method.as_str(), request.path()) != ("POST", "/bootstrap") {
            return Reply::new(404, "404 page not found\n");
        }
        match self.verify(request) {
            Ok(version) => lock(&self.accepted).push(version),
            Err(why) => {
                lock(&self.refusals).push(why);
                return Reply::new(403, "failed to verify token");
            }
        }
        match self.bootstrap(&request.body) {
            Ok(answer) => Reply::new(200, answer.to_string()),
            Err(why) => Reply::new(400, why),
        }
    }

    /// What the verifier checks before it asks STS, and then what STS does.
    fn verify(&self, request: &Request) -> Result<Version, String> {
        let token = request.header("authorization").unwrap_or_default();
        let (scheme, token) = token.split_once(' ').ok_or("not this verifier")?;
        let version = match scheme {
            "x-aws-sts" => Version::V1,
            "x-aws-sts-v2" => Version::V2,
            _ => return Err("not this verifier".to_owned()),
        };
        if !lock(&self.takes).contains(&version) {
            return Err("not this verifier".to_owned());
        }
        let token = STANDARD.decode(token).map_err(|error| error.to_string())?;
        let token: Map<String, Value> =
            serde_json::from_slice(&token).map_err(|error| error.to_string())?;
        match version {
            Version::V1 => self.verify_headers(request, &token)?,
            Version::V2 => self.verify_presigned(request, &token)?,
        }
        Ok(version)
    }

    fn sts_host(&self) -> String {
        format!("sts.{}.amazonaws.com", self.served.region)
    }

    /// The presigned request of version 2.
    fn verify_presigned(
        &self,
        request: &Request,
        token: &Map<String, Value>,
    ) -> Result<(), String> {
        let none = Map::new();
        let headers = token.get("headers").and_then(Value::as_object);
        let headers = headers.unwrap_or(&none);
        let hash = headers.get("X-Kops-Request-Sha");
        if hash != Some(&json!([request_hash(request)])) {
            return Err("incorrect SHA".to_owned());
        }
        let text = |name: &str| token.get(name).and_then(Value::as_str).unwrap_or_default();
        let host = self.sts_host();
        let base = format!("https://{host}/?");
        let query = text("url").strip_prefix(&base).ok_or("invalid STS url")?;
        let query = pairs(query);
        let of_action: Vec<&str> = query
            .iter()
            .filter_map(|(name, value)| (name == "Action").then_some(value.as_str()))
            .collect();
        if of_action != ["GetCallerIdentity"] || text("method") != "GET" {
            return Err("invalid STS url".to_owned());
        }
        let mut sent = BTreeMap::new();
        for (name, values) in headers {
            let value = values
                .as_array()
                .and_then(|values| values.first()?.as_str());
            let value = value.ok_or("a header without a text")?;
            sent.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        // The server's HTTP library takes the host from the URL, whatever the headers say.
        sent.insert("host".to_owned(), host);
        let signed = Signed {
            method: "GET",
            headers: sent,
            body: b"",
        };
        let names = sigv4::check_presigned(&self.signer, &signed, &query, unix_now())?;
        must_sign(&names, &["host", "x-kops-request-sha"])
    }

    /// The headers of version 1.
    fn verify_headers(&self, request: &Request, token: &Map<String, Value>) -> Result<(), String> {
        // Go finds a header by its canonical name, and no other spelling.
        let header = |name: &str| {
            let values = token.get(name).and_then(Value::as_array);
            values.and_then(|values| values.first()?.as_str())
        };
        if header("X-Kops-Request-Sha") != Some(request_hash(request).as_str()) {
            return Err("incorrect SHA".to_owned());
        }
        let mut headers = BTreeMap::new();
        for name in token.keys() {
            let value = header(name).ok_or("a header without a text")?;
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        // The server's HTTP library sets both, whatever the token says.
        headers.insert("host".to_owned(), self.sts_host());
        headers.insert("content-length".to_owned(), STS_BODY.len().to_string());
        let signed = Signed {
            method: "POST",
            headers,
            body: STS_BODY.as_bytes(),
        };
        let names = sigv4::check(&self.signer, &signed, unix_now())?;
        must_sign(&names, &["host", "x-amz-date", "x-kops-request-sha"])
    }

    fn bootstrap(&self, body: &[u8]) -> Result<Value, String> {
        let request: Value = serde_json::from_slice(body).map_err(|_| "failed to decode")?;
        if request["apiVersion"] != "bootstrap.kops.k8s.io/v1alpha1" {
            return Err("unexpected APIVersion".to_owned());
        }
        let mut answer = json!({ "Certs": {} });
        if request["includeNodeConfig"] == true {
            let secrets = self.served.secrets.iter();
            let secrets: BTreeMap<&String, String> = secrets
                .map(|(name, secret)| (name, STANDARD.encode(secret)))
                .collect();
            answer["nodeConfig"] =
                json!({ "nodeupConfig": self.served.config, "nodeSecrets": secrets });
        }
        let keys = request["certs"].as_object().cloned().unwrap_or_default();
        let is_asked = !keys.is_empty();
        for (name, key) in keys {
            let issued = self.issue(&name, key.as_str().unwrap_or_default());
            let issued = issued.map_err(|why| format!("failed to issue \"{name}\": {why}"))?;
            answer["Certs"][name] = json!(issued);
        }
        if is_asked && !self.served.rest.is_zero() {
            crate::waiting::pause(self.served.rest);
        }
        Ok(answer)
    }

    fn issue(&self, name: &str, key: &str) -> Result<String, String> {
        if !key.starts_with("-----BEGIN RSA PUBLIC KEY-----\n") {
            return Err("unexpected key type".to_owned());
        }
        if !self.served.signs.iter().any(|signed| signed == name) {
            return Err("key name not enabled".to_owned());
        }
        let (node, address) = (&self.served.node, &self.served.address);
        let (subject, usage) = match name {
            "kubelet" => (
                format!("/O=system:nodes/CN=system:node:{node}"),
                "clientAuth",
            ),
            "kubelet-server" => (format!("/CN={node}"), "serverAuth"),
            "kube-proxy" | "kube-router" => (format!("/CN=system:{name}"), "clientAuth"),
            _ => return Err("unexpected key name".to_owned()),
        };
        let names = match usage {
            "serverAuth" => vec![format!("DNS:{node}"), format!("IP:{address}")],
            _ => Vec::new(),
        };
        let wanted = Wanted {
            subject,
            usage,
            names,
        };
        // What is under that label is a key of any kind, and openssl goes by the label.
        self.ca
            .issue(&wanted, &key.replace("RSA PUBLIC KEY", "PUBLIC KEY"))
    }
}
