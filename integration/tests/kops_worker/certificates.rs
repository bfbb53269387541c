//! Certificates, judged by openssl and by a strict client: those that a worker was given, and those that a control plane signed
//! for itself.

use crate::lab::{CASE, Lab};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quake_integration::agent::{self, run_command};
use quake_integration::ca::{Ca, public_keys};
use quake_integration::skip::{conformance, unless_missing};
use std::path::Path;

/// What a certificate is for.
enum For {
    Client,
    /// A server that is reached by these names, and not by this one, which only its subject has.
    Server(&'static [&'static str], &'static str),
}
use For::{Client, Server};

/// The certificates of a control plane: the order, its CA, and what it is for.
const CONTROL_PLANE: &[(&str, &str, For)] = &[
    ("apiserver-aggregator", "apiserver-aggregator-ca", Client),
    ("etcd-client", "etcd-clients-ca", Client),
    ("kops", "kubernetes-ca", Client),
    ("kube-apiserver-healthcheck", "kubernetes-ca", Client),
    ("kube-controller-manager", "kubernetes-ca", Client),
    ("kube-proxy", "kubernetes-ca", Client),
    ("kube-scheduler", "kubernetes-ca", Client),
    ("kubecfg", "kubernetes-ca", Client),
    ("kubelet", "kubernetes-ca", Client),
    ("kubelet-api", "kubernetes-ca", Client),
    (
        "kops-controller",
        "kubernetes-ca",
        Server(
            &["kops-controller.internal.minimal.example.com"],
            "kops-controller",
        ),
    ),
    (
        "kube-controller-manager-server",
        "kubernetes-ca",
        Server(
            &["kube-controller-manager.kube-system.svc.cluster.local"],
            "kube-controller-manager",
        ),
    ),
    (
        "kube-scheduler-server",
        "kubernetes-ca",
        Server(
            &["kube-scheduler.kube-system.svc.cluster.local"],
            "kube-scheduler",
        ),
    ),
    (
        "kubelet-server",
        "kubernetes-ca",
        Server(
            &[
                "i-0123456789abcdef0",
                "10.0.0.10",
                "ip-10-0-0-10.us-test-1.compute.internal",
            ],
            "localhost",
        ),
    ),
    (
        "master",
        "kubernetes-ca",
        Server(
            &[
                "api.internal.minimal.example.com",
                "api.minimal.example.com",
                "kubernetes.default.svc.cluster.local",
                "100.64.0.1",
                "127.0.0.1",
            ],
            "kubernetes-master",
        ),
    ),
];

/// Those of a worker.
const WORKER: &[(&str, &str, For)] = &[
    ("kubelet", "kubernetes-ca", Client),
    ("kube-proxy", "kubernetes-ca", Client),
    (
        "kubelet-server",
        "kubernetes-ca",
        Server(&["i-0123456789abcdef0", "10.0.0.10"], "localhost"),
    ),
];

/// The CA of a keyset in the state store.
fn ca(corpus: &Path, keyset: &str) -> Option<Ca> {
    let store = corpus.join("cases").join(CASE).join("statestore/tests");
    let file = store.join(format!(
        "minimal.example.com/pki/private/{keyset}/keyset.yaml"
    ));
    let text = std::fs::read_to_string(file).expect("the keyset is there");
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("publicMaterial: "));
    let pem = STANDARD
        .decode(line.expect("it has a certificate"))
        .expect("it is base64");
    let pem = String::from_utf8(pem).expect("it is PEM");
    unless_missing(Ca::known(&pem))
}

/// What is wrong with the certificates that are held below this root.
fn wrong(corpus: &Path, root: &Path, wanted: &[(&str, &str, For)]) -> Option<Vec<String>> {
    let folder = root.join("var/lib/quake-agent/certificates");
    let held = std::fs::read_dir(&folder)
        .expect("certificates are held")
        .count();
    assert_eq!(held, wanted.len(), "each is judged");
    let mut wrong = Vec::new();
    for (name, keyset, what) in wanted {
        let ca = ca(corpus, keyset)?;
        let pem = std::fs::read_to_string(folder.join(format!("{name}.pem")));
        let pem = pem.expect("it is held");
        let (own, beside) = public_keys(&pem).expect("openssl reads both");
        if own != beside {
            wrong.push(format!("{name}: the key is another"));
        }
        let found = match what {
            Client => judge_client(&ca, &pem),
            Server(names, never) => judge_server(&ca, &pem, names, never),
        };
        wrong.extend(found.into_iter().map(|what| format!("{name}: {what}")));
    }
    Some(wrong)
}

fn judge_client(ca: &Ca, pem: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    wrong.extend(ca.verify(pem, &["-purpose", "sslclient"]).err());
    wrong.extend(ca.accepts_client(pem).err());
    if ca.verify(pem, &["-purpose", "sslserver"]).is_ok() {
        wrong.push("a server could use it".to_owned());
    }
    wrong
}

fn judge_server(ca: &Ca, pem: &str, names: &[&str], never: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in names {
        let is_address = name.parse::<std::net::IpAddr>().is_ok();
        let option = if is_address {
            "-verify_ip"
        } else {
            "-verify_hostname"
        };
        wrong.extend(
            ca.verify(pem, &["-purpose", "sslserver", option, name])
                .err(),
        );
        wrong.extend(ca.accepts_server(pem, name).err());
    }
    if ca.accepts_server(pem, never).is_ok() {
        wrong.push(format!("it is believed for {never}"));
    }
    if ca.accepts_client(pem).is_ok() {
        wrong.push("a client could use it".to_owned());
    }
    wrong
}

#[test]
fn what_a_worker_was_given_is_believed_for_its_use_and_names_and_no_other() {
    let Some(lab) = Lab::open() else { return };
    let corpus = conformance("kops").expect("the lab has it");
    let ended = run_command(lab.boot(&[]));
    assert_eq!(ended.status, 0, "{}", ended.text());
    let Some(wrong) = wrong(&corpus, &lab.root(), WORKER) else {
        return;
    };
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn what_a_control_plane_signs_is_believed_for_its_use_and_names_and_no_other() {
    let Some(corpus) = conformance("kops") else {
        return;
    };
    let root = tempfile::tempdir().expect("a temporary directory");
    let case = corpus.join("cases").join(CASE);
    let plain = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let (store, root_path) = (plain(&case.join("statestore")), plain(root.path()));
    let kube_env = plain(&case.join("boot/master-us-test-1a/kube_env.yaml"));
    let [identity, assets, ca] =
        ["identity.json", "assets", "ca"].map(|name| plain(&corpus.join(name)));
    let ended = agent::run(&[
        "rehearse",
        &store,
        "--kube-env",
        &kube_env,
        "--identity",
        &identity,
        "--assets-dir",
        &assets,
        "--ca-dir",
        &ca,
        "--root",
        &root_path,
        "--exit-when-ready",
        "--listen",
        "off",
        "--output",
        "json",
    ]);
    assert_eq!(ended.status, 0, "{}", ended.text());
    let Some(wrong) = wrong(&corpus, root.path(), CONTROL_PLANE) else {
        return;
    };
    assert_eq!(wrong, Vec::<String>::new());
}
