//! Hosts of a registry that the node does not reach: those with its layers, and an endpoint in the VPC.

use crate::checks::check::{Certainty, Finding};
use crate::checks::from_journal::QUOTED;
use crate::checks::quote::quote;
use std::net::Ipv4Addr;

/// What a client in Go says of a host that it does not reach (`net`, `net/http`).
pub(in crate::checks) const UNREACHED: &[&str] = &[
    "TLS handshake timeout",
    "i/o timeout",
    "connection refused",
    "connection reset by peer",
    "no such host",
    "no route to host",
    "network is unreachable",
    "Client.Timeout exceeded",
    "context deadline exceeded",
    ": EOF",
];

/// Registries, and the hosts that their layers come from: registry.k8s.io (kubernetes/registry.k8s.io, `docs/debugging.md`), Docker
/// Hub, GitHub, Quay, Google and public ECR as their own pages name them.
const BEHIND: &[(&str, &str)] = &[
    (
        "registry.k8s.io",
        "*.pkg.dev and prod-registry-k8s-io-*.s3.dualstack.*.amazonaws.com, a list that may change",
    ),
    (
        "docker.io",
        "registry-1.docker.io, auth.docker.io, production.cloudflare.docker.com and *.r2.cloudflarestorage.com",
    ),
    ("ghcr.io", "pkg-containers.githubusercontent.com"),
    ("quay.io", "cdn.quay.io and cdn01.quay.io to cdn06.quay.io"),
    ("public.ecr.aws", "*.cloudfront.net"),
    ("gcr.io", "storage.googleapis.com"),
    ("mcr.microsoft.com", "*.data.mcr.microsoft.com"),
];

/// The finding where the host of the URL that failed is another than the image's registry.
pub(super) fn elsewhere(line: &str, image: &str, what: &str) -> Option<Finding> {
    let plain = line.replace('\\', "");
    let (_, rest) = plain.rsplit_once("\"https://")?;
    let (url, after) = rest.split_once('"')?;
    let words = UNREACHED.iter().find(|words| after.contains(*words))?;
    let host = url.split(['/', ':']).next()?;
    // A mirror is asked in the place of the registry (containerd, `ns=`), and a token comes from a server of its own.
    let is_other = ["ns=", "/manifests/", "/token", "/auth"];
    if is_other.iter().any(|part| url.contains(part)) {
        return None;
    }
    let first = image.split_once('/').map_or("", |(first, _)| first);
    let is_named = first.contains(['.', ':']) || first == "localhost";
    let registry = if is_named { first } else { "docker.io" };
    let name = registry.split(':').next()?;
    let is_own = host == name || host.ends_with(&format!(".{name}"));
    if is_own || name.contains(".dkr.ecr.") {
        return None;
    }
    let words = words.trim_start_matches(": ");
    let behind = BEHIND.iter().find(|(name, _)| *name == registry);
    let all = behind.map_or(String::new(), |(_, hosts)| {
        format!(" ({registry} uses {hosts})")
    });
    let finding = Finding::new(
        format!(
            "{what}: {registry} answers and sends the node for the layers to {host}, which it does not reach: {words}"
        ),
        format!(
            "let the nodes reach {host}:443: the allow list of the egress firewall or proxy, the network ACL, or NO_PROXY{all}; or pull by a mirror that the node reaches: an ECR pull-through cache, spec.assets.containerProxy in kops edit cluster, or /etc/containerd/certs.d/{registry}/hosts.toml; curl -v https://{host}/ shows it"
        ),
    );
    Some(
        finding
            .by(Certainty::Likely)
            .seen("journal", quote(line, QUOTED)),
    )
}

/// The finding where the name of an ECR registry leads into the VPC, and nothing answers there: an interface endpoint with
/// private DNS (AWS, "Amazon ECR interface VPC endpoints").
pub(super) fn closed_endpoint(line: &str, image: &str, what: &str) -> Option<Finding> {
    let (_, rest) = line.rsplit_once("dial tcp ")?;
    let (address, after) = rest.split_once(':')?;
    let private: Ipv4Addr = address.parse().ok().filter(Ipv4Addr::is_private)?;
    let registry = image.split('/').next()?;
    let is_proxy = line.contains("proxyconnect") || !after.starts_with("443:");
    if is_proxy || !registry.contains(".dkr.ecr.") || !after.contains("i/o timeout") {
        return None;
    }
    let finding = Finding::new(
        format!(
            "{what}: {registry} leads to {private} in the VPC, an interface endpoint of ECR with private DNS, and it does not let this node in on TCP 443"
        ),
        format!(
            "allow TCP 443 from the nodes' security group (or the VPC's CIDR) in the security group of that endpoint: aws ec2 describe-vpc-endpoints --filters Name=service-name,Values=com.amazonaws.<region>.ecr.dkr shows it (and ecr.api); see the network ACL of its subnet, too; or turn its private DNS off, so that the way over NAT is used; nc -vz {private} 443 shows it; the node's role and image are right"
        ),
    );
    Some(
        finding
            .by(Certainty::Likely)
            .seen("journal", quote(line, QUOTED)),
    )
}

#[cfg(test)]
mod tests {
    use super::{closed_endpoint, elsewhere};

    #[test]
    fn layers_come_from_another_host_than_the_registry() {
        let line = |host: &str, end: &str| {
            format!(
                "E1122 kuberuntime_image.go:42] \"Failed to pull image\" err=\"failed to pull and unpack image \\\"registry.k8s.io/pause:3.9\\\": failed to do request: Get \\\"https://{host}/v2/x\\\": {end}\" image=\"registry.k8s.io/pause:3.9\""
            )
        };
        let image = "registry.k8s.io/pause:3.9";
        let store = "prod-registry-k8s-io-us-east-1.s3.dualstack.us-east-1.amazonaws.com";
        let found = elsewhere(&line(store, "net/http: TLS handshake timeout"), image, "x");
        assert!(found.is_some_and(|it| it.summary.contains(store) && it.fix.contains("pkg.dev")));
        for (host, end) in [
            ("registry.k8s.io", "i/o timeout"),
            ("mirror.example/v2/x?ns=registry.k8s.io", "i/o timeout"),
            (store, "unexpected status: 403"),
        ] {
            assert_eq!(
                elsewhere(&line(host, end), image, "x"),
                None,
                "{host} {end}"
            );
        }
        assert_eq!(elsewhere("cut \"https://", image, "x"), None);
        let own =
            "Get \"https://r.example:5000/v2/x/blobs/y\": dial tcp 10.0.0.5:5000: i/o timeout";
        assert_eq!(elsewhere(own, "r.example:5000/x:1", "x"), None);
    }

    #[test]
    fn a_registry_in_the_vpc_that_does_not_answer_is_an_endpoint_that_is_closed() {
        let image = "123456789012.dkr.ecr.us-test-1.amazonaws.com/web:1";
        for (address, wanted) in [("10.0.0.77", true), ("52.1.2.3", false)] {
            let line = format!(
                "failed to do request: Head \"https://x/v2/\": dial tcp {address}:443: i/o timeout"
            );
            let found = closed_endpoint(&line, image, "x");
            assert_eq!(found.is_some(), wanted, "{address}");
        }
    }
}
