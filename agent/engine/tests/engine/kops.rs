//! Nodes of kops (1.32 and newer) on the simulated machine, from the state stores of kops' own clusters.

#![expect(
    clippy::disallowed_methods,
    reason = "the state stores are files; the engine that is tested reads them through its ports"
)]

use crate::common::{request, run};
use quake_engine::{Configuration, Request};
use quake_model::digest::{Algorithm, Digest};
use quake_model::fault::{Code, Fault};
use quake_model::record::Record;
use quake_model::redact::Secret;
use quake_node::config::current::{config_hash, read_cluster};
use quake_node::config::legacy::Document;
use quake_testkit::region::{EtcdSlot, Region, example_instance};
use quake_testkit::{Controller, Script, SimHost, Timing};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What writes, or asks somebody who counts.
pub(crate) const WRITES: &[&str] = &[
    "assign_prefix",
    "disable_units",
    "format_device",
    "mount_volume",
    "pull_image",
    "fetch_keyring",
    "write_file",
    "set_permissions",
    "make_directory",
    "make_link",
    "place",
    "make_key",
    "sign",
    "install_packages",
    "make_user",
    "run_command",
    "enable_units",
    "run_jobs",
    "reload_units",
    "ask_bootstrap",
];

/// The directory of the conformance data; `None`, with the reason printed, where it is not checked out.
pub(crate) fn conformance() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/kops");
    if root.is_dir() {
        return Some(root);
    }
    println!("skipped: {} is not there", root.display());
    None
}

pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => vec![path],
        })
        .collect()
}

/// Archives that a configuration pins, as an image of the machine brings them: the simulated store knows them by the names
/// of their files.
fn stock_archives(host: &SimHost, config: &str) {
    for line in config.lines().filter(|line| line.contains("@https://")) {
        let (digest, url) = line
            .trim_start_matches(['-', ' '])
            .split_once('@')
            .expect("it is pinned");
        let members = match url {
            url if url.contains("/containerd-") => "containerd\ncontainerd-shim-runc-v2\nctr\n",
            url if url.contains("/cni-plugins-") => "bridge\nhost-local\nloopback\nportmap\nptp\n",
            _ => continue,
        };
        let digest = Digest::new(Algorithm::Sha256, digest).expect("it is a digest");
        host.stock_asset(&digest, members);
    }
}

/// A node of a group of a cluster, before its first boot.
pub(crate) fn node(root: &Path, case: &str, group: &str) -> (Arc<SimHost>, Request) {
    node_with(root, case, group, &str::to_owned)
}

/// A worker of a cluster whose configuration is another, which its user data names.
pub(crate) fn worker_with(root: &Path, edit: &dyn Fn(&str) -> String) -> (Arc<SimHost>, Request) {
    let (host, mut request) = node_with(root, "minimal-1.35", "nodes", edit);
    let config = worker_config(root, "minimal-1.35", "nodes").expect("the group is there");
    let hash = config_hash(edit(&config).as_bytes());
    if let Some(document) = &mut request.configuration.kube_env {
        let lines = document.text.lines();
        let kept = lines.filter(|line| !line.starts_with("NodeupConfigHash:"));
        document.text = kept.map(|line| format!("{line}\n")).collect();
        document
            .text
            .push_str(&format!("NodeupConfigHash: {hash}\n"));
    }
    (host, request)
}

/// What kops-controller gives to a group's workers; `None` for a group of others.
fn worker_config(root: &Path, case: &str, group: &str) -> Option<String> {
    let store = root.join("cases").join(case).join("statestore");
    let groups = store.join("tests/minimal.example.com/igconfig/node");
    fs::read_to_string(groups.join(group).join("nodeupconfig.yaml")).ok()
}

fn node_with(
    root: &Path,
    name: &str,
    group: &str,
    edit: &dyn Fn(&str) -> String,
) -> (Arc<SimHost>, Request) {
    let case = root.join("cases").join(name);
    let instance = example_instance("us-test-1a");
    let source = case.join("boot").join(group).join("kube_env.yaml");
    let text = fs::read_to_string(&source).expect("the file is there");
    let said = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_default().trim().to_owned()
    };
    let region = Region::with_instance(instance.clone(), &said("ClusterName:"));
    let host = SimHost::new(region, Timing::default(), EPOCH_OF_THE_DATA);
    let store = case.join("statestore");
    for path in files_below(&store) {
        let key = path.strip_prefix(&store).expect("it is below").display();
        let bytes = fs::read(&path).expect("the file is there");
        stock_archives(&host, &String::from_utf8_lossy(&bytes));
        host.put_object(&format!("s3://{key}"), bytes);
    }
    make_volumes(&host, &said("ConfigBase:"), group);
    if let Some(config) = worker_config(root, name, group) {
        let part = |name| fs::read_to_string(root.join("ca/kubernetes-ca").join(name));
        let certificate = part("crt").expect("the CA is there");
        let key = Secret::new(part("key").expect("its key is there"));
        let config = edit(&config);
        let controller =
            Controller::new("nodeupconfig.yaml", &config, &instance, &certificate, key);
        host.answer_bootstrap(controller.expect("the configuration reads"));
    }
    for path in files_below(&root.join("assets")) {
        let key = path.strip_prefix(root.join("assets")).expect("it is below");
        let bytes = fs::read(&path).expect("the file is there");
        for server in ["dl.k8s.io", "artifacts.k8s.io", "github.com"] {
            host.serve(
                &format!("https://{server}/{}", key.display()),
                bytes.clone(),
            );
        }
    }
    // What the runtime makes of its template once kubelet told it of its range.
    host.put_file("/etc/cni/net.d/10-containerd-net.conflist", "{}");
    let kube_env = Some(Document {
        source: source.display().to_string(),
        text,
    });
    let request = Request {
        configuration: Configuration {
            kube_env,
            ..Configuration::default()
        },
        ..request("workers")
    };
    (Arc::new(host), request)
}

