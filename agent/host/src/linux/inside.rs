//! What an etcd volume's filesystem holds: the marker, and what etcd, etcd-manager and protokube left.
//!
//! Layouts: etcd-manager keeps `state`, `myid`, `data/<token>`, `data-trashcan/<token>` and `pki/<token>`
//! below the root; protokube kept `var/etcd/data*` and `k8s.io/manifests`.

use super::folder::Folder;
use super::leftovers::is_temporary;
use quake_model::facts::InsideFacts;
use std::io;

/// The directory of the marker, below the root.
pub(super) const MARKER_FOLDER: &str = ".quake-agent";
/// The marker, in its directory.
pub(super) const MARKER: &str = "volume.json";

/// The most that is read of one file; markers and certificates are a few KiB.
const FILE_LIMIT: u64 = 64 << 10;
/// The most names that are looked at in one directory; etcd-manager makes a few.
const NAMES_LIMIT: usize = 256;
/// How many other names are told.
const OTHERS_LIMIT: usize = 32;

const FOLDERS: [&str; 5] = ["data", "data-trashcan", "k8s.io", "pki", "var"];
const FILES: [&str; 2] = ["myid", "state"];

/// Reads what a filesystem holds, from its root.
pub(super) fn read_inside(root: &Folder) -> io::Result<InsideFacts> {
    let marker = marker(root)?;
    let peer_ca_bundle = peer_ca_bundle(root)?;
    let etcd_data = etcd_data(root)?;
    let is_etcd = !(peer_ca_bundle.is_empty() && etcd_data.is_empty());
    let mut others = Vec::new();
    for name in root.names(NAMES_LIMIT)? {
        if others.len() < OTHERS_LIMIT && !is_explained(root, &name, marker.is_some(), is_etcd)? {
            others.push(name);
        }
    }
    Ok(InsideFacts {
        marker,
        peer_ca_bundle,
        etcd_data,
        others,
    })
}

fn marker(root: &Folder) -> io::Result<Option<String>> {
    let Some(folder) = root.folder(MARKER_FOLDER)? else {
        return Ok(None);
    };
    Ok(folder.file(MARKER, FILE_LIMIT)?.map(|bytes| text(&bytes)))
}

