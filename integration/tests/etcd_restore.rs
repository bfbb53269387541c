//! A real etcd-manager carries out what `etcd restore --execute` asks of it: the cluster that lost its
//! data has the keys of the backup afterwards. Skipped, with the reason, without root, without the
//! programs of kops (`QUAKE_KOPS_BIN`), or without etcd 3.4 (`QUAKE_ETCD_BIN`).

use quake_integration::agent;
use quake_integration::skip::skipped;
use quake_integration::waiting::wait_until;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const BACKUP: &str = "2026-11-26T01:00:00Z-000001";

/// etcd-manager restores snapshots of every etcd 3.4 with this one (its `pkg/etcdversions`).
const VERSION: &str = "3.4.13";

/// What etcd-manager says of a cluster whose data is gone, and once it has restored a backup.
const LOST: &str = "etcd has 0 members registered; must issue restore-backup command to proceed";
const RESTORED: &str = "restored 11 keys";

/// A cluster of one member whose volume is new, its state store, and its backup store.
struct Cluster {
    folder: TempDir,
}

impl Cluster {
    fn new(programs: &Path) -> Self {
        // Not in /tmp, which etcd-manager has one of its own of: it finds its peers there.
        let folder = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let cluster = Self { folder };
        let store = cluster.text("store");
        let base = cluster.text("state/c.example");
        let spec = format!(
            "kind: Cluster\nmetadata: {{name: c.example}}\nspec:\n  configBase: file://{base}\n  etcdClusters:\n  - name: main\n    version: {VERSION}\n    backups: {{backupStore: \"file://{store}\"}}\n    etcdMembers: [{{name: a}}]\n"
        );
        cluster.write("state/c.example/cluster-completed.spec", &spec);
        let wanted = format!(r#"{{"memberCount":1,"etcdVersion":"{VERSION}"}}"#);
        cluster.write("store/control/etcd-cluster-spec", &wanted);
        cluster.write("store/control/etcd-cluster-created", r#"{"timestamp":1}"#);
        // etcd-manager reads no key that it does not know.
        let meta =
            format!(r#"{{"etcdVersion":"{VERSION}","timestamp":"1","clusterSpec":{wanted}}}"#);
        cluster.write(&format!("store/{BACKUP}/_etcd_backup.meta"), &meta);
        let snapshot = "../agent/volumes/tests/volumes/snapshots/main-3.4.db.gz";
        let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join(snapshot);
        let data = cluster.at(&format!("store/{BACKUP}/etcd.backup.gz"));
        std::fs::copy(snapshot, data).expect("the directory is ours");
        let tag = |key: &str, value: &str| json!({"Key": key, "Value": value});
        let held = json!({"InstanceId": "i-0a", "VolumeId": "vol-0aa", "State": "attached", "Device": "/dev/xvdu"});
        let volume = json!({
            "VolumeId": "vol-0aa", "AvailabilityZone": "us-east-1a", "State": "in-use", "Size": 20,
            "CreateTime": "2026-11-26T02:11:12Z", "Attachments": [held], "VolumeType": "gp3",
            "Tags": [
                tag("KubernetesCluster", "c.example"), tag("k8s.io/role/master", "1"),
                tag("k8s.io/etcd/main", "a/a"),
            ],
        });
        cluster.write("volumes.json", &json!({ "Volumes": [volume] }).to_string());
        let opt = cluster.at(&format!("opt/etcd-v{VERSION}"));
        std::fs::create_dir_all(&opt).expect("the directory is ours");
        for name in ["etcd", "etcdctl"] {
            std::fs::copy(programs.join(name), opt.join(name)).expect("the directory is ours");
        }
        cluster
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        let parent = path.parent().expect("it is below the directory");
        std::fs::create_dir_all(parent).expect("the directory is ours");
        std::fs::write(path, text).expect("the directory is ours");
    }

    fn log(&self) -> String {
        let bytes = std::fs::read(self.at("manager.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn says(&self, text: &str) {
        let said = wait_until(Duration::from_secs(150), || self.log().contains(text));
        assert!(said, "{text} is not in: {}", self.log());
    }

    fn restore(&self, more: &[&str]) -> Value {
        let (state, volumes) = (self.text("state"), self.text("volumes.json"));
        let mut words = vec![
            "etcd",
            "restore",
            "--cluster",
            "c.example",
            "--output",
            "json",
        ];
        words.extend(["--state-store", &state, "--recorded", &volumes]);
        words.extend(more);
        let ended = agent::run(&words);
        assert_eq!(ended.status, 0, "{words:?}: {}", ended.text());
        serde_json::from_str(&ended.stdout).expect("it is JSON")
    }

    /// etcd-manager in a network and a mount namespace of its own, where its programs are in `/opt`.
    fn start(&self, manager: &Path) -> Manager {
        let program = self.at("manager");
        std::fs::copy(manager, &program).expect("the directory is ours");
        let script = "ip link set lo up && mount -t tmpfs tmpfs /tmp && mount --bind \"$0/opt\" /opt && exec \"$0/manager\" \"$@\"";
        let log = std::fs::File::create(self.at("manager.log")).expect("the directory is ours");
        let errors = log.try_clone().expect("it is open");
        let child = Command::new("unshare")
            .args(["-m", "-n", "-p", "-f", "--kill-child", "sh", "-c", script])
            .arg(self.folder.path())
            .args([
                "--cluster-name=etcd",
                "--insecure",
                "--etcd-insecure",
                "--v=2",
            ])
            .arg(format!("--backup-store=file://{}", self.text("store")))
            .arg(format!("--data-dir={}", self.text("data")))
            .args([
                "--client-urls=http://__name__:4001",
                "--peer-urls=http://__name__:2380",
            ])
            .args([
                "--quarantine-client-urls=http://__name__:3994",
                "--grpc-port=3996",
            ])
            .args(["--address=127.0.0.1", "--dns-suffix=internal.c.example"])
            .stdout(Stdio::from(log))
            .stderr(Stdio::from(errors))
            .spawn();
        Manager(child.expect("unshare runs"))
    }
}

struct Manager(Child);

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The programs; `None`, said aloud, where one is missing.
fn programs() -> Option<(PathBuf, PathBuf)> {
    let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let manager = named("QUAKE_KOPS_BIN").map(|folder| folder.join("etcd-manager"));
    let manager = manager.filter(|path| path.is_file());
    let Some(manager) = manager else {
        skipped("QUAKE_KOPS_BIN names no directory with etcd-manager");
        return None;
    };
    let etcd = named("QUAKE_ETCD_BIN").unwrap_or_else(|| PathBuf::from("/usr/bin"));
    let said = Command::new(etcd.join("etcd")).arg("--version").output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if !said.is_ok_and(|said| said.contains("etcd Version: 3.4.")) {
        skipped("QUAKE_ETCD_BIN names no directory with etcd 3.4");
        return None;
    }
    let root = Command::new("unshare").args(["-m", "-n", "true"]).status();
    if !root.is_ok_and(|status| status.success()) {
        skipped("this user can make no namespaces");
        return None;
    }
    Some((manager, etcd))
}

#[test]
fn a_cluster_that_lost_its_data_has_the_keys_of_the_backup_after_a_restore() {
    let Some((manager, etcd)) = programs() else {
        return;
    };
    let cluster = Cluster::new(&etcd);
    let _manager = cluster.start(&manager);
    cluster.says(LOST);
    let planned = cluster.restore(&["--plan"]);
    assert_eq!(planned["needsRestart"], false);
    let words = planned["consent"].as_str().expect("words of consent");
    let done = cluster.restore(&["--execute", "--consent", words]);
    let command = done["restored"]["command"].as_str().expect("a command");
    let command = PathBuf::from(command.trim_start_matches("file://"));
    cluster.says(RESTORED);
    // etcd-manager removes the command once it has carried it out.
    let gone = wait_until(Duration::from_secs(60), || !command.exists());
    assert!(gone, "{}", cluster.log());
    let after = cluster.restore(&["--plan", "--replace-healthy-quorum"]);
    assert_eq!(after["pending"], Value::Null);
}
