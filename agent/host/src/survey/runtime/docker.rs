//! docker, by its command line. kubelet names its containers
//! `k8s_<container>_<pod>_<namespace>_<uid>_<attempt>`.

use super::{MOST_NAMES, ask, client, runc, silence, with_logs};
use quake_model::facts::{PodSeen, RuntimeSeen};
use quake_model::ports::{Condition, PortError};
use std::collections::BTreeMap;

pub(super) async fn look() -> Result<RuntimeSeen, PortError> {
    let (version, images, containers, runc) = tokio::join!(
        docker(&["version", "--format", "{{.Server.Version}}"]),
        docker(&["images", "--format", "{{.Repository}}:{{.Tag}}"]),
        docker(&[
            "ps",
            "--all",
            "--no-trunc",
            "--format",
            "{{.Names}}\t{{.Image}}\t{{.Status}}"
        ]),
        runc(),
    );
    let lines = |text: &String| text.lines().take(MOST_NAMES).map(str::to_owned).collect();
    let mut seen = RuntimeSeen {
        name: "docker".to_owned(),
        images: images.as_ref().ok().map(lines),
        runc,
        ..RuntimeSeen::default()
    };
    if let Ok(text) = &containers {
        seen.pods = Some(with_logs(pods(text)).await);
    }
    match version {
        Ok(version) => seen.version = Some(version.trim().to_owned()),
        Err(error) if error.condition == Condition::Missing => return Err(error),
        Err(error) => seen.error = Some(silence(&error)),
    }
    Ok(seen)
}

async fn docker(command: &[&str]) -> Result<String, PortError> {
    ask(client("docker", "docker-ce"), command).await
}

/// The containers of pods, the last run of each.
fn pods(table: &str) -> Vec<PodSeen> {
    let mut last: BTreeMap<(String, String, String), PodSeen> = BTreeMap::new();
    for pod in table.lines().take(MOST_NAMES).filter_map(pod) {
        let key = (
            pod.namespace.clone(),
            pod.name.clone(),
            pod.container.clone(),
        );
        if last
            .get(&key)
            .is_none_or(|other| other.restarts <= pod.restarts)
        {
            last.insert(key, pod);
        }
    }
    last.into_values().collect()
}

/// A container of a pod; `None` for the sandbox of one, and for containers that are not kubelet's.
fn pod(line: &str) -> Option<PodSeen> {
    let mut columns = line.split('\t');
    let (name, image, status) = (columns.next()?, columns.next()?, columns.next()?);
    let mut parts = name.strip_prefix("k8s_")?.split('_');
    let (container, pod, namespace) = (parts.next()?, parts.next()?, parts.next()?);
    if container == "POD" {
        return None;
    }
    let restarts = parts.nth(1).and_then(|attempt| attempt.parse().ok());
    let (state, exit_code) = match status.split_once('(') {
        _ if status.starts_with("Up") => ("running", None),
        Some((word, rest)) if word.trim() == "Exited" => (
            "exited",
            rest.split(')').next().and_then(|code| code.parse().ok()),
        ),
        _ => ("created", None),
    };
    Some(PodSeen {
        namespace: namespace.to_owned(),
        name: pod.to_owned(),
        container: container.to_owned(),
        image: image.to_owned(),
        state: state.to_owned(),
        exit_code,
        restarts: restarts.unwrap_or_default(),
        ..PodSeen::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelets_containers_are_told_by_their_names() {
        let table = "k8s_kube-proxy_kube-proxy-n_kube-system_uid_1\tr.example/kube-proxy:1\tUp 3 hours\n\
                     k8s_kube-proxy_kube-proxy-n_kube-system_uid_0\tr.example/kube-proxy:1\tExited (137) 3 hours ago\n\
                     k8s_POD_kube-proxy-n_kube-system_uid_0\tpause\tUp 3 hours\n\
                     k8s_app_app-n_default_uid_4\tx\tExited (1) 2 seconds ago\n\
                     etcd-backup\tx\tUp 1 hour\n";
        let seen = pods(table);
        let reported: Vec<(&str, &str, Option<i32>, u32)> = seen
            .iter()
            .map(|pod| {
                (
                    pod.container.as_str(),
                    pod.state.as_str(),
                    pod.exit_code,
                    pod.restarts,
                )
            })
            .collect();
        assert_eq!(
            reported,
            [
                ("app", "exited", Some(1), 4),
                ("kube-proxy", "running", None, 1)
            ]
        );
    }
}
