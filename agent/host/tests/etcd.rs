//! A real etcd: its programs keep the contract, and a rehearsed restore of a large snapshot counts its
//! keys. Skipped, with the reason, where there is no etcd that restores; `QUAKE_ETCD_BIN` names a
//! directory with `etcd` and `etcdctl` or `etcdutl`.

use flate2::Compression;
use flate2::write::GzEncoder;
use quake_engine::restore::{Prepared, RestoreFrom, RestoreQuestion, prepare, rehearse};
use quake_host::etcd::HostEtcd;
use quake_host::objects::StateStore;
use quake_integration::skip::skipped;
use quake_integration::waiting::wait_until;
use quake_model::fault::{Code, Fault};
use quake_model::ports::{EtcdPrograms, EtcdTools, KeyCount};
use quake_model::spec::{EtcdCluster, EtcdProvider};
use quake_testkit::contract;
use quake_volumes::restore::Consent;
use quake_volumes::{ClusterGeneration, Facts};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

const BACKUP: &str = "2026-11-26T02:00:00Z-000001";

/// How many keys a snapshot has.
const KEYS: u64 = 10_000;

/// As many as etcd takes in one transaction.
const AT_ONCE: u64 = 100;

/// The programs of this machine, and a store in a directory.
#[derive(Debug)]
struct Machine {
    programs: HostEtcd,
    folder: TempDir,
}

