//! A control plane's node with two blank volumes, real for the kernel; its cloud is a simulated region.

use crate::machine::Machine;
use crate::volume::{MIB, Volume};
use quake_integration::agent::{self, Ended, LIMIT, run_command};
use quake_integration::node::{CONFIG_BASE, EXAMPLE, write_state_store};
use quake_integration::skip::unless_missing;
use quake_integration::waiting::wait_until;
use serde_json::{Value, json};
use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// What is not real.
const SIMULATED: &str = "metadata,cloud,kernel,units,probes";

const REGION: &str = "var/lib/quake-agent/rehearsal/region.json";

/// A node and its volumes.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) machine: Machine,
    /// Of `main/a`, then of `events/a`.
    pub(crate) volumes: Vec<Volume>,
    /// For each volume, the word to stop waiting for its attachment.
    waiting: Vec<Arc<AtomicBool>>,
}

impl Drop for Node {
    fn drop(&mut self) {
        let all = self.waiting.iter();
        all.for_each(|given_up| given_up.store(true, Ordering::SeqCst));
    }
}

/// Whether the region that is kept there shows a volume attached.
fn is_attached(region: &Path, id: &str) -> bool {
    let bytes = std::fs::read(region).unwrap_or_default();
    let region: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let mut volumes = region["volumes"].as_array().into_iter().flatten();
    volumes.any(|shown| shown["volumeId"] == id && shown["attachments"][0]["state"] == "attached")
}

impl Node {
    /// A node that never booted, with volumes of this many bytes, all plugged in; `None`, said aloud, where it
    /// cannot be.
    pub(crate) fn launch(size: u64) -> Option<Self> {
        let mut node = Self::unplugged(size)?;
        for index in 0..node.volumes.len() {
            node.plug(index, &[]);
        }
        Some(node)
    }

    /// The same without devices.
    pub(crate) fn unplugged(size: u64) -> Option<Self> {
        let machine = unless_missing(Machine::make())?;
        let mut region = rehearsed().clone();
        let volumes = ["main", "events"].map(|etcd| volume(&region, etcd, machine.scratch()));
        for volume in &volumes {
            let file = File::create(&volume.backing).expect("the directory is ours");
            file.set_len(size).expect("a size");
        }
        forget_the_node(&mut region);
        let node = Self {
            machine,
            volumes: volumes.to_vec(),
            waiting: vec![Arc::default(); 2],
        };
        node.plant_configuration();
        let kept = node.root().join(REGION);
        std::fs::create_dir_all(kept.parent().expect("it has one")).expect("the directory is ours");
        node.write_region(&region);
        Some(node)
    }

    /// A node of small volumes.
    pub(crate) fn small() -> Option<Self> {
        Self::launch(64 * MIB)
    }

    /// Gives a volume its device, made with these options of losetup.
    pub(crate) fn plug(&mut self, index: usize, options: &[&str]) {
        let volume = &mut self.volumes[index];
        volume.device = self.machine.attach(&volume.backing, options);
        self.link(index);
    }

    /// Shows a volume's device as its own: as soon as the region shows it attached, as on any instance. A kernel that
    /// showed it before would be believed, and nothing would be asked for.
    pub(crate) fn link(&mut self, index: usize) {
        let volume = &self.volumes[index];
        let name = volume.device.trim_start_matches("/dev/").to_owned();
        let link = self.machine.at(&volume.link());
        let (id, region) = (volume.id.clone(), self.root().join(REGION));
        let given_up = Arc::new(AtomicBool::new(false));
        self.waiting[index] = Arc::clone(&given_up);
        std::thread::spawn(move || {
            let shown = wait_until(LIMIT, || {
                given_up.load(Ordering::SeqCst) || is_attached(&region, &id)
            });
            if shown && !given_up.load(Ordering::SeqCst) {
                // The machine may be gone by now, and then nobody looks for the link.
                let _ = std::os::unix::fs::symlink(format!("../../{name}"), link);
            }
        });
    }

    /// Takes a volume's device away.
    pub(crate) fn unplug(&mut self, index: usize) {
        self.waiting[index].store(true, Ordering::SeqCst);
        let volume = &mut self.volumes[index];
        // A volume that was never attached has no link.
        let _ = std::fs::remove_file(self.machine.at(&volume.link()));
        self.machine.run("losetup", &["--detach", &volume.device]);
        volume.device.clear();
    }

    fn root(&self) -> PathBuf {
        self.machine.scratch().join("root")
    }

    /// The state store as a directory, and the node's configuration that points there.
    fn plant_configuration(&self) {
        let scratch = self.machine.scratch();
        let store = scratch.join("store");
        write_state_store(&store).expect("the directory is ours");
        let base = format!("file://{}", store.display());
        let move_to_folder = |from: &Path, to: &Path| {
            let text = std::fs::read_to_string(from).expect("the example is there");
            std::fs::write(to, text.replace(CONFIG_BASE, &base)).expect("the directory is ours");
        };
        let spec = store.join("cluster.spec");
        move_to_folder(&spec, &spec);
        let example = Path::new(EXAMPLE).join("kube_env-control-plane.yaml");
        move_to_folder(&example, &scratch.join("kube_env.yaml"));
    }

