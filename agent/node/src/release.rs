//! What a release of kops gives the nodes of its clusters on AWS, as its source says (kubernetes/kops, tags 1.8.0 to
//! 1.15.3: `upup/pkg/fi/cloudup/apply_cluster.go`, `networking.go` and `urls.go`, read 2026-11).
//!
//! Networking is taken to use CNI, as kubenet, the default, does. What only some clusters get is not here: Lyft's plugin, and
//! GCE's mounter.

use quake_model::digest::Digest;
use quake_model::fault::{Code, Fault};
// kops counts its releases as Kubernetes does.
use quake_model::spec::KubernetesVersion as Version;

/// A file of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseFile {
    /// Where its publishers have it, in order of preference.
    pub urls: Vec<String>,
    pub pin: Pin,
}

/// How a release pins a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pin {
    /// By a digest in its own source.
    Known(Digest),
    /// By the first of the files with these endings that is published beside it.
    Published(&'static [&'static str]),
}

/// The older releases know of no other (`findHash`).
const SHA1: &[&str] = &[".sha1"];

/// Since 1.15 (`AssetBuilder.findHash`).
const SHA256_OR_SHA1: &[&str] = &[".sha256", ".sha1"];

const CNI_1_5: (&str, &str) = (
    "cni-07a8a28637e97b22eb8dfe710eeae1344f69d16e.tar.gz",
    "sha1:19d49f7b2b99cd2493d5ae0ace896c64e289ccbb",
);
const CNI_1_6: (&str, &str) = (
    "cni-0799f5732f2a11b329d9e3d51b9c8f2e3759f2ff.tar.gz",
    "sha1:1d9788b0f5420e1a219aad2cb8681823fc515e7c",
);
const CNI_1_9: (&str, &str) = (
    "cni-plugins-amd64-v0.6.0.tgz",
    "sha1:d595d3ded6499a64e8dac02466e2f5f2ce257c9f",
);
const CNI_1_11: (&str, &str) = (
    "cni-plugins-amd64-v0.7.5.tgz",
    "sha1:52e9d2de8a5f927307d9397308735658ee44ab8d",
);
const CNI_1_15: (&str, &str) = (
    "cni-plugins-amd64-v0.7.5.tgz",
    "sha256:3ca15c0a18ee830520cf3a95408be826cbd255a1535a38e0be9608b25ad8bf64",
);

/// The files that kops of version `kops` gives a node with Kubernetes of version `kubernetes`. All are for amd64: these
/// releases know no other nodes.
///
/// # Errors
///
/// `assets.release-unknown` for versions that are none, for a kops that is not 1.8 to 1.15, and for a Kubernetes that it
/// does not support.
pub fn release_files(kops: &str, kubernetes: &str) -> Result<Vec<ReleaseFile>, Fault> {
    let release = version("kops", kops)?;
    let wanted = version("Kubernetes", kubernetes)?;
    if !release.at_least(1, 8) || release.at_least(1, 16) {
        let summary = format!("what kops {kops} gives its nodes is not known; 1.8 to 1.15 are");
        return Err(Fault::new(Code::AssetsReleaseUnknown, summary));
    }
    if !release.at_least(wanted.major, wanted.minor) || !wanted.at_least(1, 5) {
        let summary = format!("kops {kops} does not support Kubernetes {kubernetes}");
        return Err(Fault::new(Code::AssetsReleaseUnknown, summary));
    }
    let endings = match release.minor {
        15.. => SHA256_OR_SHA1,
        _ => SHA1,
    };
    let published = |urls: Vec<String>| ReleaseFile {
        urls,
        pin: Pin::Published(endings),
    };
    let program = |name: &str| {
        let path = format!("release/v{wanted}/bin/linux/amd64/{name}");
        published(vec![
            format!("https://storage.googleapis.com/kubernetes-release/{path}"),
            format!("https://dl.k8s.io/{path}"),
        ])
    };
    Ok(vec![
        program("kubelet"),
        program("kubectl"),
        plugins(release, wanted)?,
        published(utilities(release)),
    ])
}

fn plugins(release: Version, wanted: Version) -> Result<ReleaseFile, Fault> {
    let (name, digest) = match (release.minor, wanted.minor) {
        (15.., 15..) => CNI_1_15,
        (12.., 11..) => CNI_1_11,
        (9.., 9..) => CNI_1_9,
        (_, 6..) => CNI_1_6,
        _ => CNI_1_5,
    };
    let digest: Digest = digest
        .parse()
        .map_err(|error| Fault::new(Code::BootInternal, format!("{name}: {error}")))?;
    let base = "https://storage.googleapis.com/kubernetes-release/network-plugins";
    Ok(ReleaseFile {
        urls: vec![format!("{base}/{name}")],
        pin: Pin::Known(digest),
    })
}

