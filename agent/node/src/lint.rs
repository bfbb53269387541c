//! Laws every plan keeps, whatever the spec: checked in tests and in debug builds.

use crate::config::node_path::PathKind;
use quake_model::step::{Action, Step, Visibility};
use std::collections::{BTreeMap, BTreeSet};

/// Directories the agent writes unit files to; a unit started from there must be in the plan's files.
const UNIT_DIRECTORY: &str = "/etc/systemd/system/";

/// Checks the steps of one or of several phases against the laws; returns what is broken, nothing when all hold.
///
/// The laws: no two steps share an id; every path is absolute and has no `.`, `..` or empty segment; no path is
/// written twice; a private key is never shown and never readable by group or others; permission bits are only
/// permission bits; a unit is started with an input from the unit directory only when the plan writes it.
pub fn lint(steps: &[Step]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut ids = BTreeSet::new();
    let mut writers: BTreeMap<&str, &str> = BTreeMap::new();
    for step in steps {
        if !ids.insert(step.id.as_str()) {
            broken.push(format!("{}: two steps have this id", step.id));
        }
        let Some((path, mode)) = step.action.writes() else {
            continue;
        };
        if !PathKind::File.admits(path) {
            broken.push(format!(
                "{}: {path} is not an absolute, normal path",
                step.id
            ));
        }
        if mode & !0o7777 != 0 {
            broken.push(format!(
                "{}: {mode:o} is not a set of permission bits",
                step.id
            ));
        }
        if let Some(earlier) = writers.insert(path, &step.id) {
            broken.push(format!("{}: {path} is also written by {earlier}", step.id));
        }
    }
    broken.extend(steps.iter().filter_map(exposed_key));
    broken.extend(unwritten_units(steps, &writers));
    broken
}

fn exposed_key(step: &Step) -> Option<String> {
    let Action::WriteFile(file) = &step.action else {
        return None;
    };
    if !holds_key(&String::from_utf8_lossy(&file.contents.0)) {
        return None;
    }
    if file.visibility == Visibility::Plain {
        return Some(format!("{}: a private key in it could be shown", step.id));
    }
    (file.mode & 0o077 != 0).then(|| {
        format!(
            "{}: a private key in it is open to others ({:o})",
            step.id, file.mode
        )
    })
}

/// Whether a text holds a private key, in PEM or as a kubeconfig's base64.
pub(crate) fn holds_key(text: &str) -> bool {
    let pem = text
        .lines()
        .any(|line| line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----"));
    pem || text.contains("client-key-data:")
}

/// Units whose file the agent should have written and did not; holds only when files are among the steps.
fn unwritten_units(steps: &[Step], writers: &BTreeMap<&str, &str>) -> Vec<String> {
    let writes_files = steps
        .iter()
        .any(|step| matches!(step.action, Action::WriteFile(_)));
    let mut broken = Vec::new();
    for step in steps {
        let Action::StartUnit(unit) = &step.action else {
            continue;
        };
        for input in &unit.inputs {
            let ours = input.starts_with(UNIT_DIRECTORY);
            if writes_files && ours && !writers.contains_key(input.as_str()) {
                broken.push(format!("{}: nothing writes its input {input}", step.id));
            }
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::phase::Phase;
    use quake_model::step::{Need, StartUnit, WriteFile};

    const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n";

    fn write(file: WriteFile) -> Step {
        Step::new(Phase::Files, Action::WriteFile(file))
    }

    #[test]
    fn a_good_plan_breaks_nothing() {
        let steps = [
            write(WriteFile::plain("/etc/a", 0o644, "a")),
            write(WriteFile::secret("/etc/key", 0o600, KEY)),
        ];
        assert_eq!(lint(&steps), Vec::<String>::new());
    }

    #[test]
    fn a_path_has_one_writer() {
        let directory = Action::MakeDirectory {
            path: "/etc/a".to_owned(),
            mode: 0o755,
            owner: quake_model::facts::Owner::default(),
        };
        let steps = [
            write(WriteFile::plain("/etc/a", 0o644, "a")),
            Step::new(Phase::Files, directory),
        ];
        assert_eq!(lint(&steps).len(), 2, "the id and the path are both twice");
    }

    #[test]
    fn a_path_must_be_absolute_and_normal() {
        for path in ["root/.docker/x", "/etc/../a", "/etc//a", "/etc/a/"] {
            let found = lint(&[write(WriteFile::plain(path, 0o644, ""))]);
            assert_eq!(found.len(), 1, "{path}");
        }
    }

    #[test]
    fn a_private_key_is_secret_and_for_root_alone() {
        assert_eq!(lint(&[write(WriteFile::plain("/k", 0o600, KEY))]).len(), 1);
        assert_eq!(lint(&[write(WriteFile::secret("/k", 0o640, KEY))]).len(), 1);
        let kubeconfig = WriteFile::plain("/c", 0o400, "    client-key-data: AAAA\n");
        assert_eq!(lint(&[write(kubeconfig)]).len(), 1);
    }

    #[test]
    fn a_unit_of_ours_is_written_before_it_is_started() {
        let unit = "/etc/systemd/system/kubelet.service";
        let start = Action::StartUnit(StartUnit {
            state: quake_model::item::UnitState::Running,
            unit: "kubelet.service".to_owned(),
            enable: false,
            inputs: vec![unit.to_owned()],
            need: Need::Required,
        });
        let start = Step::new(Phase::Services, start);
        let other = write(WriteFile::plain("/etc/a", 0o644, ""));
        assert_eq!(lint(&[other, start.clone()]).len(), 1);
        assert!(lint(&[write(WriteFile::plain(unit, 0o644, "")), start]).is_empty());
    }
}
