//! `dist`: the one static binary, proven static and within its budget, with checksums and an SBOM.

mod elf;
mod manual;
mod nodeup;
mod reproduce;
mod sbom;

pub(crate) use reproduce::reproduce;

use crate::error::TaskError;
use crate::program::{capture, cargo, find_program, run};
use crate::workspace::{Workspace, files_below};
use elf::Linkage;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the binary may weigh: a node downloads it before it can do anything else. docs/adr/0003 has what brought it here,
/// and what was done against it.
const BUDGET_BYTES: u64 = 38 * 512 * 1024;

const PACKAGE: &str = "quake-agent";

/// Builds the binary that would be published, and leaves it where cargo does; its path.
///
/// # Errors
///
/// Fails when the target is not installed, or the build fails.
pub(crate) fn compile_for(workspace: &Workspace, target: &str) -> Result<PathBuf, TaskError> {
    require_target(target)?;
    compile(&workspace.root, &workspace.target, target)
}

/// Builds for one target and leaves everything to publish in `dist/`.
///
/// # Errors
///
/// Fails when the target is not installed, the build fails, or the binary is not static or too large.
pub(crate) fn build(workspace: &Workspace, target: &str) -> Result<(), TaskError> {
    let built = compile_for(workspace, target)?;
    let bytes = std::fs::read(&built).map_err(TaskError::path(&built))?;
    prove_static(&built, &bytes)?;
    require_budget(&built, bytes.len() as u64)?;

    let folder = workspace.path("dist");
    std::fs::create_dir_all(&folder).map_err(TaskError::path(&folder))?;
    let name = format!("{PACKAGE}-{}-{target}", workspace.version_of(PACKAGE));
    let published = folder.join(&name);
    std::fs::copy(&built, &published).map_err(TaskError::path(&published))?;
    sbom::write(workspace, target, &folder.join(format!("{name}.cdx.json")))?;
    let manual = manual::write(&published, &folder)?;
    let nodeup = nodeup::publish(&published, &folder, target)?;
    write_checksums(&folder)?;

    println!("{name}");
    println!("  static: no interpreter, no shared library");
    println!("  size:   {} of {BUDGET_BYTES} bytes", bytes.len());
    match nodeup.packed_bytes {
        Some(size) => println!("  xz:     {size} bytes"),
        None => println!("  xz:     not packed, xz is not installed"),
    }
    println!("  nodeup: {}", nodeup.binary.display());
    match manual {
        Some(files) => println!("  manual: {files} man pages and completions"),
        None => println!("  manual: not written, for this machine cannot run the binary"),
    }
    println!("  in:     {}", folder.display());
    Ok(())
}

/// Builds a checkout into a target directory of its own; the binary's path.
fn compile_checkout(checkout: &Path, target: &str) -> Result<PathBuf, TaskError> {
    require_target(target)?;
    compile(checkout, &checkout.join("target"), target)
}

fn require_target(target: &str) -> Result<(), TaskError> {
    // Without rustup the toolchain is somebody's own, and cargo will say what it lacks.
    if find_program("rustup").is_none() {
        return Ok(());
    }
    let installed = capture(Command::new("rustup").args(["target", "list", "--installed"]))?;
    let installed = String::from_utf8_lossy(&installed);
    if installed.lines().any(|line| line.trim() == target) {
        return Ok(());
    }
    Err(TaskError::TargetMissing {
        target: target.to_owned(),
    })
}

/// Relocations as a bitmap (DT_RELR) and not as a table, which is 700 KB of the binary otherwise. It needs
/// binutils 2.38 to link, and a C library of 2.36 or newer, which is linked in.
const PACKED_RELOCATIONS: &str = "link-arg=-Wl,-z,pack-relative-relocs";

/// Leaves out the tables that unwinding needs, and the index of them.
const NO_UNWIND_TABLES: &str = "link-arg=-Wl,--no-eh-frame-hdr";

/// Leaves out the tables that unwinding needs, by this script; relative, so that no checkout's place has a say in the result.
const LINKER_SCRIPT: &str = "link-arg=-Wl,-T,xtask/src/dist/discard-unwind-tables.ld";

/// Functions of the same code are one: sorts and destructors of types of one layout, above all. LLD has it.
const FOLDED: &str = "link-arg=-Wl,--icf=all";

/// The target that rustc links with LLD.
const LINKED_BY_LLD: &str = "x86_64-unknown-linux-gnu";

