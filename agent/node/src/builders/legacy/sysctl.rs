//! Kernel settings and modules as files, so that the machine's next boot starts with them.

use super::network;
use quake_model::item::{File, Item};
use quake_model::spec::NodeSpec;

/// The files of settings and modules.
pub(crate) fn items(spec: &NodeSpec) -> Vec<Item> {
    let mut settings =
        String::from("# Written by quake-agent; changes are lost at the next boot.\n");
    for sysctl in network::sysctls(spec) {
        settings.push_str(&format!(
            "\n# {}\n{} = {}\n",
            sysctl.why, sysctl.key, sysctl.value
        ));
    }
    let mut modules =
        String::from("# Written by quake-agent; changes are lost at the next boot.\n");
    for module in network::modules(spec) {
        modules.push_str(module);
        modules.push('\n');
    }
    vec![
        Item::File(File::plain("/etc/modules-load.d/quake-agent.conf", modules)),
        Item::File(File::plain("/etc/sysctl.d/99-k8s-general.conf", settings)),
    ]
}