fn peer_ca_bundle(root: &Folder) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let Some(pki) = root.folder("pki")? else {
        return Ok(found);
    };
    for token in pki.names(NAMES_LIMIT)? {
        if let Some(peers) = pki.below(&[&token, "peers"])? {
            let certificate = peers.file("ca.crt", FILE_LIMIT)?;
            found.extend(certificate.map(|bytes| text(&bytes)));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn etcd_data(root: &Folder) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for (path, only) in [(&["data"][..], ""), (&["var", "etcd"], "data")] {
        let Some(folder) = root.below(path)? else {
            continue;
        };
        let names = folder.names(NAMES_LIMIT)?;
        for name in names.iter().filter(|name| name.starts_with(only)) {
            if folder.below(&[name, "member"])?.is_some() {
                found.push(format!("{}/{name}/member", path.join("/")));
            }
        }
    }
    // What etcd-manager set aside is a member's data as well.
    if let Some(folder) = root.folder("data-trashcan")? {
        let names = folder.names(NAMES_LIMIT)?;
        found.extend(names.iter().map(|name| format!("data-trashcan/{name}")));
    }
    if let Some(folder) = root.below(&["k8s.io", "manifests"])? {
        let names = folder.names(NAMES_LIMIT)?;
        let manifests = names.iter().filter(|name| name.ends_with(".manifest"));
        found.extend(manifests.map(|name| format!("k8s.io/manifests/{name}")));
    }
    if root.is_file("state")? {
        found.push("state".to_owned());
    }
    found.sort_unstable();
    Ok(found)
}

/// Whether a name in the root is accounted for by the other facts, so that whoever reads them may take a
/// filesystem without facts for one that nothing was ever put into.
fn is_explained(root: &Folder, name: &str, has_marker: bool, is_etcd: bool) -> io::Result<bool> {
    if name == "lost+found" {
        return Ok(true);
    }
    if FILES.contains(&name) {
        return Ok(is_etcd && root.is_file(name)?);
    }
    if name != MARKER_FOLDER && !FOLDERS.contains(&name) {
        return Ok(false);
    }
    let Some(folder) = root.folder(name)? else {
        return Ok(false);
    };
    let names = folder.names(NAMES_LIMIT)?;
    Ok(match name {
        // A killed write of the marker leaves the directory, and a temporary file in it.
        MARKER_FOLDER => has_marker || names.iter().all(|name| is_temporary(name)),
        "var" => names.is_empty() || (is_etcd && names == ["etcd"]),
        _ => names.is_empty() || is_etcd,
    })
}

/// Whoever put the file there need not have kept to UTF-8; what is not is told as such.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use tempfile::TempDir;

    /// A root with these files and, where a path ends with a slash, directories.
    fn root(paths: &[&str]) -> TempDir {
        let scratch = tempfile::tempdir().expect("a directory");
        for path in paths {
            let at = scratch.path().join(path);
            let folder = if path.ends_with('/') {
                &at
            } else {
                at.parent().expect("a parent")
            };
            fs::create_dir_all(folder).expect("directories");
            if !path.ends_with('/') {
                fs::write(&at, format!("text of {path}")).expect("a file");
            }
        }
        scratch
    }

    fn inside(root: &Path) -> InsideFacts {
        read_inside(&Folder::open(root).expect("a directory")).expect("it can be read")
    }

    #[test]
    fn an_etcd_managers_volume_is_told_by_its_data_and_its_ca_bundle() {
        let root = root(&[
            "lost+found/",
            "state",
            "myid",
            "data/tok2/member/snap/",
            "data/tok1/member/",
            "data/empty/",
            "pki/tok2/peers/ca.crt",
            "pki/tok1/peers/ca.crt",
            "pki/tok1/clients/ca.crt",
            ".quake-agent/volume.json",
            "data-trashcan/old/member/",
        ]);
        let wanted = InsideFacts {
            marker: Some("text of .quake-agent/volume.json".into()),
            peer_ca_bundle: ["tok1", "tok2"]
                .map(|token| format!("text of pki/{token}/peers/ca.crt"))
                .to_vec(),
            etcd_data: [
                "data-trashcan/old",
                "data/tok1/member",
                "data/tok2/member",
                "state",
            ]
            .map(str::to_owned)
            .to_vec(),
            others: Vec::new(),
        };
        assert_eq!(inside(root.path()), wanted);
    }

    #[test]
    fn protokubes_volume_is_told_and_its_other_folders_are_named() {
        let root = root(&[
            "var/etcd/data/member/snap/",
            "var/etcd/data-events/member/",
            "k8s.io/manifests/etcd.manifest",
            "k8s.io/manifests/readme",
            "home/",
        ]);
        let facts = inside(root.path());
        let wanted = [
            "k8s.io/manifests/etcd.manifest",
            "var/etcd/data-events/member",
            "var/etcd/data/member",
        ];
        assert_eq!(
            (facts.etcd_data, facts.others),
            (wanted.map(str::to_owned).to_vec(), vec!["home".to_owned()])
        );
        fs::create_dir(root.path().join("var/log")).expect("a directory");
        assert_eq!(inside(root.path()).others, ["home", "var"]);
    }

    #[test]
    fn only_a_filesystem_that_nothing_was_put_into_is_empty() {
        let temporary = ".quake-agent/.quake-agent.feed-1-0.tmp";
        for empty in [&["lost+found/"][..], &["data/", "pki/"], &[temporary]] {
            assert!(inside(root(empty).path()).is_empty(), "{empty:?}");
        }
        for name in [
            "myid",
            "pki/t/clients/ca.crt",
            "data/t/x",
            ".quake-agent/x",
            "x",
        ] {
            let facts = inside(root(&[name]).path());
            let top = name.split('/').next().expect("a name");
            assert_eq!(facts.others, [top], "{name}");
        }
    }

    #[test]
    fn no_symbolic_link_is_followed_and_none_goes_unnoticed() {
        let outside = root(&["secret", "t/peers/ca.crt", "t/member/", "volume.json"]);
        let out = |name: &str| outside.path().join(name);
        let root = root(&[".quake-agent/", "pki/t/peers/"]);
        let at = |name: &str| root.path().join(name);
        symlink(out("secret"), at(".quake-agent/volume.json")).expect("a link");
        symlink(out("secret"), at("pki/t/peers/ca.crt")).expect("a link");
        symlink(out("t"), at("pki/u")).expect("a link");
        symlink(outside.path(), at("data")).expect("a link");
        symlink(out("secret"), at("state")).expect("a link");
        let facts = inside(root.path());
        assert_eq!(facts.others, [".quake-agent", "data", "pki", "state"]);
        assert_eq!(
            (
                facts.marker,
                facts.peer_ca_bundle.len(),
                facts.etcd_data.len()
            ),
            (None, 0, 0)
        );
        // The directory of the marker itself.
        fs::remove_dir_all(at(".quake-agent")).expect("it goes");
        symlink(outside.path(), at(".quake-agent")).expect("a link");
        assert_eq!(inside(root.path()).marker, None);
    }

    #[test]
    fn long_files_and_many_names_are_cut() {
        let root = root(&[".quake-agent/volume.json"]);
        fs::write(
            root.path().join(".quake-agent/volume.json"),
            vec![0xff; 70_000],
        )
        .expect("a file");
        for number in 0..300 {
            fs::write(root.path().join(format!("x{number:03}")), "").expect("a file");
        }
        let facts = inside(root.path());
        assert_eq!(
            facts.marker.map(|text| text.chars().count()),
            Some(64 << 10)
        );
        assert_eq!(
            (facts.others.len(), facts.others[31].as_str()),
            (32, "x031")
        );
    }

    #[test]
    fn a_pipe_in_the_place_of_the_marker_holds_nobody_up() {
        let root = root(&[".quake-agent/"]);
        let pipe = root.path().join(".quake-agent/volume.json");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let facts = inside(root.path());
        assert_eq!(
            (facts.marker, facts.others),
            (None, vec![".quake-agent".to_owned()])
        );
    }
}