/// What zstd's encoder has for levels above 3, which nothing here asks for.
const ZSTD_LEVELS_LEFT_OUT: [&str; 6] = ["GREEDY", "LAZY", "LAZY2", "BTLAZY2", "BTOPT", "BTULTRA"];

/// Compiles a checkout with the C library linked in. With an explicit target, build scripts and procedural macros
/// keep the host's own flags, without which they could not be loaded.
fn compile(checkout: &Path, target_dir: &Path, target: &str) -> Result<PathBuf, TaskError> {
    let names = renamed(checkout, target_dir);
    let of_rust = names
        .iter()
        .map(|(from, to)| format!(" --remap-path-prefix={}={to}", from.display()));
    let rust_flags = "-C target-feature=+crt-static".to_owned() + &of_rust.collect::<String>();
    let of_c = names
        .iter()
        .map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display()));
    let left_out =
        ZSTD_LEVELS_LEFT_OUT.map(|name| format!("-DZSTD_EXCLUDE_{name}_BLOCK_COMPRESSOR"));
    let c_flags: Vec<String> = of_c.chain(left_out).collect();
    run(cargo()
        .args(["rustc", "--locked", "--profile", "dist"])
        .args(["--package", PACKAGE, "--bin", PACKAGE, "--target", target])
        .arg("--target-dir")
        .arg(target_dir)
        .args(["--", "-C", PACKED_RELOCATIONS, "-C", NO_UNWIND_TABLES])
        .args(["-C", LINKER_SCRIPT])
        .args(if target == LINKED_BY_LLD {
            &["-C", FOLDED][..]
        } else {
            &[]
        })
        .env("RUSTFLAGS", rust_flags)
        // By the target's own name: cc reads TARGET_CFLAGS only where host and target differ.
        .env(
            format!("CFLAGS_{}", target.replace('-', "_")),
            c_flags.join(" "),
        )
        // The kernel's randomness is ready before any program runs; measuring the processor's own instead costs 30 ms
        // at the first connection.
        .env("AWS_LC_SYS_NO_JITTER_ENTROPY", "1")
        .current_dir(checkout))?;
    Ok(target_dir.join(target).join("dist").join(PACKAGE))
}

/// Directories of this machine, and what the binary says instead of them. Of several that match the last one counts.
fn renamed(checkout: &Path, target_dir: &Path) -> Vec<(PathBuf, &'static str)> {
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from);
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    vec![
        (checkout.to_owned(), "/quake-agent"),
        (target_dir.to_owned(), "/target"),
        (cargo_home.unwrap_or_else(|| home.join(".cargo")), "/cargo"),
    ]
}

fn prove_static(path: &Path, bytes: &[u8]) -> Result<(), TaskError> {
    let complaint = match Linkage::read(bytes) {
        Ok(linkage) if linkage.is_static() => return Ok(()),
        Ok(linkage) => format!("is not static: {linkage}"),
        Err(error) => error.to_string(),
    };
    Err(TaskError::Unfit {
        path: path.to_path_buf(),
        complaint,
    })
}

fn require_budget(path: &Path, size: u64) -> Result<(), TaskError> {
    if size <= BUDGET_BYTES {
        return Ok(());
    }
    Err(TaskError::Unfit {
        path: path.to_path_buf(),
        complaint: format!("has {size} bytes, and the budget is {BUDGET_BYTES}"),
    })
}

/// Writes `SHA256SUMS` over everything else in the directory and below it, in the form that `sha256sum --check` reads.
fn write_checksums(folder: &Path) -> Result<(), TaskError> {
    let sums = folder.join("SHA256SUMS");
    let files = files_below(folder, &|file| file != sums)?;
    let below = |file: &PathBuf| file.strip_prefix(folder).unwrap_or(file).to_owned();
    let names: Vec<PathBuf> = files.iter().map(below).collect();
    let mut command = Command::new("sha256sum");
    let text = capture(command.args(names).current_dir(folder).stdin(Stdio::null()))?;
    std::fs::write(&sums, text).map_err(TaskError::path(&sums))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_over_its_budget_is_refused_and_one_at_it_is_not() {
        let path = Path::new("quake-agent");
        assert!(require_budget(path, BUDGET_BYTES).is_ok());
        let error = require_budget(path, BUDGET_BYTES + 1).expect_err("one byte too many");
        let expected = "quake-agent has 19922945 bytes, and the budget is 19922944";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_file_that_is_no_executable_is_refused() {
        let error = prove_static(Path::new("x"), b"#!/bin/sh").expect_err("a script is no binary");
        assert_eq!(error.to_string(), "x is no 64-bit little-endian ELF file");
    }
}
