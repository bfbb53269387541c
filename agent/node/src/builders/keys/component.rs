//! What the controller manager and the scheduler have alike: a kubeconfig, and a certificate to serve their metrics with.

use crate::builders::Context;
use crate::builders::context::KUBERNETES_CA;
use crate::builders::layout;
use quake_model::fault::Fault;
use quake_model::item::{AlternateName, Item, Subject, Usage};

/// The kubeconfig of the component called `name`, and its serving certificate unless `section` of `ControlPlaneConfig` names
/// another.
pub(super) fn component_keys(
    context: &Context<'_>,
    name: &str,
    section: &str,
) -> Result<Vec<Item>, Fault> {
    let subject = Subject::named(&format!("system:{name}"));
    let path = layout::kubeconfig(name);
    let mut items: Vec<Item> = context.kubeconfig(name, subject, &path)?.into();
    let config = context.config.control_plane.as_ref();
    let section = config.and_then(|config| config.section(section));
    if !section.is_some_and(|section| section.has("tlsCertFile")) {
        let domain = super::cluster_domain(context)?;
        let (order, subject) = (format!("{name}-server"), Subject::named(name));
        let mut order = context.order(&order, KUBERNETES_CA, subject, Usage::Server)?;
        let service = format!("{name}.kube-system.svc.{domain}");
        order.names = vec![AlternateName::Dns(service)];
        items.extend(context.pair(order, &context.srv(&format!("{name}/server"))));
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    const KEYS: &str = "KeypairIDs: {kubernetes-ca: \"7\"}\nCAs: {kubernetes-ca: CAs}\n\
                        APIServerConfig: {ClusterDNSDomain: k8s.example}\n";

    fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
        component_keys(context, "kube-scheduler", "KubeScheduler")
    }

    #[test]
    fn its_serving_certificate_is_left_out_where_the_spec_names_another() {
        const PATH: &str = "/srv/kubernetes/kube-scheduler/server.key";
        assert!(Sample::control_plane(KEYS).find(build, PATH).is_some());
        let other =
            format!("{KEYS}ControlPlaneConfig: {{KubeScheduler: {{tlsCertFile: /my.crt}}}}\n");
        assert_eq!(Sample::control_plane(&other).find(build, PATH), None);
    }
}
