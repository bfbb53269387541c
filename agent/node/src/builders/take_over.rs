//! Whether the agent can do the work of kops' pod that applies the cluster's add-ons.

use super::control_plane::manifest_path;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::redact::scrub;
use quake_model::spec::NodeObjectSpec;
use std::collections::BTreeMap;

/// The pod whose work the agent can do itself. protokube does more than apply add-ons, and is left to it.
pub(super) const TAKEN_OVER: &str = "kops-channels";

/// The labels of a control plane that kops-channels sets (`pkg/nodelabels`, v1.36.2); each without a value.
const CONTROL_PLANE_LABELS: [&str; 3] = [
    "node-role.kubernetes.io/control-plane",
    "kops.k8s.io/kops-controller-pki",
    "node.kubernetes.io/exclude-from-external-load-balancers",
];

/// What the agent sets in the node's object in place of the pod: `labels` are those that the pod was told to set.
pub(super) fn node_object(labels: BTreeMap<String, String>) -> NodeObjectSpec {
    // Those of every control plane come last, as kops has it.
    let own = CONTROL_PLANE_LABELS.map(|label| (label.to_owned(), String::new()));
    NodeObjectSpec {
        labels: labels.into_iter().chain(own).collect(),
        taints: Vec::new(),
        has_provider_id: false,
        grants_access: false,
    }
}

/// Why the agent cannot do the work of the pod of these channels; `None` where it can. A channel that it reads nowhere would be
/// applied by nobody once the pod is gone.
pub(super) fn obstacle(channels: &[String]) -> Option<Fault> {
    let strange = channels
        .iter()
        .filter(|channel| channel.parse::<Location>().is_err());
    let strange: Vec<String> = strange.map(|channel| scrub(channel)).collect();
    let (summary, remedy) = match strange.as_slice() {
        [] if channels.is_empty() => (
            format!("no channel is seen in the args of the pod {TAKEN_OVER}, which is not taken over from"),
            "let kops write the pod anew, with its channels among its args: kops update cluster --yes".to_owned(),
        ),
        [] => return None,
        [first, ..] => (
            format!("the channel {first:?} is in no state store, and the pod {TAKEN_OVER} is not taken over from"),
            "name it in the cluster's spec.addons by its location, such as s3://bucket/cluster/addons/custom.yaml".to_owned(),
        ),
    };
    let fault = Fault::new(Code::AddonsChannelInvalid, summary)
        .seen("pod", manifest_path(TAKEN_OVER))
        .remedied_by(format!(
            "{remedy}; until then the pod applies the add-ons, and the agent watches it"
        ));
    Some(if strange.is_empty() {
        fault
    } else {
        fault.seen("channels", strange.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_taken_over_from_only_where_each_of_its_channels_can_be_read() {
        let own = "s3://b/c/addons/bootstrap-channel.yaml";
        for (channels, named) in [
            (vec![own], None),
            (vec![own, "file:///srv/addons.yaml"], None),
            (vec![], Some("no channel is seen")),
            (
                vec![own, "https://example.com/addons.yaml"],
                Some("\"https://example.com/addons.yaml\""),
            ),
            (vec!["networking.weave"], Some("\"networking.weave\"")),
            (vec!["s3://"], Some("\"s3://\"")),
        ] {
            let channels: Vec<String> = channels.into_iter().map(str::to_owned).collect();
            let found = obstacle(&channels);
            let summary = found.as_ref().map(|fault| fault.summary.as_str());
            match named {
                None => assert_eq!(summary, None, "{channels:?}"),
                Some(named) => {
                    let summary = summary.unwrap_or_else(|| panic!("{channels:?}"));
                    assert!(summary.contains(named), "{summary}");
                    let fault = found.expect("it was just looked at");
                    assert_eq!(fault.code, Code::AddonsChannelInvalid);
                    assert!(fault.remedy_text().contains("the pod applies"), "{fault}");
                }
            }
        }
    }

    #[test]
    fn the_labels_of_every_control_plane_win_over_those_of_the_pod() {
        let requested = [
            ("role.example.com/apps", "a"),
            ("node-role.kubernetes.io/control-plane", "b"),
        ];
        let requested = requested.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let labels = node_object(requested.into()).labels;
        assert_eq!(labels.len(), 4);
        assert_eq!(labels["role.example.com/apps"], "a");
        assert_eq!(labels["node-role.kubernetes.io/control-plane"], "");
    }
}
