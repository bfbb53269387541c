//! Whether certificates are valid by the node's clock.

use super::super::check::{Finding, Verdict};
use super::super::node::Node;
use super::read::{Held, begins, ends, held};
use quake_model::facts::Unseen;

const DAY_MS: u64 = 86_400_000;

/// How long before its end a certificate is warned of: long enough to roll a cluster.
const SOON_MS: u64 = 30 * DAY_MS;

/// Nobody asks for kubelet's own serving certificate by name: the API server does not verify it unless told to.
const UNVERIFIED: &[&str] = &["/var/lib/kubelet/pki/kubelet.crt"];

/// How many more certificates are named that stand as the first one does.
const NAMED: usize = 3;

/// How a certificate stands; the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CertificateValidity {
    Valid,
    EndsSoon,
    EndedUnverified,
    NotYet,
    Ended,
}

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let held = held(node);
    let now = node.taken();
    let validity = |held: &Held<'_>| {
        let Some(chief) = held.chief() else {
            return CertificateValidity::Valid;
        };
        let ends = ends(chief);
        match () {
            () if ends <= now && UNVERIFIED.contains(&held.path) => {
                CertificateValidity::EndedUnverified
            }
            () if ends <= now => CertificateValidity::Ended,
            () if begins(chief) > now => CertificateValidity::NotYet,
            // kubelet renews its own client certificate; what it renews may be short-lived.
            () if ends.0 < now.0 + SOON_MS && !held.path.contains("kubelet-client-") => {
                CertificateValidity::EndsSoon
            }
            () => CertificateValidity::Valid,
        }
    };
    let Some((worst, of)) = held
        .iter()
        .map(|it| (validity(it), it))
        .max_by_key(|it| it.0)
    else {
        return Err(Unseen::NotTaken(
            "no certificate is in what was looked at".to_owned(),
        ));
    };
    let alike: Vec<&Held<'_>> = held.iter().filter(|it| validity(it) == worst).collect();
    if worst == CertificateValidity::Valid {
        let first = held
            .iter()
            .filter_map(|it| Some((ends(it.chief()?), it)))
            .min_by_key(|it| it.0);
        let note = first.map(|(end, it)| format!("the first to end is {} at {end}", it.place()));
        return Verdict::ok(format!(
            "{} of them; {}",
            held.len(),
            note.unwrap_or_default()
        ));
    }
    finding(worst, of, &alike, node)
}

fn finding(
    worst: CertificateValidity,
    of: &Held<'_>,
    alike: &[&Held<'_>],
    node: &Node<'_>,
) -> Result<Verdict, Unseen> {
    let place = of.place();
    let end = of.chief().map(ends).unwrap_or_default();
    let begin = of.chief().map(begins).unwrap_or_default();
    let (summary, fix) = match worst {
        CertificateValidity::NotYet => (
            format!("{place} is not valid before {begin}"),
            "compare the local time with the right one: chronyc tracking; step the clock: chronyc makestep",
        ),
        CertificateValidity::EndsSoon => (
            format!("{place} ends at {end}"),
            "issue it anew before then (kops rotates keypairs; a rolled node gets new ones), then: systemctl restart quake-agent.service",
        ),
        CertificateValidity::Valid
        | CertificateValidity::EndedUnverified
        | CertificateValidity::Ended => (
            format!("{place} ended at {end}"),
            "if the local time is right, issue it anew with the cluster's tool, then: systemctl restart quake-agent.service; what kubelet made itself it makes again once the file is gone and it is restarted",
        ),
    };
    let mut finding = Finding::new(summary, fix).seen("local time", node.taken());
    let others: Vec<String> = alike.iter().map(|it| it.place()).collect();
    let others: Vec<&String> = others.iter().filter(|other| **other != place).collect();
    for other in others.iter().take(NAMED) {
        finding = finding.seen("also", other);
    }
    if others.len() > NAMED {
        finding = finding.seen("also", format!("{} more", others.len() - NAMED));
    }
    match worst {
        CertificateValidity::NotYet | CertificateValidity::Ended => finding.fail(),
        CertificateValidity::Valid
        | CertificateValidity::EndsSoon
        | CertificateValidity::EndedUnverified => finding.warn(),
    }
}
