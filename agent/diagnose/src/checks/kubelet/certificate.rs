//! `kubelet.certificate`: whose kubelet's client certificate is, and until when.

use super::kubeconfig::{of_text, text};
use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::stage;
use quake_formats::pem::certificates;
use quake_model::facts::Unseen;
use quake_model::time::Timestamp;
use x509_cert::Certificate;
use x509_cert::der::Tag;
use x509_cert::der::asn1::{Ia5StringRef, PrintableStringRef, Utf8StringRef};
use x509_cert::der::oid::ObjectIdentifier;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");

/// The group that the API server knows nodes by.
const GROUP: &str = "system:nodes";

/// So many days before its end a certificate is warned of; kubelet itself asks for another at a third of its life.
const SOON_DAYS: u64 = 7;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

const RENEW: &str = "where the agent brings it: write the keypair anew with the cluster's tool, then systemctl restart quake-agent.service; where kubelet asks for it: rm /var/lib/kubelet/pki/kubelet-client-*; systemctl restart kubelet.service";

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let Some(text) = text(node)? else {
        return Verdict::skip("there is no kubeconfig");
    };
    let Ok(kubeconfig) = of_text(text) else {
        return Verdict::skip("the kubeconfig cannot be read");
    };
    let pem = match (kubeconfig.certificate(), kubeconfig.certificate_file()) {
        (Some(pem), _) => pem,
        (None, Some(path)) if node.survey().texts.contains_key(path) => {
            node.need_text(path)?.as_bytes().to_vec()
        }
        (None, Some(path)) => return Verdict::skip(format!("{path} was not looked at")),
        (None, None) => return Verdict::skip("kubelet proves who it is in another way"),
    };
    let Some(certificate) = first(&pem) else {
        let summary = "kubelet's client certificate cannot be read";
        return Finding::new(summary, RENEW).fail();
    };
    if let Some(finding) = over(&certificate, node.taken()) {
        return finding.fail();
    }
    let wanted = &stage::kubernetes(node)?.node_name;
    if let Some(finding) =
        overridden(node, &certificate, wanted).or_else(|| of_another(&certificate, wanted))
    {
        return finding.fail();
    }
    let (_, until) = life(&certificate);
    let left = until.0.saturating_sub(node.taken().0) / DAY_MS;
    let name = names(&certificate, COMMON_NAME).join(", ");
    if node.taken().0 > 0 && left < SOON_DAYS {
        let summary = format!("kubelet's client certificate ends in {left} days, at {until}");
        return Finding::new(summary, RENEW).warn();
    }
    Verdict::ok(format!("{name}, until {until}"))
}

/// The first certificate; a key may stand in the same file.
fn first(pem: &[u8]) -> Option<Certificate> {
    certificates(std::str::from_utf8(pem).ok()?)
        .into_iter()
        .next()
}

/// From when and until when it is valid.
fn life(certificate: &Certificate) -> (Timestamp, Timestamp) {
    let validity = &certificate.tbs_certificate.validity;
    let millis = |time: &x509_cert::time::Time| {
        let since = time.to_unix_duration().as_millis();
        Timestamp(u64::try_from(since).unwrap_or(u64::MAX))
    };
    (millis(&validity.not_before), millis(&validity.not_after))
}

/// A certificate that has expired or is not yet valid. A tree without a time of its own says nothing of that.
fn over(certificate: &Certificate, now: Timestamp) -> Option<Finding> {
    if now.0 == 0 {
        return None;
    }
    let (from, until) = life(certificate);
    if now > until {
        let summary = format!("kubelet's client certificate expired at {until}");
        return Some(Finding::new(summary, RENEW).seen("clock", now));
    }
    (now < from).then(|| {
        let summary = format!("kubelet's client certificate is valid only from {from}");
        let fix = "set the clock: chronyc makestep, or timedatectl set-ntp true; then: systemctl restart kubelet.service";
        Finding::new(summary, fix).seen("clock", now)
    })
}

/// A certificate of another node, or of none. One for all nodes, as kops before 1.10 gave them, is called `kubelet`.
fn of_another(certificate: &Certificate, wanted: &str) -> Option<Finding> {
    let names = names(certificate, COMMON_NAME);
    let groups = self::names(certificate, ORGANIZATION);
    let of_node = node_of(certificate)?;
    if !groups.iter().any(|group| group == GROUP) {
        let summary = format!("kubelet's client certificate is not of the organisation {GROUP}");
        let finding = Finding::new(summary, RENEW).seen("organisation", groups.join(", "));
        return Some(finding.seen("subject", names.join(", ")));
    }
    if wanted.is_empty() || of_node == wanted {
        return None;
    }
    let summary =
        format!("kubelet's client certificate is of the node {of_node}, and this one is {wanted}");
    let fix =
        format!("an image that was made of a used node, or another --hostname-override: {RENEW}");
    Some(Finding::new(summary, fix))
}

/// The name of a node in its certificate: kops-controller issues it by the id of the instance (kops 1.22 and later).
fn node_of(certificate: &Certificate) -> Option<String> {
    let mut names = names(certificate, COMMON_NAME).into_iter();
    names.find_map(|name| Some(name.strip_prefix("system:node:")?.to_owned()))
}

/// A kubelet that was given another name than the one by which kops-controller knows its instance.
fn overridden(node: &Node<'_>, certificate: &Certificate, wanted: &str) -> Option<Finding> {
    const FLAG: &str = "hostname-override";
    let of_node = node_of(certificate).filter(|name| name.starts_with("i-"))?;
    let flags = super::flags(node).ok()?;
    let given = flags
        .get(FLAG)
        .filter(|given| *given == wanted && !given.starts_with("i-"))?;
    let finding = Finding::new(
        format!(
            "kubelet registers as {given} (--{FLAG}), and kops-controller issued its certificate to {of_node}: the API server refuses the node"
        ),
        format!(
            "take hostnameOverride out of spec.kubelet, of the cluster (kops edit cluster) and of the instance group (kops edit instancegroup), then kops update cluster --yes and replace the node: nodes of this kops have the id of their instance as name; a new certificate has the same name; kubectl delete node {given} where that one is left"
        ),
    );
    Some(finding.seen("certificate", of_node))
}

/// The values of an attribute of the subject.
fn names(certificate: &Certificate, attribute: ObjectIdentifier) -> Vec<String> {
    let subject = &certificate.tbs_certificate.subject;
    let attributes = subject.0.iter().flat_map(|set| set.0.iter());
    attributes
        .filter(|one| one.oid == attribute)
        .filter_map(|one| {
            use x509_cert::der::Tagged as _;
            let value = &one.value;
            match value.tag() {
                Tag::Utf8String => value
                    .decode_as::<Utf8StringRef<'_>>()
                    .ok()
                    .map(|text| text.as_str().to_owned()),
                Tag::PrintableString => value
                    .decode_as::<PrintableStringRef<'_>>()
                    .ok()
                    .map(|text| text.as_str().to_owned()),
                Tag::Ia5String => value
                    .decode_as::<Ia5StringRef<'_>>()
                    .ok()
                    .map(|text| text.as_str().to_owned()),
                _ => None,
            }
        })
        .collect()
}
