//! Whether the node's certificates are of the CA that its other files name.

use super::super::check::{Finding, Verdict};
use super::super::node::Node;
use super::CA;
use super::read::{AUTHORITY, CLIENT, Held, held, may_have_issued, share_a_key};
use quake_model::facts::Unseen;
use x509_cert::Certificate;

/// Certificates that are issued by the cluster's CA, beside those in kubeconfigs.
const ISSUED: &[&str] = &[
    "/srv/kubernetes/server.cert",
    "/var/lib/kubelet/pki/kubelet-client-current.pem",
];

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let held = held(node);
    let cluster = held.iter().find(|it| it.path == CA);
    let ca_bundle = || held.iter().filter(|it| it.part == AUTHORITY);
    if let Some(cluster) = cluster
        && let Some(other) =
            ca_bundle().find(|it| !share_a_key(&it.certificates, &cluster.certificates))
    {
        return Finding::new(
            format!("{} trusts another CA than {CA}", other.path),
            fix(other.path),
        )
        .seen("its CA", named(other))
        .seen(CA, named(cluster))
        .fail();
    }
    if let Some(finding) = of_etcd(&held) {
        return finding.fail();
    }
    let known: Vec<&Certificate> = ca_bundle()
        .chain(cluster)
        .flat_map(|it| it.certificates.iter())
        .collect();
    if known.is_empty() {
        return Err(Unseen::NotTaken(
            "no CA is in what was looked at".to_owned(),
        ));
    }
    let issued = |it: &&Held<'_>| it.part == CLIENT || ISSUED.contains(&it.path);
    let mut compared = 0;
    for one in held.iter().filter(issued) {
        let Some(chief) = one.chief() else { continue };
        if !known.iter().any(|ca| may_have_issued(ca, chief)) {
            return stranger(one, chief, &known);
        }
        compared += 1;
    }
    match compared {
        0 => Err(Unseen::NotTaken(
            "no certificate that it issued is in what was looked at".to_owned(),
        )),
        compared => Verdict::ok(format!("{compared} of them issued by it")),
    }
}

/// What the API server shows to etcd and what it believes of etcd, as kops 1.22 and later place both.
const ETCD_CLIENT: &str = "/srv/kubernetes/kube-apiserver/etcd-client.crt";
const ETCD_CA: &str = "/srv/kubernetes/kube-apiserver/etcd-ca.crt";
/// What the members of etcd believe of their clients.
const ETCD_CLIENTS: &str = "/etc/kubernetes/pki/etcd-manager-main/etcd-clients-ca.crt";

/// An API server and an etcd that refuse each other.
fn of_etcd(held: &[Held<'_>]) -> Option<Finding> {
    let at = |path: &str| held.iter().find(|it| it.path == path);
    let (client, of_server, of_members) = (at(ETCD_CLIENT), at(ETCD_CA), at(ETCD_CLIENTS));
    let finding = |what: String, path: &str| {
        let fix = format!(
            "{}; where both come from the state store, the keyset etcd-clients-ca was made anew: roll the control plane",
            fix(path)
        );
        Finding::new(what, fix)
    };
    if let (Some(of_server), Some(of_members)) = (of_server, of_members)
        && !share_a_key(&of_server.certificates, &of_members.certificates)
    {
        let what = format!(
            "kube-apiserver trusts another CA of etcd than etcd's members: {ETCD_CA} and {ETCD_CLIENTS} differ"
        );
        let finding = finding(what, ETCD_CA);
        return Some(
            finding
                .seen(ETCD_CA, named(of_server))
                .seen(ETCD_CLIENTS, named(of_members)),
        );
    }
    let ca = of_members.or(of_server)?;
    let chief = client?.chief()?;
    let is_issued = ca.certificates.iter().any(|it| may_have_issued(it, chief));
    (!is_issued).then(|| {
        let what = format!(
            "{ETCD_CLIENT} was issued by {}, which is not the CA in {}",
            chief.tbs_certificate.issuer, ca.path
        );
        finding(what, ETCD_CLIENT)
    })
}

fn stranger(
    one: &Held<'_>,
    chief: &Certificate,
    known: &[&Certificate],
) -> Result<Verdict, Unseen> {
    let issuer = chief.tbs_certificate.issuer.to_string();
    let same_name = known
        .iter()
        .any(|it| it.tbs_certificate.subject == chief.tbs_certificate.issuer);
    let by = match same_name {
        true => format!("another CA of the same name, {issuer}"),
        false => format!("{issuer}, which is not this cluster's CA"),
    };
    Finding::new(format!("{} was issued by {by}", one.place()), fix(one.path))
        .seen("subject", &chief.tbs_certificate.subject)
        .seen(
            "CA",
            known
                .first()
                .map_or_else(String::new, |it| it.tbs_certificate.subject.to_string()),
        )
        .fail()
}

fn fix(path: &str) -> String {
    format!(
        "mv {path} {path}.old; systemctl restart quake-agent.service writes the cluster's own; leave {path} out of the image"
    )
}

fn named(held: &Held<'_>) -> String {
    let names = held
        .certificates
        .iter()
        .map(|it| it.tbs_certificate.subject.to_string());
    names.collect::<Vec<_>>().join("; ")
}
