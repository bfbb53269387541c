//! A node's configuration as a directory: the project's example cluster, with assets that a test can serve.

use crate::tree::sha256;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The example cluster's name.
pub const CLUSTER: &str = "demo.quake.example";

/// Where the example cluster's objects are; its cluster spec says so too.
pub const CONFIG_BASE: &str = "s3://quake-example-state/demo.quake.example";

/// The directory of the example cluster.
pub const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../agent/testkit/example");

/// Writes the example's cluster spec and instance groups into `folder`, as a state store has them.
///
/// # Errors
///
/// Returns the error of the file that cannot be read or written.
pub fn write_state_store(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder.join("instancegroup"))?;
    for name in [
        "cluster.spec",
        "instancegroup/control-plane",
        "instancegroup/workers",
    ] {
        std::fs::copy(Path::new(EXAMPLE).join(name), folder.join(name))?;
    }
    Ok(())
}

/// A `kube_env.yaml` of a node of the example cluster.
pub fn kube_env(instance_group: &str, assets: &[String]) -> String {
    let assets: Vec<String> = assets.iter().map(|asset| format!("- {asset}\n")).collect();
    let assets = if assets.is_empty() {
        " []\n".to_owned()
    } else {
        format!("\n{}", assets.concat())
    };
    format!(
        "Assets:{assets}ClusterName: {CLUSTER}\nConfigBase: {CONFIG_BASE}\nInstanceGroupName: {instance_group}\nTags:\n- _automatic_upgrades\n- _aws\n"
    )
}

/// Files that mirrors serve, by their path; the bytes are those of programs of this machine.
#[derive(Debug, Clone, Default)]
pub struct Mirrored(BTreeMap<String, Vec<u8>>);

impl Mirrored {
    /// A kubelet, a kubectl and an archive of network plugins: real programs under those names.
    ///
    /// # Errors
    ///
    /// Returns the error of the program that cannot be read.
    pub fn programs() -> io::Result<Self> {
        let plugins = [
            ("bridge", "/bin/cat"),
            ("host-local", "/bin/ln"),
            ("loopback", "/bin/true"),
        ];
        let mut members = Vec::new();
        for (name, program) in plugins {
            members.push((name, std::fs::read(program)?));
        }
        let files = [
            (
                "/bin/linux/amd64/kubelet".to_owned(),
                std::fs::read("/bin/ls")?,
            ),
            (
                "/bin/linux/amd64/kubectl".to_owned(),
                std::fs::read("/bin/cp")?,
            ),
            (
                "/network-plugins/cni-plugins-amd64-v0.7.5.tgz".to_owned(),
                archive(&members)?,
            ),
        ];
        Ok(Self(files.into()))
    }

    /// The bytes at this path.
    pub fn at(&self, path: &str) -> Option<&[u8]> {
        self.0.get(path).map(Vec::as_slice)
    }

    /// Every path with its bytes.
    pub fn all(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0
            .iter()
            .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// The lines that pin each file below this URL.
    pub fn pins(&self, base: &str) -> Vec<String> {
        let pin = |(path, bytes): (&str, &[u8])| format!("{}@{base}{path}", sha256(bytes));
        self.all().map(pin).collect()
    }
}

impl<P: Into<String>> FromIterator<(P, Vec<u8>)> for Mirrored {
    fn from_iter<I: IntoIterator<Item = (P, Vec<u8>)>>(files: I) -> Self {
        let files = files.into_iter();
        Self(files.map(|(path, bytes)| (path.into(), bytes)).collect())
    }
}

/// A gzipped tar archive of executable files.
///
/// # Errors
///
/// Returns the error of the archive's writer.
pub fn archive(members: &[(&str, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, bytes) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o755);
        // The name goes in as it is: the crate's own setter would refuse `..`, which some tests want.
        let field = &mut header.as_old_mut().name;
        let length = name.len().min(field.len());
        field[..length].copy_from_slice(&name.as_bytes()[..length]);
        header.set_cksum();
        builder.append(&header, bytes.as_slice())?;
    }
    builder.into_inner()?.finish()
}
