//! Asset strings: `<hash>@<url>[,<url>…]`, as kops writes them since 1.19 (`upup/pkg/fi/assetstore.go`).

use crate::config::legacy::{read_asset, read_pin};
use crate::config::reader::texts;
use quake_formats::yaml::Yaml;
use quake_model::fault::Fault;
use quake_model::spec::{AssetKind, AssetSpec, ImageSpec};
use quake_model::step::Need;

/// The assets of one processor, in order.
///
/// kops also takes a URL without a hash, and then trusts the `ETag` that the server sends; that pins nothing, and is
/// refused here as it is with kops legacy (1.8 to 1.15).
pub(super) fn read_assets(
    source: &str,
    root: &Yaml,
    processor: &str,
) -> Result<Vec<AssetSpec>, Fault> {
    of_processor(root, "Assets", processor)
        .map(|entry| read_asset(source, entry))
        .collect()
}

/// The archives of container images of one processor.
pub(super) fn read_images(
    source: &str,
    root: &Yaml,
    processor: &str,
) -> Result<Vec<ImageSpec>, Fault> {
    of_processor(root, "images", processor)
        .map(|image| read_image(source, image))
        .collect()
}

fn of_processor<'a>(root: &'a Yaml, key: &str, processor: &str) -> impl Iterator<Item = &'a Yaml> {
    let lists = root.get(key).into_iter();
    lists.flat_map(move |lists| lists.items_of(processor))
}

fn read_image(source: &str, image: &Yaml) -> Result<ImageSpec, Fault> {
    let urls = texts(image, "sources");
    let hash = image.text_of("hash").unwrap_or_default();
    let pin = format!("{hash}@{}", urls.join(","));
    let mut archive = read_pin(&pin, |code, summary| image.fault(source, code, summary))?;
    // It is imported as it came.
    archive.kind = AssetKind::Plain;
    Ok(ImageSpec {
        name: image
            .text_of("name")
            .map_or_else(|| archive.name.clone(), str::to_owned),
        archive,
        need: Need::Required,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_formats::yaml::parse;
    use quake_model::fault::Code;

    /// What kops 1.37 writes for `spec.assets.fileRepository: <repository>`.
    fn written(repository: &str) -> String {
        let sum = "0".repeat(64);
        format!(
            "Assets:\n  amd64:\n  - {sum}@{repository}/binaries/kubernetes/v1.36.0/bin/linux/amd64/kubelet\n\
             images:\n  amd64:\n  - hash: {sum}\n    sources:\n    - {repository}/images/kops-controller-amd64.tar.gz\n"
        )
    }

    #[test]
    fn assets_and_images_of_a_private_bucket_are_read() {
        let text = written("s3://files/kops");
        let root = parse("nodeupconfig.yaml", &text).expect("it is a document");
        let assets = read_assets("nodeupconfig.yaml", &root, "amd64");
        let assets = assets.expect("they are read");
        assert_eq!(assets[0].name, "kubelet");
        let url = "s3://files/kops/binaries/kubernetes/v1.36.0/bin/linux/amd64/kubelet";
        assert_eq!(assets[0].urls, [url]);
        let images = read_images("nodeupconfig.yaml", &root, "amd64");
        let images = images.expect("they are read");
        let url = "s3://files/kops/images/kops-controller-amd64.tar.gz";
        assert_eq!(images[0].archive.urls, [url]);
    }

    #[test]
    fn the_repositories_of_other_clouds_are_refused_by_their_scheme() {
        for repository in ["gs://files", "azureblob://account/files"] {
            let root = parse("nodeupconfig.yaml", &written(repository));
            let root = root.expect("it is a document");
            for refused in [
                read_assets("nodeupconfig.yaml", &root, "amd64").map(drop),
                read_images("nodeupconfig.yaml", &root, "amd64").map(drop),
            ] {
                let fault = refused.expect_err(repository);
                assert_eq!(fault.code, Code::ConfigUnsupported, "{fault}");
                let scheme = repository.split_once(':').map(|(scheme, _)| scheme);
                assert_eq!(fault.evidence_named("scheme"), scheme);
            }
        }
    }
}
