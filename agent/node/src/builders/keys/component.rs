//! What the controller manager and the scheduler have alike: a kubeconfig, and a certificate to serve their metrics with.

use crate::builders::Context;
use crate::builders::context::KUBERNETES_CA;
use crate::builders::layout;
use quake_model::fault::Fault;
use quake_model::item::{AlternateName, CertificateOrder, Item, Subject, Usage};

/// A component of the control plane.
pub(super) struct Component {
    /// Its name, such as `kube-scheduler`.
    pub(super) name: &'static str,
    /// The key of its section in `ControlPlaneConfig`.
    pub(super) section: &'static str,
}

impl Component {
    /// Its kubeconfig, and its serving certificate unless the spec names another.
    pub(super) fn build(&self, context: &Context<'_>) -> Result<Vec<Item>, Fault> {
        let name = self.name;
        let subject = Subject::named(&format!("system:{name}"));
        let path = layout::kubeconfig(name);
        let mut items: Vec<Item> = context.kubeconfig(name, subject, &path)?.into();
        if !self.serves_another(context) {
            let order = self.serving_order(context)?;
            items.extend(context.pair(order, &context.srv(&format!("{name}/server"))));
        }
        Ok(items)
    }

    fn serves_another(&self, context: &Context<'_>) -> bool {
        let config = context.config.control_plane.as_ref();
        let section = config.and_then(|config| config.section(self.section));
        section.is_some_and(|section| section.has("tlsCertFile"))
    }

    fn serving_order(&self, context: &Context<'_>) -> Result<CertificateOrder, Fault> {
        let domain = super::cluster_domain(context)?;
        let name = self.name;
        let (order, subject) = (format!("{name}-server"), Subject::named(name));
        let mut order = context.order(&order, KUBERNETES_CA, subject, Usage::Server)?;
        let name = format!("{name}.kube-system.svc.{domain}");
        order.names = vec![AlternateName::Dns(name)];
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    const KEYS: &str = "KeypairIDs: {kubernetes-ca: \"7\"}\nCAs: {kubernetes-ca: CAs}\n\
                        APIServerConfig: {ClusterDNSDomain: k8s.example}\n";

    fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
        let component = Component {
            name: "kube-scheduler",
            section: "KubeScheduler",
        };
        component.build(context)
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
