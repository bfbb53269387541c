//! A worker whose kubelet is a real one registers with a real API server, and becomes Ready with the network that the
//! agent configured. The programs are those of the directory that `QUAKE_KUBERNETES_BIN` names; there are none in Debian.
//!
//! kubelet runs in an emulated machine, since it writes kernel settings. The API server runs beside etcd in a container
//! without the agent: what is tested is the worker.

use quake_integration::machine::{
    Cluster, Container, Emulated, Facts, Hardware, Kind, Lab, MachineBackend, POD_RANGE, changed,
    is_admitted, version_of,
};
use quake_integration::node::CLUSTER;
use quake_integration::skip::skipped;
use quake_integration::waiting::{pause, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Names the directory of `kubelet` and `kube-apiserver`.
const FOLDER: &str = "QUAKE_KUBERNETES_BIN";

/// The minor versions of Kubernetes 1 that may be tried: 1.8 to 1.15 are those whose flags kops legacy has, and
/// 1.23 is the last whose kubelet runs pods by docker.
const ADMITTED: RangeInclusive<u32> = 8..=23;

/// The certificates of the case are in `/etc/case` of the API server's machine: a CA, the server's and kubelet's.
const MAKE_CERTIFICATES: &str = r#"set -eu
mkdir -p /etc/case
cd /etc/case
openssl req -x509 -newkey rsa:2048 -nodes -sha256 -days 30 -subj /CN=kubernetes -keyout ca.key -out ca.crt
sign() {
    openssl req -newkey rsa:2048 -nodes -subj "$2" -keyout "$1.key" -out "$1.csr"
    printf '%s\n' "$3" "$4" > "$1.extensions"
    openssl x509 -req -sha256 -days 30 -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial \
        -extfile "$1.extensions" -out "$1.crt"
}
sign server /CN=kube-apiserver extendedKeyUsage=serverAuth "subjectAltName=DNS:$NAME,IP:127.0.0.1"
sign kubelet /O=system:nodes/CN=kubelet extendedKeyUsage=clientAuth basicConstraints=CA:FALSE
"#;

/// Asks the API server on its own machine, as kubelet's user.
const ASK: &str =
    "curl -sS --cacert /etc/case/ca.crt --cert /etc/case/kubelet.crt --key /etc/case/kubelet.key";

/// What was given, and runs here.
struct Programs {
    kubelet: PathBuf,
    api_server: PathBuf,
    /// kubelet's version, as `1.15.12`.
    version: String,
    minor: u32,
    /// The API server's minor version.
    server_minor: u32,
}

impl Programs {
    /// Those of a directory; else what is wrong with it.
    fn new(folder: &Path) -> Result<Self, String> {
        let [kubelet, api_server] = ["kubelet", "kube-apiserver"].map(|name| folder.join(name));
        let (version, minor) = version_of(&kubelet)?;
        let (server_version, server_minor) = version_of(&api_server)?;
        // "Version Skew Policy" of Kubernetes: a kubelet may be older than its API server, and never newer.
        if server_minor < minor {
            return Err(format!(
                "kubelet is of {version}, and kube-apiserver of {server_version}: the API server may not be the older one"
            ));
        }
        Ok(Self {
            kubelet,
            api_server,
            version,
            minor,
            server_minor,
        })
    }
}

/// The machine of the API server, which has the certificates; nothing runs on it yet.
fn server_machine(lab: &Lab, cluster: &Cluster, programs: &Programs) -> (Facts, Container) {
    let facts = cluster.launch("control-plane");
    let mut flags = vec![
        "--etcd-servers=http://127.0.0.1:2379".to_owned(),
        format!("--advertise-address={}", facts.address),
        "--secure-port=443".to_owned(),
        "--tls-cert-file=/etc/case/server.crt".to_owned(),
        "--tls-private-key-file=/etc/case/server.key".to_owned(),
        "--client-ca-file=/etc/case/ca.crt".to_owned(),
        "--service-cluster-ip-range=100.64.0.0/13".to_owned(),
        "--allow-privileged=true".to_owned(),
        // What kubelet may do is not the agent's matter; who it is, is.
        "--anonymous-auth=false".to_owned(),
        "--authorization-mode=AlwaysAllow".to_owned(),
    ];
    if programs.server_minor >= 20 {
        flags.push(format!(
            "--service-account-issuer=https://{}",
            server_name()
        ));
        flags.push("--service-account-key-file=/etc/case/server.key".to_owned());
        flags.push("--service-account-signing-key-file=/etc/case/server.key".to_owned());
    }
    let unit = format!(
        "[Service]\nExecStart=/usr/local/bin/kube-apiserver {}\n",
        flags.join(" ")
    );
    let layer = lab
        .bare()
        .copy("/usr/local/bin/kube-apiserver", 0o755, &programs.api_server)
        .file("/etc/systemd/system/kube-apiserver.service", 0o644, unit);
    let machine = lab.container(&facts, layer);
    machine.output(&format!("NAME={}\n{MAKE_CERTIFICATES}", server_name()));
    (facts, machine)
}

fn server_name() -> String {
    format!("api.internal.{CLUSTER}")
}

fn start_server(machine: &Container) {
    machine.output("systemctl start etcd.service kube-apiserver.service");
    let answers = format!("{ASK} -f https://127.0.0.1/healthz");
    let (seconds, journal) = (120, "journalctl --no-pager -n 40 -u kube-apiserver -u etcd");
    assert!(
        machine.comes_true(&answers, seconds),
        "kube-apiserver is not healthy after {seconds} s: {}\n{}",
        machine
            .run(&answers, machine.second() * 10)
            .map_or_else(|e| e, |it| it.stdout + &it.stderr),
        machine.output(journal)
    );
}

/// The cluster's spec for a kubelet of this version, in a network whose configuration is the agent's: no cloud provider, since
/// the AWS of the case is at no address that kubelet knows, and not kubenet, which reads no configuration.
fn spec_for(spec: &str, version: &str) -> String {
    let changes = [
        ("    cloudProvider: aws\n", ""),
        (
            "    networkPluginName: kubenet\n",
            "    networkPluginName: cni\n",
        ),
        ("    kubenet: {}\n", "    external: {}\n"),
        (
            "  kubernetesVersion: 1.15.12\n",
            &format!("  kubernetesVersion: {version}\n"),
        ),
    ];
    changed(spec, &changes)
}

/// The node as the API server has it; null where it has none.
fn node(server: &Container, name: &str) -> Value {
    let ask = format!("{ASK} -f https://127.0.0.1/api/v1/nodes/{name}");
    let ran = server.run(&ask, server.second() * 10);
    let answer = ran.map(|ran| ran.stdout).unwrap_or_default();
    serde_json::from_str(&answer).unwrap_or_default()
}

fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| it["type"] == "Ready" && it["status"] == "True")
}

