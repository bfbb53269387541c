//! Who else looks after the add-ons that are applied by hand.

use super::super::fault::fault_json;
use quake_addons::lease::{Holding, NAME, NAMESPACE};
use quake_model::addon::AddonKeeper;
use quake_model::fault::Fault;
use serde_json::{Value, json};

/// Who looks after a cluster's add-ons while somebody applies them by hand.
pub(crate) struct Kept {
    /// Who the agents' lease names; or why it cannot be read.
    pub(crate) lease: Result<Option<Holding>, Fault>,
    /// Who does, as this node's agent tells it.
    pub(crate) told: Option<AddonKeeper>,
}

/// One line. Nobody is in the way of another: whoever comes second finds the work done.
pub(crate) fn kept_text(kept: &Kept) -> String {
    match (&kept.lease, &kept.told) {
        (Ok(Some(Holding { holder, renewed })), _) => format!(
            "applied by: the agent of {holder}, by the lease {NAMESPACE}/{NAME}, renewed {renewed}\n"
        ),
        (_, Some(AddonKeeper::Pod { pod })) => {
            format!("applied by: the pod {pod}\n")
        }
        (Ok(None), _) => "applied by: no agent has the lease\n".to_owned(),
        (Err(fault), _) => format!("applied by: not known: {fault}\n"),
    }
}

/// The same for programs.
pub(crate) fn kept_json(kept: &Kept) -> Value {
    let (lease, fault) = match &kept.lease {
        Ok(lease) => (lease.as_ref(), None),
        Err(fault) => (None, Some(fault_json(fault))),
    };
    json!({
        "lease": lease.map(|held| json!({"holder": held.holder, "renewed": held.renewed})),
        "keeper": kept.told,
        "fault": fault,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::fault::Code;

    fn kept(holder: Option<&str>, told: Option<AddonKeeper>) -> Kept {
        let lease = holder.map(|holder| Holding {
            holder: holder.to_owned(),
            renewed: "2026-11-22T16:00:00.000000Z".to_owned(),
        });
        Kept {
            lease: Ok(lease),
            told,
        }
    }

    #[test]
    fn the_lease_says_more_than_the_node_and_the_node_more_than_nothing() {
        let pod = || {
            Some(AddonKeeper::Pod {
                pod: "kops-channels".to_owned(),
            })
        };
        let by_agent = kept_text(&kept(Some("i-0f9e8d"), pod()));
        assert!(by_agent.contains("the agent of i-0f9e8d, by the lease kube-system/quake-agent"));
        let by_pod = kept_text(&kept(None, pod()));
        assert_eq!(by_pod, "applied by: the pod kops-channels\n");
        let by_none = kept_text(&kept(None, Some(AddonKeeper::Unknown)));
        assert!(by_none.contains("no agent"), "{by_none}");
        let denied = Kept {
            lease: Err(Fault::new(Code::AddonsApiDenied, "leases are forbidden")),
            told: None,
        };
        assert!(kept_text(&denied).contains("not known: addons.api-denied: leases are forbidden"));
        assert_eq!(kept_json(&denied)["fault"]["code"], "addons.api-denied");
        let value = kept_json(&kept(Some("i-0f9e8d"), pod()));
        assert_eq!(value["lease"]["holder"], "i-0f9e8d");
        assert_eq!(value["keeper"]["pod"], "kops-channels");
        assert_eq!(kept_json(&kept(None, None))["lease"], Value::Null);
    }
}
