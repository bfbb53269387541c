//! An instance of a kops cluster whose user data is the kops CLI's, with nodeup's URL and hash pointed at the agent: cloud-init
//! runs the script, that fetches the agent as nodeup, and it installs `kops-configuration.service`, which makes the machine a
//! control plane. Then what docs/replace-nodeup.md has an operator do on a node: again, after a reboot, back to nodeup, and over again.

use crate::reboot::changed_by_reboot;
use quake_integration::machine::{
    AWS, Emulated, Golden, KOPS_INSTALL as INSTALL, KOPS_UNIT as UNIT, Kind, Lab, MachineBackend,
    OperatorOutput, assert_reported,
};

const CLUSTER: &str = "minimal.example.com";
const GROUP: &str = "master-us-test-1a";

/// What `diagnose` finds where etcd's volumes are mounted and etcd-manager does not run.
const NO_ETCD: &str = "etcd.data";

/// The manifests that wait for the volumes.
const ETCD_MANIFESTS: &str = "/etc/kubernetes/manifests/etcd-";

/// How the unit reaches EC2 here; the store of the configuration is named by kops' own variables.
const ENDPOINT: &str = "/etc/systemd/system/kops-configuration.service.d/50-region.conf";

#[test]
fn nodeup_replaced() {
    let Some(lab) = Lab::open("nodeup-replaced", Kind::Emulated) else {
        return;
    };
    let Some(golden) = Golden::publish(lab.vpc(), "minimal-1.35") else {
        return;
    };
    let volumes = ["main", "events"].map(|etcd| golden.add_volume(CLUSTER, (etcd, "a", &["a"])));
    let facts = golden.launch(&lab, CLUSTER, GROUP);
    let endpoint = format!("[Service]\nEnvironment=AWS_ENDPOINT_URL_EC2={AWS}\n");
    let layer = lab.bare().file(ENDPOINT, 0o644, endpoint);
    let mut machine = golden.boot(&lab, &facts, layer);
    becomes_a_control_plane(&machine);
    has_volumes(&machine, &volumes);
    is_installed_once(&machine);
    boots_again_without_a_change(&machine);
    // etcd-manager's manifests are written anew after each start of the machine, once the volumes are mounted.
    changed_by_reboot(&mut machine, &[ETCD_MANIFESTS]);
    has_volumes(&machine, &volumes);
    goes_back_and_over_again(&machine);
}

fn becomes_a_control_plane(machine: &Emulated) {
    machine.becomes_ready(90).expect("the node becomes ready");
    assert_reported(&machine.console(), &["quake-agent: READY"]);
    let shown = |property: &str| machine.shows(UNIT, property);
    let place = format!("/lib/systemd/system/{UNIT}");
    assert!(
        shown("FragmentPath").ends_with(&place),
        "where nodeup has it"
    );
    assert_eq!(shown("Type"), "notify");
    assert_eq!(shown("ActiveState"), "active");
    for unit in ["containerd.service", "kubelet.service"] {
        assert_eq!(machine.shows(unit, "ActiveState"), "active", "{unit}");
        assert_eq!(machine.shows(unit, "UnitFileState"), "enabled", "{unit}");
    }
    for path in [
        "/etc/kubernetes/manifests/kube-apiserver.manifest",
        "/etc/kubernetes/manifests/etcd-main-master-us-test-1a.manifest",
        "/srv/kubernetes/kube-apiserver/server.crt",
        "/var/lib/kubelet/kubeconfig",
    ] {
        assert!(machine.holds(&format!("test -s {path}")), "{path}");
    }
    // The keys of the store are where the unit reads them, and nowhere that is told.
    let environment = "/etc/sysconfig/kops-configuration";
    assert_eq!(
        machine.output(&format!("stat -c %a {environment}")).trim(),
        "600"
    );
    let names = machine.output(&format!("cut -d= -f1 {environment} | tr '\\n' ' '"));
    let wanted = "AWS_REGION S3_ENDPOINT S3_REGION S3_ACCESS_KEY_ID S3_SECRET_ACCESS_KEY";
    assert_eq!(names.trim(), wanted);
    let reported = "{ journalctl -b --no-pager; cat /var/lib/quake-agent/boots/*; cat /var/log/cloud-init-output.log; }";
    let leaks = format!("{reported} | grep -cF -e plantedSecretAccessKey || :");
    assert_eq!(
        machine.output(&leaks).trim(),
        "0",
        "no key of the store is told"
    );
    for requests in ["status", "wait --for=ready --timeout 5s", "timeline"] {
        machine.output(&format!("/usr/local/bin/quake-agent {requests}"));
        machine.output(&format!("/opt/kops/bin/nodeup {requests}"));
    }
    assert_reported(
        &machine.said(),
        &["kops-configuration.service", "certs     15; "],
    );
    let finished = machine.comes_true(
        "grep -q 'node config done' /var/log/cloud-init-output.log",
        30,
    );
    assert!(finished, "the script ends without waiting for the node");
    // While systemd starts the rest of a boot, an emulated processor keeps it from answering in time.
    let settled = machine.comes_true("systemctl list-jobs | grep -q '^No jobs'", 60);
    assert!(settled, "the boot ends");
    let found = machine
        .output("/usr/local/bin/quake-agent diagnose --offline --check-timeout 30s 2>&1 || :");
    // No pod runs here, and so no etcd: whatever else is found wrong follows from that.
    let causes: Vec<&str> = found
        .split("\nFAIL  ")
        .skip(1)
        .filter_map(|block| block.split("\n\n").next())
        .filter(|block| !block.contains("follows from etcd."))
        .filter_map(|block| block.split(' ').next())
        .collect();
    assert_eq!(causes, [NO_ETCD], "{found}");
}

