//! Whose certificate has expired, by the program that refuses it: a line of TLS does not say what the certificate is for.

use crate::log_lines::LogLine;

/// How Go says so (`crypto/x509`), and how a client of gRPC begins it (`google.golang.org/grpc`).
const EXPIRED: &str = "x509: certificate has expired";
const HANDSHAKE: &str = "authentication handshake failed";

/// What a program refuses: whose certificate it is, and how it is issued anew.
struct Peer {
    /// What the name of the log of such a program begins with.
    programs: &'static [&'static str],
    whose: &'static str,
    fix: &'static str,
}

const PEERS: &[Peer] = &[
    Peer {
        programs: &["kiam-agent", "kiam-server"],
        whose: "kiam's own certificates have expired (agent and servers are issued together): pods get no credentials of AWS from it, while the node's own role works",
        fix: "openssl x509 -noout -enddate on the certificates in the Secrets that kiam's pods mount (kubectl -n kube-system get pod POD -o yaml names them; mostly kiam-server-tls and kiam-agent-tls); issue both anew with kiam's CA (cfssl, its docs/TLS.md, or cert-manager, which renews them by itself), write the Secrets anew, restart the servers first, then the agents",
    },
    Peer {
        programs: &["hubble"],
        whose: "the certificate of Cilium's Hubble has expired, so its relay shows no flows; the pod network itself works",
        fix: "kubectl -n kube-system get secret hubble-server-certs hubble-relay-client-certs shows their age; issue them anew: kubectl -n kube-system create job --from=cronjob/hubble-generate-certs hubble-renew, or cmctl renew for cert-manager's; then restart ds cilium and deploy hubble-relay",
    },
    Peer {
        programs: &["clustermesh-apiserver", "kvstoremesh"],
        whose: "a certificate of Cilium's cluster mesh has expired, so services and nodes of other clusters are not updated",
        fix: "kubectl -n kube-system get secret | grep clustermesh shows them; issue them anew in all clusters with the CA that they share (cilium clustermesh enable, the chart's certgen job, or cmctl renew), then restart deploy clustermesh-apiserver and ds cilium",
    },
    Peer {
        programs: &["linkerd"],
        whose: "a certificate of Linkerd has expired: the issuer of its identities or its trust anchor",
        fix: "linkerd check --proxy names which one; linkerd upgrade with --identity-issuer-certificate-file and --identity-issuer-key-file renews the issuer, its documents have the steps for an anchor that has expired; then restart the pods with its proxy",
    },
    Peer {
        programs: &["istio-proxy", "istiod", "ztunnel", "pilot"],
        whose: "a certificate of Istio has expired: that of istiod, of the workload, or its root",
        fix: "istioctl proxy-config secret POD shows the ends; a root in the Secret cacerts of istio-system is renewed by hand; then kubectl -n istio-system rollout restart deploy istiod, and the pods with its proxy",
    },
    Peer {
        programs: &["vault"],
        whose: "the certificate of Vault's server, or of its agent, has expired: pods get no secrets from it",
        fix: "openssl s_client -connect the server's address | openssl x509 -noout -enddate; issue it anew where Vault's listener has it (tls_cert_file), then send the server SIGHUP; restart the pods that wait",
    },
    Peer {
        programs: &["spire-agent", "spire-server"],
        whose: "a certificate of SPIRE has expired: the agent was away longer than its own lasts, or the bundle of its server is old",
        fix: "the agent has to attest anew: kubectl -n spire delete pod of spire-agent of this node; spire-server bundle show has the CA",
    },
];

/// Programs whose peers with gRPC are members of etcd.
const OF_ETCD: &[&str] = &["etcd", "kube-apiserver"];

/// What such a line means and what to do, by who logs it; `None` for other lines, and where the program is not known.
pub(super) fn of_program(program: &str, line: &str) -> Option<(&'static str, String)> {
    if !line.contains(EXPIRED) || !line.contains(HANDSHAKE) {
        return None;
    }
    let is_of = |peer: &&Peer| peer.programs.iter().any(|name| program.starts_with(name));
    let peer = PEERS.iter().find(is_of)?;
    let fix = format!("{}; timedatectl shows whether the clock is right", peer.fix);
    Some((peer.whose, fix))
}

/// Whether a row is of the certificates of etcd, and the program that logs its line has nothing to do with etcd.
pub(super) fn is_of_other(program: &str, row: &LogLine) -> bool {
    let is_of_etcd = row.check == "certificates.dates" && row.means.contains("etcd");
    is_of_etcd && !speaks_with_etcd(program)
}

/// Whether a program speaks with etcd by gRPC.
pub(super) fn speaks_with_etcd(program: &str) -> bool {
    OF_ETCD.iter().any(|name| program.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_certificate_it_is_follows_from_who_refuses_it() {
        let line = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate has expired or is not yet valid";
        for (program, wanted) in [
            (
                "kiam-agent of pod kube-system/kiam-agent-x",
                Some("kiam's own"),
            ),
            ("hubble-relay", Some("Hubble")),
            ("vault-agent of pod shop/web-1", Some("Vault")),
            ("gizmo", None),
        ] {
            let found = of_program(program, line).map(|(whose, _)| whose);
            let is_so = |words: &str| found.is_some_and(|whose| whose.contains(words));
            assert!(wanted.map_or(found.is_none(), is_so), "{program} {found:?}");
        }
        assert_eq!(
            of_program("kiam-agent", "dial tcp: x509: certificate has expired"),
            None
        );
    }
}
