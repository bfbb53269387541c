//! Programs of Kubernetes and kops, real ones, from directories that the environment names. None of them
//! is part of the project; docs/testing.md says what each directory has.

use crate::oci::{self, Image, ImageLayer};
use crate::skip::skipped;
use std::collections::BTreeSet;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where a node trusts CAs, and an image that is made here too.
pub const TRUSTED: &str = "/etc/ssl/certs/ca-certificates.crt";

/// What writes a component's log file, in the images of Kubernetes.
const RUNNER: &str = "go-runner";

/// The programs that are run as pods, by the last part of their image's name: the image's file, and
/// whether it is what the image runs where a pod names no command.
const PODS: &[(&str, &str, bool)] = &[
    ("kube-apiserver", "/usr/local/bin/kube-apiserver", false),
    (
        "kube-controller-manager",
        "/usr/local/bin/kube-controller-manager",
        false,
    ),
    ("kube-scheduler", "/usr/local/bin/kube-scheduler", false),
    ("kube-proxy", "/usr/local/bin/kube-proxy", false),
    ("pause", "/pause", true),
    ("kops-controller", "/ko-app/kops-controller", true),
    ("channels", "/ko-app/channels", true),
    (
        "kube-apiserver-healthcheck",
        "/ko-app/kube-apiserver-healthcheck",
        true,
    ),
    ("etcd-manager-slim", "/ko-app/etcd-manager", true),
    ("etcd", "/usr/local/bin/etcd", true),
];

/// The directories.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Of `QUAKE_KUBERNETES_BIN`.
    pub kubernetes: PathBuf,
    /// Of `QUAKE_KOPS_BIN`.
    pub kops: PathBuf,
    /// Of `QUAKE_IMAGES`.
    pub images: PathBuf,
    /// The version of kubelet, as `1.35.6`.
    pub version: String,
}

impl Programs {
    /// Those that the environment names; `None`, said aloud, where it does not name all three, or kubelet is of none of these
    /// minor versions.
    ///
    /// # Panics
    ///
    /// When kubelet does not say its version.
    pub fn given(minors: RangeInclusive<u32>) -> Option<Self> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let mut given = Self {
            kubernetes: folder("QUAKE_KUBERNETES_BIN").unwrap_or_default(),
            kops: folder("QUAKE_KOPS_BIN").unwrap_or_default(),
            images: folder("QUAKE_IMAGES").unwrap_or_default(),
            version: String::new(),
        };
        for (folder, what) in [
            (&given.kubernetes, "kubernetes binaries"),
            (&given.kops, "kops binaries"),
            (&given.images, "images"),
        ] {
            if !folder.is_dir() {
                skipped(&format!("no {what}"));
                return None;
            }
        }
        let (version, minor) = version_of(&given.kubernetes.join("kubelet")).expect("a kubelet");
        given.version = version;
        is_admitted(&given.version, minor, &minors).then_some(given)
    }

    /// The file that is given for an asset of kops, such as `containerd-2.2.4-linux-amd64.tar.gz`: the one
    /// whose name has the same beginning.
    pub(super) fn asset(&self, name: &str) -> Option<PathBuf> {
        let begin = name.split(['-', '.']).next().unwrap_or_default();
        for folder in [&self.kubernetes, &self.kops] {
            let exact = folder.join(name);
            if exact.is_file() {
                return Some(exact);
            }
        }
        let files = super::base::sorted(&self.kops).into_iter();
        let mut archives = files.filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&format!("{begin}-")) && name.contains("gz")
        });
        archives.next()
    }

    /// Makes the images among these references whose programs are given, of which `wanted` names the last
    /// part, and writes them to an archive. `certificate` is what they trust.
    ///
    /// # Errors
    ///
    /// Of the files.
    pub fn write_images(
        &self,
        to: &Path,
        references: &BTreeSet<String>,
        wanted: &[&str],
        certificate: &str,
    ) -> io::Result<()> {
        let base = oci::layers(&self.images.join("base.tar"))?;
        let trust = ImageLayer::of(&[(TRUSTED, 0o644, certificate.as_bytes())])?;
        let mut images = Vec::new();
        for reference in references {
            let known = PODS.iter().find(|(name, ..)| *name == last(reference));
            let Some((name, place, runs)) = known.filter(|(name, ..)| wanted.contains(name)) else {
                continue;
            };
            let own = self.layer(name, place)?;
            let layers = base.iter().cloned().chain([trust.clone(), own]);
            images.push(Image {
                reference: reference.clone(),
                layers: layers.collect(),
                entrypoint: if *runs {
                    vec![(*place).to_owned()]
                } else {
                    Vec::new()
                },
            });
        }
        images.push(Image {
            reference: WORKLOAD.to_owned(),
            layers: base,
            entrypoint: vec!["/bin/sh".to_owned()],
        });
        oci::write(to, &images)
    }

    /// A program where its image has it, with what runs it there.
    fn layer(&self, name: &str, place: &str) -> io::Result<ImageLayer> {
        let file = place.rsplit('/').next().unwrap_or(name);
        let read = |name: &str| {
            let places = [&self.kubernetes, &self.kops].map(|folder| folder.join(name));
            let found = places.iter().find(|path| path.is_file());
            let found = found.ok_or_else(|| io::Error::other(format!("there is no {name}")))?;
            std::fs::read(found)
        };
        let (program, runner) = (read(file)?, read(RUNNER)?);
        ImageLayer::of(&[
            (place, 0o755, &program),
            (&format!("/{RUNNER}"), 0o755, &runner),
        ])
    }
}

