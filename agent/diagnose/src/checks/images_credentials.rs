//! Whether kubelet asks its credential provider for the images of a registry at all.

use super::check::{Certainty, Finding};
use super::from_journal::QUOTED;
use super::node::Node;
use super::quote::quote;
use quake_formats::yaml::parse;

/// Where kops writes which images the provider of ECR is asked for.
const FILE: &str = "/var/lib/kubelet/credential-provider.conf";

/// How registries refuse one who has no credentials.
pub(super) const WITHOUT_CREDENTIALS: &[&str] = &[
    "no basic auth credentials",
    "401 Unauthorized",
    "403 Forbidden",
    "authorization failed",
];

/// The finding where a registry of ECR wants credentials, and no pattern of the provider's configuration has its name.
pub(super) fn unmatched(node: &Node<'_>, line: &str, image: &str) -> Option<Finding> {
    let is_refused = WITHOUT_CREDENTIALS.iter().any(|words| line.contains(words));
    let registry = image.split('/').next()?;
    let is_of_ecr = registry.contains(".dkr.ecr") || registry.contains(".dkr-ecr");
    let text = node.text(FILE).ok()?.filter(|_| is_refused && is_of_ecr)?;
    let document = parse(FILE, text).ok()?;
    let providers = document.items_of("providers").iter();
    let patterns = providers.flat_map(|one| one.items_of("matchImages"));
    let patterns: Vec<&str> = patterns.filter_map(|one| one.text()).collect();
    if patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern, registry)) {
        return None;
    }
    let account = registry.split('.').next().unwrap_or_default();
    let pattern = registry.replacen(account, "*", 1);
    Some(
        Finding::new(
            format!("{image} cannot be pulled: no pattern of matchImages in {FILE} has {registry}, so kubelet asks the credential provider for nothing, and pulls without credentials"),
            format!("add \"{pattern}\" to matchImages in {FILE} (with a version of ecr-credential-provider that knows the name), then: systemctl restart kubelet.service; or name the image by ACCOUNT.dkr.ecr.REGION.amazonaws.com; role, repository and token are right"),
        )
        .by(Certainty::Likely)
        .seen("journal", quote(line, QUOTED))
        .seen("matchImages", patterns.join(", ")),
    )
}

/// Whether a pattern has a registry: part by part, `*` for any part of a name (kubelet, `pkg/credentialprovider/keyring.go`).
fn fits(pattern: &str, registry: &str) -> bool {
    let host = pattern.split('/').next().unwrap_or_default();
    let (wanted, own): (Vec<&str>, Vec<&str>) =
        (host.split('.').collect(), registry.split('.').collect());
    let part = |(wanted, own): (&&str, &&str)| match wanted.split_once('*') {
        Some((before, after)) => own.starts_with(before) && own.ends_with(after),
        None => wanted == own,
    };
    wanted.len() == own.len() && wanted.iter().zip(&own).all(part)
}

#[cfg(test)]
mod tests {
    use super::{FILE, fits, unmatched};
    use crate::checks::node::Node;
    use crate::checks::node_sample::Sample;

    #[test]
    fn a_pattern_has_as_many_parts_as_the_registry() {
        for (pattern, registry, wanted) in [
            (
                "*.dkr.ecr.*.amazonaws.com",
                "1.dkr.ecr.us-east-1.amazonaws.com",
                true,
            ),
            ("*.dkr.ecr.*.on.aws", "1.dkr-ecr.us-east-1.on.aws", false),
            ("*.dkr-ecr.*.on.aws", "1.dkr-ecr.us-east-1.on.aws", true),
            ("public.ecr.aws", "public.ecr.aws", true),
        ] {
            assert_eq!(fits(pattern, registry), wanted, "{pattern} {registry}");
        }
    }

    #[test]
    fn a_registry_that_no_pattern_has_is_told() {
        let mut node = Sample::worker();
        node.text(
            FILE,
            "providers:\n- matchImages:\n  - \"*.dkr.ecr.*.amazonaws.com\"\n",
        );
        let seen = Node::new(&node.survey);
        let line = "no basic auth credentials";
        let found = unmatched(&seen, line, "1.dkr-ecr.us-east-1.on.aws/a:1");
        assert!(found.is_some_and(|it| it.fix.contains("*.dkr-ecr.us-east-1.on.aws")));
        assert!(unmatched(&seen, line, "1.dkr.ecr.us-east-1.amazonaws.com/a:1").is_none());
    }
}