    /// A boot.
    pub(crate) fn command(&self, more: &[&str]) -> Command {
        let plain = |path: PathBuf| {
            path.into_os_string()
                .into_string()
                .expect("a temporary directory has a plain name")
        };
        let root = plain(self.root());
        let kube_env = plain(self.machine.scratch().join("kube_env.yaml"));
        let mut arguments = vec![
            "boot",
            "--root",
            &root,
            "--kube-env",
            &kube_env,
            "--simulate",
            SIMULATED,
            "--assets",
            "stub",
            "--stand-in-credentials",
            "--exit-when-ready",
            "--output",
            "json",
            "--listen",
            "off",
        ];
        arguments.extend(more);
        self.machine.inside(&agent::command(&arguments))
    }

    /// Boots to the end.
    pub(crate) fn boot(&self) -> Ended {
        run_command(self.command(&["--denied-grace", "1s"]))
    }

    /// Boots until ready; the summary.
    pub(crate) fn boot_ready(&self) -> Value {
        let ended = self.boot();
        let summary = ended.summary();
        assert_eq!(
            (ended.status, &summary["result"]),
            (0, &json!("ready")),
            "{}",
            ended.text()
        );
        summary
    }

    /// Unmounts everything, as a reboot would.
    pub(crate) fn reboot(&self) {
        for volume in &self.volumes {
            self.machine.run("umount", &[&volume.mount_point()]);
        }
    }

    /// Has mkfs.ext4 run by way of this shell script, as `"$mkfs" "$@"`.
    pub(crate) fn wrap_mkfs(&self, script: &str) {
        let folders = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
        let paths = folders.map(|folder| format!("{folder}/mkfs.ext4"));
        let real = paths.iter().find(|path| Path::new(path).is_file());
        let real = real.map_or("mkfs.ext4", String::as_str);
        let wrapper = self.machine.at("/usr/local/sbin/mkfs.ext4");
        let text = format!("#!/bin/sh\nmkfs={real}\n{script}\n");
        std::fs::write(&wrapper, text).expect("the directory is ours");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&wrapper, mode).expect("the file is ours");
    }

    /// Has each run of mkfs.ext4 leave a line in a file; its path.
    pub(crate) fn log_formats(&self) -> PathBuf {
        let log = self.machine.scratch().join("formats");
        self.wrap_mkfs(&format!(
            "echo \"$@\" >> '{}'\nexec \"$mkfs\" \"$@\"",
            log.display()
        ));
        log
    }

    /// The simulated region.
    pub(crate) fn region(&self) -> Value {
        let bytes = std::fs::read(self.root().join(REGION)).expect("the region is kept");
        serde_json::from_slice(&bytes).expect("a region is JSON")
    }

    pub(crate) fn write_region(&self, region: &Value) {
        std::fs::write(self.root().join(REGION), region.to_string())
            .expect("the directory is ours");
    }

    /// The region's words about a volume.
    pub(crate) fn shown(&self, index: usize) -> Value {
        let id = &self.volumes[index].id;
        let region = self.region();
        let mut volumes = region["volumes"].as_array().into_iter().flatten();
        let found = volumes.find(|shown| shown["volumeId"] == id.as_str());
        found.expect("the region has it").clone()
    }

    /// The journal of the agent.
    pub(crate) fn journal(&self) -> PathBuf {
        self.root().join("var/lib/quake-agent/volumes.json")
    }

    /// Where a volume's bytes are: its device, which shows what is not yet in the file behind it; else that file.
    fn bytes(&self, index: usize) -> PathBuf {
        let volume = &self.volumes[index];
        match volume.device.is_empty() {
            true => volume.backing.clone(),
            false => self.machine.at(&volume.device),
        }
    }

    /// Some bytes of a volume.
    pub(crate) fn read(&self, index: usize, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let file = File::open(self.bytes(index)).expect("it is there");
        let read = file.read_exact_at(&mut bytes, offset);
        read.expect("a device is larger than that");
        bytes
    }

    /// What tells one format of a volume from another: the seed of its hashes, which mkfs draws; `None` without an
    /// ext4 superblock (offsets: kernel, Documentation/filesystems/ext4/super.rst).
    pub(crate) fn seed(&self, index: usize) -> Option<Vec<u8>> {
        let superblock = self.read(index, 1024, 1024);
        (superblock[0x38..0x3a] == [0x53, 0xef]).then(|| superblock[0xec..0xfc].to_vec())
    }

    /// The digest of all bytes of a volume.
    pub(crate) fn digest(&self, index: usize) -> String {
        // Hundreds of mebibytes, which an unoptimised build of ours would take long for.
        let output = Command::new("sha256sum").arg(self.bytes(index)).output();
        let output = output.expect("sha256sum is there");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        text.split(' ').next().unwrap_or_default().to_owned()
    }

    /// Where a file of a volume's filesystem is, seen from outside.
    pub(crate) fn file(&self, index: usize, path: &str) -> PathBuf {
        let place = self.volumes[index].mount_point();
        self.machine.at(&format!("{place}/{path}"))
    }

    /// A volume's marker, where it is mounted and has one.
    pub(crate) fn marker(&self, index: usize) -> Option<String> {
        std::fs::read_to_string(self.file(index, ".quake-agent/volume.json")).ok()
    }

    /// The line of the mount table at a volume's place.
    pub(crate) fn mount(&self, index: usize) -> Option<String> {
        let place = format!(" {} ", self.volumes[index].mount_point());
        let mut lines = self.machine.mounts().into_iter();
        lines.find(|line| line.contains(&place))
    }

    /// Everything that is not as it must be on a node that is ready, a line each.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (index, volume) in self.volumes.iter().enumerate() {
            let mut note = |what: String| wrong.push(format!("{}: {what}", volume.slot));
            let probe = ["-p", "-s", "UUID", "-s", "TYPE", "-o", "value"];
            let probe = [&probe[..], &[volume.device.as_str()]].concat();
            let mut seen = self.machine.try_run("blkid", &probe).unwrap_or_default();
            seen = seen.replace('\n', " ");
            if !(seen.contains(&volume.uuid) && seen.contains("ext4")) {
                note(format!("blkid says {seen:?}, not {}", volume.uuid));
            }
            let mount = self.mount(index).unwrap_or_default();
            let has_options = mount.contains("nosuid") && mount.contains("nodev");
            if !(has_options && mount.contains(&volume.device)) {
                note(format!("mounted as {mount:?}"));
            }
            let marker = self.marker(index).unwrap_or_default();
            let marker: Value = serde_json::from_str(&marker).unwrap_or_default();
            if marker["volume_id"] != volume.id.as_str() || marker["slot"] != volume.slot.as_str() {
                note(format!("the marker is {marker}"));
            }
            let folder = std::fs::read_dir(self.file(index, ".quake-agent"));
            let count = folder.map_or(0, Iterator::count);
            if count != 1 {
                note(format!("{count} files beside the marker"));
            }
        }
        let journal = std::fs::read(self.journal()).unwrap_or_default();
        let journal: Value = serde_json::from_slice(&journal).unwrap_or_default();
        if journal["formatting"] != json!({}) || !journal["attempt"].is_null() {
            wrong.push(format!("the journal is {journal}"));
        }
        wrong
    }
}

