//! The startup taints that the node may have, noted before kubelet can register with them: without the note nobody would know a
//! taint of a flag that is not given any more from one that an administrator set.

use super::{ConditionsPlan, Remover, RemoverChoice, StartupTaint};
use quake_model::step::WriteFile;
use serde::{Deserialize, Serialize};

/// Where it is kept.
pub const NOTE: &str = "/var/lib/quake-agent/startup-taints.json";

#[derive(Serialize, Deserialize)]
struct Noted {
    /// In kubelet's words: `key=value:effect`.
    taint: String,
    /// `controller`, or the kubeconfig that it is removed by.
    remover: String,
}

/// The startup taints of a note, none waiting for anything. A note that cannot be read is none.
pub fn noted_taints(note: &[u8]) -> Vec<StartupTaint> {
    let noted: Vec<Noted> = serde_json::from_slice(note).unwrap_or_default();
    let taints = noted.into_iter().filter_map(|noted| {
        Some(StartupTaint {
            taint: StartupTaint::read_taint(&noted.taint).ok()?,
            until: Vec::new(),
            remover: noted.remover.parse().ok()?,
        })
    });
    taints.collect()
}

/// The note of these startup taints.
pub fn taints_note(taints: &[StartupTaint]) -> WriteFile {
    let noted = taints.iter().map(|taint| Noted {
        taint: taint.taint.to_string(),
        remover: taint.remover.to_string(),
    });
    let noted: Vec<Noted> = noted.collect();
    // Strings in a list: nothing that JSON could refuse.
    let text = serde_json::to_string(&noted).unwrap_or_default() + "\n";
    WriteFile::plain(NOTE, 0o644, text)
}

impl ConditionsPlan {
    /// What is to be noted while the node may have its startup taints, each with who removes it here.
    pub fn taints_to_note(&self) -> Vec<StartupTaint> {
        let taints = self.startup_taints.iter().map(|plan| StartupTaint {
            taint: plan.taint.clone(),
            until: Vec::new(),
            remover: match &plan.remover {
                Remover::Agent { kubeconfig } => RemoverChoice::Kubeconfig(kubeconfig.clone()),
                Remover::Controller => RemoverChoice::Controller,
            },
        });
        taints.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::step::Visibility;

    #[test]
    fn what_is_noted_is_read_back_and_what_is_no_note_is_none() {
        let taint = |text: &str, remover: &str| StartupTaint {
            taint: StartupTaint::read_taint(text).expect("it is one"),
            until: Vec::new(),
            remover: remover.parse().expect("it is one"),
        };
        let taints = [
            taint("a.io/b=c:NoExecute", "/etc/remover"),
            taint("readiness.k8s.io/x", "controller"),
        ];
        let note = taints_note(&taints);
        assert_eq!(noted_taints(&note.contents.0), taints);
        assert_eq!(note.visibility, Visibility::Plain);
        for wrong in ["", "{}", r#"[{"taint": "a b", "remover": "controller"}]"#] {
            assert_eq!(noted_taints(wrong.as_bytes()), []);
        }
    }
}
