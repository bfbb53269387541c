//! What happens to a cluster later: restarts, another instance for the control plane, nodeup in the agent's place and back,
//! another build of the agent, and certificates that come of age.

use super::members::KUBECTL;
use super::times::Times;
use super::{CLUSTER, RealCluster, stand_ins};
use quake_integration::machine::{
    KOPS_INSTALL, KOPS_UNIT, Layer, MIRROR, MachineBackend, Programs,
};
use std::path::Path;

/// The workers are restarted, one after the other.
pub(super) fn workers_restart(cluster: &mut RealCluster<'_>) {
    let mut workers = std::mem::take(&mut cluster.workers);
    for worker in &mut workers {
        worker.restart();
        cluster.becomes_ready(worker);
    }
    cluster.workers = workers;
    for worker in &cluster.workers {
        stand_ins::connect(cluster, worker);
    }
    cluster.note("both workers were restarted");
}

/// The control plane is restarted.
pub(super) fn control_plane_restarts(cluster: &mut RealCluster<'_>) {
    let mut node = cluster.control_plane.take().expect("it runs");
    node.restart();
    cluster.control_plane = Some(node);
    cluster.becomes_ready(cluster.master());
    stand_ins::connect(cluster, cluster.master());
    cluster.note("the control plane was restarted");
}

/// Another instance, which this program boots, takes the control plane's place: the volumes move to it, and what the
/// cluster knew is there.
pub(super) fn control_plane_is_replaced(
    cluster: &mut RealCluster<'_>,
    program: &Path,
    more: impl Fn(Layer) -> Layer,
) -> Times {
    let before = cluster.kubectl("get deployment web -o jsonpath='{.metadata.uid}'");
    let mut old = cluster.control_plane.take().expect("it runs");
    old.machine.cut_power();
    let ec2 = cluster.lab.vpc().ec2();
    ec2.terminate(&old.name);
    let times = cluster.begin_control_plane_by(program, more);
    let after = cluster.kubectl("get deployment web -o jsonpath='{.metadata.uid}'");
    assert_eq!(after, before, "the data of {CLUSTER} is there");
    cluster.kubectl(&format!("delete node {}", &old.name));
    for worker in &cluster.workers {
        cluster.becomes_ready(worker);
        stand_ins::connect(cluster, worker);
    }
    cluster.note("the control plane has another instance, with the data of the one before");
    times
}

/// On one worker after the other the real nodeup takes the agent's place; then each is given back. The nodes go on as they
/// are.
pub(super) fn nodeup_and_back(cluster: &RealCluster<'_>, programs: &Programs) {
    let nodeup = std::fs::read(programs.kops.join("nodeup")).expect("nodeup is given");
    cluster.lab.vpc().serve("/real/nodeup", nodeup);
    let all = || {
        cluster
            .workers
            .iter()
            .map(|worker| worker.machine.programs_started())
    };
    let started: Vec<_> = all().collect();
    for worker in &cluster.workers {
        let machine = &worker.machine;
        machine.output(&format!(
            "cd /opt/kops/bin && cp nodeup /root/agent && curl -sfo new {MIRROR}/real/nodeup && chmod 755 new && mv new nodeup"
        ));
        machine.output(KOPS_INSTALL);
        let done = format!("systemctl show -p ActiveState --value {KOPS_UNIT} | grep -q inactive");
        let ended = machine.comes_true(&done, 300);
        let journal = || machine.output(&format!("journalctl --no-pager -n 40 -u {KOPS_UNIT}"));
        assert!(ended, "nodeup comes to its end: {}", journal());
        cluster.becomes_ready(worker);
    }
    cluster.note("nodeup ran in the agent's place on both workers");
    for worker in &cluster.workers {
        let machine = &worker.machine;
        machine.output("mv /root/agent /opt/kops/bin/nodeup");
        machine.output(KOPS_INSTALL);
        let ready = machine.becomes_ready(120);
        ready.expect("the agent is ready again");
        cluster.becomes_ready(worker);
    }
    assert_eq!(all().collect::<Vec<_>>(), started, "the nodes went on");
    cluster.note("the agent is back on both, and no program was restarted");
}

