//! Tells which document of this kops generation a file is.

use super::{boot_config, nodeup_config, objects};
use quake_formats::yaml::Yaml;
use quake_model::fault::Fault;

/// Keys of a nodeup configuration that no other document has.
const NODEUP_MARKS: &[&str] = &["KeypairIDs", "KubeletConfig", "CAs"];

/// Everything wrong with a document of this kops generation; `None` for a document that is none.
pub(crate) fn check(source: &str, root: &Yaml) -> Option<Vec<Fault>> {
    if NODEUP_MARKS.iter().filter(|mark| root.has(mark)).count() > 1 {
        return Some(nodeup_config::survey(source, root));
    }
    if boot_config::is_boot_config(root) {
        return Some(boot_config::survey(source, root));
    }
    objects::survey(source, root)
}
