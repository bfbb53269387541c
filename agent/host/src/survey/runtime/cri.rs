//! containerd, by `crictl` or `ctr`, and what it says of its own configuration.

use super::super::read_pods_with_logs;
use super::{MOST_NAMES, ask, client, runc, silence};
use quake_model::facts::{PodSeen, RuntimeSeen};
use quake_model::ports::{Condition, PortError};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

const ENDPOINT: &str = "unix:///run/containerd/containerd.sock";

/// How many containers that ended are asked for their status.
const MOST_ENDED: usize = 10;

pub(super) async fn look() -> Result<RuntimeSeen, PortError> {
    let (version, images, containers, problems, runc) =
        tokio::join!(version(), images(), containers(), problems(), runc());
    let mut seen = RuntimeSeen {
        name: "containerd".to_owned(),
        images: images.ok(),
        configuration_problems: problems,
        runc,
        ..RuntimeSeen::default()
    };
    match version {
        Ok(version) => seen.version = Some(version),
        Err(error) if error.condition == Condition::Missing => return Err(error),
        Err(error) => seen.error = Some(silence(&error)),
    }
    seen.pods = match containers {
        Ok(containers) => Some(with_ends(containers).await),
        // kops brings crictl only to those who ask for it.
        Err(error) if error.condition == Condition::Missing => kept().await,
        Err(_) => None,
    };
    Ok(seen)
}

/// The containers by what kubelet and containerd keep of them in files.
async fn kept() -> Option<Vec<PodSeen>> {
    let read = tokio::task::spawn_blocking(|| read_pods_with_logs(Path::new("/")));
    let read = read.await.ok()?.ok()?;
    (!read.pods.is_empty()).then_some(read.containers)
}

async fn crictl(command: &[&str]) -> Result<String, PortError> {
    let flags = [
        "--runtime-endpoint",
        ENDPOINT,
        "--image-endpoint",
        ENDPOINT,
        "--timeout",
        "1s",
    ];
    let arguments: Vec<&str> = flags.iter().chain(command).copied().collect();
    ask(client("crictl", "cri-tools"), &arguments).await
}

async fn ctr(command: &[&str]) -> Result<String, PortError> {
    let flags = ["--timeout", "1s", "--namespace", "k8s.io"];
    let arguments: Vec<&str> = flags.iter().chain(command).copied().collect();
    ask(client("ctr", "containerd"), &arguments).await
}

/// The version of the server, which only answers when it is up.
pub(super) async fn version() -> Result<String, PortError> {
    let text = ctr(&["version"]).await?;
    let server = text.split("Server:").nth(1).unwrap_or_default();
    let version = server
        .lines()
        .find_map(|line| line.trim().strip_prefix("Version:"));
    let unknown = || PortError::new(Condition::Io, "ctr reports no version of its server");
    version
        .map(|version| version.trim().to_owned())
        .ok_or_else(unknown)
}

async fn images() -> Result<Vec<String>, PortError> {
    let text = ctr(&["images", "ls", "--quiet"]).await?;
    Ok(text.lines().take(MOST_NAMES).map(str::to_owned).collect())
}

/// What containerd says when it cannot read its configuration.
async fn problems() -> Vec<String> {
    match ask(client("containerd", "containerd"), &["config", "dump"]).await {
        Err(error) if error.condition == Condition::Io => vec![error.summary],
        Ok(_) | Err(_) => Vec::new(),
    }
}

#[derive(Debug, Deserialize)]
struct Containers {
    #[serde(default)]
    containers: Vec<Container>,
}

/// A container as `crictl ps` shows it.
#[derive(Debug, Deserialize)]
pub(super) struct Container {
    id: String,
    metadata: Metadata,
    #[serde(default)]
    image: Image,
    #[serde(default)]
    state: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    attempt: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Image {
    image: String,
    user_specified_image: String,
}

#[derive(Debug, Deserialize)]
struct Inspected {
    status: Status,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default)]
    exit_code: Option<i32>,
}

