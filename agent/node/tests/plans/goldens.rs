//! The whole plan of a node as one text file for each case. `QUAKE_BLESS=1 cargo test` writes them anew.

use crate::nodes::{self, Node};
use quake_model::item::UnitState;
use quake_model::step::{Action, Condition, Keep, Need, Step, Visibility, WriteFile};
use quake_node::plan_inputs::EtcdManifest;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Every step of a node that is planned here, in the order of the phases.
pub(crate) fn plan(node: &Node) -> Vec<Step> {
    let manifests: Vec<EtcdManifest> = node
        .spec
        .etcd
        .iter()
        .filter(|cluster| cluster.provider == quake_model::spec::EtcdProvider::Manager)
        .map(|cluster| EtcdManifest {
            name: cluster.name.clone(),
            contents: b"kind: Pod\n".to_vec(),
        })
        .collect();
    node.plan(&manifests)
}

fn render(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        render_step(&mut text, step);
    }
    text
}

fn render_step(text: &mut String, step: &Step) {
    let line = match &step.action {
        Action::FetchAsset(asset) => format!("fetch {}", asset.digest),
        Action::FetchImage(image) => format!("fetch {}", image.archive.digest),
        Action::ImportImage { image, runtime } => {
            format!("import {} into {}", image.archive.digest, runtime.name())
        }
        Action::Place(place) => match &place.member {
            Some(member) => format!("place {:04o} {member} of {}", place.mode, place.asset),
            None => format!("place {:04o} {}", place.mode, place.asset),
        },
        Action::MakeDirectory { mode, .. } => format!("directory {mode:04o}"),
        Action::WriteFile(file) => write_line(file),
        Action::LoadModule { need, .. } => format!("load ({})", need_word(*need)),
        Action::SetSysctl { value, need, .. } => format!("set {value} ({})", need_word(*need)),
        Action::StartUnit(unit) if unit.state == UnitState::Unmanaged => {
            "let systemd read its file".to_owned()
        }
        Action::StartUnit(unit) => format!(
            "start{} ({}) reading {}",
            if unit.enable { " and enable" } else { "" },
            need_word(unit.need),
            unit.inputs.join(" ")
        ),
        Action::Await(condition) => format!("await {}", condition_words(condition)),
        Action::AttachVolume(_) | Action::MakeFilesystem(_) | Action::MountVolume(_) => {
            "volume".to_owned()
        }
        other => unreachable!("a step of kops (1.32 and newer): {}", other.subject()),
    };
    writeln!(text, "== {}: {line}", step.id).expect("a string takes all");
    if let Action::WriteFile(file) = &step.action
        && file.visibility == Visibility::Plain
    {
        for line in String::from_utf8_lossy(&file.contents.0).lines() {
            writeln!(text, "  | {line}").expect("a string takes all");
        }
    }
}

fn write_line(file: &WriteFile) -> String {
    let keep = match file.keep {
        Keep::Never => "",
        Keep::IfPresent => " if absent",
    };
    match file.visibility {
        Visibility::Plain => format!("write {:04o}{keep}", file.mode),
        Visibility::Secret => format!(
            "write {:04o}{keep}, secret of {} bytes",
            file.mode,
            file.contents.0.len()
        ),
    }
}

fn need_word(need: Need) -> &'static str {
    match need {
        Need::Required => "required",
        Need::Optional => "optional",
    }
}

fn condition_words(condition: &Condition) -> String {
    match condition {
        Condition::OwnTags { any_of } => format!("one tag of {}", any_of.join(" ")),
        Condition::Healthy { url, .. } => url.clone(),
        Condition::CniConfigured { directory } => format!("a configuration in {directory}"),
        Condition::UnitActive { unit, .. } => format!("{unit} active"),
        Condition::RuntimeAnswers { runtime } => format!("{runtime} answers"),
        Condition::PodRuns { pod } => format!("{pod} runs"),
        Condition::NodeRegistered { node, .. } => format!("{node} registered"),
        Condition::NamesInSync { zone } => format!("names of {zone} in sync"),
        Condition::PodNetwork { directory, network } => {
            format!("a configuration of {network} in {directory}")
        }
    }
}

/// Compares a text with its golden, or writes that anew.
pub(crate) fn check(file: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/goldens/{file}"));
    if std::env::var_os("QUAKE_BLESS").is_some() {
        std::fs::write(&path, actual).expect("the golden can be written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    let first = actual
        .lines()
        .zip(wanted.lines())
        .position(|(actual, wanted)| actual != wanted);
    assert!(
        actual == wanted,
        "{file} is another, first in line {:?}; QUAKE_BLESS=1 writes it anew",
        first.map(|line| line + 1)
    );
}

#[test]
fn the_plan_of_every_node_is_as_its_golden() {
    for (name, node) in nodes::all() {
        check(&format!("{name}.txt"), &render(&plan(&node)));
    }
}
