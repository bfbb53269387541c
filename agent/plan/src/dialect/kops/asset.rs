//! Asset strings: `<hash>@<url>[,<url>…]`, as kops writes them since 1.19 (`upup/pkg/fi/assetstore.go`).

use crate::dialect::kube_env::read_pinned_asset;
use crate::yaml::Yaml;
use quake_model::fault::Fault;
use quake_model::spec::{AssetSpec, ImageSpec};
use quake_model::step::Need;

/// The assets of one processor, in order.
///
/// kops also takes a URL without a hash, and then trusts the `ETag` that the server sends; that pins nothing, and is
/// refused here as it is in the older dialect.
///
/// # Errors
///
/// `config.digest-refused` and `config.asset-malformed`, with line and column.
pub(super) fn read_assets(
    source: &str,
    root: &Yaml,
    processor: &str,
) -> Result<Vec<AssetSpec>, Fault> {
    let lists = root.get("Assets");
    let items = lists.map_or(&[][..], |lists| lists.items_of(processor));
    items
        .iter()
        .map(|entry| read_pinned_asset(source, entry))
        .collect()
}

/// The archives of container images of one processor.
///
/// # Errors
///
/// As [`read_assets`], at the place of the image's hash.
pub(super) fn read_images(
    source: &str,
    root: &Yaml,
    processor: &str,
) -> Result<Vec<ImageSpec>, Fault> {
    let lists = root.get("images");
    let items = lists.map_or(&[][..], |lists| lists.items_of(processor));
    items
        .iter()
        .map(|image| read_image(source, image))
        .collect()
}

fn read_image(source: &str, image: &Yaml) -> Result<ImageSpec, Fault> {
    let urls: Vec<&str> = image
        .items_of("sources")
        .iter()
        .filter_map(Yaml::text)
        .collect();
    let hash = image.text_of("hash").unwrap_or_default();
    let mut pin = image.clone();
    pin.value = crate::yaml::Value::Scalar {
        text: format!("{hash}@{}", urls.join(",")),
        quoted: true,
    };
    let mut archive = read_pinned_asset(source, &pin)?;
    // It is imported as it came.
    archive.kind = quake_model::spec::AssetKind::Plain;
    Ok(ImageSpec {
        name: image
            .text_of("name")
            .map_or_else(|| archive.name.clone(), str::to_owned),
        archive,
        need: Need::Required,
    })
}