/// What there is to see when no node became Ready.
fn seen(server: &Container, worker: &Emulated, node: &Value) -> String {
    let shown = match &node["status"]["conditions"] {
        Value::Null => "kubelet has registered no node".to_owned(),
        conditions => format!("the node's conditions: {conditions:#}"),
    };
    let journal = |machine: &dyn MachineBackend, unit: &str| {
        let ran = machine.run(
            &format!("journalctl --no-pager -n 40 -u {unit}"),
            machine.second() * 20,
        );
        ran.map_or_else(|error| error, |ran| ran.stdout)
    };
    format!(
        "{shown}\nkubelet's journal:\n{}\nkube-apiserver's journal:\n{}",
        journal(worker, "kubelet"),
        journal(server, "kube-apiserver")
    )
}

#[test]
fn kubernetes_node() {
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    let Some(folder) = folder else {
        return skipped("no kubernetes binaries");
    };
    let programs = Programs::new(Path::new(&folder)).expect(FOLDER);
    if !is_admitted(&programs.version, programs.minor, &ADMITTED) {
        return;
    }
    let Some(lab) = Lab::open("kubernetes-node", Kind::Emulated) else {
        return;
    };
    let mut cluster = lab.cluster_with(|spec| spec_for(&spec, &programs.version));
    let kubelet = std::fs::read(&programs.kubelet).expect("it has just been run");
    cluster.replace_asset("/bin/linux/amd64/kubelet", kubelet);
    let (facts, server) = server_machine(&lab, &cluster, &programs);
    for name in ["ca", "kubelet"] {
        let part = |kind: &str| server.output(&format!("cat /etc/case/{name}.{kind}"));
        let put = cluster.put_keypair(name, &part("crt"), &part("key"));
        put.expect("the state store takes it");
    }
    start_server(&server);
    let names = BTreeMap::from([(server_name(), facts.address)]);
    lab.vpc()
        .publish_names(&names)
        .expect("the names can be told");

    let facts = cluster.launch("workers");
    // These kubelets know the first version of control groups.
    let hardware = Hardware {
        memory_mib: 2048,
        kernel_line: "systemd.unified_cgroup_hierarchy=0".to_owned(),
        ..Hardware::default()
    };
    let worker = lab.emulated(&facts, lab.baked(), hardware);
    worker
        .becomes_ready(120)
        .expect("the agent is done, and kubelet answers");
    let mut found = Value::Null;
    let ready = wait_until(worker.second() * 120, || {
        found = node(&server, &facts.host_name());
        let ready = is_ready(&found);
        if !ready {
            pause(worker.second() / 4);
        }
        ready
    });
    assert!(ready, "{}", seen(&server, &worker, &found));

    let version = found["status"]["nodeInfo"]["kubeletVersion"].as_str();
    let version = version.unwrap_or_default();
    assert!(
        version.contains(&programs.version),
        "{version} is the given one"
    );
    let group = &found["metadata"]["labels"]["kops.k8s.io/instancegroup"];
    assert_eq!(group, "workers", "{}", found["metadata"]);
    // Without a network that it can read kubelet calls no node Ready: it was this one.
    let networks = worker.output("ls /etc/cni/net.d && cat /etc/cni/net.d/*");
    assert!(
        networks.starts_with("10-quake-agent.conflist\n{") && networks.contains(POD_RANGE),
        "the agent's alone: {networks}"
    );
}
