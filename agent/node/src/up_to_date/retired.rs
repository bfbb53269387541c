//! Decides what becomes of the manifest of a static pod that is not to be there.

use quake_formats::yaml;
use quake_model::facts::{EntryKind, FileFacts};
use quake_model::fault::{Code, Fault};
use quake_model::item::RetiredPod;
use serde_json::Value;

/// What to do about what stands where a pod was laid down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetireDecision {
    Keep,
    /// It is the pod's manifest: these bytes, and no others, are removed.
    Remove(Vec<u8>),
    /// It is something else, and stays.
    Leave,
}

/// Decides what becomes of `found`. Only a regular file that is one document, a Pod of the very name, is the pod's manifest,
/// whoever laid it down and whatever else it says: kubelet runs the one as the other.
pub fn decide_retire(pod: &RetiredPod, found: Option<&FileFacts>) -> RetireDecision {
    let Some(found) = found else {
        return RetireDecision::Keep;
    };
    match (found.kind, &found.contents) {
        (EntryKind::File, Some(bytes)) if is_pod(pod, bytes) => {
            RetireDecision::Remove(bytes.clone())
        }
        _ => RetireDecision::Leave,
    }
}

fn is_pod(pod: &RetiredPod, bytes: &[u8]) -> bool {
    let Ok(document) = yaml::parse_bytes(&pod.path, bytes) else {
        return false;
    };
    let document = document.to_json();
    let says = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
    says("/apiVersion") == Some("v1")
        && says("/kind") == Some("Pod")
        && says("/metadata/name") == Some(&pod.name)
}

/// The fault of something else in the manifest's place.
pub fn pod_foreign(pod: &RetiredPod) -> Fault {
    let summary = format!("{} is no manifest of the pod {}", pod.path, pod.name);
    Fault::new(Code::AddonsPodForeign, summary).seen("path", &pod.path)
}

/// The fault of a manifest that is there again each time it was removed.
pub fn pod_returns(pod: &RetiredPod) -> Fault {
    let summary = format!("{} is written again by somebody else", pod.path);
    Fault::new(Code::FilesWriteFailed, summary).seen("path", &pod.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed_files::tests::found;

    fn pod() -> RetiredPod {
        RetiredPod {
            path: "/etc/kubernetes/manifests/kops-channels.manifest".to_owned(),
            name: "kops-channels".to_owned(),
        }
    }

    fn file(kind: EntryKind, contents: Option<&str>) -> FileFacts {
        FileFacts {
            kind,
            contents: contents.map(|text| text.as_bytes().to_vec()),
            ..found(0o644, "")
        }
    }

    const MANIFEST: &str = "# laid down\napiVersion: v1\nkind: Pod\nmetadata: {name: kops-channels, namespace: kube-system}\nspec: {}\n";

    #[test]
    fn the_manifest_of_the_very_pod_is_removed_as_it_was_seen() {
        let found = file(EntryKind::File, Some(MANIFEST));
        let wanted = RetireDecision::Remove(MANIFEST.into());
        assert_eq!(decide_retire(&pod(), Some(&found)), wanted);
        assert_eq!(decide_retire(&pod(), None), RetireDecision::Keep);
    }

    #[test]
    fn what_is_not_the_pods_manifest_is_left() {
        let others = [
            MANIFEST.replace("kops-channels", "kops-channels-2"),
            MANIFEST.replace("kind: Pod", "kind: DaemonSet"),
            MANIFEST.replace("apiVersion: v1", "apiVersion: v2"),
            format!("{MANIFEST}---\n{MANIFEST}"),
            "metadata: [".to_owned(),
            String::new(),
        ];
        for text in &others {
            let found = file(EntryKind::File, Some(text));
            assert_eq!(
                decide_retire(&pod(), Some(&found)),
                RetireDecision::Leave,
                "{text}"
            );
        }
        for kind in [
            EntryKind::File,
            EntryKind::Directory,
            EntryKind::Link,
            EntryKind::Other,
        ] {
            let found = file(kind, None);
            assert_eq!(
                decide_retire(&pod(), Some(&found)),
                RetireDecision::Leave,
                "{kind:?}"
            );
        }
        let fault = pod_foreign(&pod());
        assert_eq!(fault.code, Code::AddonsPodForeign);
    }
}
