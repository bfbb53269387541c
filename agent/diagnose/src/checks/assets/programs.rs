//! Whether the programs that a node runs are there.

use super::super::check::{Finding, Verdict};
use super::super::node::Node;
use super::loader;
use quake_model::facts::{EntryKind, Unseen};
use quake_model::phase::Phase;

/// A program, where it may be, and how it gets there.
struct Program {
    name: &'static str,
    places: &'static [&'static str],
    fix: &'static str,
}

const KUBELET: Program = Program {
    name: "kubelet",
    places: &["/usr/local/bin/kubelet"],
    fix: "systemctl restart quake-agent.service places it again",
};

const CONTAINERD: Program = Program {
    name: "containerd",
    places: &["/usr/local/bin/containerd", "/usr/bin/containerd"],
    fix: "install the package containerd, or pin its archive in the spec's assets",
};

const RUNC: Program = Program {
    name: "runc",
    places: &[
        "/usr/local/sbin/runc",
        "/usr/local/bin/runc",
        "/usr/sbin/runc",
        "/usr/bin/runc",
    ],
    fix: "install the package runc, or pin it in the spec's assets",
};

const DOCKER: Program = Program {
    name: "dockerd",
    places: &["/usr/bin/dockerd", "/usr/local/bin/dockerd"],
    fix: "install the package of docker, or pin its archive in the spec's assets",
};

const MKFS: Program = Program {
    name: "mkfs.ext4",
    places: &[
        "/usr/sbin/mkfs.ext4",
        "/sbin/mkfs.ext4",
        "/usr/bin/mkfs.ext4",
    ],
    fix: "install the package e2fsprogs, or bake it into the image",
};

const FOLDERS: &[&str] = &[
    "/usr/local/bin",
    "/usr/bin",
    "/usr/sbin",
    "/sbin",
    "/usr/local/sbin",
];

pub(super) fn binaries(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(finding) = loader::refused(node) {
        return finding.fail();
    }
    let expected = node.expected()?;
    if FOLDERS.iter().all(|folder| node.list(folder).is_empty()) {
        return Err(Unseen::NotTaken(
            "no program is in what was looked at".to_owned(),
        ));
    }
    let mut wanted = Vec::new();
    if node.is_control_plane() && !node.has_done(Phase::Storage) {
        wanted.push(MKFS);
    }
    if node.has_done(Phase::Files) {
        let answers = node
            .survey()
            .runtime
            .ok()
            .is_some_and(|it| it.version.is_some());
        match expected.runtime.as_str() {
            "containerd" if !answers => wanted.extend([CONTAINERD, RUNC]),
            // What runs was made by a runc that was there then.
            "containerd" if runs_nothing(node) => wanted.push(RUNC),
            "docker" if !answers => wanted.push(DOCKER),
            _ => {}
        }
        wanted.extend((!expected.runtime.is_empty()).then_some(KUBELET));
    }
    if wanted.is_empty() {
        return Verdict::skip("the boot has not come so far as to place a program");
    }
    for program in &wanted {
        if let Some(finding) = lacking(node, program) {
            return finding.fail();
        }
    }
    let names: Vec<&str> = wanted.iter().map(|program| program.name).collect();
    Verdict::ok(names.join(", "))
}

/// Whether the runtime listed its pods, and none of them runs.
fn runs_nothing(node: &Node<'_>) -> bool {
    let runtime = node.survey().runtime.ok();
    let pods = runtime.and_then(|runtime| runtime.pods.as_ref());
    pods.is_some_and(|pods| pods.iter().all(|pod| pod.state != "running"))
}

/// Why a program cannot be run; `None` when it can.
fn lacking(node: &Node<'_>, program: &Program) -> Option<Finding> {
    let entries = &node.survey().entries;
    let name = program.name;
    let found = program
        .places
        .iter()
        .find_map(|path| Some((path, entries.get(*path)?)));
    let Some((path, entry)) = found else {
        let places = program.places.join(" and ");
        let summary = format!("{name} is not on this node");
        return Some(Finding::new(summary, program.fix).seen("looked at", places));
    };
    // Where a link leads is not looked at.
    if entry.kind == EntryKind::Link {
        return None;
    }
    let mode = entry.mode;
    if entry.kind != EntryKind::File || entry.size == 0 {
        return Some(
            Finding::new(format!("{path} is no program"), program.fix).seen("size", entry.size),
        );
    }
    (mode & 0o111 == 0 && node.has_modes()).then(|| {
        Finding::new(
            format!("{path} cannot be executed"),
            format!("chmod 0755 {path}"),
        )
        .seen("mode", format_args!("{mode:04o}"))
    })
}
