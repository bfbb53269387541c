//! Writes the documents of a node that wants a workload, as a state store and user data hold them.

use super::{Role, Workload};
use crate::failure::BenchError;
use std::fmt::Write;
use std::path::Path;

/// The example cluster's documents; only the assets are other ones.
const CLUSTER: &str = include_str!("../../../../agent/testkit/example/cluster.spec");
const WORKERS: &str = include_str!("../../../../agent/testkit/example/instancegroup/workers");
const CONTROL_PLANE: &str =
    include_str!("../../../../agent/testkit/example/instancegroup/control-plane");

/// Where the example's objects are in their store.
const BUCKET: &str = "quake-example-state";
const KEY: &str = "demo.quake.example";

/// Writes the documents into `folder`; the assets are at `base`, such as `https://127.0.0.1:8443/w1`.
///
/// # Errors
///
/// Fails when they cannot be written.
pub(crate) fn write(folder: &Path, workload: &Workload, base: &str) -> Result<(), BenchError> {
    let store = folder.join(BUCKET).join(KEY);
    let groups = store.join("instancegroup");
    std::fs::create_dir_all(&groups).map_err(BenchError::path(&groups))?;
    let documents = [
        (store.join("cluster.spec"), CLUSTER.to_owned()),
        (groups.join("workers"), WORKERS.to_owned()),
        (groups.join("control-plane"), CONTROL_PLANE.to_owned()),
        (folder.join("kube_env.yaml"), kube_env(workload, base)),
    ];
    for (path, text) in documents {
        std::fs::write(&path, text).map_err(BenchError::path(&path))?;
    }
    Ok(())
}

/// Adds small files to the cluster's spec, as an operator does with `fileAssets`.
///
/// # Errors
///
/// Fails when the documents of [`write`] are not there.
pub(crate) fn add_files(folder: &Path, count: usize) -> Result<(), BenchError> {
    let path = folder.join(BUCKET).join(KEY).join("cluster.spec");
    let mut text = format!("{CLUSTER}  fileAssets:\n");
    for number in 0..count {
        let _ = write!(
            text,
            "  - name: small-{number:05}\n    path: /srv/bench/small-{number:05}\n    content: \"number {number}\\n\"\n"
        );
    }
    std::fs::write(&path, text).map_err(BenchError::path(&path))
}

/// The node's first configuration, which pins its assets.
fn kube_env(workload: &Workload, base: &str) -> String {
    let mut text = String::from("Assets:\n");
    for asset in &workload.assets {
        let _ = writeln!(text, "- {}@{base}/{}", asset.sha256, asset.name);
    }
    let group = match workload.role {
        Role::Worker => "workers",
        Role::ControlPlane => "control-plane",
    };
    let _ = write!(
        text,
        "ClusterName: {KEY}\nConfigBase: s3://{BUCKET}/{KEY}\nInstanceGroupName: {group}\n\
         Tags:\n- _automatic_upgrades\n- _aws\n\
         channels:\n- s3://{BUCKET}/{KEY}/addons/bootstrap-channel.yaml\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Asset, Kind};

    #[test]
    fn every_asset_is_pinned_by_its_sha256_at_the_servers_address() {
        let workload = Workload {
            name: "w".to_owned(),
            role: Role::ControlPlane,
            assets: vec![Asset {
                name: "kubelet".to_owned(),
                kind: Kind::Plain,
                size: 1,
                sha256: "ab".repeat(32),
                contents: Vec::new(),
            }],
            folder: "/nowhere".into(),
        };
        let text = kube_env(&workload, "https://127.0.0.1:1/w");
        let line = format!("- {}@https://127.0.0.1:1/w/kubelet\n", "ab".repeat(32));
        assert!(text.contains(&line), "{text}");
        assert!(text.contains("InstanceGroupName: control-plane\n"));
    }
}
