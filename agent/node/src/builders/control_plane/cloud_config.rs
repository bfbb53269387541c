//! The cloud provider's configuration, which cloud-controller-manager reads.

use crate::builders::Context;
use crate::builders::layout::CLOUD_CONFIG;
use quake_model::fault::Fault;
use quake_model::item::{File, Item};

/// The file, on nodes with an API server; it is there even if it says nothing, for pods mount it.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.has_api_server() {
        return Ok(Vec::new());
    }
    let config = &context.config.whole;
    let mut text = String::from("[global]\n");
    let mut add = |name: &str, value: &str| text.push_str(&format!("{name} = {value}\n"));
    if let Some(is_disabled) = config.boolean("disableSecurityGroupIngress") {
        add("DisableSecurityGroupIngress", &is_disabled.to_string());
    }
    for (name, key) in [
        ("ElbSecurityGroup", "elbSecurityGroup"),
        ("NLBSecurityGroupMode", "nlbSecurityGroupMode"),
    ] {
        if let Some(value) = config.text(key) {
            add(name, value);
        }
    }
    for family in config.texts("nodeIPFamilies") {
        add("NodeIPFamilies", family);
    }
    // nodeup joins the lines and ends the file, so that without any of them one is empty (`nodeup/pkg/model/cloudconfig.go`).
    if text == "[global]\n" {
        text.push('\n');
    }
    Ok(vec![Item::File(File::plain(CLOUD_CONFIG, text))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    #[test]
    fn each_setting_that_is_given_is_a_line() {
        let keys = "disableSecurityGroupIngress: false\nelbSecurityGroup: sg-1\nnlbSecurityGroupMode: Managed\n\
                    nodeIPFamilies: [ipv6, ipv4]\n";
        let wanted = "[global]\nDisableSecurityGroupIngress = false\nElbSecurityGroup = sg-1\n\
                      NLBSecurityGroupMode = Managed\nNodeIPFamilies = ipv6\nNodeIPFamilies = ipv4\n";
        assert_eq!(
            Sample::control_plane(keys).file(build, CLOUD_CONFIG),
            wanted
        );
        assert_eq!(Sample::worker(keys).find(build, CLOUD_CONFIG), None);
    }
}
