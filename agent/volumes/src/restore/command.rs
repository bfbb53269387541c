//! The object by which etcd-manager is asked to restore a backup, and the spec that it restores into
//! (sigs.k8s.io/etcd-manager v3.0.20260707, `pkg/commands/vfs.go`, `pkg/apis/etcd/etcdapi.proto`).
//!
//! The leader of the etcd-managers carries it out and then removes it.

use quake_model::time::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

/// The directory of etcd-manager's own objects in a backup store.
pub const CONTROL: &str = "control";

/// A command's object, below `control/<instant>-<number>/`.
pub const COMMAND_OBJECT: &str = "_command.json";

/// The object with the spec, below `control/`.
pub const SPEC_OBJECT: &str = "etcd-cluster-spec";

/// What etcd-manager should run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlSpec {
    /// How many members.
    pub member_count: u64,
    /// Of which version.
    pub etcd_version: String,
}

/// A restore that etcd-manager was asked for and has not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingCommand {
    /// Its directory below `control/`.
    pub name: String,
    /// The backup that it names.
    pub backup: String,
}

/// Reads the spec; `None` for what is no spec.
pub fn read_control_spec(bytes: &[u8]) -> Option<ControlSpec> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    Some(ControlSpec {
        member_count: value.get("memberCount")?.as_u64()?,
        etcd_version: value.get("etcdVersion")?.as_str()?.to_owned(),
    })
}

/// Reads a command; `None` where it is not one that restores a backup.
pub fn read_pending(name: &str, bytes: &[u8]) -> Option<PendingCommand> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    // protobuf reads both spellings of a name.
    let restore = ["restoreBackup", "restore_backup"].map(|key| value.get(key));
    let backup = restore.into_iter().flatten().next()?.get("backup")?;
    Some(PendingCommand {
        name: name.to_owned(),
        backup: backup.as_str()?.to_owned(),
    })
}

/// The directory of a command that is written now. etcd-manager writes times to the second.
pub fn command_name(now: Timestamp) -> String {
    let text = Timestamp(now.0 / 1000 * 1000).to_string();
    let whole = text.strip_suffix(".000Z").unwrap_or(&text);
    format!("{whole}Z-000000")
}

/// The object that asks for a restore of `backup`. Its timestamp is in nanoseconds and, as protobuf
/// writes 64-bit numbers, a string.
pub fn restore_command(spec: &ControlSpec, backup: &str, now: Timestamp) -> String {
    let nanoseconds = u128::from(now.0) * 1_000_000;
    let command = json!({
        "timestamp": nanoseconds.to_string(),
        "restoreBackup": {
            "clusterSpec": {
                "memberCount": spec.member_count,
                "etcdVersion": spec.etcd_version,
            },
            "backup": backup,
        },
    });
    format!("{command:#}\n")
}

/// Whether the manifest of etcd-manager's pod copies the programs of etcd one by one and leaves
/// `etcdutl` out, as kops 1.34 does. Newer manifests mount etcd's whole image.
pub fn lacks_etcdutl(manifest: &str) -> bool {
    manifest.contains("--src=/usr/local/bin/etcdctl") && !manifest.contains("etcdutl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_back_and_has_the_form_that_etcd_manager_writes() {
        let spec = read_control_spec(br#"{"memberCount":3,"etcdVersion":"3.5.21"}"#);
        let spec = spec.expect("it is a spec");
        let now = Timestamp(1_795_658_602_250);
        let text = restore_command(&spec, "2026-11-26T02:00:00Z-000012", now);
        let value: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(value["timestamp"], "1795658602250000000");
        assert_eq!(value["restoreBackup"]["clusterSpec"]["memberCount"], 3);
        let name = command_name(now);
        assert_eq!(name, "2026-11-26T02:03:22Z-000000");
        let read = read_pending(&name, text.as_bytes()).expect("it is a command");
        assert_eq!(read.backup, "2026-11-26T02:00:00Z-000012");
    }

    #[test]
    fn other_objects_are_no_commands() {
        for text in ["", "{}", r#"{"restoreBackup":{}}"#, r#"{"timestamp":"1"}"#] {
            assert_eq!(read_pending("x", text.as_bytes()), None, "{text}");
        }
        let underscores = br#"{"restore_backup":{"backup":"b"}}"#;
        assert!(read_pending("x", underscores).is_some());
        assert_eq!(read_control_spec(b"{}"), None);
    }
}
