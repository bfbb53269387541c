//! Who else reconciles the add-ons that an operator applies.

use super::super::fault::fault_json;
use quake_addons::lease::{Holding, NAME, NAMESPACE};
use quake_model::addon::ReconcilerRef;
use quake_model::fault::Fault;
use serde_json::{Value, json};

/// Who reconciles a cluster's add-ons while an operator applies them.
pub(crate) struct LeaseState {
    /// The holder of the agents' lease, or why it cannot be read.
    pub(crate) lease: Result<Option<Holding>, Fault>,
    /// The reconciler that this node's agent reports.
    pub(crate) reconciler: Option<ReconcilerRef>,
}

pub(crate) fn lease_text(holder: &LeaseState) -> String {
    match (&holder.lease, &holder.reconciler) {
        (Ok(Some(Holding { holder, renewed })), _) => format!(
            "applied by: the agent of {holder}, by the lease {NAMESPACE}/{NAME}, renewed {renewed}\n"
        ),
        (_, Some(ReconcilerRef::Pod { pod })) => {
            format!("applied by: the pod {pod}\n")
        }
        (Ok(None), _) => "applied by: no agent has the lease\n".to_owned(),
        (Err(fault), _) => format!("applied by: not known: {fault}\n"),
    }
}

pub(crate) fn lease_json(holder: &LeaseState) -> Value {
    let (lease, fault) = match &holder.lease {
        Ok(lease) => (lease.as_ref(), None),
        Err(fault) => (None, Some(fault_json(fault))),
    };
    json!({
        "lease": lease.map(|held| json!({"holder": held.holder, "renewed": held.renewed})),
        "reconciler": holder.reconciler,
        "fault": fault,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::fault::Code;

    fn holder(holder: Option<&str>, reconciler: Option<ReconcilerRef>) -> LeaseState {
        let lease = holder.map(|holder| Holding {
            holder: holder.to_owned(),
            renewed: "2026-11-22T16:00:00.000000Z".to_owned(),
        });
        LeaseState {
            lease: Ok(lease),
            reconciler,
        }
    }

    #[test]
    fn the_lease_says_more_than_the_node_and_the_node_more_than_nothing() {
        let pod = || {
            Some(ReconcilerRef::Pod {
                pod: "kops-channels".to_owned(),
            })
        };
        let by_agent = lease_text(&holder(Some("i-0f9e8d"), pod()));
        assert!(by_agent.contains("the agent of i-0f9e8d, by the lease kube-system/quake-agent"));
        let by_pod = lease_text(&holder(None, pod()));
        assert_eq!(by_pod, "applied by: the pod kops-channels\n");
        let by_none = lease_text(&holder(None, Some(ReconcilerRef::Unknown)));
        assert!(by_none.contains("no agent"), "{by_none}");
        let denied = LeaseState {
            lease: Err(Fault::new(Code::AddonsApiDenied, "leases are forbidden")),
            reconciler: None,
        };
        assert!(lease_text(&denied).contains("not known: addons.api-denied: leases are forbidden"));
        assert_eq!(lease_json(&denied)["fault"]["code"], "addons.api-denied");
        let value = lease_json(&holder(Some("i-0f9e8d"), pod()));
        assert_eq!(value["lease"]["holder"], "i-0f9e8d");
        assert_eq!(value["reconciler"]["pod"], "kops-channels");
        assert_eq!(lease_json(&holder(None, None))["lease"], Value::Null);
    }
}
