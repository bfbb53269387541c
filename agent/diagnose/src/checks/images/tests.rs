use super::*;
use crate::checks::Status;
use crate::checks::node_sample::Sample;
use quake_model::outcome::Outcome;
use quake_model::record::StepRecord;

#[test]
fn an_image_has_one_whole_name() {
    for (image, wanted) in [
        ("nginx", "docker.io/library/nginx:latest"),
        ("calico/node:v3.27", "docker.io/calico/node:v3.27"),
        ("localhost:5000/a/b", "localhost:5000/a/b:latest"),
        ("r.example:5000/a:1@sha256:00", "r.example:5000/a@sha256:00"),
        ("registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9"),
    ] {
        assert_eq!(whole_name(image), wanted, "{image}");
    }
}

#[test]
fn the_image_of_a_line_is_found_however_it_is_quoted() {
    for line in [
        r#"E0101 PullImage from image service failed" err="no" image="r.example/a:1" x"#,
        r#"time="x" level=error msg="PullImage \"r.example/a:1\" failed" error="no""#,
        r#"Failed to pull image "r.example/a:1": rpc error"#,
        r#"failed to pull and unpack image \"r.example/a:1\": failed to resolve"#,
    ] {
        assert_eq!(image_in(line), Some("r.example/a:1"), "{line}");
    }
    assert_eq!(image_in("nothing"), None);
}

#[test]
fn a_refused_image_fails_the_node_only_if_the_node_needs_it() {
    let line = |image: &str, why: &str| {
        format!(
            r#"E0101 kuberuntime_image.go:53] "Failed to pull image" err="{why}" image="{image}""#
        )
    };
    let own = "registry.k8s.io/kube-proxy:v1.29.3";
    for (image, why, status, words) in [
        (
            own,
            "dial tcp: lookup registry.k8s.io: no such host",
            Status::Fail,
            "name does not resolve",
        ),
        (
            own,
            "toomanyrequests: You have reached your pull rate limit",
            Status::Fail,
            "limit of pulls",
        ),
        (
            "docker.io/calico/node:v3.27",
            "401 Unauthorized",
            Status::Fail,
            "credentials",
        ),
        (
            "shop.example/app:1",
            "403 Forbidden",
            Status::Warn,
            "shop.example/app:1 cannot be pulled",
        ),
        (
            "shop.example/app:1",
            "no match for platform in manifest",
            Status::Warn,
            "processor",
        ),
    ] {
        let mut node = Sample::worker();
        node.runtime().images = Some(Vec::new());
        node.journal("kubelet.service", &["before", &line(image, why), "after"]);
        node.assert("images.pull", status, words);
    }
}

#[test]
fn a_pull_that_went_well_later_is_no_trouble() {
    let mut node = Sample::worker();
    let line =
        r#""Failed to pull image" err="i/o timeout" image="registry.k8s.io/kube-proxy:v1.29.3""#;
    node.journal("kubelet.service", &[line])
        .assert("images.pull", Status::Ok, "no pull");
    node.journal(
        "kubelet.service",
        &["exec /usr/local/bin/app: exec format error"],
    );
    node.assert("images.pull", Status::Warn, "another processor");
}

#[test]
fn an_image_that_is_not_there_yet_is_told() {
    let mut node = Sample::worker();
    node.assert("images.present", Status::Ok, "2 images");
    node.runtime().images = Some(vec!["registry.k8s.io/kube-proxy:v1.29.3".to_owned()]);
    node.assert(
        "images.present",
        Status::Warn,
        "registry.k8s.io/pause:3.9 is not in the runtime",
    );
    node.runtime().images = None;
    node.assert("images.present", Status::Skip, "not listed");
}

#[test]
fn imports_are_counted() {
    let mut node = Sample::worker();
    node.assert("images.imported", Status::Skip, "no archives");
    node.record().steps.push(StepRecord {
        phase: Phase::Services,
        step: "services:image/pause@0123".to_owned(),
        outcome: Outcome::Changed,
        ended_ms: 1,
        took_ms: 1,
    });
    node.assert("images.imported", Status::Ok, "1 archives");
}

#[test]
fn a_back_off_is_told_by_the_answer_of_the_registry_before_it() {
    let mut node = Sample::worker();
    node.runtime().images = Some(Vec::new());
    let answer = r#"E0101 x.go:1] "PullImage from image service failed" err="failed to pull and unpack image \"docker.io/calico/cni:v3.27\": unexpected status: 429 Too Many Requests" image="docker.io/calico/cni:v3.27""#;
    let off = r#"E0101 x.go:1] "Error syncing pod" err="failed with ImagePullBackOff: \"Back-off pulling image \\\"docker.io/calico/cni:v3.27\\\"\"" pod="x""#;
    node.journal("kubelet.service", &[answer, off]);
    let summary = node.judge("images.pull").note;
    assert!(summary.contains("limit of pulls is reached"), "{summary}");
}

#[test]
fn a_sandbox_image_that_is_refused_is_pulled_with_credentials_and_others_are_not() {
    let image = "1.dkr.ecr.us-test-1.amazonaws.com/pause:3.10";
    let line = |kind: &str, why: &str| {
        format!(
            r#"E0101 "RunPodSandbox failed" err="failed to get {kind} image \"{image}\": failed to pull image \"{image}\": {why}""#
        )
    };
    for (kind, why, wanted) in [
        ("sandbox", "401 Unauthorized", true),
        ("sandbox", "no basic auth credentials", true),
        ("sandbox", "dial tcp 10.4.1.3:443: i/o timeout", false),
        ("other", "401 Unauthorized", false),
    ] {
        let mut node = Sample::worker();
        node.journal("kubelet.service", &[&line(kind, why)]);
        let said = node.judge("images.pull").note;
        assert_eq!(
            said.contains("the sandbox image of every pod"),
            wanted,
            "{said}"
        );
    }
}
