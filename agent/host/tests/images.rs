//! Images of a real containerd, which is started here with directories of its own. Skipped, with the reason, where there
//! is none or where this is not root.

use quake_host::images::RuntimeImages;
use quake_integration::waiting::wait_until;
use quake_model::digest::{Algorithm, Digest};
use quake_model::ports::Condition;
use quake_model::spec::{ArchivedImage, ImageRuntime};
use sha2::{Digest as _, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const RUNTIME: ImageRuntime = ImageRuntime::Containerd;

/// A containerd without CRI, which would want the machine's network.
struct Containerd {
    process: Child,
    socket: PathBuf,
    _folder: tempfile::TempDir,
}

impl Containerd {
    /// Says why there can be none here.
    fn start() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = |name: &str| folder.path().join(name);
        let socket = path("sock");
        let settings = format!(
            "version = 2\nroot = {:?}\nstate = {:?}\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n\
             [grpc]\naddress = {socket:?}\n[ttrpc]\naddress = {:?}\n",
            path("root"),
            path("state"),
            path("ttrpc"),
        );
        std::fs::write(path("config.toml"), settings).map_err(|error| error.to_string())?;
        let started = Command::new("containerd")
            .arg("--config")
            .arg(path("config.toml"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = started.map_err(|error| format!("containerd: {error}"))?;
        let mut containerd = Self {
            process,
            socket,
            _folder: folder,
        };
        let longest = Duration::from_secs(30);
        let ready = wait_until(longest, || {
            containerd.answers() || matches!(containerd.process.try_wait(), Ok(Some(_)))
        });
        if !ready || !containerd.answers() {
            return Err("containerd did not come up within 30 s".to_owned());
        }
        Ok(containerd)
    }

    fn answers(&self) -> bool {
        self.socket.exists() && self.ctr(&["version"]).is_ok()
    }

    fn ctr(&self, arguments: &[&str]) -> Result<String, String> {
        let mut ctr = Command::new("ctr");
        ctr.arg("--address").arg(&self.socket);
        let output = ctr.args(["--namespace", "k8s.io"]).args(arguments).output();
        let output = output.map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }
}

impl Drop for Containerd {
    fn drop(&mut self) {
        // It may have ended already, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn sha256(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Algorithm::Sha256, &Sha256::digest(bytes))
}

fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        let added = builder.append_data(&mut header, path, *bytes);
        added.expect("memory takes it");
    }
    builder.into_inner().expect("memory takes it")
}

/// A layer, and a configuration of it for this machine.
fn layer(text: &str) -> (Vec<u8>, String) {
    let layer = tar_of(&[("hello", text.as_bytes())]);
    let processor = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "amd64",
    };
    let config = serde_json::json!({
        "architecture": processor,
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [sha256(&layer).to_string()]},
    });
    (layer, config.to_string())
}

/// An OCI image layout of one image, and what it is known by.
fn layout(name: &str) -> (Vec<u8>, ArchivedImage) {
    let (layer, config) = layer(name);
    let described = |kind: &str, bytes: &[u8]| {
        serde_json::json!({
            "mediaType": format!("application/vnd.oci.image.{kind}"),
            "digest": sha256(bytes).to_string(),
            "size": bytes.len(),
        })
    };
    let manifest = serde_json::json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described("config.v1+json", config.as_bytes()),
        "layers": [described("layer.v1.tar", &layer)],
    })
    .to_string();
    let mut entry = described("manifest.v1+json", manifest.as_bytes());
    entry["annotations"] = serde_json::json!({"org.opencontainers.image.ref.name": name});
    let index = serde_json::json!({"schemaVersion": 2, "manifests": [entry]}).to_string();
    let blob = |bytes: &[u8]| format!("blobs/sha256/{}", sha256(bytes).hex());
    let bytes = tar_of(&[
        ("oci-layout", b"{\"imageLayoutVersion\":\"1.0.0\"}"),
        (&blob(&layer), &layer),
        (&blob(config.as_bytes()), config.as_bytes()),
        (&blob(manifest.as_bytes()), manifest.as_bytes()),
        ("index.json", index.as_bytes()),
    ]);
    let image = ArchivedImage {
        refs: vec![name.to_owned()],
        digests: vec![sha256(manifest.as_bytes())],
    };
    (bytes, image)
}

