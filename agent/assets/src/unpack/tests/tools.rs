//! Archives made by the tools that people use.

use super::{Yard, paths};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Runs a tool below `folder`; `None`, with the reason printed, where there is no such tool.
fn run(folder: &Path, tool: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new(tool)
        .current_dir(folder)
        .args(arguments)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no {tool} here");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {arguments:?}: {said}");
    Some(output.stdout)
}

/// A tree with a long name, a link, a hard link, a sparse file and a program.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().expect("a scratch directory");
    let path = |inner: &str| tree.path().join(inner);
    let deep = "a-folder-with-a-long-name/".repeat(8);
    std::fs::create_dir_all(path(&deep)).expect("ours");
    std::fs::write(path(&deep).join("file"), "deep").expect("ours");
    let program: Vec<u8> = (0..400_000_u32)
        .flat_map(|n| (n / 5).to_le_bytes())
        .collect();
    std::fs::write(path("program"), program).expect("ours");
    std::fs::hard_link(path("program"), path("same")).expect("ours");
    symlink("program", path("link")).expect("ours");
    let sparse = std::fs::File::create(path("sparse")).expect("ours");
    sparse.set_len(3 << 20).expect("ours");
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"middle", 1 << 20).expect("ours");
    tree
}

fn assert_is_tree(case: &str, tree: &Path, bytes: &[u8]) {
    let yard = Yard::new();
    let members = yard
        .unpack(bytes)
        .unwrap_or_else(|error| panic!("{case}: {error:?}"));
    let deep = "a-folder-with-a-long-name/".repeat(8) + "file";
    assert_eq!(
        paths(&members),
        [&deep, "program", "same", "sparse"],
        "{case}"
    );
    for member in members {
        let expected = std::fs::read(tree.join(&member.path)).expect("ours");
        assert!(
            yard.read(&member.path) == expected,
            "{case}: {}",
            member.path
        );
        assert_eq!(
            member.check,
            blake3::hash(&expected).to_hex().as_str(),
            "{case}"
        );
    }
}

#[test]
fn what_tar_makes_is_unpacked_as_it_was() {
    let tree = tree();
    for format in ["gnu", "posix", "oldgnu"] {
        for sparse in ["--sparse", "--no-same-owner"] {
            let format = format!("--format={format}");
            let arguments = [&format, sparse, "-cf", "-", "."];
            let Some(bytes) = run(tree.path(), "tar", &arguments) else {
                return;
            };
            assert_is_tree(&format!("{arguments:?}"), tree.path(), &bytes);
        }
    }
}

#[test]
fn what_compressors_make_is_unpacked_as_it_was() {
    let tree = tree();
    let aside = tempfile::tempdir().expect("a scratch directory");
    let whole = aside.path().join("whole.tar");
    let whole = whole.to_str().expect("a plain path");
    if run(tree.path(), "tar", &["-cf", whole, "."]).is_none() {
        return;
    }
    for (tool, arguments) in [
        ("gzip", ["-9", "-c"].as_slice()),
        ("pigz", &["-p2", "-c"]),
        ("xz", &["-9e", "-c"]),
        ("xz", &["-T2", "--block-size=65536", "-c"]),
        ("zstd", &["-q", "-19", "--long=27", "-c"]),
        ("zstd", &["-q", "-T2", "-c"]),
    ] {
        let arguments = [arguments, &[whole]].concat();
        if let Some(bytes) = run(aside.path(), tool, &arguments) {
            assert_is_tree(&format!("{tool} {arguments:?}"), tree.path(), &bytes);
        }
    }
}
