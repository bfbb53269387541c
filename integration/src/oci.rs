//! Archives of images as the OCI image specification describes them ("Image Layout"): what `ctr images
//! import` and `docker load` take where there is no registry.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::tree::sha256;

const INDEX: &str = "index.json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// One layer: an uncompressed tar archive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImageLayer(Vec<u8>);

impl ImageLayer {
    /// A layer of these files: path below the root, mode, contents.
    ///
    /// # Errors
    ///
    /// As the library for archives.
    pub fn of(files: &[(&str, u32, &[u8])]) -> io::Result<Self> {
        let mut tar = tar::Builder::new(Vec::new());
        for (path, mode, contents) in files {
            add(&mut tar, path.trim_start_matches('/'), *mode, contents)?;
        }
        tar.into_inner().map(Self)
    }
}

fn add(
    tar: &mut tar::Builder<impl Write>,
    path: &str,
    mode: u32,
    contents: &[u8],
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_mode(mode);
    header.set_size(contents.len() as u64);
    header.set_cksum();
    tar.append_data(&mut header, path, contents)
}

/// An image for Linux on x86-64.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Image {
    /// As a pod names it: `registry.k8s.io/pause:3.10.1`.
    pub reference: String,
    /// The lowest first.
    pub layers: Vec<ImageLayer>,
    /// What is run where a pod names no command.
    pub entrypoint: Vec<String>,
}

/// Writes an archive of these images.
///
/// # Errors
///
/// Of the file.
pub fn write(to: &Path, images: &[Image]) -> io::Result<()> {
    let mut archive = Archive {
        tar: tar::Builder::new(File::create(to)?),
        blobs: BTreeSet::new(),
    };
    let (mut manifests, mut listed) = (Vec::new(), Vec::new());
    for image in images {
        let (descriptor, entry) = archive.image(image)?;
        manifests.push(descriptor);
        listed.push(entry);
    }
    let index = json!({ "schemaVersion": 2, "manifests": manifests });
    archive.file("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    archive.file(INDEX, index.to_string().as_bytes())?;
    // What docker before 25 goes by.
    archive.file("manifest.json", json!(listed).to_string().as_bytes())?;
    archive.tar.into_inner()?.sync_all()
}

/// The layers of the one image in an archive, uncompressed ones alone.
///
/// # Errors
///
/// Says what it is instead.
pub fn layers(archive: &Path) -> io::Result<Vec<ImageLayer>> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for entry in tar::Archive::new(File::open(archive)?).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents)?;
        files.insert(name.trim_start_matches("./").to_owned(), contents);
    }
    let wrong = |what: &str| io::Error::other(format!("{}: {what}", archive.display()));
    let document = |name: &str| -> io::Result<Value> {
        let bytes = files.get(name).ok_or_else(|| wrong("a blob is missing"))?;
        serde_json::from_slice(bytes).map_err(io::Error::other)
    };
    let index = document(INDEX)?;
    let [manifest] = index["manifests"].as_array().map_or(&[][..], Vec::as_slice) else {
        return Err(wrong("it has not one image"));
    };
    let manifest = document(&blob(&manifest["digest"]))?;
    let layers = manifest["layers"].as_array().cloned().unwrap_or_default();
    let layer = |layer: &Value| match files.get(&blob(&layer["digest"])) {
        Some(bytes) if layer["mediaType"] == LAYER => Ok(ImageLayer(bytes.clone())),
        _ => Err(wrong("a layer is missing, or it is compressed")),
    };
    layers.iter().map(layer).collect()
}

/// Where a blob of this digest is.
fn blob(digest: &Value) -> String {
    let digest = digest.as_str().unwrap_or_default();
    format!("blobs/{}", digest.replace(':', "/"))
}

struct Archive {
    tar: tar::Builder<File>,
    /// The digests of those that are written.
    blobs: BTreeSet<String>,
}

impl Archive {
    fn file(&mut self, name: &str, contents: &[u8]) -> io::Result<()> {
        add(&mut self.tar, name, 0o644, contents)
    }

    /// Writes a blob unless it is there; its descriptor.
    fn blob(&mut self, media_type: &str, contents: &[u8]) -> io::Result<Value> {
        let digest = format!("sha256:{}", sha256(contents));
        if self.blobs.insert(digest.clone()) {
            self.file(&blob(&json!(digest)), contents)?;
        }
        Ok(json!({ "mediaType": media_type, "digest": digest, "size": contents.len() }))
    }

    /// Writes an image; its descriptor, and its entry in docker's own list.
    fn image(&mut self, image: &Image) -> io::Result<(Value, Value)> {
        let mut layers = Vec::new();
        for ImageLayer(bytes) in &image.layers {
            layers.push(self.blob(LAYER, bytes)?);
        }
        let digests: Vec<&Value> = layers.iter().map(|layer| &layer["digest"]).collect();
        let config = json!({
            "architecture": "amd64", "os": "linux",
            "config": {
                "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
                "Entrypoint": image.entrypoint,
            },
            "rootfs": { "type": "layers", "diff_ids": digests },
        });
        let config = self.blob(CONFIG, config.to_string().as_bytes())?;
        let files: Vec<String> = layers.iter().map(|layer| blob(&layer["digest"])).collect();
        let entry = json!({
            "Config": blob(&config["digest"]), "RepoTags": [image.reference], "Layers": files,
        });
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers,
        });
        let mut descriptor = self.blob(MANIFEST, manifest.to_string().as_bytes())?;
        let (_, tag) = image.reference.rsplit_once(':').unwrap_or(("", "latest"));
        // containerd goes by its own annotation, others by that of the specification.
        descriptor["annotations"] = json!({
            "io.containerd.image.name": image.reference,
            "org.opencontainers.image.ref.name": tag,
        });
        Ok((descriptor, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_each_blob_once_under_its_digest() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("images.tar");
        let base = ImageLayer::of(&[("/bin/sh", 0o755, b"#!")]).expect("a layer");
        let own = ImageLayer::of(&[("/pause", 0o755, b"binary")]).expect("a layer");
        let image = |name: &str, layers: &[&ImageLayer]| Image {
            reference: format!("registry.example/{name}:1"),
            layers: layers.iter().map(|layer| (*layer).clone()).collect(),
            entrypoint: vec!["/pause".to_owned()],
        };
        let images = [image("a", &[&base, &own]), image("b", &[&base])];
        write(&path, &images).expect("it is written");
        let mut names = Vec::new();
        for entry in tar::Archive::new(File::open(&path).expect("it is there"))
            .entries()
            .expect("an archive")
        {
            let mut entry = entry.expect("an entry");
            let name = entry.path().expect("a path").display().to_string();
            let mut contents = Vec::new();
            entry.read_to_end(&mut contents).expect("its bytes");
            if let Some(digest) = name.strip_prefix("blobs/sha256/") {
                assert_eq!(digest, sha256(&contents));
            }
            names.push(name);
        }
        // Two layers, two configurations and two manifests, the two files of the layout, and docker's list.
        assert_eq!(names.len(), 9, "{names:?}");
        assert!(layers(&path).is_err(), "two images have no one base");
        write(&path, &images[..1]).expect("it is written");
        assert_eq!(layers(&path).expect("one image"), [base, own]);
    }
}
