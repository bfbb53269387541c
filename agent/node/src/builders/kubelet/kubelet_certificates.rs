//! Who kubelet is: to the API server a client of the node's name, to those who ask it a server of the node's names.
//!
//! Where the node has an API server it signs both itself; else kops-controller does, which decides what is in them by what EC2
//! says of the instance. What is ordered here is the same.

use super::KUBECONFIG;
use crate::builders::Context;
use crate::builders::context::KUBERNETES_CA;
use quake_model::fault::Fault;
use quake_model::item::{AlternateName, Item, Subject, Usage};

/// The group of nodes; the API server lets its members do what nodes do.
const NODES: &str = "system:nodes";

/// The kubeconfig, and the certificate that kubelet serves with.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let user = format!("system:node:{}", context.node_name);
    let subject = Subject::named(&user).with_organization(NODES);
    let client = context.kubeconfig("kubelet", subject, KUBECONFIG)?;
    let subject = Subject::named(&context.node_name);
    let mut order = context.order("kubelet-server", KUBERNETES_CA, subject, Usage::Server)?;
    order.names = names(context);
    let [order, certificate, key] = context.pair(order, &context.srv("kubelet-server"));
    let key = key.map_file(|file| file.mode(0o400));
    let server = [order, certificate, key];
    Ok(client.into_iter().chain(server).collect())
}

/// What the node is called and where it is, each once.
fn names(context: &Context<'_>) -> Vec<AlternateName> {
    let (instance, machine) = (context.instance, context.machine);
    let known = [
        Some(context.node_name.as_str()),
        Some(instance.instance_id.as_str()),
        Some(instance.local_hostname.as_str()),
        Some(instance.private_ip.as_str()),
        machine.public_ip.as_deref(),
        machine.ipv6.as_deref(),
    ];
    let mut names = Vec::new();
    for text in known.into_iter().flatten().filter(|text| !text.is_empty()) {
        let name = AlternateName::from_text(text);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_model::fault::Code;

    const KEYS: &str = "KeypairIDs: {kubernetes-ca: \"1\"}\nCAs: {kubernetes-ca: CA}\n";

    #[test]
    fn kubelet_serves_under_every_name_and_address_once() {
        let mut sample = Sample::worker(&format!("{KEYS}useIPBasedNodeNames: true\n"));
        sample.machine.public_ip = Some("198.51.100.7".to_owned());
        sample.machine.ipv6 = Some("2001:db8::1".to_owned());
        let names = sample.all(build, Item::certificate)[1].names.clone();
        let wanted = [
            "ip-10-0-0-10.us-test-1.compute.internal",
            "i-0123456789abcdef0",
            "10.0.0.10",
            "198.51.100.7",
            "2001:db8::1",
        ];
        assert_eq!(names, wanted.map(AlternateName::from_text));
    }

    #[test]
    fn a_ca_of_no_known_generation_is_refused() {
        Sample::worker("").assert_refused(
            build,
            Code::ConfigMissingKey,
            ("path", "KeypairIDs.kubernetes-ca"),
        );
    }
}
