//! Real etcd-managers carry out what `etcd restore --execute` asks of them: a cluster that lost the volumes of one, two
//! or three members is refused by name or has the keys of the backup afterwards. Skipped, with the reason, without root,
//! without the programs of kops (`QUAKE_KOPS_BIN`), or without etcd 3.4 (`QUAKE_ETCD_BIN`).

use quake_integration::agent;
use quake_integration::namespace::Namespace;
use quake_integration::skip::{skipped, unless_missing};
use quake_integration::waiting::wait_until;
use quake_model::time::Timestamp;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

const OLD: &str = "2026-11-26T01:00:00Z-000001";
const FRESH: &str = "2026-11-26T02:00:00Z-000001";

/// etcd-manager restores snapshots of every etcd 3.4 with this one (its `pkg/etcdversions`).
const VERSION: &str = "3.4.13";

/// What etcd-manager says of a cluster whose data is gone.
const LOST: &str = "etcd has 0 members registered; must issue restore-backup command to proceed";

/// How many keys the old backup has, and how many were written before the fresh one.
const OLD_KEYS: usize = 11;
const MORE_KEYS: usize = 4;

/// What an operator says who knows that etcd is down, where nobody can ask it.
const DOWN: &str = "--replace-healthy-quorum";

const MEMBERS: [&str; 3] = ["a", "b", "c"];

/// Three members, each with an etcd-manager on an address of its own, their state store, and their backup store.
struct Cluster {
    folder: TempDir,
    network: Namespace,
    managers: [Option<Manager>; 3],
}

