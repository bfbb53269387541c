//! The laws of the lease under which add-ons are applied.

use crate::laws::Caller;
use quake_testkit::{Called, Machine};

/// The lease of whoever applies add-ons.
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/quake-agent";

/// Who holds the lease, since when nobody renewed it, and for how long it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LeaseSeen {
    holder: String,
    renewed: String,
    renewed_ms: u64,
    lasts_ms: u64,
}

impl LeaseSeen {
    /// The lease has one holder, and only the holder changes what add-ons bring.
    pub(crate) fn after_change(
        &mut self,
        by: Caller<'_>,
        called: &Called<'_>,
        machine: &mut Machine<'_>,
    ) -> Option<(&'static str, String)> {
        called.ended.ok()?;
        let lease = machine
            .cluster()?
            .object("Lease", "kube-system", "quake-agent")
            .cloned()
            .unwrap_or_default();
        let text = |field: &str| lease["spec"][field].as_str().unwrap_or_default().to_owned();
        let seconds = lease["spec"]["leaseDurationSeconds"]
            .as_u64()
            .unwrap_or_default();
        let mut now = LeaseSeen {
            holder: text("holderIdentity"),
            renewed: text("renewTime"),
            renewed_ms: by.now_ms,
            lasts_ms: seconds * 1000,
        };
        if now.renewed == self.renewed && now.holder == self.holder {
            now.renewed_ms = self.renewed_ms;
        }
        let before = std::mem::replace(self, now.clone());
        let holds = before.renewed_ms + before.lasts_ms > by.now_ms;
        if holds
            && !before.holder.is_empty()
            && !now.holder.is_empty()
            && before.holder != now.holder
        {
            let seen = format!("{} took it from {}", now.holder, before.holder);
            return Some(("lease-has-one-holder", seen));
        }
        let is_of_addons = !called.subject.contains(LEASE)
            && !called.subject.contains("/api/v1/nodes/")
            // What a node of kops legacy grants its kube-proxy, which is no add-on.
            && !called.subject.contains("/kube-system/serviceaccounts")
            && !called.subject.contains("/clusterrolebindings")
            && !called.subject.ends_with("dry-run")
            && !called.subject.contains("/events");
        let seen = || format!("{} while {:?} holds the lease", called.subject, now.holder);
        (is_of_addons && now.holder != by.instance_id).then(|| ("applies-under-lease", seen()))
    }
}
