//! Entries of `Assets`: `digest@url[,url]`.

use quake_formats::yaml::{Yaml, fault_at};
use quake_model::digest::{Algorithm, Digest, DigestError};
use quake_model::fault::{Code, Fault};
use quake_model::spec::{AssetKind, AssetSpec};

/// What assets are fetched over.
const SCHEMES: [&str; 3] = ["https", "http", "s3"];

/// Reads one entry. A digest that is md5 is refused like one that is missing.
pub(in crate::config) fn read_asset(source: &str, entry: &Yaml) -> Result<AssetSpec, Fault> {
    let text = entry.text().unwrap_or_default();
    read_pin(text, |code, summary| entry.fault(source, code, summary))
}

/// Reads a list of assets: one `digest@url[,url]` a line, without what follows a `#`; blank lines are nothing.
///
/// # Errors
///
/// As for an entry of `kube_env.yaml`, with line and column.
pub fn read_asset_list(source: &str, text: &str) -> Result<Vec<AssetSpec>, Fault> {
    let mut assets = Vec::new();
    for (index, line) in text.lines().enumerate() {
        // A `#` within a URL begins its fragment, which no server sees.
        let entry = line.split('#').next().unwrap_or_default();
        let indented = entry.len() - entry.trim_start().len();
        let entry = entry.trim();
        if entry.is_empty() {
            continue;
        }
        let column = line[..indented].chars().count() + 1;
        let fault = |code, summary| fault_at(source, (index + 1, column), code, summary);
        assets.push(read_pin(entry, fault)?);
    }
    Ok(assets)
}

/// Reads `digest@url[,url]`; `fault` makes a fault of its place.
pub(in crate::config) fn read_pin(
    text: &str,
    fault: impl Fn(Code, String) -> Fault,
) -> Result<AssetSpec, Fault> {
    let malformed = |what: &str| fault(Code::ConfigAssetMalformed, format!("{text:?} {what}"));
    let refused = |what: &str| fault(Code::ConfigDigestRefused, format!("{text:?} {what}"));
    let (digest, urls) = match text.split_once('@') {
        // An `@` may also stand in a URL, which starts with its scheme.
        Some((digest, _)) if digest.contains("://") => return Err(refused("has no digest")),
        Some((digest, urls)) => (digest, urls),
        None if text.contains("://") => return Err(refused("has no digest")),
        None => return Err(malformed("is not digest@url")),
    };
    if digest.is_empty() {
        return Err(refused("has no digest"));
    }
    let digest = digest.parse::<Digest>().map_err(|error| match error {
        DigestError::Md5 => refused("is pinned with md5"),
        DigestError::NotHex { .. } | DigestError::Length { .. } | DigestError::Algorithm { .. } => {
            malformed("has an invalid digest").caused_by(error.to_string())
        }
    })?;
    let urls: Vec<String> = urls.split(',').map(str::to_owned).collect();
    if let Some(scheme) = urls.iter().find_map(|url| foreign_scheme(url)) {
        let summary = format!("{text:?} is to be fetched over {scheme}://, which is not supported");
        return Err(fault(Code::ConfigUnsupported, summary)
            .seen("scheme", scheme)
            .seen("supported", SCHEMES.join(", "))
            .remedied_by("put the file where nodes can fetch it over https:// or s3://, and name it there: spec.assets.fileRepository"));
    }
    if let Some(url) = urls.iter().find(|url| !is_fetchable(url)) {
        return Err(malformed(&format!(
            "names {url:?}, which is not a URL of a file (https://host/path or s3://bucket/key)"
        )));
    }
    let name = urls
        .first()
        .map(|url| file_name(url).to_owned())
        .unwrap_or_default();
    let kind = AssetKind::of_name(&name);
    Ok(AssetSpec {
        name,
        digest,
        urls,
        kind,
    })
}

/// One warning for all assets pinned with sha1, where there are any.
pub(super) fn weak_digests(source: &str, assets: &[AssetSpec]) -> Option<Fault> {
    let weak: Vec<&str> = assets
        .iter()
        .filter(|asset| asset.digest.algorithm() == Algorithm::Sha1)
        .map(|asset| asset.name.as_str())
        .collect();
    if weak.is_empty() {
        return None;
    }
    let (count, all) = (weak.len(), assets.len());
    let summary = format!("{count} of {all} assets are pinned with sha1");
    let fault = Fault::new(Code::ConfigWeakDigest, summary)
        .seen("source", source)
        .seen("count", count)
        .seen("assets", weak.join(", "));
    Some(fault)
}

/// The scheme of a URL, where it is none that assets are fetched over; `None` also for what is no URL.
fn foreign_scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once("://")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_foreign = !SCHEMES.contains(&scheme);
    (is_scheme && scheme.chars().all(is_name) && is_foreign).then_some(scheme)
}

fn is_fetchable(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    let Some((host, path)) = rest.split_once('/') else {
        return false;
    };
    let clean = !url.chars().any(|c| c.is_whitespace() || c.is_control());
    // An object has no query, and no segment of its key may leave the directory that stands for its bucket.
    let is_odd = |segment: &str| matches!(segment, "" | "." | "..");
    let is_object = scheme != "s3"
        || !(host.contains(['@', ':']) || url.contains(['?', '#']) || path.split('/').any(is_odd));
    clean && is_object && !host.is_empty() && !is_odd(file_name(url))
}