/// Each volume is mounted where etcd-manager looks, with a filesystem of the agent's, and then etcd-manager's manifests are there.
fn has_volumes(machine: &Emulated, volumes: &[String]) {
    for volume in volumes {
        let mount = machine.output(&format!("findmnt -n -o FSTYPE,SOURCE /mnt/master-{volume}"));
        assert!(
            mount.starts_with("ext4") && mount.contains("/dev/nvme"),
            "{mount}"
        );
    }
    for etcd in ["main", "events"] {
        let manifest = format!("/etc/kubernetes/manifests/etcd-{etcd}-{GROUP}.manifest");
        assert!(machine.holds(&format!("test -s {manifest}")), "{manifest}");
    }
}

/// The installer writes what is not as it should be, and starts what is not running as it is installed.
fn is_installed_once(machine: &Emulated) {
    let process = machine.shows(UNIT, "MainPID");
    let said = machine.output(INSTALL);
    assert!(!said.contains("written"), "{said}");
    assert_eq!(
        machine.shows(UNIT, "MainPID"),
        process,
        "nothing is restarted"
    );
    // As after an installation that was killed: the unit's file is not the one that systemd has read.
    let unit = machine.shows(UNIT, "FragmentPath");
    machine.output(&format!(
        "sed -i s/quake-agent,/x/ {unit} && rm /etc/systemd/system/multi-user.target.wants/{UNIT}"
    ));
    let said = machine.output(INSTALL);
    let place = format!("written  /usr/lib/systemd/system/{UNIT}");
    assert_reported(&said, &[&place]);
    assert_eq!(machine.shows(UNIT, "NeedDaemonReload"), "no");
    assert_eq!(machine.shows(UNIT, "UnitFileState"), "enabled");
    let other = format!("test $(systemctl show --value -p MainPID {UNIT}) != {process}");
    assert!(machine.comes_true(&other, 60), "what ran was older");
    machine.becomes_ready(60).expect("it is ready again");
    killed_at_any_line(machine);
    let wrong = "cd /opt/kops/bin && ./nodeup --no-such 2>&1; test $? = 2";
    assert_reported(&machine.output(wrong), &["--no-such"]);
}

/// Whenever the installer is killed, the next one completes what it began.
fn killed_at_any_line(machine: &Emulated) {
    for seconds in ["0.1", "0.4", "0.8"] {
        let begin = format!(
            "set -a; . /etc/sysconfig/kops-configuration; set +a
rm -f /etc/sysconfig/kops-configuration /usr/lib/systemd/system/{UNIT} /etc/systemd/system/quake-agent.service
rm -f /etc/systemd/system/multi-user.target.wants/{UNIT}
cd /opt/kops/bin
timeout -s KILL {seconds} ./nodeup --install-systemd-unit --conf=/opt/kops/conf/kube_env.yaml --v=8 || :
./nodeup --install-systemd-unit --conf=/opt/kops/conf/kube_env.yaml --v=8
test $(stat -c %a /etc/sysconfig/kops-configuration) = 600
test $(grep -c = /etc/sysconfig/kops-configuration) = 5
systemctl is-enabled --quiet {UNIT}
test $(systemctl show --value -p NeedDaemonReload {UNIT}) = no"
        );
        machine.output(&begin);
    }
    let left =
        "ls -A /etc/sysconfig /usr/lib/systemd/system /etc/systemd/system | grep -c '^[.]' || :";
    assert_eq!(
        machine.output(left).trim(),
        "0",
        "nothing half written is left"
    );
    machine.becomes_ready(60).expect("it is ready again");
}