/// A region as a rehearsal of the example leaves it: with the volumes of its group, and their UUIDs.
fn rehearsed() -> &'static Value {
    static REHEARSED: OnceLock<Value> = OnceLock::new();
    REHEARSED.get_or_init(|| {
        let root = tempfile::tempdir().expect("a temporary directory");
        let plain = root.path().to_str().expect("it has a plain name");
        let mut arguments = vec!["rehearse", "--legacy-example"];
        arguments.extend(["--root", plain, "--exit-when-ready", "--listen", "off"]);
        let ended = agent::run(&arguments);
        assert_eq!(ended.status, 0, "{}", ended.text());
        let kept = std::fs::read(root.path().join(REGION)).expect("the region is kept");
        serde_json::from_slice(&kept).expect("a region is JSON")
    })
}

/// The region's volume of an etcd cluster.
fn volume(region: &Value, etcd: &str, scratch: &Path) -> Volume {
    let tag = format!("k8s.io/etcd/{etcd}");
    let mut volumes = region["volumes"].as_array().into_iter().flatten();
    let shown = volumes.find(|shown| shown["tags"].get(&tag).is_some());
    let id = shown.and_then(|shown| shown["volumeId"].as_str());
    let id = id.expect("the example has it").to_owned();
    let uuid = region["contents"][&id]["uuid"].as_str();
    Volume {
        slot: format!("{etcd}/a"),
        uuid: uuid.expect("it was formatted").to_owned(),
        backing: scratch.join(&id),
        device: String::new(),
        id,
    }
}

/// Undoes in a region what its rehearsal did: volumes are free again, nothing is started.
fn forget_the_node(region: &mut Value) {
    region["units"] = json!({});
    region["mounts"] = json!([]);
    region["inside"] = json!({});
    region["instances"][0]["deviceNames"] = json!(["/dev/xvda"]);
    for volume in region["volumes"].as_array_mut().into_iter().flatten() {
        volume["state"] = json!("available");
        volume["attachments"] = json!([]);
        let tags = volume["tags"].as_object_mut().expect("a volume has tags");
        tags.retain(|key, _| !key.starts_with("quake.io/"));
    }
}