/// The last segment of a URL's path.
fn file_name(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_formats::yaml::parse;

    const SHA1: &str = "0f3a59e4c0aae8c2b2a0924d8ace010ebf39f48e";

    fn read(text: &str) -> Result<AssetSpec, Fault> {
        let list = parse("kube_env.yaml", &format!("- {text:?}")).expect("a literal document");
        read_asset("kube_env.yaml", &list.items()[0])
    }

    #[test]
    fn an_asset_has_its_name_kind_and_urls_in_order() {
        let text = format!("{SHA1}@https://a/cni-v0.7.5.tgz,http://b/x/other.tgz");
        let asset = read(&text).expect("a good entry");
        assert_eq!(asset.name, "cni-v0.7.5.tgz");
        assert_eq!(asset.kind, AssetKind::Archive);
        assert_eq!(
            asset.urls,
            ["https://a/cni-v0.7.5.tgz", "http://b/x/other.tgz"]
        );
        let plain = read(&format!("{SHA1}@https://a/kubelet")).expect("a good entry");
        assert_eq!(plain.kind, AssetKind::Plain);
    }

    #[test]
    fn every_accepted_algorithm_is_read_bare_and_named() {
        for (digits, name) in [(40, "sha1"), (64, "sha256"), (128, "sha512")] {
            let hex = "a".repeat(digits);
            for text in [
                format!("{hex}@https://a/b"),
                format!("{name}:{hex}@https://a/b"),
            ] {
                let digest = read(&text).map(|asset| asset.digest.to_string());
                assert_eq!(digest, Ok(format!("{name}:{hex}")));
            }
        }
    }

    #[test]
    fn a_weak_or_missing_digest_is_refused_at_its_place() {
        for text in [
            "d41d8cd98f00b204e9800998ecf8427e@https://a/b",
            "md5:00@https://a/b",
            "https://a/kubelet",
            "https://user@a/kubelet",
            "@https://a/kubelet",
        ] {
            let fault = read(text).expect_err(text);
            assert_eq!(fault.code, Code::ConfigDigestRefused, "{text}");
            assert_eq!(fault.evidence_named("line"), Some("1"));
            assert_eq!(fault.evidence_named("column"), Some("3"));
        }
    }

    #[test]
    fn anything_else_is_malformed() {
        for text in [
            "",
            "kubelet",
            "abcd@https://a/b",
            &format!("{SHA1}@"),
            &format!("{SHA1}@s3://bucket"),
            &format!("{SHA1}@s3:///kubelet"),
            &format!("{SHA1}@s3://bucket/a/../kubelet"),
            &format!("{SHA1}@s3://bucket/kubelet?versionId=1"),
            &format!("{SHA1}@https://a/b,"),
            &format!("{SHA1}@https://a"),
            &format!("{SHA1}@https:///b"),
            &format!("{SHA1}@https://a/.."),
            &format!("{SHA1}@https://a/b c"),
            &format!("sha256:{SHA1}@https://a/b"),
            &format!("crc:{SHA1}@https://a/b"),
            &format!("{}@https://a/b", "g".repeat(40)),
        ] {
            let fault = read(text).expect_err(text);
            assert_eq!(fault.code, Code::ConfigAssetMalformed, "{text}");
        }
    }

    #[test]
    fn an_asset_may_be_an_object_of_a_bucket() {
        let text = format!("{SHA1}@s3://bucket/files/v1.37.0/bin/linux/amd64/kubelet,https://a/b");
        let asset = read(&text).expect("a good entry");
        assert_eq!((asset.name.as_str(), asset.urls.len()), ("kubelet", 2));
    }

    #[test]
    fn another_scheme_is_refused_by_its_name() {
        for (url, scheme) in [
            ("gs://bucket/kubelet", "gs"),
            ("azureblob://account/container/kubelet", "azureblob"),
            ("file:///etc/passwd", "file"),
            ("https://a/kubelet,memfs://b/kubelet", "memfs"),
        ] {
            let fault = read(&format!("{SHA1}@{url}")).expect_err(url);
            assert_eq!(fault.code, Code::ConfigUnsupported, "{url}");
            assert!(fault.summary.contains(&format!("{scheme}://")), "{fault:?}");
            assert_eq!(fault.evidence_named("scheme"), Some(scheme));
            assert_eq!(fault.evidence_named("supported"), Some("https, http, s3"));
            assert_eq!(fault.evidence_named("line"), Some("1"));
        }
    }

    #[test]
    fn a_list_has_comments_blank_lines_and_faults_with_their_place() {
        let text =
            format!("# ours\n\n  {SHA1}@https://a/kubelet # the first\n{SHA1}@https://a/x.tgz\n");
        let assets = read_asset_list("list", &text).expect("a good list");
        let names: Vec<&str> = assets.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["kubelet", "x.tgz"]);
        let fault = read_asset_list("list", "\n  kubelet\n").expect_err("no digest and no URL");
        assert_eq!(fault.evidence_named("line"), Some("2"));
        assert_eq!(fault.evidence_named("column"), Some("3"));
        assert_eq!(fault.evidence_named("source"), Some("list"));
    }

    #[test]
    fn assets_pinned_with_sha1_give_one_warning_that_names_them() {
        let weak = read(&format!("{SHA1}@https://a/kubelet")).expect("a good entry");
        let strong = read(&format!("{}@https://a/kubectl", "b".repeat(64))).expect("a good entry");
        let fault = weak_digests("x", &[weak.clone(), strong.clone()]).expect("one is weak");
        assert_eq!(fault.code, Code::ConfigWeakDigest);
        assert_eq!(fault.evidence_named("count"), Some("1"));
        assert_eq!(fault.evidence_named("assets"), Some("kubelet"));
        assert_eq!(weak_digests("x", &[strong]), None);
    }
}