struct Manager(Child);

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Cluster {
    /// A cluster that was created some time ago and has one backup; nothing runs.
    fn new(manager: &Path, programs: &Path) -> Option<Self> {
        // Not in /tmp, which etcd-managers have one of their own of: they find their peers there.
        let folder = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let cluster = Self {
            folder,
            network: unless_missing(Namespace::bare())?,
            managers: [None, None, None],
        };
        let (store, base) = (cluster.text("store"), cluster.text("state/c.example"));
        let members = MEMBERS.map(|name| format!("{{name: {name}}}")).join(", ");
        let spec = format!(
            "kind: Cluster\nmetadata: {{name: c.example}}\nspec:\n  configBase: file://{base}\n  etcdClusters:\n  - name: main\n    version: {VERSION}\n    backups: {{backupStore: \"file://{store}\"}}\n    etcdMembers: [{members}]\n"
        );
        cluster.write("state/c.example/cluster-completed.spec", &spec);
        cluster.write("store/control/etcd-cluster-spec", &wanted());
        cluster.write("store/control/etcd-cluster-created", r#"{"timestamp":1}"#);
        let snapshot = "../agent/volumes/tests/volumes/snapshots/main-3.4.db.gz";
        let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join(snapshot);
        cluster.back_up(OLD, &fs::read(snapshot).expect("it is there"));
        let opt = cluster.at(&format!("opt/etcd-v{VERSION}"));
        fs::create_dir_all(&opt).expect("the directory is ours");
        for name in ["etcd", "etcdctl"] {
            fs::copy(programs.join(name), opt.join(name)).expect("the directory is ours");
        }
        fs::copy(manager, cluster.at("manager")).expect("the directory is ours");
        fs::create_dir(cluster.at("tmp")).expect("the directory is ours");
        Some(cluster)
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
        fs::create_dir_all(parent).expect("the directory is ours");
        fs::write(path, text).expect("the directory is ours");
    }

    /// Puts a packed snapshot into the backup store.
    fn back_up(&self, name: &str, packed: &[u8]) {
        // etcd-manager reads no key that it does not know.
        let wanted = wanted();
        let meta =
            format!(r#"{{"etcdVersion":"{VERSION}","timestamp":"1","clusterSpec":{wanted}}}"#);
        self.write(&format!("store/{name}/_etcd_backup.meta"), &meta);
        let data = self.at(&format!("store/{name}/etcd.backup.gz"));
        fs::write(data, packed).expect("the directory is ours");
    }

    /// These members' volumes are gone, and new ones are in their place. Their etcd-managers have ended with them.
    fn lose(&mut self, lost: std::ops::Range<usize>) {
        for member in lost {
            self.managers[member] = None;
            let data = self.at(&format!("data-{member}"));
            // Its peers find it no more: an etcd-manager with a new volume has a new identity.
            if let Ok(identity) = fs::read_to_string(data.join("myid")) {
                let _ = fs::remove_file(self.at("tmp/discovery").join(identity.trim()));
            }
            let _ = fs::remove_dir_all(data);
        }
    }

    /// EC2 as the AWS CLI describes it: the volumes of the first `lost` members were made just now.
    fn record(&self, lost: usize) {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("it is later");
        let now = Timestamp(u64::try_from(since.as_millis()).expect("it is soon"));
        let volume = |(at, member): (usize, &str)| {
            let created = match at < lost {
                true => now.to_string(),
                false => "2026-11-01T00:00:00Z".to_owned(),
            };
            let tag = |key: &str, value: &str| json!({"Key": key, "Value": value});
            let (id, instance) = (format!("vol-0{member}"), format!("i-0{member}"));
            json!({
                "VolumeId": id, "AvailabilityZone": "us-east-1a", "State": "in-use", "Size": 20,
                "CreateTime": created, "VolumeType": "gp3", "Attachments": [{
                    "InstanceId": instance, "VolumeId": id, "State": "attached", "Device": "/dev/xvdu",
                }],
                "Tags": [
                    tag("KubernetesCluster", "c.example"), tag("k8s.io/role/master", "1"),
                    tag("k8s.io/etcd/main", &format!("{member}/{}", MEMBERS.join(","))),
                ],
            })
        };
        let volumes: Vec<Value> = MEMBERS.into_iter().enumerate().map(volume).collect();
        self.write("volumes.json", &json!({ "Volumes": volumes }).to_string());
    }

    fn restore(&self, more: &[&str]) -> agent::Ended {
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
        agent::run(&words)
    }

    /// The cells of so many lost volumes: what is refused, and that nothing is asked of etcd-manager by it.
    fn is_planned(&self, lost: usize) {
        self.record(lost);
        for backup in [OLD, FRESH] {
            let refused = self.restore(&["--plan", "--backup", backup]);
            assert_eq!(refused.status, 80, "{lost} lost: {}", refused.text());
            assert!(
                refused.text().contains("etcd.quorum-healthy"),
                "{}",
                refused.text()
            );
        }
        let (store, away) = (self.at("store"), self.at("away"));
        fs::create_dir(&away).expect("the directory is ours");
        let kept: Vec<_> = fs::read_dir(&store)
            .expect("ours")
            .flatten()
            .map(|it| it.file_name())
            .collect();
        let backups: Vec<_> = kept.iter().filter(|name| *name != "control").collect();
        for name in &backups {
            fs::rename(store.join(name), away.join(name)).expect("the directory is ours");
        }
        let refused = self.restore(&["--plan", DOWN]);
        assert!(
            refused.text().contains("etcd.backup-missing"),
            "{}",
            refused.text()
        );
        for name in &backups {
            fs::rename(away.join(name), store.join(name)).expect("the directory is ours");
        }
        fs::remove_dir(&away).expect("it is empty");
        let controls = fs::read_dir(store.join("control")).expect("ours").flatten();
        let commands = controls
            .filter(|it| it.path().join("_command.json").exists())
            .count();
        assert_eq!(commands, 0, "{lost} lost: nothing was asked");
    }

    /// Asks for a restore, restarts etcd-managers where the plan says so, and counts the keys.
    fn is_restored(&mut self, lost: usize, backup: &str, keys: usize) {
        let planned = self.restore(&["--plan", "--backup", backup, DOWN]);
        assert_eq!(planned.status, 0, "{}", planned.text());
        let planned: Value = serde_json::from_str(&planned.stdout).expect("it is JSON");
        assert_eq!(planned["needsRestart"], lost < MEMBERS.len(), "{planned}");
        let words = planned["consent"].as_str().expect("words of consent");
        let done = self.restore(&["--execute", "--backup", backup, DOWN, "--consent", words]);
        assert_eq!(done.status, 0, "{}", done.text());
        let done: Value = serde_json::from_str(&done.stdout).expect("it is JSON");
        let command = done["restored"]["command"].as_str().expect("a command");
        let command = PathBuf::from(command.trim_start_matches("file://"));
        for member in lost..MEMBERS.len() {
            self.managers[member] = None;
        }
        self.start();
        // etcd-manager removes the command once it has carried it out.
        let gone = wait_until(Duration::from_secs(240), || !command.exists());
        assert!(gone, "{lost} lost: {}", self.logs());
        let counted = wait_until(Duration::from_secs(120), || self.keys() == Some(keys));
        assert!(
            counted,
            "{lost} lost: {:?} keys: {}",
            self.keys(),
            self.logs()
        );
        let after = self.restore(&["--plan", "--backup", backup, DOWN]);
        let after: Value = serde_json::from_str(&after.stdout).expect("it is JSON");
        assert_eq!(after["pending"], Value::Null);
    }

    /// Starts the etcd-managers that do not run, each in a mount namespace of its own, where its programs are in `/opt`
    /// and the names of its peers in `/etc/hosts`.
    fn start(&mut self) {
        for member in 0..MEMBERS.len() {
            if self.managers[member].is_none() {
                self.managers[member] = Some(self.started(member));
            }
        }
    }

    fn started(&self, member: usize) -> Manager {
        let script = "mount --bind \"$0/tmp\" /tmp && mount --bind \"$1\" /etc/hosts && mount --bind \"$0/opt\" /opt && program=$0 && shift && exec \"$program/manager\" \"$@\"";
        let (hosts, address) = (format!("hosts-{member}"), format!("127.0.0.{}", member + 1));
        self.write(&hosts, "127.0.0.1 localhost\n");
        let mut command = Command::new("unshare");
        command
            .args(["-m", "-p", "-f", "--kill-child", "sh", "-c", script])
            .arg(self.folder.path())
            .arg(self.at(&hosts))
            .args([
                "--cluster-name=etcd",
                "--insecure",
                "--etcd-insecure",
                "--v=2",
            ])
            .arg(format!("--backup-store=file://{}", self.text("store")))
            .arg(format!(
                "--data-dir={}",
                self.text(&format!("data-{member}"))
            ))
            .args([
                "--client-urls=http://__name__:4001",
                "--peer-urls=http://__name__:2380",
            ])
            .args([
                "--quarantine-client-urls=http://__name__:3994",
                "--grpc-port=3996",
            ])
            .arg(format!("--address={address}"))
            .arg(format!("--etcd-address={address}"))
            .args([
                "--discovery-poll-interval=5s",
                "--dns-suffix=internal.c.example",
            ]);
        let log = fs::File::create(self.at(&format!("manager-{member}.log"))).expect("ours");
        let errors = log.try_clone().expect("it is open");
        let mut inside = self.network.inside(&command);
        let child = inside
            .stdout(Stdio::from(log))
            .stderr(Stdio::from(errors))
            .spawn();
        Manager(child.expect("ip runs"))
    }

    fn logs(&self) -> String {
        let log = |member| fs::read(self.at(&format!("manager-{member}.log"))).unwrap_or_default();
        let logs = (0..MEMBERS.len()).map(log);
        logs.map(|log| String::from_utf8_lossy(&log).into_owned())
            .collect()
    }

    /// etcd-manager starts no empty cluster in the place of one that is gone.
    fn says_that_it_is_lost(&self) {
        let said = wait_until(Duration::from_secs(180), || self.logs().contains(LOST));
        assert!(said, "{LOST} is not in: {}", self.logs());
        assert_eq!(self.keys(), None, "no etcd serves");
    }

    fn etcdctl(&self, arguments: &[&str]) -> Option<String> {
        self.etcdctl_of(0, arguments)
    }

    /// Runs etcdctl against one member.
    fn etcdctl_of(&self, member: usize, arguments: &[&str]) -> Option<String> {
        let endpoint = format!("http://127.0.0.{}:4001", member + 1);
        let mut command = Command::new(self.at(&format!("opt/etcd-v{VERSION}/etcdctl")));
        command.env("ETCDCTL_API", "3");
        command.args(["--endpoints", &endpoint, "--command-timeout=4s"]);
        command.args(arguments);
        let output = self.network.inside(&command).output().expect("ip runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(said)
    }

    /// How many keys the cluster has; `None` where it has no quorum.
    fn keys(&self) -> Option<usize> {
        let listed = self.etcdctl(&["get", "", "--prefix", "--keys-only"])?;
        Some(listed.lines().filter(|line| !line.is_empty()).count())
    }

    /// Writes some keys, and makes a backup that has them.
    fn back_up_more(&self) {
        for key in 0..MORE_KEYS {
            let put = self.etcdctl(&["put", &format!("more-{key}"), "value"]);
            assert!(put.is_some(), "etcd takes keys");
        }
        let file = self.text("fresh.db");
        assert!(self.etcdctl(&["snapshot", "save", &file]).is_some());
        let packed = Command::new("gzip")
            .args(["-c", &file])
            .output()
            .expect("gzip runs");
        self.back_up(FRESH, &packed.stdout);
    }
}

fn wanted() -> String {
    format!(
        r#"{{"memberCount":{},"etcdVersion":"{VERSION}"}}"#,
        MEMBERS.len()
    )
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
    Some((manager, etcd))
}

#[test]
fn a_cluster_that_lost_its_data_has_the_keys_of_the_backup_after_a_restore() {
    let Some((manager, etcd)) = programs() else {
        return;
    };
    let Some(mut cluster) = Cluster::new(&manager, &etcd) else {
        return;
    };
    cluster.start();
    cluster.says_that_it_is_lost();
    cluster.record(3);
    cluster.is_restored(3, OLD, OLD_KEYS);
    cluster.back_up_more();

    cluster.lose(0..1);
    cluster.is_planned(1);
    let serves = wait_until(Duration::from_secs(60), || {
        cluster.etcdctl_of(2, &["get", "more-0"]).is_some()
    });
    assert!(serves, "two of three serve on: {}", cluster.logs());

    cluster.lose(1..2);
    cluster.is_planned(2);
    cluster.is_restored(2, FRESH, OLD_KEYS + MORE_KEYS);

    cluster.lose(0..3);
    cluster.start();
    cluster.says_that_it_is_lost();
    cluster.is_planned(3);
    cluster.is_restored(3, OLD, OLD_KEYS);
}
