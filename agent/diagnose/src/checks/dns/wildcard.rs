//! A search domain with a wildcard record: it answers names of others, which then show a certificate of that domain.

use super::resolvers::{BEHIND_STUB, FILE, read};
use crate::checks::check::{Certainty, Finding};
use crate::checks::node::Node;
use crate::checks::quote::quote;

/// How Go says that a certificate is of another name (crypto/x509, `HostnameError`).
const OF_OTHERS: &str = "certificate is valid for ";

/// The finding where a host of another domain showed a certificate of a search domain.
pub(super) fn answers(node: &Node<'_>) -> Option<Finding> {
    let texts = [FILE, BEHIND_STUB].into_iter();
    let texts: Vec<&str> = texts.filter_map(|path| node.text(path).ok()?).collect();
    let domains: Vec<&str> = texts.iter().flat_map(|text| read(text).domains).collect();
    let journals = node.survey().journals.ok().into_iter().flatten();
    let lines = journals
        .flat_map(|(_, lines)| lines)
        .chain(node.pods().flat_map(|pod| &pod.log));
    let (line, domain, host) = lines.filter_map(|line| wrong(line, &domains)).next_back()?;
    Some(
        Finding::new(
            format!(
                "names of others get an address of {domain}, which is searched (/etc/resolv.conf) and has a wildcard record: {host} showed a certificate of {domain}"
            ),
            format!(
                "take {domain} out of the search list: domain-name of the VPC's DHCP options, or a resolvConf of kubelet without it; then restart kubelet and the pods; or remove the record *.{domain}; the certificates are right, and pods search first because of ndots:5"
            ),
        )
        .by(Certainty::Likely)
        .seen("search", domains.join(" "))
        .seen("log", quote(line, 300)),
    )
}

/// The search domain that a line has a certificate of, and the name of another domain that was requested.
fn wrong<'a>(line: &'a str, domains: &[&'a str]) -> Option<(&'a str, &'a str, &'a str)> {
    let (_, rest) = line.split_once(OF_OTHERS)?;
    let (names, host) = rest.split_once(", not ")?;
    let is_edge = |c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-');
    let host = host.split(is_edge).next()?.trim_end_matches('.');
    let of = |name: &str, domain: &str| {
        name == domain
            || name
                .strip_suffix(domain)
                .is_some_and(|start| start.ends_with('.'))
    };
    let mut searched = domains.iter();
    let domain = searched.find(|domain| {
        let mut names = names.split(", ");
        names.any(|name| name.strip_prefix("*.") == Some(**domain)) && !of(host, domain)
    })?;
    Some((line, domain, host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_of_a_search_domain_is_that_of_its_wildcard() {
        let line =
            |names: &str, host: &str| format!("x509: {OF_OTHERS}{names}, not {host}\\\" sent");
        let domains = ["corp.example", "us-test-1.compute.internal"];
        for (names, host, wanted) in [
            (
                "*.corp.example, corp.example",
                "sts.amazonaws.com",
                Some("corp.example"),
            ),
            ("*.corp.example", "a.b.corp.example", None),
            ("*.other.example", "sts.amazonaws.com", None),
        ] {
            let line = line(names, host);
            let found = wrong(&line, &domains).map(|(_, domain, _)| domain);
            assert_eq!(found, wanted, "{line}");
        }
    }
}