fn boots_again_without_a_change(machine: &Emulated) {
    let (before, running) = (settled(machine), machine.programs_started());
    restart(machine);
    machine.becomes_ready(60).expect("it is ready again");
    assert_eq!(machine.changed_steps(), Vec::<String>::new());
    assert_eq!(settled(machine), before, "nothing is written");
    assert_eq!(machine.programs_started(), running, "nothing is restarted");
    let planned = machine.output(&format!(
        "set -a; . /etc/sysconfig/kops-configuration; AWS_ENDPOINT_URL_EC2={AWS}; /opt/kops/bin/nodeup --conf /opt/kops/conf/kube_env.yaml --dryrun 2>&1",
    ));
    assert_eq!(
        settled(machine),
        before,
        "a dry run writes nothing: {planned}"
    );
}

/// Back: nodeup in the agent's place installs its own unit over the agent's. A script stands in for nodeup and writes what
/// nodeup 1.36 writes.
fn goes_back_and_over_again(machine: &Emulated) {
    let running = machine.programs_started();
    machine.output("cp /opt/kops/bin/nodeup /root/agent");
    let put = format!(
        "cat > /opt/kops/bin/nodeup.new <<'EOF'\n{NODEUP}EOF\nchmod 755 /opt/kops/bin/nodeup.new && mv /opt/kops/bin/nodeup.new /opt/kops/bin/nodeup"
    );
    machine.output(&put);
    machine.output(INSTALL);
    assert!(
        machine.comes_true("test -e /run/nodeup-ran", 30),
        "nodeup runs"
    );
    assert_eq!(machine.shows(UNIT, "Type"), "oneshot");
    assert_eq!(
        machine.shows(UNIT, "DropInPaths"),
        ENDPOINT,
        "the test's alone"
    );
    assert!(machine.holds("! pgrep -x nodeup"), "no agent is left");
    assert_eq!(machine.programs_started(), running, "the node goes on");
    let left = machine.output("/usr/local/bin/quake-agent timeline >/dev/null && readlink /etc/systemd/system/quake-agent.service");
    assert!(
        left.trim().ends_with(UNIT),
        "the agent's name leads to nodeup's unit"
    );
    // Over again, in place: nothing of the node is another than before.
    let before = settled(machine);
    machine.output("mv /root/agent /opt/kops/bin/nodeup");
    // nodeup's own unit runs the agent as it runs nodeup: to its end.
    machine.output(&format!("timeout 600 systemctl restart {UNIT}"));
    assert_eq!(machine.changed_steps(), Vec::<String>::new());
    assert_eq!(settled(machine), before);
    machine.output(INSTALL);
    machine
        .becomes_ready(60)
        .expect("the agent stays with the node");
    assert_eq!(machine.shows(UNIT, "Type"), "notify");
    assert_eq!(machine.programs_started(), running, "the node goes on");
}

fn restart(machine: &Emulated) {
    let restarted = machine.run(&format!("systemctl restart {UNIT}"), machine.second() * 60);
    assert_eq!(restarted.map(|ran| ran.status), Ok(0));
}

/// The node's files, less those of nodeup's own and the installer's.
fn settled(machine: &Emulated) -> Vec<(String, String)> {
    // Keep what the test itself puts there out of it.
    let own = |path: &str| {
        let is_etcd = path.starts_with(ETCD_MANIFESTS);
        path.starts_with("/opt/kops/bin/nodeup") || path.contains(UNIT) || is_etcd
    };
    let files = machine.node_files().into_iter();
    files.filter(|(path, _)| !own(path)).collect()
}

const NODEUP: &str = r#"#!/bin/sh
set -eu
case "$*" in
*--install-systemd-unit*) ;;
*)
    touch /run/nodeup-ran
    exit 0
    ;;
esac
cat >/usr/lib/systemd/system/kops-configuration.service <<UNIT
[Unit]
Description=Run kOps bootstrap (nodeup)
Documentation=https://github.com/kubernetes/kops

[Service]
EnvironmentFile=/etc/sysconfig/kops-configuration
EnvironmentFile=/etc/environment
ExecStart=/opt/kops/bin/nodeup --conf=/opt/kops/conf/kube_env.yaml --v=8
Type=oneshot

[Install]
WantedBy=multi-user.target
UNIT
systemctl daemon-reload
systemctl restart --no-block kops-configuration.service
systemctl enable kops-configuration.service
"#;
