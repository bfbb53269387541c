use crate::checks::Status;
use crate::checks::node_sample::Sample;
use quake_model::facts::{ProbeFacts, Seen};
use quake_model::phase::Phase;

fn answering(answer: ProbeFacts) -> Sample {
    let mut node = Sample::control_plane();
    let probe = node
        .probes()
        .iter_mut()
        .find(|probe| probe.component == "kube-apiserver");
    probe.expect("a control plane has one").answer = answer;
    node
}

#[test]
fn an_api_server_that_is_not_well_says_what_it_misses() {
    Sample::control_plane().assert("apiserver.alive", Status::Ok, "answers");
    let mut node = answering(ProbeFacts::Answered {
        status: 500,
        body: "[+]ping ok\n[-]etcd failed: reason withheld\nhealthz check failed".to_owned(),
    });
    node.assert("apiserver.alive", Status::Fail, "answers 500: etcd failed");
    node.in_phase(Phase::Ready)
        .assert("apiserver.alive", Status::Warn, "etcd");
    node.in_phase(Phase::Services)
        .assert("apiserver.alive", Status::Skip, "not come so far");
}

#[test]
fn a_silent_api_server_is_told_with_its_containers() {
    let mut node = answering(ProbeFacts::Silent {
        reason: "connection refused".to_owned(),
    });
    node.pod("kube-apiserver", "exited").exit_code = Some(255);
    node.assert("apiserver.alive", Status::Fail, "exited, ended with 255");
}

#[test]
fn only_a_control_plane_that_was_asked_is_judged() {
    Sample::worker().assert("apiserver.alive", Status::Skip, "no control plane");
    let mut node = Sample::control_plane();
    node.probes().clear();
    node.assert("apiserver.alive", Status::Skip, "not asked");
    node.survey.probes = Seen::Failed("no loopback".to_owned().into());
    node.assert("apiserver.alive", Status::Error, "no loopback");
}
