//! Nodes that become ready although every service is throttled and fails now and then.

use crate::lab::{ASSETS, BUCKET, KEY, Lab, encoded_key, objects, programs};
use quake_integration::agent::{Running, run_command};
use quake_integration::http::{Endpoint, get};
use quake_integration::moto::Moto;
use quake_integration::node::CLUSTER;
use quake_integration::proxy::{Service, Unfriendly};
use quake_integration::random::Random;
use quake_integration::skip::{SetUpError, is_root, unless_missing};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// What is not real on a worker.
const REAL_CLOUD: &str = "disks,kernel,units,probes";

/// What is not real on a control plane: its volumes are those of a simulated region.
const SIMULATED_CLOUD: &str = "cloud,disks,kernel,units,probes";

/// The most requests of an undisturbed boot of a worker and those that throttles and chance may add; far
/// below the agent's own budget.
const MOST: [(&str, u64); 3] = [("imds", 12), ("ec2", 20), ("s3", 100)];

/// What is in the state store; the rest a node needs are stand-ins.
const KEYPAIRS: &[&str] = &["ca", "kubelet", "kube-proxy"];

/// moto with a state store and assets, behind a proxy that lets one request of each service pass in
/// so much time, and lets five of a hundred fail.
struct Aws {
    moto: Moto,
    proxy: Arc<Unfriendly>,
}

impl Aws {
    fn start(pace: Duration) -> Result<Self, SetUpError> {
        if !is_root() {
            let what = "network namespaces can be made by root alone";
            return Err(SetUpError::Missing(what.to_owned()));
        }
        let moto = Moto::start()?;
        for (key, bytes) in objects(KEYPAIRS) {
            moto.put_object(BUCKET, &key, &bytes)
                .map_err(|error| error.to_string())?;
        }
        for (path, bytes) in programs().all() {
            moto.put_object(ASSETS, path.trim_start_matches('/'), bytes)
                .map_err(|error| error.to_string())?;
        }
        let random = Random::from_environment();
        let proxy = Unfriendly::before(moto.address(), pace, 20, random);
        Ok(Self {
            moto,
            proxy: Arc::new(proxy),
        })
    }

    fn launch(&self) -> String {
        let cluster = format!("kubernetes.io/cluster/{CLUSTER}");
        let tags = [
            ("KubernetesCluster", CLUSTER),
            (cluster.as_str(), "owned"),
            ("k8s.io/role/node", "1"),
            ("Name", "nodes.demo.quake.example"),
        ];
        self.moto
            .run_instance(&tags)
            .expect("moto launches an instance")
    }
}

/// Requests to one service, as the agent counted them.
fn counted(summary: &Value, service: &str) -> u64 {
    let calls = summary["calls"].as_object().cloned().unwrap_or_default();
    let of_service = |call: &String| call.split(':').next() == Some(service);
    calls
        .iter()
        .filter(|(call, _)| of_service(call))
        .filter_map(|(_, count)| count.as_u64())
        .sum()
}

/// Everything that the endpoint of this boot shows.
fn bodies(lab: &Lab) -> Vec<String> {
    let socket = Endpoint::Unix(lab.root().join("run/quake-agent/quake-agent.sock"));
    let paths = [
        "/readyz?verbose",
        "/v1/status",
        "/v1/timeline",
        "/v1/timeline?format=text",
        "/v1/events",
        "/metrics",
        "/version",
    ];
    paths
        .map(|path| {
            let answer = get(&socket, path).expect("the endpoint answers");
            assert_eq!(answer.status, 200, "{path}");
            answer.text()
        })
        .into()
}

#[test]
fn a_worker_becomes_ready_on_a_throttled_and_failing_aws_within_its_budget() {
    let Some(aws) = unless_missing(Aws::start(Duration::from_secs(1))) else {
        return;
    };
    let proxy = Arc::clone(&aws.proxy);
    let lab = Lab::with_aws(move |request| proxy.answer(request));
    let Some(mut lab) = unless_missing(lab) else {
        return;
    };
    let instance = aws.launch();
    let pins = programs().pins(&format!("{}/{ASSETS}", lab.endpoint()));
    lab.add_instance(&instance, "workers", &pins);
    let mut running = Running::start(lab.boot(REAL_CLOUD, &[]));
    let found = running.wait_for("{\"schemaVersion\":\"quake-agent/summary/v1\",");
    let rest = found.unwrap_or_else(|shown| format!("\"shown\":{}}}", Value::from(shown)));
    let summary: Value = serde_json::from_str(&format!("{{{rest}")).expect("the summary is JSON");
    assert_eq!(
        (&summary["result"], &summary["node"]["instanceId"]),
        (&"ready".into(), &instance.as_str().into()),
        "{summary}"
    );
    let source = summary["spec"]["source"].as_str().unwrap_or_default();
    let cluster = format!("s3://{BUCKET}/{KEY}/cluster.spec");
    assert!(source.contains(&cluster), "{summary}");
    check_budget(&summary, &aws.proxy, lab.metadata_requests());
    let shown = bodies(&lab);
    running.terminate().expect("it runs");
    let ended = running.end(Duration::from_secs(20));
    assert_eq!(ended.status, 0, "{}", ended.text());
    let mut texts: Vec<&str> = shown.iter().map(String::as_str).collect();
    texts.extend([ended.stdout.as_str(), ended.stderr.as_str()]);
    assert_eq!(lab.leaks(&texts), Vec::<String>::new());
    check_files(&lab);
    write_nothing(&lab);
}

