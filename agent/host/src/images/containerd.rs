//! containerd's images, by `ctr`. Seen with containerd 1.6: an image is found by the digest of its manifest; what
//! docker saved gets a manifest by containerd, which names the configuration that the archive is known by.

use super::{IMPORT_DEADLINE, PULL_DEADLINE, QUESTION_DEADLINE, client, refusal};
use crate::linux::{Feed, Program};
use quake_model::digest::Digest;
use quake_model::ports::{Condition, PortError};
use quake_model::spec::ArchivedImage;
use serde::Deserialize;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

/// The namespace of containerd's CRI, in which kubelet looks.
const NAMESPACE: &str = "k8s.io";

/// A manifest as far as it is needed.
#[derive(Debug, Deserialize)]
struct Manifest {
    config: Option<Config>,
}

#[derive(Debug, Deserialize)]
struct Config {
    digest: String,
}

/// A client with the flags that come before every command.
struct Client<'a> {
    program: Program,
    address: Option<&'a str>,
}

impl<'a> Client<'a> {
    fn new(address: Option<&'a Path>, deadline: Duration) -> Self {
        Self {
            program: client("ctr", "containerd", deadline),
            address: address.and_then(Path::to_str),
        }
    }

    fn arguments<'b>(&'b self, command: &[&'b str]) -> Vec<&'b str> {
        let address = self.address.into_iter().flat_map(|at| ["--address", at]);
        let namespace = ["--namespace", NAMESPACE];
        let command = command.iter().copied();
        address.chain(namespace).chain(command).collect()
    }

    async fn ask(&self, command: &[&str]) -> Result<Output, PortError> {
        self.program.run(&self.arguments(command)).await
    }
}

pub(super) async fn has_image(
    address: Option<&Path>,
    image: &ArchivedImage,
) -> Result<bool, PortError> {
    let ctr = Client::new(address, QUESTION_DEADLINE);
    if !list(&ctr, &by_digest(image)).await?.is_empty() {
        return Ok(true);
    }
    // Found by name, it is still known by digest alone: a tag may mean another image by now.
    for target in list(&ctr, &by_name(image)).await? {
        let Some(config) = config_of(&ctr, &target).await? else {
            continue;
        };
        if image
            .digests
            .iter()
            .any(|digest| digest.to_string() == config)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) async fn import(address: Option<&Path>, feed: Feed) -> Result<(), PortError> {
    let ctr = Client::new(address, IMPORT_DEADLINE);
    let command = ctr.arguments(&["images", "import", "--digests=true", "-"]);
    let output = ctr.program.run_fed(&command, feed).await?;
    if output.status.success() {
        Ok(())
    } else {
        Err(refusal("ctr", "import the archive", &output))
    }
}

/// Where containerd's CRI finds the mirrors of registries; `ctr` looks there only when it is told to.
const HOSTS: &str = "/etc/containerd/certs.d";

/// Whether there is an image of this very name. Its record is made once all of its content is there.
pub(super) async fn has_named(address: Option<&Path>, name: &str) -> Result<bool, PortError> {
    require_name(name)?;
    let ctr = Client::new(address, QUESTION_DEADLINE);
    let found = list(&ctr, &[format!("name==\"{name}\"")]).await?;
    Ok(!found.is_empty())
}

pub(super) async fn pull(address: Option<&Path>, name: &str) -> Result<(), PortError> {
    require_name(name)?;
    let ctr = Client::new(address, PULL_DEADLINE);
    let mut command = vec!["images", "pull"];
    if Path::new(HOSTS).is_dir() {
        command.extend(["--hosts-dir", HOSTS]);
    }
    command.push(name);
    let output = ctr.ask(&command).await?;
    if output.status.success() {
        return Ok(());
    }
    let error = refusal("ctr", &format!("pull {name}"), &output);
    let condition = of_registry(&String::from_utf8_lossy(&output.stderr));
    Err(PortError {
        condition: condition.unwrap_or(error.condition),
        ..error
    })
}

/// What a registry's answer means, as `ctr` words it.
fn of_registry(said: &str) -> Option<Condition> {
    [
        ("401 Unauthorized", Condition::Denied),
        ("403 Forbidden", Condition::Denied),
        ("insufficient_scope", Condition::Denied),
        ("429 Too Many Requests", Condition::Throttled),
        ("not found", Condition::Missing),
        ("no such host", Condition::Unreachable),
        ("i/o timeout", Condition::Unreachable),
    ]
    .into_iter()
    .find(|(words, _)| said.contains(words))
    .map(|(_, condition)| condition)
}

/// A name comes from the cluster's spec, and becomes part of a filter and of a command line.
fn require_name(name: &str) -> Result<(), PortError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        let summary = format!("{name:?} is no name of an image");
        return Err(PortError::new(Condition::Malformed, summary));
    }
    Ok(())
}

