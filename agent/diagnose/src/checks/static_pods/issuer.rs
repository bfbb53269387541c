//! The issuer of service accounts' tokens, beside the place where its keys are published: kops makes both of one name.

use super::manifest::{Manifest, words};
use crate::checks::check::Finding;

const ISSUER: &str = "--service-account-issuer=";
const KEYS: &str = "--service-account-jwks-uri=";

/// What an issuer's keys are below of.
const PATH: &str = "/openid/v1/jwks";

/// The finding where no issuer is the one whose keys are published: somebody changed it, and tokens of before are refused.
pub(super) fn changed(manifest: &Manifest<'_>) -> Option<Finding> {
    let containers = manifest.spec()?.items_of("containers").iter();
    let words: Vec<&str> = containers.flat_map(words).collect();
    let all = |flag: &'static str| words.iter().filter_map(move |word| word.strip_prefix(flag));
    let published = all(KEYS).next_back()?.strip_suffix(PATH)?;
    let issuer = all(ISSUER).next()?;
    if all(ISSUER).any(|one| one.trim_end_matches('/') == published) {
        return None;
    }
    let path = manifest.path();
    Some(
        Finding::new(
            format!("kube-apiserver issues tokens as {issuer}, and its keys are published for {published}: the issuer (--service-account-issuer) was changed, and tokens of before are refused"),
            format!("add {ISSUER}{published} behind the new one in {path} (spec.kubeAPIServer.additionalServiceAccountIssuers), or put it back; restart pods until each has a new token; roles that trust the issuer (IRSA) need the new one, too"),
        )
        .seen("file", path),
    )
}