/// Whether kubelet has one of these minor versions; said aloud where it has not.
pub fn is_admitted(version: &str, minor: u32, minors: &RangeInclusive<u32>) -> bool {
    let (first, last) = (minors.start(), minors.end());
    let is_admitted = minors.contains(&minor);
    if !is_admitted {
        skipped(&format!(
            "kubelet is of {version}, and this takes 1.{first} to 1.{last}"
        ));
    }
    is_admitted
}

/// The version that a program of Kubernetes says it has, whole and its minor part.
///
/// # Errors
///
/// Says why it cannot be run, or what it says instead.
pub fn version_of(program: &Path) -> Result<(String, u32), String> {
    let place = program.display();
    let run = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let output = run.map_err(|error| {
        format!("{place} cannot be run here: {error}; a program for Linux on x86-64 is wanted")
    })?;
    let said = String::from_utf8_lossy(&output.stdout);
    let number = said.trim().strip_prefix("Kubernetes v").unwrap_or_default();
    // What distributions and builds from source add comes after it.
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let number = number.split(|letter| !is_of_number(letter)).next();
    let number = number.unwrap_or_default();
    match number.split('.').collect::<Vec<_>>().as_slice() {
        ["1", minor, _] => {
            let parsed = minor.parse().map_err(|_| format!("{place}: {number}"))?;
            Ok((number.to_owned(), parsed))
        }
        _ => {
            let reported = String::from_utf8_lossy(&output.stderr);
            Err(format!(
                "{place} --version says {:?} and {:?}, and not `Kubernetes v1.<minor>.<patch>`",
                said.trim(),
                reported.trim()
            ))
        }
    }
}

/// The image of pods of the cases: the base of all others.
pub const WORKLOAD: &str = "registry.example/base:1";

/// The last part of an image's name; those of kops legacy name the processor at its end.
fn last(reference: &str) -> &str {
    let name = reference.rsplit('/').next().unwrap_or_default();
    let name = name.split(':').next().unwrap_or_default();
    name.strip_suffix("-amd64").unwrap_or(name)
}

/// The images that a text names.
pub(super) fn references(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| letter.is_whitespace() || "\"',".contains(letter));
    let is_image = |word: &&str| word.starts_with("registry.k8s.io/") && last(word).len() > 1;
    words.filter(is_image).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_a_text_are_found_with_their_tags() {
        let text = "image: registry.k8s.io/kops/channels:1.34.0\n\"registry.k8s.io/pause:3.10.1\"";
        let found: Vec<String> = references(text).into_iter().collect();
        assert_eq!(
            found,
            [
                "registry.k8s.io/kops/channels:1.34.0",
                "registry.k8s.io/pause:3.10.1"
            ]
        );
        assert_eq!(last(&found[0]), "channels");
    }

    #[test]
    fn images_are_made_of_the_programs_that_are_given() {
        let folder = tempfile::tempdir().expect("a directory");
        let given = Programs {
            kubernetes: folder.path().to_owned(),
            kops: folder.path().to_owned(),
            images: folder.path().to_owned(),
            version: String::new(),
        };
        for name in ["pause", RUNNER] {
            std::fs::write(folder.path().join(name), name).expect("the directory is ours");
        }
        let base = Image {
            layers: vec![ImageLayer::of(&[("/bin/sh", 0o755, b"#!")]).expect("a layer")],
            ..Image::default()
        };
        oci::write(&folder.path().join("base.tar"), &[base]).expect("it is written");
        let references = ["registry.k8s.io/pause:3.10.1", "registry.k8s.io/other:1"];
        let references = references.map(str::to_owned).into();
        let out = folder.path().join("out.tar");
        let written = given.write_images(&out, &references, &["pause", "other"], "PEM");
        written.expect("it is written");
        let missing = given.write_images(
            &out,
            &["registry.k8s.io/etcd:1".to_owned()].into(),
            &["etcd"],
            "PEM",
        );
        assert!(
            missing
                .expect_err("it is not given")
                .to_string()
                .contains("etcd")
        );
    }
}