/// Records of these digests: their targets, or the name that CRI gives by the configuration.
fn by_digest(image: &ArchivedImage) -> Vec<String> {
    let filters = image.digests.iter();
    filters
        .flat_map(|digest| {
            [
                format!("target.digest==\"{digest}\""),
                format!("name==\"{digest}\""),
            ]
        })
        .collect()
}

/// Records of these names. docker leaves out the host that containerd puts in front; an image without a name was
/// given one by its import.
fn by_name(image: &ArchivedImage) -> Vec<String> {
    let is_plain = |name: &&String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
        !name.is_empty() && name.chars().all(plain)
    };
    let names = image.refs.iter().filter(is_plain);
    let mut filters: Vec<String> = names
        .map(|name| format!("name~=\"(^|/){name}$\""))
        .collect();
    if filters.is_empty() {
        filters.push("name~=\"^import-\"".to_owned());
    }
    filters
}

/// The targets of the records that match any of the filters.
async fn list(ctr: &Client<'_>, filters: &[String]) -> Result<Vec<Digest>, PortError> {
    let filters = filters.iter().map(String::as_str);
    let command: Vec<&str> = ["images", "ls"].into_iter().chain(filters).collect();
    let output = ctr.ask(&command).await?;
    if !output.status.success() {
        return Err(refusal("ctr", "list images", &output));
    }
    targets(&String::from_utf8_lossy(&output.stdout))
}

/// The third column of the table: REF, TYPE, DIGEST. The first line names them.
fn targets(table: &str) -> Result<Vec<Digest>, PortError> {
    let mut lines = table.lines();
    if !lines.next().is_some_and(|head| head.starts_with("REF ")) {
        let summary = "ctr lists images in a form that is not known";
        return Err(PortError::new(Condition::Io, summary));
    }
    let mut targets: Vec<Digest> = lines
        .filter_map(|line| line.split_whitespace().nth(2)?.parse().ok())
        .collect();
    targets.sort();
    targets.dedup();
    Ok(targets)
}

/// The configuration that a record's manifest names; `None` when it is gone, or an index.
async fn config_of(ctr: &Client<'_>, target: &Digest) -> Result<Option<String>, PortError> {
    let target = target.to_string();
    let output = ctr.ask(&["content", "get", &target]).await?;
    let manifest: Option<Manifest> = serde_json::from_slice(&output.stdout).ok();
    Ok(manifest
        .and_then(|manifest| manifest.config)
        .map(|config| config.digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets_of_a_table_are_read_from_its_third_column() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let table = format!(
            "REF TYPE DIGEST SIZE PLATFORMS LABELS \na/b:1 application/x {digest} 1.0 KiB linux/amd64 - \n\
             import@{digest} application/x {digest} 1.0 KiB linux/amd64 - \n"
        );
        let found = targets(&table).expect("a table");
        assert_eq!(found, [digest.parse().expect("a literal")]);
        assert!(targets("").is_err(), "no table is not an empty one");
    }

    #[test]
    fn a_name_that_is_none_is_never_a_word_of_a_command() {
        for name in ["", "--all", "a b", "a\"b"] {
            assert!(require_name(name).is_err(), "{name}");
        }
        assert_eq!(require_name("registry.k8s.io/pause:3.10"), Ok(()));
    }

    #[test]
    fn what_a_registry_answers_is_told_apart() {
        for (said, wanted) in [
            (
                "unexpected status: 401 Unauthorized",
                Some(Condition::Denied),
            ),
            ("registry.k8s.io/x:1: not found", Some(Condition::Missing)),
            (
                "dial tcp: lookup r: no such host",
                Some(Condition::Unreachable),
            ),
            ("it is broken", None),
        ] {
            assert_eq!(of_registry(said), wanted, "{said}");
        }
    }

    #[test]
    fn a_name_that_is_none_is_no_part_of_a_filter() {
        let image = ArchivedImage {
            refs: vec!["a\" , name~=\".".to_owned(), "pause:3.9".to_owned()],
            digests: Vec::new(),
        };
        assert_eq!(by_name(&image), ["name~=\"(^|/)pause:3.9$\""]);
    }
}