/// The containers, the last run of each.
async fn containers() -> Result<Vec<Container>, PortError> {
    read(&crictl(&["ps", "--all", "--output", "json"]).await?)
}

fn read(text: &str) -> Result<Vec<Container>, PortError> {
    let unread = |error: serde_json::Error| {
        PortError::new(
            Condition::Malformed,
            "crictl lists containers in a form that is not known",
        )
        .because(&error)
    };
    let listed: Containers = serde_json::from_str(text).map_err(unread)?;
    let mut last: BTreeMap<(String, String, String), Container> = BTreeMap::new();
    for container in listed.containers.into_iter().take(MOST_NAMES) {
        let (namespace, pod) = (container.label("namespace"), container.label("name"));
        let key = (namespace, pod, container.metadata.name.clone());
        let is_newer = last
            .get(&key)
            .is_none_or(|other| other.metadata.attempt <= container.metadata.attempt);
        if is_newer {
            last.insert(key, container);
        }
    }
    Ok(last.into_values().collect())
}

impl Container {
    fn label(&self, word: &str) -> String {
        let label = self.labels.get(&format!("io.kubernetes.pod.{word}"));
        label.cloned().unwrap_or_default()
    }

    fn seen(&self) -> PodSeen {
        let image = if self.image.user_specified_image.is_empty() {
            self.image.image.clone()
        } else {
            self.image.user_specified_image.clone()
        };
        let state = self.state.trim_start_matches("CONTAINER_").to_lowercase();
        PodSeen {
            namespace: self.label("namespace"),
            name: self.label("name"),
            container: self.metadata.name.clone(),
            image,
            state,
            restarts: self.metadata.attempt,
            ..PodSeen::default()
        }
    }
}

/// The containers as they are told, with how those ended that did.
async fn with_ends(containers: Vec<Container>) -> Vec<PodSeen> {
    let mut pods: Vec<PodSeen> = containers.iter().map(Container::seen).collect();
    let ended: Vec<usize> = (0..pods.len())
        .filter(|index| pods[*index].state == "exited")
        .take(MOST_ENDED)
        .collect();
    let requested = ended.iter().map(|index| inspected(&containers[*index].id));
    let codes = futures_util::future::join_all(requested).await;
    for (index, code) in ended.into_iter().zip(codes) {
        pods[index].exit_code = code;
    }
    super::with_logs(pods).await
}

async fn inspected(id: &str) -> Option<i32> {
    let text = crictl(&["inspect", "--output", "json", id]).await.ok()?;
    let inspected: Inspected = serde_json::from_str(&text).ok()?;
    inspected.status.exit_code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_of_each_container_is_told() {
        let container = |attempt: u32, state: &str| {
            format!(
                "{{\"id\": \"{attempt}\", \"metadata\": {{\"name\": \"kube-proxy\", \"attempt\": {attempt}}}, \
                 \"image\": {{\"image\": \"sha256:00\", \"userSpecifiedImage\": \"r.example/kube-proxy:1\"}}, \
                 \"state\": \"{state}\", \"labels\": {{\"io.kubernetes.pod.name\": \"kube-proxy-n\", \
                 \"io.kubernetes.pod.namespace\": \"kube-system\"}}}}"
            )
        };
        let text = format!(
            "{{\"containers\": [{}, {}]}}",
            container(3, "CONTAINER_RUNNING"),
            container(2, "CONTAINER_EXITED")
        );
        let read = read(&text).expect("a list");
        let seen: Vec<PodSeen> = read.iter().map(Container::seen).collect();
        assert_eq!(seen.len(), 1);
        let wanted = ("kube-proxy-n", "running", 3, "r.example/kube-proxy:1");
        let found = (
            seen[0].name.as_str(),
            seen[0].state.as_str(),
            seen[0].restarts,
            seen[0].image.as_str(),
        );
        assert_eq!(found, wanted);
        assert!(super::read("no list").is_err());
    }
}
