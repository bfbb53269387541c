//! Hostile trees: what is outside is never named.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;

/// A root with links in it: `(link, target)`; and directories that are there.
fn root(links: &[(&str, &str)], directories: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a scratch directory");
    for directory in directories {
        fs::create_dir_all(root.path().join(directory)).expect("the root is ours");
    }
    for (link, target) in links {
        let link = root.path().join(link);
        fs::create_dir_all(link.parent().expect("it is below")).expect("the root is ours");
        symlink(target, link).expect("the root is ours");
    }
    root
}

/// Links, directories, the path that is asked for, and where it is.
type Case = (
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
    &'static str,
    &'static str,
);

#[test]
fn links_resolve_as_in_a_chroot() {
    let cases: [Case; 7] = [
        (&[], &[], "var/lib/x", "var/lib/x"),
        (&[], &[], "/var//lib/./x/", "var/lib/x"),
        (
            &[("etc/units", "/tmp")],
            &["tmp"],
            "etc/units/a/b",
            "tmp/a/b",
        ),
        (&[("var/lib", "../../../..")], &[], "var/lib/x", "x"),
        (&[("bin", "usr/bin")], &["usr/bin"], "bin/x", "usr/bin/x"),
        (
            &[("a", "/b"), ("b", "c/../c"), ("c/inner", "/d")],
            &["d"],
            "a/inner/x",
            "d/x",
        ),
        (&[("etc/x", "/etc/passwd")], &[], "etc/x", "etc/x"),
    ];
    for (links, directories, path, expected) in cases {
        let root = root(links, directories);
        let found = locate(root.path(), path, Last::Kept).expect("it is found");
        assert_eq!(found, root.path().join(expected), "{links:?}");
        assert!(!found.to_string_lossy().ends_with('/'), "{links:?}");
    }
}

#[test]
fn a_link_that_leads_nowhere_below_the_root_is_refused_and_named() {
    // The second leads to a directory that this machine has, and the root has not.
    let cases = [
        (("var/lib", "/nowhere"), "var/lib/x", "/var/lib"),
        (("etc/units", "/proc"), "etc/units/x", "/etc/units"),
        (("loop", "loop"), "loop/x", "/loop"),
        (("up", "../../etc/ssl"), "up/x/y", "/up"),
    ];
    for ((link, target), path, named) in cases {
        let root = root(&[(link, target)], &[]);
        let error = locate(root.path(), path, Last::Kept).expect_err("it is refused");
        assert_eq!(error.condition, Condition::Occupied, "{link}");
        let shown = format!("{}{named} leads to {target}", root.path().display());
        assert!(error.summary.contains(&shown), "{}", error.summary);
    }
}

#[test]
fn the_last_link_is_followed_for_a_reader_and_never_out() {
    let root = root(&[("a", "/b"), ("out", "/proc/self/status")], &["b"]);
    let followed = |path: &str| locate(root.path(), path, Last::Followed);
    assert_eq!(followed("a"), Ok(root.path().join("b")));
    assert_eq!(
        followed("out").map_err(|error| error.condition),
        Err(Condition::Occupied)
    );
    assert_eq!(followed("absent"), Ok(root.path().join("absent")));
}

#[test]
fn a_path_that_climbs_is_refused_and_the_machines_own_root_is_plain() {
    let root = root(&[], &[]);
    for path in ["../x", "a/../../x", "a\0b"] {
        let error = locate(root.path(), path, Last::Kept).expect_err("it is refused");
        assert_eq!(error.condition, Condition::Denied, "{path:?}");
    }
    let plain = locate(Path::new("/"), "/etc/x", Last::Kept);
    assert_eq!(plain, Ok(PathBuf::from("/etc/x")));
}