/// One more boot over the same root is ready as well, and has nothing to do.
fn write_nothing(lab: &Lab) {
    let again = run_command(lab.boot(REAL_CLOUD, &["--exit-when-ready"])).summary();
    assert_eq!(
        (&again["result"], &again["writes"]),
        (&"ready".into(), &0.into()),
        "{again}"
    );
}

#[test]
fn a_control_plane_becomes_ready_with_the_volumes_of_its_region() {
    let Some(aws) = unless_missing(Aws::start(Duration::from_millis(150))) else {
        return;
    };
    let proxy = Arc::clone(&aws.proxy);
    let lab = Lab::with_aws(move |request| proxy.answer(request));
    let Some(mut lab) = unless_missing(lab) else {
        return;
    };
    let instance = "i-0123456789abcdef0";
    let pins = programs().pins(&format!("{}/{ASSETS}", lab.endpoint()));
    lab.add_instance(instance, "control-plane", &pins);
    lab.plant_region(instance, "control-plane");
    let ended = run_command(lab.boot(SIMULATED_CLOUD, &["--exit-when-ready"]));
    let summary = ended.summary();
    assert_eq!(
        (ended.status, &summary["result"]),
        (0, &"ready".into()),
        "{summary}"
    );
    assert_eq!(summary["spec"]["role"], "control-plane");
    println!(
        "s3 {:?}, counted {}",
        aws.proxy.counts(Service::S3),
        summary["calls"]
    );
    assert!(counted(&summary, "s3") <= 150, "{}", summary["calls"]);
    assert_eq!(
        lab.leaks(&[&ended.stdout, &ended.stderr]),
        Vec::<String>::new()
    );
    for manifest in [
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "etcd",
        "etcd-events",
    ] {
        let path = lab
            .root()
            .join(format!("etc/kubernetes/manifests/{manifest}.manifest"));
        assert!(path.is_file(), "{manifest}");
    }
}

fn check_budget(summary: &Value, proxy: &Unfriendly, metadata: usize) {
    let (ec2, s3) = (proxy.counts(Service::Ec2), proxy.counts(Service::S3));
    println!(
        "ec2 {ec2:?}, s3 {s3:?}, metadata {metadata}, counted {}",
        summary["calls"]
    );
    assert_eq!(
        counted(summary, "ec2"),
        ec2.all(),
        "the agent counts every request to EC2"
    );
    assert_eq!(
        counted(summary, "imds"),
        metadata as u64,
        "and to the metadata service"
    );
    assert!(
        s3.throttled > 0 && s3.failed > 0,
        "the proxy throttled and failed: {s3:?}"
    );
    let assets = summary["changed"].as_array().map_or(0, |changed| {
        changed
            .iter()
            .filter(|step| {
                step.as_str()
                    .is_some_and(|step| step.starts_with("assets:"))
            })
            .count()
    });
    assert!(
        assets >= 3 && counted(summary, "s3") < s3.all(),
        "assets come from S3 too: {summary}"
    );
    for (service, most) in MOST {
        let made = counted(summary, service);
        assert!(
            made > 0 && made <= most,
            "{made} requests to {service}: {}",
            summary["calls"]
        );
    }
}

/// The files are those of the mirror, and the key is where it belongs and nobody else may read it.
fn check_files(lab: &Lab) {
    use std::os::unix::fs::PermissionsExt;
    let root = lab.root();
    let kubelet =
        std::fs::read(root.join("usr/local/bin/kubelet")).expect("kubelet is in its place");
    assert_eq!(
        programs().at("/bin/linux/amd64/kubelet"),
        Some(kubelet.as_slice())
    );
    for plugin in ["bridge", "host-local", "loopback"] {
        assert!(root.join("opt/cni/bin").join(plugin).is_file(), "{plugin}");
    }
    let kubeconfig = root.join("var/lib/kubelet/kubeconfig");
    let text = std::fs::read_to_string(&kubeconfig).expect("kubelet has a kubeconfig");
    assert!(text.contains(&encoded_key()), "the planted key is in use");
    let metadata = std::fs::metadata(&kubeconfig).expect("it was read a line above");
    assert_eq!(metadata.permissions().mode() & 0o077, 0);
}