impl Machine {
    /// `None`, said aloud, where no etcd restores.
    async fn new() -> Option<(Self, EtcdTools)> {
        let folder = tempfile::tempdir().expect("a directory");
        let objects = StateStore::with_folder(folder.path());
        let named = std::env::var_os("QUAKE_ETCD_BIN").map(PathBuf::from);
        let programs = HostEtcd::new(objects, named);
        let found = programs
            .find_etcd()
            .await
            .expect("programs say their versions");
        let Some(tools) = found.into_iter().find(|tools| tools.restorer.is_some()) else {
            skipped(
                "no etcd restores a snapshot here: QUAKE_ETCD_BIN names a directory with etcd and etcdctl",
            );
            return None;
        };
        let machine = Self { programs, folder };
        Some((machine, tools))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    /// A snapshot with this many keys, taken of an etcd that has run here.
    async fn snapshot(&self, tools: &EtcdTools, keys: u64) -> PathBuf {
        let scratch = self.text("origin");
        std::fs::create_dir(&scratch).expect("ours");
        let data = format!("{scratch}/data");
        let started = self.programs.start_etcd(tools, &scratch, &data).await;
        let etcd = started.expect("it starts");
        let socket = etcd.socket.clone();
        let ready = wait_until(Duration::from_secs(60), || {
            ask(&socket, "kv/range", r#"{"key":"AA=="}"#).is_some_and(|it| it.contains("revision"))
        });
        assert!(ready, "it answers");
        for first in (0..keys).step_by(usize::try_from(AT_ONCE).expect("it is small")) {
            put(&socket, first..(first + AT_ONCE).min(keys));
        }
        let file = self.at("snapshot.db");
        let control = Path::new(&tools.server).with_file_name("etcdctl");
        let saved = Command::new(control)
            .current_dir(&scratch)
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", "unix://127.0.0.1:1", "snapshot", "save"])
            .arg(&file)
            .output();
        let saved = saved.expect("etcdctl runs");
        assert!(
            saved.status.success(),
            "{}",
            String::from_utf8_lossy(&saved.stderr)
        );
        file
    }

    /// Puts a snapshot into the backup store, as etcd-manager does.
    fn back_up(&self, snapshot: &[u8], version: &str) {
        let place = self.at("b/c.example/backups/etcd/main").join(BACKUP);
        std::fs::create_dir_all(&place).expect("ours");
        let file = std::fs::File::create(place.join("etcd.backup.gz")).expect("ours");
        let mut packed = GzEncoder::new(file, Compression::fast());
        packed.write_all(snapshot).expect("ours");
        packed.finish().expect("ours");
        let meta = format!(r#"{{"etcdVersion":"{version}"}}"#);
        std::fs::write(place.join("_etcd_backup.meta"), meta).expect("ours");
    }

    async fn prepared(&self, version: &str) -> Result<Prepared, Fault> {
        let question = RestoreQuestion {
            facts: Facts {
                cluster: "c.example".to_owned(),
                etcd: Vec::new(),
                zones: BTreeMap::new(),
                cluster_generation: ClusterGeneration::default(),
                volumes: Vec::new(),
                instances: Vec::new(),
                settled: true,
            },
            etcd: EtcdCluster {
                name: "main".to_owned(),
                members: Vec::new(),
                version: version.to_owned(),
                image: String::new(),
                provider: EtcdProvider::Manager,
                backup_store: "s3://b/c.example/backups/etcd/main".parse().ok(),
                manifest: None,
            },
            manifest: None,
            health: BTreeMap::new(),
            from: RestoreFrom::Newest,
            consent: Consent::default(),
        };
        prepare(&self.programs, &question).await
    }
}

/// Puts keys with numbers, all in one transaction.
fn put(socket: &str, numbers: std::ops::Range<u64>) {
    use base64::Engine as _;
    let encode = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
    let put = |number: u64| {
        let (key, value) = (
            format!("/registry/pods/{number}"),
            format!("value {number}"),
        );
        let (key, value) = (encode(key), encode(value));
        format!(r#"{{"requestPut":{{"key":"{key}","value":"{value}"}}}}"#)
    };
    let puts: Vec<String> = numbers.map(put).collect();
    let body = format!(r#"{{"success":[{}]}}"#, puts.join(","));
    let answer = ask(socket, "kv/txn", &body).expect("it answers");
    assert!(answer.contains("succeeded"), "{answer}");
}

/// Asks an etcd on a socket; `None` where it does not answer.
fn ask(socket: &str, method: &str, body: &str) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    let length = body.len();
    let request = format!(
        "POST /v3/{method} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_etcd_keeps_the_contract() {
    let Some((machine, tools)) = Machine::new().await else {
        return;
    };
    let file = machine.snapshot(&tools, 50).await;
    let bytes = std::fs::read(&file).expect("it was saved");
    let cut = machine.at("cut.db");
    std::fs::write(&cut, &bytes[..bytes.len() - 700]).expect("ours");
    std::fs::create_dir(machine.at("contract")).expect("ours");
    let given = contract::EtcdGiven {
        snapshot: &file.display().to_string(),
        truncated: &cut.display().to_string(),
        directory: &machine.text("contract"),
        holds: KeyCount {
            keys: 50,
            revision: 2,
        },
    };
    assert_eq!(contract::etcd(&machine.programs, given).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsed_restore_of_a_snapshot_with_10000_keys_counts_them() {
    let Some((machine, tools)) = Machine::new().await else {
        return;
    };
    let file = machine.snapshot(&tools, KEYS).await;
    let bytes = std::fs::read(&file).expect("it was saved");
    machine.back_up(&bytes, &tools.version);
    let prepared = machine.prepared(&tools.version).await.expect("it is whole");
    let scratch = PathBuf::from(&prepared.snapshot.scratch);
    let rehearsal = rehearse(&machine.programs, &prepared)
        .await
        .expect("it is restored");
    assert_eq!(rehearsal.counted.keys, KEYS);
    assert_eq!(rehearsal.snapshot.keys, KEYS, "read without etcd");
    assert!(scratch.is_dir());
    drop(prepared);
    assert!(!scratch.exists(), "nothing of it stays");

    // A backup whose end is missing, in its compressed form and in itself.
    machine.back_up(&bytes[..bytes.len() - 700], &tools.version);
    let fault = machine
        .prepared(&tools.version)
        .await
        .expect_err("it is cut");
    assert_eq!(fault.code, Code::EtcdSnapshotCorrupt);
    let place = machine.at("b/c.example/backups/etcd/main").join(BACKUP);
    let packed = std::fs::read(place.join("etcd.backup.gz")).expect("ours");
    std::fs::write(place.join("etcd.backup.gz"), &packed[..packed.len() / 2]).expect("ours");
    let fault = machine
        .prepared(&tools.version)
        .await
        .expect_err("it is cut");
    assert_eq!(fault.code, Code::EtcdSnapshotCorrupt);
}

#[tokio::test(flavor = "multi_thread")]
async fn data_that_a_running_etcd_has_open_is_seen() {
    let Some((machine, tools)) = Machine::new().await else {
        return;
    };
    let scratch = machine.text("running");
    std::fs::create_dir(&scratch).expect("ours");
    let data = format!("{scratch}/data");
    let etcd = machine
        .programs
        .start_etcd(&tools, &scratch, &data)
        .await
        .expect("it starts");
    let socket = etcd.socket.clone();
    let ready = wait_until(Duration::from_secs(60), || {
        ask(&socket, "kv/range", "{}").is_some()
    });
    assert!(ready, "it answers");
    assert_eq!(machine.programs.is_data_open(&data).await, Ok(true));
    drop(etcd);
    let database = PathBuf::from(&data).join("member/snap/db");
    // The kernel ends a killed program in its own time.
    let closed = wait_until(Duration::from_secs(30), || {
        let file = std::fs::File::open(&database).expect("it is there");
        file.try_lock().is_ok()
    });
    assert!(closed);
    assert_eq!(machine.programs.is_data_open(&data).await, Ok(false));
}