/// socat and conntrack, for images that lack them. The bucket that older releases name is kept last: it may be gone.
fn utilities(release: Version) -> Vec<String> {
    // Since 1.15.1 the tags of releases begin so.
    let start = match (release.minor, release.patch) {
        (15.., 1..) => "v",
        _ => "",
    };
    let github = "https://github.com/kubernetes/kops/releases/download";
    let path = format!("{release}/linux/amd64/utils.tar.gz");
    vec![
        format!("https://artifacts.k8s.io/binaries/kops/{path}"),
        format!("{github}/{start}{release}/linux-amd64-utils.tar.gz"),
        format!("https://kubeupv2.s3.amazonaws.com/kops/{path}"),
    ]
}

/// The digest in a file that is published beside another: its first word.
///
/// # Errors
///
/// `assets.release-unknown` where that is none.
pub fn read_published(url: &str, text: &str) -> Result<Digest, Fault> {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.parse()
        .map_err(|error: quake_model::digest::DigestError| {
            let summary = format!("{url} holds no digest");
            Fault::new(Code::AssetsReleaseUnknown, summary).caused_by(error.to_string())
        })
}

fn version(of: &str, text: &str) -> Result<Version, Fault> {
    let plain = text.strip_prefix('v').unwrap_or(text);
    let version: Option<Version> = plain.parse().ok();
    let version = version.filter(|version| version.to_string() == plain);
    version.ok_or_else(|| {
        let summary = format!("{text:?} is not a version of {of} such as 1.15.3");
        Fault::new(Code::AssetsReleaseUnknown, summary)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugins_of(kops: &str, kubernetes: &str) -> (String, String) {
        let files = release_files(kops, kubernetes).expect("a known release");
        let file = &files[2];
        let Pin::Known(digest) = &file.pin else {
            return (file.urls[0].clone(), String::new());
        };
        let name = file.urls[0].rsplit('/').next().unwrap_or_default();
        (name.to_owned(), digest.to_string())
    }

    #[test]
    fn the_plugins_are_those_that_nodes_of_such_clusters_were_launched_with() {
        for (kops, kubernetes, (name, digest)) in [
            ("1.8.1", "1.8.4", CNI_1_6),
            ("1.11.1", "1.11.10", CNI_1_9),
            ("1.12.3", "1.12.9", CNI_1_11),
            ("1.15.3", "1.12.9", CNI_1_11),
            ("v1.15.3", "v1.15.12", CNI_1_15),
            ("1.15.0", "1.5.8", CNI_1_5),
        ] {
            let found = plugins_of(kops, kubernetes);
            assert_eq!(
                found,
                (name.to_owned(), digest.to_owned()),
                "{kops} {kubernetes}"
            );
        }
    }

    #[test]
    fn only_the_newest_releases_prefer_the_stronger_digest() {
        let pins = |kops| {
            release_files(kops, "1.8.4").expect("a known release")[0]
                .pin
                .clone()
        };
        assert_eq!(pins("1.14.1"), Pin::Published(SHA1));
        assert_eq!(pins("1.15.0"), Pin::Published(SHA256_OR_SHA1));
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        for (kops, kubernetes) in [
            ("1.7.1", "1.7.5"),
            ("1.16.0", "1.15.0"),
            ("1.8.1", "1.9.0"),
            ("1.15.3", "1.4.12"),
            ("1.15", "1.15.12"),
            ("1.15.3", "latest"),
        ] {
            let fault = release_files(kops, kubernetes).expect_err(kops);
            assert_eq!(fault.code, Code::AssetsReleaseUnknown);
        }
    }

    #[test]
    fn a_published_digest_may_stand_before_the_name_of_its_file() {
        let digest = "d595d3ded6499a64e8dac02466e2f5f2ce257c9f";
        for text in [format!("{digest}\n"), format!("{digest}  kubelet\n")] {
            let read = read_published("https://a/kubelet.sha1", &text);
            assert_eq!(read.map(|it| it.hex().to_owned()), Ok(digest.to_owned()));
        }
        read_published("https://a/x", "<html>not here</html>").expect_err("a page");
    }
}
