//! Checks of pinned files: where they come from, what was placed, and the store they are kept in.

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::config::outcome;
use super::node::Node;
use quake_model::digest::Digest;
use quake_model::expected::ExpectedAsset;
use quake_model::facts::{EntryKind, ReachSeen, Reached, Unseen};
use quake_model::fault::Code;
use quake_model::phase::Phase;
use std::collections::BTreeSet;

mod loader;
mod programs;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "assets.sources",
        title: "a mirror of each pinned file can be reached",
        severity: Severity::Critical,
        tags: &["network"],
        sources: &[Source::Reach, Source::Files],
        because: &[
            "dns.resolvers",
            "dns.names",
            "net.routes",
            "net.proxy",
            "net.mirrors",
            "net.links",
            "time.sync",
        ],
        why: "files that are not in the store must be downloaded before the node can be configured",
        remedy: "check routes, DNS and proxies from the node to these hosts, or seed the image with the files",
        judge: sources,
    },
    Check {
        id: "assets.store",
        title: "the asset store has no damaged file",
        severity: Severity::Warning,
        tags: &["disk"],
        sources: &[Source::Files],
        because: &["host.disk-space"],
        why: "a damaged file is downloaded again only at the next boot",
        remedy: "verify it and remove damaged files: quake-agent store verify --remove",
        judge: store,
    },
    Check {
        id: "assets.seed",
        title: "the image has the files that the spec pins",
        severity: Severity::Info,
        tags: &["image"],
        sources: &[Source::Files],
        because: &[],
        why: "files that are not in the image are downloaded at each first boot",
        remedy: "bake the image again with the assets of the present spec: quake-agent seed build",
        judge: seed,
    },
    Check {
        id: "assets.digests",
        title: "the installed programs have the pinned digests",
        severity: Severity::Critical,
        tags: &["integrity"],
        sources: &[Source::Digests, Source::Files],
        because: &[],
        why: "a replaced program may have another version, or may not be trusted",
        remedy: "find out what wrote it; the agent installs the pinned program again at its next start",
        judge: digests,
    },
    Check {
        id: "assets.binaries",
        title: "the programs that the node runs are there and can be executed",
        severity: Severity::Critical,
        tags: &["programs"],
        sources: &[Source::Files],
        because: &["assets.store", "host.jobs"],
        why: "a unit does not start if its program is missing",
        remedy: "restart the agent for programs that it installs; for the others install the package, also in the image",
        judge: programs::binaries,
    },
];

/// Where assets are kept.
const STORE: &str = "/var/lib/quake-agent/store";

fn sources(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = node.expected()?;
    if expected.assets.is_empty() {
        return Verdict::skip("the spec pins no file");
    }
    let reach = node.survey().reach.get()?;
    let of_host = |host: &str| {
        let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
        let mut tried = reach.iter();
        tried.find(|it| it.host == name && (port.is_empty() || it.port.to_string() == port))
    };
    let hosts: BTreeSet<&str> = expected.assets.iter().flat_map(hosts).collect();
    let tried: Vec<&ReachSeen> = hosts.iter().filter_map(|host| of_host(host)).collect();
    if tried.is_empty() {
        return Err(Unseen::NotTaken(
            "no connection to a mirror was tried".to_owned(),
        ));
    }
    let closed = |it: &&&ReachSeen| !matches!(it.result, Reached::Connected { .. });
    let count = tried.iter().filter(closed).count();
    let note = format!("{} of {} mirrors answer", tried.len() - count, tried.len());
    if count == 0 {
        return Verdict::ok(note);
    }
    if node.has_done(Phase::Assets) {
        return Verdict::ok(format!("{note}; all files are in the store"));
    }
    if expected.proxied {
        return Verdict::skip("mirrors are reached by way of a proxy");
    }
    let lost = expected.assets.iter().find(|asset| {
        let mut of_asset = asset.hosts.iter().map(|host| of_host(host));
        !asset.hosts.is_empty() && of_asset.all(|it| it.is_some_and(|it| closed(&&it)))
    });
    unreachable(lost, tried.into_iter().filter(|it| closed(&it)).collect())
}

fn hosts(asset: &ExpectedAsset) -> impl Iterator<Item = &str> {
    asset.hosts.iter().map(String::as_str)
}

fn unreachable(lost: Option<&ExpectedAsset>, closed: Vec<&ReachSeen>) -> Result<Verdict, Unseen> {
    let first = closed.first().map_or("", |it| it.host.as_str());
    let summary = match lost {
        Some(asset) => format!("no mirror of {} can be reached", asset.name),
        None => format!("{first} cannot be reached; another mirror stands in for it"),
    };
    let fix = format!(
        "look at the route, the proxy and the security group: curl -v https://{first}/; or seed the image: quake-agent seed build"
    );
    let mut finding = Finding::new(summary, fix);
    for it in closed {
        let outcome = format_args!("{}:{} {}", it.host, it.port, outcome(&it.result)).to_string();
        finding = finding.seen("mirror", outcome);
    }
    match lost {
        Some(_) => finding.coded(Code::AssetsUnreachable).fail(),
        None => finding.warn(),
    }
}

