//! The file that tells other programs what the node is: its names are promised, and so it has a golden.

use crate::nodes::{Node, control_plane_kubenet, worker_containerd};
use quake_model::step::{Action, Visibility, WriteFile};
use quake_node::node_environment;
use std::path::PathBuf;

fn file(node: &Node) -> WriteFile {
    let steps = node_environment::plan(&node.spec, &node.known);
    let mut files = steps.into_iter().filter_map(|step| match step.action {
        Action::WriteFile(file) => Some(file),
        _ => None,
    });
    files.next().expect("it is a file")
}

#[test]
fn a_node_tells_what_it_is_by_the_promised_names() {
    let mut text = String::new();
    for node in [control_plane_kubenet(), worker_containerd()] {
        let file = file(&node);
        assert_eq!(
            (file.path.as_str(), file.mode),
            (node_environment::PATH, 0o644)
        );
        assert_eq!(file.visibility, Visibility::Plain);
        text.push_str(&String::from_utf8_lossy(&file.contents.0));
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/node-environment.txt");
    if std::env::var_os("QUAKE_BLESS").is_some() {
        std::fs::write(&path, &text).expect("the golden can be written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, wanted, "QUAKE_BLESS=1 writes it anew");
}