/// On a worker another build of the agent takes the place of the one that runs, and nothing else is touched.
pub(super) fn agent_is_upgraded(cluster: &RealCluster<'_>) {
    let worker = &cluster.workers[1];
    let machine = &worker.machine;
    let process = machine.shows(KOPS_UNIT, "MainPID");
    let started = machine.programs_started();
    // What is behind a program's end makes it another file, and no other program.
    machine.output("cd /opt/kops/bin && cp nodeup new && echo >> new && mv new nodeup");
    machine.output(KOPS_INSTALL);
    let other = format!("test $(systemctl show --value -p MainPID {KOPS_UNIT}) != {process}");
    assert!(machine.comes_true(&other, 60), "what ran was older");
    let ready = machine.becomes_ready(60);
    ready.expect("the agent is ready again");
    cluster.becomes_ready(worker);
    assert_eq!(machine.programs_started(), started, "the node went on");
    cluster.note("the agent was upgraded on a worker, and no program was restarted");
}

/// What the case has become due of the control plane's certificates: what kubelet shows, and what a pod reads once.
const DUE: [&str; 2] = ["kube-scheduler", "kubelet"];

/// Puts certificates in the place of those that the agent holds, which are the same but for their dates: two thirds of
/// their time are over.
const MAKE_DUE: &str = r#"set -eu
cd "$(mktemp -d)"
: > index
cat > ca.conf <<'EOF'
[ca]
default_ca = cluster
[cluster]
database = index
new_certs_dir = .
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
copy_extensions = copy
[any]
organizationName = optional
commonName = supplied
EOF
day() { date -u -d "$1 days" +%Y%m%d%H%M%SZ; }
for name in NAMES; do
    held=/var/lib/quake-agent/certificates/$name.pem
    openssl x509 -in $held -out old.crt
    openssl pkey -in $held -out key
    awk '/BEGIN CERTIFICATE/ { certificates++ } certificates > 1' $held > ca.crt
    openssl x509 -in old.crt -signkey key -x509toreq -copy_extensions copyall -out request
    openssl ca -batch -notext -config ca.conf -in request -out new.crt -startdate "$(day -300)" -enddate "$(day 60)" \
        -cert /srv/kubernetes/ca.crt -keyfile /srv/kubernetes/kube-controller-manager/ca.key
    cat new.crt key ca.crt > $held
done
"#;

/// Certificates of the control plane that come of age are renewed while the node runs, and what reads them is started anew.
pub(super) fn certificates_are_renewed(cluster: &RealCluster<'_>) {
    let node = cluster.master();
    let machine = &node.machine;
    let started = machine.programs_started();
    // While the boot waits for the pod network its certificates have been looked at, and the agent that stays has not begun.
    machine.output("rm /etc/cni/net.d/10-routed.conflist");
    machine.output(&format!("systemctl restart --no-block {KOPS_UNIT}"));
    let waits = machine.comes_true("quake-agent status | grep -q ready.cni-missing", 60);
    assert!(waits, "{}", machine.output("quake-agent status || :"));
    machine.output(&MAKE_DUE.replace("NAMES", &DUE.join(" ")));
    let restarts = format!(
        "{KUBECTL} -n kube-system get pod kube-scheduler-{} -o jsonpath='{{.status.containerStatuses[0].restartCount}}'",
        node.name
    );
    let before = machine.output(&restarts);
    stand_ins::connect(cluster, node);
    let ready = machine.becomes_ready(60);
    ready.expect("the node is ready again");
    let renewed =
        "grep -q certificates-renewed $(ls /var/lib/quake-agent/boots/*.jsonl | tail -n 1)";
    let renewed = machine.comes_true(renewed, 60);
    assert!(
        renewed,
        "{}",
        machine.output("journalctl --no-pager -n 40 -u kops-configuration")
    );
    let names = &machine.last_event("certificates-renewed")["names"];
    assert_eq!(*names, serde_json::json!(DUE));
    for name in DUE {
        let held = format!("/var/lib/quake-agent/certificates/{name}.pem");
        let lasts = format!("openssl x509 -in {held} -noout -checkend $((400 * 24 * 3600))");
        assert!(machine.holds(&lasts), "{name} is new");
    }
    let [runtime, kubelet] = machine.programs_started();
    assert_eq!(runtime, started[0], "the runtime reads none");
    assert_ne!(kubelet, started[1], "kubelet reads its own once");
    cluster.becomes_ready(node);
    let restarted = machine.comes_true(&format!("test $({restarts}) -gt {before}"), 60);
    assert!(restarted, "kube-scheduler reads its own once");
    cluster.note("certificates of the control plane were renewed");
}