fn store(node: &Node<'_>) -> Result<Verdict, Unseen> {
    match node.entry(STORE)? {
        None => return Err(Unseen::NotTaken(format!("no {STORE} was looked at"))),
        Some(entry) if entry.kind != EntryKind::Directory => {
            return Finding::new(
                format!("{STORE} is no directory"),
                format!("move it away after looking what it is: ls -l {STORE}; then: systemctl restart quake-agent.service"),
            )
            .coded(Code::AssetsStoreFailed)
            .fail();
        }
        Some(_) => {}
    }
    let (mut kept, mut damaged) = (0, Vec::new());
    for family in ["sha1", "sha256", "sha512"] {
        let folder = format!("{STORE}/{family}");
        for (name, entry) in node.list(&folder) {
            if name.contains('.') && !name.ends_with(".d") {
                continue;
            }
            kept += 1;
            let (manifest, size) = match entry.kind {
                EntryKind::Directory => (format!("{folder}/{name}/manifest.json"), 1),
                _ => (format!("{folder}/{name}.json"), entry.size),
            };
            if size == 0 {
                damaged.push(format!("{folder}/{name} is empty"));
            } else if node.entry(&manifest)?.is_none() {
                damaged.push(format!("{folder}/{name} has no manifest"));
            }
        }
    }
    let Some(first) = damaged.first() else {
        return Verdict::ok(format!("{kept} files and archives, each with its manifest"));
    };
    let mut finding = Finding::new(first, "quake-agent store verify");
    for other in &damaged[1..] {
        finding = finding.seen("also", other);
    }
    finding.warn()
}

fn seed(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let path = format!("{STORE}/sets/seed.json");
    let Some(text) = node.text(&path)? else {
        return Verdict::skip("the image brought no assets");
    };
    let Some(seeded) = digests_in(text) else {
        return Finding::new(
            format!("{path} cannot be read"),
            "quake-agent seed build writes it anew",
        )
        .warn();
    };
    let made = node.entry(&path)?.map(|entry| entry.modified);
    let days = made.map_or(0, |made| node.taken().millis_since(made) / 86_400_000);
    let assets = &node.expected()?.assets;
    let missing: Vec<&ExpectedAsset> = assets
        .iter()
        .filter(|asset| !seeded.contains(asset.digest.as_str()))
        .collect();
    let covered = assets.len() - missing.len();
    let note = format!(
        "{covered} of {} pinned files were in the image, {days} days ago",
        assets.len()
    );
    if missing.is_empty() || covered * 2 >= assets.len() {
        return Verdict::ok(note);
    }
    let named: Vec<&str> = missing.iter().map(|asset| asset.name.as_str()).collect();
    Finding::new(
        format!("the image was seeded for another spec: only {note}"),
        "bake the image again with the assets of the present spec: quake-agent seed build",
    )
    .seen("not in the image", named.join(", "))
    .warn()
}

/// The digests that a set of the store names.
fn digests_in(text: &str) -> Option<BTreeSet<String>> {
    let set: serde_json::Value = serde_json::from_str(text).ok()?;
    let assets = set.get("assets")?.as_array()?.iter();
    assets
        .map(|asset| asset.get("digest")?.as_str().map(str::to_owned))
        .collect()
}

fn digests(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = node.expected()?;
    if !node.has_done(Phase::Files) {
        return Verdict::skip("the boot has not come so far as to place them");
    }
    let found = node.survey().digests.get()?;
    let mut compared = 0;
    for asset in &expected.assets {
        let Ok(pinned) = asset.digest.parse::<Digest>() else {
            continue;
        };
        for path in &asset.paths {
            let Some(Ok(actual)) = found.get(path).map(|text| text.parse::<Digest>()) else {
                continue;
            };
            if actual.algorithm() != pinned.algorithm() {
                continue;
            }
            if actual != pinned {
                return replaced(asset, path, &actual);
            }
            compared += 1;
        }
    }
    match compared {
        0 => Err(Unseen::NotTaken("no placed program was read".to_owned())),
        compared => Verdict::ok(format!("{compared} of them read and compared")),
    }
}

fn replaced(asset: &ExpectedAsset, path: &str, actual: &Digest) -> Result<Verdict, Unseen> {
    Finding::new(
        format!("{path} is not the {} that the spec pins", asset.name),
        format!("find out who wrote it (dpkg -S {path}; rpm -qf {path}); then: systemctl restart quake-agent.service places the pinned one again"),
    )
    .coded(Code::AssetsDigestMismatch)
    .seen("pinned", &asset.digest)
    .seen("found", actual)
    .fail()
}

#[cfg(test)]
mod tests;