/// Makes the volumes that kops makes for the members of etcd that the group runs.
fn make_volumes(host: &SimHost, base: &str, group: &str) {
    let location = format!("{base}/cluster-completed.spec");
    let Some(text) = host.object(&location) else {
        return;
    };
    let text = String::from_utf8(text).expect("it is text");
    let cluster = read_cluster(&location, &text).expect("it is a cluster");
    host.change(|region| {
        for etcd in &cluster.etcd.clusters {
            let members: Vec<&str> = etcd.members.iter().map(|it| it.name.as_str()).collect();
            let own = etcd
                .members
                .iter()
                .filter(|member| member.instance_group.as_deref() == Some(group));
            for member in own {
                let slot = EtcdSlot {
                    volume_id: &format!("vol-{}-{}", etcd.name, member.name),
                    etcd: &etcd.name,
                    member: &member.name,
                    members: &members,
                    created: EPOCH_OF_THE_DATA,
                    encrypted: member.encrypted,
                };
                region.add_etcd_volume(&cluster.name, &slot);
            }
        }
    });
}

/// A day on which the CAs of the data are valid.
pub(crate) const EPOCH_OF_THE_DATA: quake_model::time::Timestamp =
    quake_model::time::Timestamp(1_795_000_000_000);

pub(crate) fn warnings(record: &Record) -> Vec<String> {
    record.warnings.iter().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn a_node_of_current_kops_becomes_ready_and_a_second_boot_writes_nothing() {
    let Some(root) = conformance() else { return };
    for group in ["master-us-test-1a", "nodes"] {
        let (host, request) = node(&root, "minimal-1.35", group);
        let (verdict, record) = run(&host, &request).await;
        assert_eq!(verdict.fault, None, "{group}");
        assert_eq!(warnings(&record), Vec::<String>::new(), "{group}");
        let tree = host.tree();
        host.next_boot(Script::default());
        let (verdict, _) = run(&host, &request).await;
        assert_eq!(verdict.fault, None, "{group} again");
        let made = WRITES.iter().map(|call| (*call, host.port_calls_of(call)));
        let made: Vec<(&str, u64)> = made.filter(|(_, count)| *count > 0).collect();
        assert_eq!(made, [], "{group}: a converged node is left as it is");
        assert_eq!(host.tree(), tree, "{group}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_asks_once_and_reads_no_store() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", "nodes");
    let (verdict, _) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(host.port_calls_of("ask_bootstrap"), 1);
    assert_eq!(host.port_calls_of("read_object"), 0);
    let held = host.tree();
    for name in ["kubelet", "kubelet-server", "kube-proxy"] {
        let path = format!("/var/lib/quake-agent/certificates/{name}.pem");
        let text = held.get(&path).map(|bytes| String::from_utf8_lossy(bytes));
        let text = text.unwrap_or_else(|| panic!("{path} is held"));
        assert!(text.contains("BEGIN CERTIFICATE") && text.contains("BEGIN PRIVATE KEY"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_is_not_what_the_user_data_names_is_refused() {
    let Some(root) = conformance() else { return };
    let (host, mut request) = node(&root, "minimal-1.35", "nodes");
    if let Some(document) = &mut request.configuration.kube_env {
        document.text = document
            .text
            .replace("NodeupConfigHash: F", "NodeupConfigHash: G");
    }
    let fault: Fault = run(&host, &request).await.0.fault.expect("it is refused");
    assert_eq!(fault.code, Code::ConfigHashMismatch);
    let kept = host.tree();
    assert!(!kept.contains_key("/var/lib/quake-agent/bootstrap.json"));
}

#[tokio::test(start_paused = true)]
async fn a_worker_waits_for_a_kops_controller_that_is_not_there_yet() {
    let Some(root) = conformance() else { return };
    let (host, request) = node(&root, "minimal-1.35", "nodes");
    let strike = crate::common::strike(
        "ask_bootstrap",
        1..=3,
        quake_model::ports::Condition::Unreachable,
    );
    host.next_boot(Script::new(vec![strike]));
    let (verdict, _) = run(&host, &request).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(host.port_calls_of("ask_bootstrap"), 4);
}