/// What `docker save` writes of one image, and what it is known by.
fn saved(name: &str) -> (Vec<u8>, ArchivedImage) {
    let (layer, config) = layer(name);
    let id = sha256(config.as_bytes());
    let file = format!("{}.json", id.hex());
    let manifest = serde_json::json!([
        {"Config": file, "RepoTags": [name], "Layers": ["layer.tar"]}
    ]);
    let bytes = tar_of(&[
        (&file, config.as_bytes()),
        ("layer.tar", &layer),
        ("manifest.json", manifest.to_string().as_bytes()),
    ]);
    let image = ArchivedImage {
        refs: vec![name.to_owned()],
        digests: vec![id],
    };
    (bytes, image)
}

/// Imports an archive unless its image is there, as the engine does; how many bytes were read for it.
async fn hold(images: &RuntimeImages, archive: &[u8], image: &ArchivedImage) -> usize {
    let has = || async {
        let looked = images.has_image(RUNTIME, image).await;
        looked.expect("containerd answers")
    };
    if has().await {
        return 0;
    }
    let bytes = archive.to_vec();
    let length = bytes.len();
    let feed = move |input: &mut dyn Write| input.write_all(&bytes).map(|()| 0);
    let imported = images.import(RUNTIME, Box::new(feed)).await;
    imported.expect("containerd takes it");
    assert!(has().await, "what was imported is found");
    length
}

#[tokio::test]
async fn an_image_is_imported_into_containerd_once() {
    let containerd = match Containerd::start() {
        Ok(containerd) => containerd,
        Err(reason) => {
            println!("skipped: no containerd can be started here: {reason}");
            return;
        }
    };
    let images = RuntimeImages::with_containerd_at(&containerd.socket);
    let (archive, image) = layout("registry.example/pause:3.9");
    assert_eq!(hold(&images, &archive, &image).await, archive.len());
    let listed = containerd.ctr(&["images", "ls"]).expect("it answers");
    assert!(listed.contains("registry.example/pause:3.9"), "{listed}");
    assert_eq!(hold(&images, &archive, &image).await, 0, "nothing is read");

    let (archive, image) = saved("tiny:1");
    assert_eq!(hold(&images, &archive, &image).await, archive.len());
    assert_eq!(hold(&images, &archive, &image).await, 0, "nothing is read");
    let other = ArchivedImage {
        digests: vec![sha256(b"another image of that name")],
        ..image
    };
    let found = images.has_image(RUNTIME, &other).await;
    assert_eq!(found, Ok(false), "a name alone says nothing");
}

#[tokio::test]
async fn an_import_that_is_cut_short_leaves_no_image() {
    let containerd = match Containerd::start() {
        Ok(containerd) => containerd,
        Err(reason) => {
            println!("skipped: no containerd can be started here: {reason}");
            return;
        }
    };
    let images = RuntimeImages::with_containerd_at(&containerd.socket);
    let (archive, image) = layout("registry.example/half:1");
    for length in (512..archive.len() - 1024).step_by(512) {
        let half = archive[..length].to_vec();
        let feed = move |input: &mut dyn Write| {
            input.write_all(&half)?;
            Err(std::io::Error::other("cut"))
        };
        let error = images.import(RUNTIME, Box::new(feed)).await;
        let error = error.expect_err("it was cut");
        assert!(matches!(
            error.condition,
            Condition::Malformed | Condition::Io
        ));
        if images.has_image(RUNTIME, &image).await == Ok(true) {
            assert!(length + 1536 > archive.len(), "half an image at {length}");
        }
    }
    assert!(hold(&images, &archive, &image).await <= archive.len());
}

#[tokio::test]
async fn a_containerd_that_is_not_there_is_unreachable() {
    if Command::new("ctr").arg("--version").output().is_err() {
        println!("skipped: there is no ctr");
        return;
    }
    let images = RuntimeImages::with_containerd_at(Path::new("/nowhere/containerd.sock"));
    let (_, image) = layout("registry.example/pause:3.9");
    let error = images.has_image(RUNTIME, &image).await;
    let error = error.expect_err("nobody answers");
    assert_eq!(error.condition, Condition::Unreachable, "{error:?}");
}
