//! The assets that a release of kops gives its nodes, with the digests that their publishers state.

use crate::args::seed::{Arch, SeedSources};
use crate::commands::running::{fail, usage};
use quake_http::{Client, HttpSettings, StatusCode, Url, describe_failure, shown};
use quake_model::digest::Digest;
use quake_model::fault::{Code, Fault};
use quake_model::ports::PortError;
use quake_model::spec::{AssetKind, AssetSpec};
use quake_node::release::{Pin, ReleaseFile, read_published, release_files};

/// The longest file that may hold a digest and the name of what it is of.
const MOST_BYTES: usize = 4 << 10;

/// The assets of the release that the command line names; none where it names none.
pub(super) async fn assets(sources: &SeedSources) -> Result<Vec<AssetSpec>, u8> {
    let (Some(kops), Some(kubernetes)) = (&sources.kops_version, &sources.kubernetes_version)
    else {
        return Ok(Vec::new());
    };
    let files = release_files(kops, kubernetes).map_err(|fault| fail(&fault))?;
    if sources.arch.is_some_and(|arch| arch != Arch::Amd64) {
        let summary = format!("kops {kops} launches no nodes but of amd64");
        return Err(fail(&Fault::new(Code::AssetsReleaseUnknown, summary)));
    }
    let client = HttpSettings::from_environment().build_client();
    let client = client.map_err(|error| usage(&error.to_string()))?;
    let mut assets = Vec::new();
    for file in files {
        let urls = located(&file, sources.mirror.as_deref())?;
        let digest = match file.pin {
            Pin::Known(digest) => digest,
            Pin::Published(endings) => {
                let read = published(&client, &urls, endings).await;
                read.map_err(|fault| fail(&fault))?
            }
        };
        let name = urls.first().and_then(|url| url.rsplit('/').next());
        let name = name.unwrap_or_default().to_owned();
        assets.push(AssetSpec {
            kind: AssetKind::of_name(&name),
            name,
            digest,
            urls,
        });
    }
    Ok(assets)
}

/// Where a file is: at its publishers, or at the mirror under their names.
fn located(file: &ReleaseFile, mirror: Option<&str>) -> Result<Vec<String>, u8> {
    let Some(mirror) = mirror else {
        return Ok(file.urls.clone());
    };
    let base = mirror.trim_end_matches('/');
    if !matches!(Url::parse(base), Ok(url) if matches!(url.scheme(), "http" | "https")) {
        return Err(usage(&format!("{mirror:?} is not an http(s) URL")));
    }
    let below = |url: &String| {
        let path = url.split_once("://").map_or(url.as_str(), |(_, path)| path);
        format!("{base}/{path}")
    };
    Ok(file.urls.iter().map(below).collect())
}

/// The digest that stands beside a file. Its first publisher that has any decides: kops would ask no other.
async fn published(client: &Client, urls: &[String], endings: &[&str]) -> Result<Digest, Fault> {
    let mut failed = Vec::new();
    for url in urls {
        for ending in endings {
            let beside = format!("{url}{ending}");
            match read(client, &beside).await {
                Ok(text) => return read_published(&shown(&beside), &text),
                Err(error) => failed.push(error),
            }
        }
    }
    let file = urls.first().map_or_else(String::new, |url| shown(url));
    let fault = Fault::new(
        Code::AssetsUnreachable,
        format!("no digest of {file} was found"),
    );
    Err(failed.into_iter().fold(fault, |fault, error| {
        let causes = error.causes.join(": ");
        let line = match causes.is_empty() {
            true => error.summary,
            false => format!("{}: {causes}", error.summary),
        };
        fault.seen("asked", line)
    }))
}

async fn read(client: &Client, url: &str) -> Result<String, PortError> {
    let answered = client.get(url).send().await;
    let response = answered.map_err(|failure| describe_failure(url, &failure))?;
    let status = response.status();
    if status != StatusCode::OK {
        let summary = format!("{} answered {}", shown(url), status.as_u16());
        return Err(PortError::new(
            quake_model::ports::Condition::Missing,
            summary,
        ));
    }
    let bytes = response.start(MOST_BYTES).await;
    let bytes = bytes.map_err(|failure| describe_failure(url, &failure))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
