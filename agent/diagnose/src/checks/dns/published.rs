//! The check of the names that a control plane publishes itself.

use super::names::PLACEHOLDER;
use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_model::facts::{NameSeen, Unseen};

/// What names that a node publishes are looked up for.
pub const PUBLISHED: &str = "published";

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "dns.published",
    title: "the names that this control plane publishes have its address",
    severity: Severity::Warning,
    tags: &["dns"],
    sources: &[Source::Names],
    because: &["net.links", "net.routes", "dns.resolvers", "dns.names"],
    why: "etcd's members and the other nodes find this one by them",
    remedy: "systemctl restart quake-agent: a boot publishes its names again; compare with: aws route53 list-resource-record-sets --hosted-zone-id <dnsZone of the cluster>",
    judge: published,
}];

fn published(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let wanted = &node.expected()?.published;
    if wanted.is_empty() {
        return Verdict::skip("this node publishes no names");
    }
    let instance = node.record()?.instance.as_ref();
    let ours = instance.map_or("", |instance| instance.private_ip.as_str());
    let seen = node.survey().names.get()?;
    let mut right = 0;
    for names in wanted {
        let found: Vec<&NameSeen> = seen
            .iter()
            .filter(|seen| seen.server.is_empty() && names.any_of.contains(&seen.name))
            .collect();
        let leads = |to: &str| {
            let leads = |seen: &&&NameSeen| seen.addresses.iter().any(|one| one == to);
            found.iter().find(leads).map(|seen| seen.name.as_str())
        };
        if found.is_empty() {
            return Verdict::skip("its names were not looked up");
        }
        if let Some(name) = leads(PLACEHOLDER) {
            return Finding::new(
                format!("{name} still leads to {PLACEHOLDER}: nobody has published it yet"),
                "quake-agent status: a boot that could not publish its names says why (dns.*)",
            )
            .fail();
        }
        if leads(ours).is_none() {
            return elsewhere(&names.any_of, &found, ours).warn();
        }
        right += 1;
    }
    Verdict::ok(format!("{right} of this node's names lead to {ours}"))
}

fn elsewhere(names: &[String], found: &[&NameSeen], ours: &str) -> Finding {
    let summary = match names {
        [name] => format!("{name} does not lead to this node, {ours}"),
        several => format!("none of {} leads to this node, {ours}", several.join(", ")),
    };
    let finding = Finding::new(
        summary,
        "systemctl restart quake-agent, which publishes them anew; a resolver may keep an old address for a minute",
    );
    found.iter().take(6).fold(finding, |finding, seen| {
        let leads = match seen.addresses.as_slice() {
            [] => seen.error.clone().unwrap_or_else(|| "nowhere".to_owned()),
            addresses => addresses.join(", "),
        };
        finding.seen(&seen.name, leads)
    })
}
