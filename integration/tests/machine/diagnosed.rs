//! `diagnose` on a machine that runs: a ready node gives no alarm and costs little, what is broken then is named first, and
//! a bundle has everything but the secrets that are all over the machine.

use quake_integration::machine::{Container, Kind, Lab, MachineBackend};
use quake_integration::planted::planted_secrets;
use quake_integration::schema::Schema;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write as _};

/// Diagnoses, and tells on standard error how many seconds it took and how many kilobytes it had.
const MEASURED: &str = r#"python3 - <<'END'
import subprocess, sys, threading, time
began, most = time.monotonic(), 0
child = subprocess.Popen(["quake-agent", "diagnose", "--output", "json"], stdout=subprocess.PIPE)
def watch():
    # Its own: what the wait for it would tell are also the clients of runtimes that it starts.
    global most
    while child.returncode is None:
        try:
            lines = open(f"/proc/{child.pid}/status").read().splitlines()
        except OSError:
            return
        most = max([most] + [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")])
        time.sleep(0.002)
watcher = threading.Thread(target=watch)
watcher.start()
print(child.communicate()[0].decode(), end="")
took = time.monotonic() - began
watcher.join()
print(f"{child.returncode} {took:.2f} {most}", file=sys.stderr)
END"#;

/// The bounds: seconds, and kilobytes, which hold for the binary that is published: `QUAKE_AGENT_DIST` names it, and
/// `QUAKE_AGENT` has to as well.
const LONGEST: f64 = 3.0;
const MOST_RESIDENT_KB: u64 = 30_000;

/// What the lab's machines lack, each rightly told by its check: a container has its host's clock, kernel, settings and disk;
/// kubelet is a stand-in that starts nothing. `/var/lib/containerd` is a volume of the container, and `evictionHard` of the
/// recorded cluster names no imagefs.
const OF_THE_LAB: &[&str] = &[
    "kubelet.settings",
    "time.sync",
    "host.modules",
    "net.settings",
    "host.limits",
    "host.disk-space",
    "images.present",
    "staticpods.running",
];

/// What cannot be looked at in the lab: a container has no kernel log of its own.
const UNSEEN_IN_THE_LAB: &[&str] = &[
    // The kernel's log, which containers do not have.
    "host.apparmor",
    "host.disk-errors",
    "host.disk-latency",
    // The counter of kills is this machine's: another test that ran out of memory raises it.
    "host.oom",
];

/// The report, and how long it took and how much it had.
fn diagnosed(machine: &Container) -> (Value, f64, u64) {
    let ran = machine
        .run(MEASURED, machine.second() * 30)
        .expect("the machine is up");
    let report = serde_json::from_str(&ran.stdout);
    assert!(report.is_ok(), "{report:?}: {}{}", ran.stdout, ran.stderr);
    let report: Value = report.unwrap_or_default();
    let last = ran.stderr.lines().last().unwrap_or_default();
    let mut reported = last.split_whitespace().skip(1);
    let took = reported.next().and_then(|text| text.parse().ok());
    let resident = reported.next().and_then(|text| text.parse().ok());
    (
        report,
        took.expect("it was measured"),
        resident.expect("it was measured"),
    )
}

/// The findings in their order, each with its note, without what the lab lacks.
fn findings(report: &Value) -> Vec<(String, String)> {
    let checks = report["checks"].as_array().cloned().unwrap_or_default();
    let found = report["findings"].as_array().cloned().unwrap_or_default();
    let noted = found.iter().filter_map(|id| {
        let check = checks.iter().find(|check| check["id"] == *id)?;
        Some((id.as_str()?.to_owned(), check["note"].to_string()))
    });
    let noted = noted.filter(|(id, _)| !OF_THE_LAB.contains(&id.as_str()));
    noted.collect()
}

#[test]
fn diagnosed_when_ready_and_when_broken() {
    let Some(lab) = Lab::open("diagnosed", Kind::Containers) else {
        return;
    };
    let machine = lab.worker(lab.baked());
    machine.becomes_ready(90).expect("a worker becomes ready");

    let (report, took, resident) = diagnosed(&machine);
    lab.evidence().write("ready.json", &report.to_string());
    println!("a ready node was diagnosed in {took} s with {resident} kB");
    let schema = machine.output("quake-agent diagnose --schema");
    let schema = serde_json::from_str(&schema).expect("it is JSON");
    let schema = Schema::new(schema).expect("it is a schema");
    assert_eq!(schema.check(&report), Ok(()));
    let alarms = findings(&report);
    assert!(alarms.is_empty(), "{alarms:#?}");
    let broken = report["checks"].as_array().into_iter().flatten();
    let broken = broken.filter(|check| check["status"] == "error");
    let broken: Vec<&Value> = broken
        .filter(|check| {
            let id = check["id"].as_str().unwrap_or_default();
            !UNSEEN_IN_THE_LAB.iter().any(|start| id.starts_with(start))
        })
        .collect();
    assert!(broken.is_empty(), "no check failed to look: {broken:#?}");
    assert!(
        report["summary"]["ok"].as_u64() >= Some(60),
        "{}",
        report["summary"]
    );
    assert!(took < LONGEST, "{took} s");
    // A build for tests says nothing about memory.
    if std::env::var_os("QUAKE_AGENT_DIST").is_some() {
        assert!(resident < MOST_RESIDENT_KB, "{resident} kB");
    }

    for (script, mended, first) in BROKEN {
        machine.output(script);
        let (report, _, _) = diagnosed(&machine);
        let found = findings(&report);
        let named = found.first().map(|(id, _)| id.as_str());
        assert_eq!(named, Some(*first), "after {script:?}: {found:#?}");
        machine.output(mended);
    }
}

/// Scripts that break a ready node, those that fix it, and the check that has to come first meanwhile.
const BROKEN: &[(&str, &str, &str)] = &[
    (
        "systemctl stop docker.service docker.socket 2>/dev/null; ! systemctl is-active --quiet docker.service",
        "systemctl start docker.service",
        "runtime.alive",
    ),
    (
        "mv /etc/cni/net.d/10-quake-agent.conflist /root/",
        "mv /root/10-quake-agent.conflist /etc/cni/net.d/",
        "files.written",
    ),
];

/// Where a machine keeps words of others that a bundle takes along, and that a node goes on with.
const CARRIERS: &[&str] = &[
    "/var/log/cloud-init-output.log",
    "/var/log/cloud-init.log",
    "/var/log/kubelet.log",
    "/etc/kubernetes/manifests/secrets.manifest",
    "/etc/cni/net.d/99-secrets.conflist",
    "/etc/modprobe.d/secrets.conf",
    "/root/.docker/config.json",
];

/// Writes every planted secret into each of [`CARRIERS`], and into the journal as if units had said it, in the journal's own
/// protocol (systemd's JOURNAL_NATIVE_PROTOCOL).
fn plant(machine: &Container) {
    let texts: Vec<String> = planted_secrets().into_iter().map(|it| it.text).collect();
    let texts = Value::from(texts).to_string();
    // A script is an argument, and the kernel takes 128 KiB of one.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(texts.as_bytes()).expect("memory takes it");
    let packed = packed.finish().expect("memory takes it");
    let encoded = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, packed);
    let carriers = Value::from(CARRIERS.to_vec());
    let script = format!(
        r#"python3 - <<'END'
import base64, gzip, json, os, socket, struct
texts = json.loads(gzip.decompress(base64.b64decode("{encoded}")))
for path in {carriers}:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as carrier:
        carrier.write("\n".join(texts) + "\n")
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.connect("/run/systemd/journal/socket")
for unit in ["quake-agent.service", "kubelet.service", "docker.service"]:
    for text in texts[-400:]:
        text = text.encode()
        message = b"MESSAGE\n" + struct.pack("<Q", len(text)) + text + b"\nPRIORITY=4\n"
        journal.send(message + b"OBJECT_SYSTEMD_UNIT=" + unit.encode() + b"\n")
END
journalctl --sync"#
    );
    machine.output(&script);
}

/// The files of a bundle, by their names.
fn unpacked(packed: &[u8]) -> BTreeMap<String, String> {
    let plain = zstd::decode_all(packed).expect("it is packed with zstd");
    let mut archive = tar::Archive::new(plain.as_slice());
    let entries = archive.entries().expect("it is a tar");
    entries
        .map(|entry| {
            let mut entry = entry.expect("it is whole");
            let name = entry.path().expect("it has a name").display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("it is whole");
            (name, String::from_utf8_lossy(&bytes).into_owned())
        })
        .collect()
}

#[test]
fn bundled_without_a_secret() {
    let Some(lab) = Lab::open("bundled", Kind::Containers) else {
        return;
    };
    let machine = lab.worker(lab.baked());
    machine.becomes_ready(90).expect("a worker becomes ready");
    plant(&machine);
    let reported = machine
        .run(
            "quake-agent diagnose --bundle /root/node.tar.zst",
            machine.second() * 60,
        )
        .expect("the machine is up");
    // Something is wrong with the node now: a manifest is no manifest.
    assert_eq!(reported.status, 1, "{}{}", reported.stdout, reported.stderr);
    let encoded = machine.output("base64 -w0 /root/node.tar.zst");
    let packed = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, encoded.trim())
        .expect("base64 writes base64");
    let files = unpacked(&packed);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    lab.evidence().write("files.txt", &names.join("\n"));
    lab.evidence()
        .write("redaction.json", &files["redaction.json"]);
    for wanted in [
        "manifest.json",
        "redaction.json",
        "errors.json",
        "report.json",
        "report.txt",
    ] {
        assert!(files.contains_key(wanted), "{wanted} in {names:?}");
    }
    let all: String = files
        .values()
        .flat_map(|text| [text.as_str(), "\n"])
        .collect();
    // The machine is seen in it: otherwise nothing could be told of what it lacks.
    for part in ["quake-agent.service", "kubelet.service", "READY", "***"] {
        assert!(all.contains(part), "{part} is in it");
    }
    let manifest = &files["manifest.json"];
    let manifest: Value = serde_json::from_str(manifest).expect("it is JSON");
    let listed = manifest["files"].as_array().map(Vec::len);
    assert_eq!(listed, Some(files.len() - 1), "all but itself: {manifest}");
    let shown = all + &reported.stdout + &reported.stderr + &machine.console();
    let seen: Vec<String> = planted_secrets()
        .into_iter()
        .filter(|planted| planted.is_seen_in(&shown))
        .map(|planted| planted.name)
        .collect();
    assert!(seen.is_empty(), "{} are seen: {seen:#?}", seen.len());
    let report: Value = serde_json::from_str(&files["redaction.json"]).expect("it is JSON");
    assert!(
        report.to_string().len() > 100,
        "the report counts what was masked: {report}"
    );
}
