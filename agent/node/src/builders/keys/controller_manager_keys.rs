//! What the controller manager shows who it is with, and the keys it signs with: certificates that pods ask for, and tokens.

use super::{component, stored};
use crate::builders::Context;
use crate::builders::context::KUBERNETES_CA;
use quake_model::fault::Fault;
use quake_model::item::Item;

const NAME: &str = "kube-controller-manager";

/// Its kubeconfig, its serving certificate, the cluster's CA, and the key of tokens.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.is_control_plane() {
        return Ok(Vec::new());
    }
    let mut items = component::component_keys(context, NAME, "KubeControllerManager")?;
    let path = |name: &str| context.srv(&format!("{NAME}/{name}"));
    let ca = stored::pair(context, KUBERNETES_CA, &path("ca"))?;
    items.extend(ca.map(Item::File));
    let key = stored::key(context, "service-account", &path("service-account.key"))?;
    items.push(Item::File(key));
    Ok(items)
}
