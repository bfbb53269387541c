//! Pods that kubelet runs from files, judged by what kubelet and the runtime show of them.

use quake_formats::image_pull::pull_refused;
use quake_formats::yaml::shorten;
use quake_model::facts::{PodFound, PodSeen, PodsSeen, ProbeFacts};
use quake_model::fault::{Code, Fault};

/// How much of a line is shown, in bytes.
pub(super) const SHOWN: usize = 300;

/// Whether a component lives by what it answered.
///
/// An API server of kops answers no stranger (`--anonymous-auth=false`): that it asks who is there means that it is up,
/// for it reads certificates before anything else. It is asked so over TLS: `/livez`, or `/healthz` before 1.16.
pub fn answers(url: &str, answer: &ProbeFacts) -> bool {
    let is_refusal = |status: &u16| match url.starts_with("https://") {
        true if url.ends_with("/livez") => matches!(status, 401 | 403),
        // Everybody whose certificate or name is taken may read it.
        true if url.ends_with("/healthz") => *status == 401,
        _ => false,
    };
    match answer {
        ProbeFacts::Answered { status, .. } if is_refusal(status) => true,
        ProbeFacts::Answered { .. } | ProbeFacts::Silent { .. } => answer.is_healthy(),
    }
}

/// Judges a pod of a manifest: one container runs at least, and none ended badly.
///
/// # Errors
///
/// `ready.pod-failing` with how far it came, and with the last lines of what ends again and again.
pub fn static_pod(pod: &str, seen: &PodsSeen) -> Result<(), Fault> {
    let is_own = |name: &str| {
        let rest = name.strip_prefix(pod);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let containers = seen.containers.iter();
    let containers: Vec<&PodSeen> = containers.filter(|one| is_own(&one.name)).collect();
    if let Some(broken) = containers.iter().find(|one| has_ended_badly(one)) {
        let fault = Fault::new(Code::ReadyPodFailing, ended(broken));
        return Err(with_log(fault.seen("pod", &broken.name), broken));
    }
    // What is not known is no fault: a runtime whose files are elsewhere tells nothing of its containers.
    let may_run = |one: &&PodSeen| matches!(one.state.as_str(), "running" | "unknown");
    if containers.iter().any(may_run) {
        return Ok(());
    }
    let found = seen.pods.iter().find(|found| is_own(&found.name));
    let fault = Fault::new(Code::ReadyPodFailing, coming(pod, found, &containers));
    Err(fault.seen("pod", pod))
}

/// Adds why kubelet cannot pull an image of a pod, where its journal says so: the line that tells most of what is awaited.
pub fn with_kubelets_word(fault: Fault, pod: &str, journal: &[String]) -> Fault {
    match pull_refused(journal, |line| line.contains(pod)) {
        Some(refused) => fault
            .seen("image", format!("{}: {}", refused.what, refused.means))
            .seen("kubelet", shorten(refused.line, SHOWN))
            .remedied_by(refused.fix),
        None => fault,
    }
}

/// Whether a container ended otherwise than well.
pub(super) fn has_ended_badly(container: &PodSeen) -> bool {
    container.state == "exited" && container.exit_code.is_some_and(|code| code != 0)
}

/// How a container ended, in words.
pub(super) fn ended(container: &PodSeen) -> String {
    let code = container.exit_code.unwrap_or_default();
    let why = match container.reason.as_str() {
        "" | "Error" => String::new(),
        reason => format!(" ({reason})"),
    };
    let again = match container.restarts {
        0 => String::new(),
        1 => ", started again once".to_owned(),
        times => format!(", started again {times} times"),
    };
    format!("{} ended with {code}{why}{again}", container.container)
}

/// Adds what a container said last.
pub(super) fn with_log(fault: Fault, container: &PodSeen) -> Fault {
    let lines = container.log.iter();
    lines.fold(fault, |fault, line| fault.seen("log", shorten(line, SHOWN)))
}

/// How far a pod came that is not up yet.
fn coming(pod: &str, found: Option<&PodFound>, containers: &[&PodSeen]) -> String {
    let Some(found) = found else {
        return format!("kubelet has not begun {pod} yet");
    };
    let is_started = |name: &&String| containers.iter().any(|one| one.container == **name);
    match found.created.iter().find(|name| !is_started(name)) {
        Some(created) => format!("{created} of {pod} was created, and is not started"),
        None if containers.is_empty() => format!("{pod} waits for its image, or for its sandbox"),
        None => format!("{pod} waits for its next container"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(state: &str, exit_code: Option<i32>, restarts: u32) -> PodSeen {
        PodSeen {
            namespace: "kube-system".into(),
            name: "kube-apiserver-i-1".into(),
            container: "kube-apiserver".into(),
            state: state.into(),
            exit_code,
            restarts,
            log: vec!["E1122 connection refused 127.0.0.1:4001".into()],
            ..PodSeen::default()
        }
    }

    fn seen(created: &[&str], containers: Vec<PodSeen>) -> PodsSeen {
        PodsSeen {
            pods: vec![PodFound {
                namespace: "kube-system".into(),
                name: "kube-apiserver-i-1".into(),
                created: created.iter().map(|name| (*name).to_owned()).collect(),
            }],
            containers,
        }
    }

    #[test]
    fn how_far_a_pod_came_is_said() {
        let up = seen(&["kube-apiserver"], vec![container("running", None, 3)]);
        assert_eq!(static_pod("kube-apiserver", &up), Ok(()));
        for (seen, said) in [
            (PodsSeen::default(), "kubelet has not begun"),
            (seen(&[], Vec::new()), "waits for its image"),
            (seen(&["kube-apiserver"], Vec::new()), "is not started"),
            (
                seen(&["kube-apiserver"], vec![container("exited", Some(1), 5)]),
                "kube-apiserver ended with 1, started again 5 times",
            ),
        ] {
            let fault = static_pod("kube-apiserver", &seen).expect_err("it is not up");
            assert!(fault.summary.contains(said), "{fault:?}");
            assert_eq!(fault.code, Code::ReadyPodFailing);
        }
    }

    #[test]
    fn what_keeps_ending_shows_its_last_lines() {
        let mut broken = container("exited", Some(137), 2);
        broken.reason = "OOMKilled".into();
        let fault = static_pod("kube-apiserver", &seen(&["kube-apiserver"], vec![broken]));
        let fault = fault.expect_err("it ended");
        assert!(fault.summary.contains("137 (OOMKilled)"), "{fault:?}");
        let log = fault.evidence_named("log").expect("its log is shown");
        assert!(log.contains("connection refused"), "{log}");
    }

    #[test]
    fn a_pod_that_only_begins_alike_is_another() {
        let mut other = container("running", None, 0);
        other.name = "kube-apiserverx-i-1".into();
        assert!(static_pod("kube-apiserver", &seen(&[], vec![other])).is_err());
    }

    #[test]
    fn an_init_container_that_ended_well_is_no_fault_and_not_enough() {
        let init = container("exited", Some(0), 0);
        let fault = static_pod("kube-apiserver", &seen(&["kube-apiserver"], vec![init]));
        let fault = fault.expect_err("nothing runs");
        assert!(fault.summary.contains("next container"), "{fault:?}");
    }

    #[test]
    fn a_refused_image_is_said_in_kubelets_own_words() {
        let line = r#"kubelet: "Error syncing pod" err="failed to \"StartContainer\" for \"etcd-manager\" with ErrImagePull: \"failed to pull and unpack image \\\"registry.k8s.io/etcd-manager:3\\\": 403 Forbidden\"" pod="kube-system/etcd-manager-main-i-1""#;
        let fault = Fault::new(Code::ReadyPodFailing, "waits");
        let reported = with_kubelets_word(fault.clone(), "etcd-manager-main", &[line.to_owned()]);
        assert!(reported.evidence_named("kubelet").is_some(), "{reported:?}");
        let other = with_kubelets_word(fault.clone(), "kube-proxy", &[line.to_owned()]);
        assert_eq!(other, fault);
    }

    #[test]
    fn an_api_server_that_asks_who_is_there_lives() {
        let answered = |status| ProbeFacts::Answered {
            status,
            body: String::new(),
        };
        for (url, status, lives) in [
            ("https://127.0.0.1:443/livez", 401, true),
            ("https://127.0.0.1:443/livez", 403, true),
            ("https://127.0.0.1:443/livez", 500, false),
            ("https://127.0.0.1:443/livez", 200, true),
            ("http://127.0.0.1:3990/livez", 403, false),
            ("https://127.0.0.1:443/healthz", 401, true),
            ("https://127.0.0.1:443/healthz", 403, false),
            ("http://127.0.0.1:8080/healthz", 401, false),
        ] {
            assert_eq!(answers(url, &answered(status)), lives, "{url} {status}");
        }
    }
}
