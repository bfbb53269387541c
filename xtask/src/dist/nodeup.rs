//! The binary as kops' user data fetches nodeup, under the names of kops' releases: whole for kops up to 1.36, packed by xz
//! for 1.37, and the digest of the whole beside both.

use crate::error::TaskError;
use crate::program::{capture, find_program};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What was left.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Published {
    pub(super) binary: PathBuf,
    /// How many bytes the packed one has; `None` where it is not there, for want of xz.
    pub(super) packed_bytes: Option<usize>,
}

/// Leaves `nodeup-linux-<processor>`, `.xz` and `.sha256` in `folder`. The digest is that of the whole binary, which is
/// what kops' script compares, packed or not.
///
/// # Errors
///
/// Fails when a file cannot be read or written, or xz or sha256sum fails.
pub(super) fn publish(binary: &Path, folder: &Path, target: &str) -> Result<Published, TaskError> {
    let name = format!("nodeup-linux-{}", processor(target));
    let published = folder.join(&name);
    std::fs::copy(binary, &published).map_err(TaskError::path(&published))?;
    let digest = capture(
        Command::new("sha256sum")
            .arg(&name)
            .current_dir(folder)
            .stdin(Stdio::null()),
    )?;
    write(&folder.join(format!("{name}.sha256")), &digest)?;
    let packed = folder.join(format!("{name}.xz"));
    let packed_bytes = match find_program("xz") {
        Some(_) => {
            let bytes = capture(Command::new("xz").args(["-6", "--stdout"]).arg(&published))?;
            write(&packed, &bytes)?;
            Some(bytes.len())
        }
        // One of an earlier binary would be refused by every node.
        None => {
            let _ = std::fs::remove_file(&packed);
            None
        }
    };
    Ok(Published {
        binary: published,
        packed_bytes,
    })
}

/// The processor as kops and Go call it.
fn processor(target: &str) -> &str {
    match target.split('-').next().unwrap_or(target) {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), TaskError> {
    std::fs::write(path, bytes).map_err(TaskError::path(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields_of(path: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(path).expect("it was written");
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_kops_script_unpacks_has_the_digest_that_is_beside_it() {
        let folder = std::env::temp_dir().join(format!("quake-nodeup-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("it can be made");
        let binary = folder.join("quake-agent");
        std::fs::write(&binary, "a binary\n".repeat(1_000)).expect("it can be written");
        let published = publish(&binary, &folder, "x86_64-unknown-linux-gnu").expect("it is");
        let name = "nodeup-linux-amd64";
        assert_eq!(published.binary, folder.join(name));
        let reported = fields_of(&folder.join(format!("{name}.sha256")));
        assert_eq!(reported.get(1).map(String::as_str), Some(name));
        match published.packed_bytes {
            None => println!("skipped: xz is not installed"),
            Some(size) => {
                // As kops' script does.
                let steps = format!(
                    "cd \"$0\" && mkdir x && cp {name}.xz x/nodeup.xz && xz -d x/nodeup.xz && sha256sum x/nodeup"
                );
                let unpacked = capture(Command::new("sh").args(["-c", &steps]).arg(&folder));
                let unpacked = unpacked.expect("it unpacks");
                let unpacked = String::from_utf8_lossy(&unpacked).into_owned();
                assert_eq!(
                    unpacked.split_whitespace().next(),
                    reported.first().map(String::as_str)
                );
                assert!(size > 0);
            }
        }
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }

    #[test]
    fn processors_have_the_names_that_kops_gives_them() {
        assert_eq!(processor("x86_64-unknown-linux-gnu"), "amd64");
        assert_eq!(processor("aarch64-unknown-linux-gnu"), "arm64");
    }
}
