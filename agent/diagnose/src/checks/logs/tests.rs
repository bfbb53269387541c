//! What the logs of a node come to.

use crate::checks::node_sample::Sample;
use crate::checks::report::{Report, Status, judge};
use crate::checks::{all, find};
use quake_model::facts::{PodEnd, Seen};
use quake_model::time::Timestamp;

const UNKNOWN: &str =
    "E1121 03:20:00.000000    1201 gizmo.go:12] \"Gizmo broke\" err=\"the flux is out\"";

fn report(sample: &Sample) -> Report {
    judge(all(), &sample.survey)
}

fn of(report: &Report, id: &str) -> (Status, String) {
    let one = report.checks.iter().find(|one| one.check.id == id);
    let one = one.expect("the check was made");
    let finding = one.finding.as_ref();
    let said = finding
        .map(|finding| format!("{} {:?} {}", finding.summary, finding.evidence, finding.fix));
    (one.status, said.unwrap_or_else(|| one.note.clone()))
}

#[test]
fn an_error_that_repeats_and_that_nothing_explains_is_a_warning_with_its_count() {
    let mut sample = Sample::worker();
    let again = UNKNOWN.replace("03:20:00", "03:21:00");
    sample.journal("kubelet.service", &[UNKNOWN, again.as_str()]);
    let (status, said) = of(&report(&sample), "logs.errors");
    assert_eq!(status, Status::Warn, "{said}");
    for words in [
        "kubelet logged 2 times",
        "the flux is out",
        "kubelet, 2 times",
        "journalctl -b -u kubelet.service",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn one_error_of_a_program_that_runs_is_no_finding_and_one_panic_is() {
    let mut sample = Sample::worker();
    sample.journal("kubelet.service", &[UNKNOWN]);
    assert_eq!(of(&report(&sample), "logs.errors").0, Status::Ok);
    sample.journal(
        "containerd.service",
        &["panic: runtime error: index out of range [3]"],
    );
    let (status, said) = of(&report(&sample), "logs.errors");
    assert_eq!(status, Status::Warn, "{said}");
    assert!(said.contains("containerd logged"), "{said}");
}

#[test]
fn what_a_finding_quotes_is_not_told_again() {
    let mut sample = Sample::worker();
    sample.crashing("kubelet.service", &[UNKNOWN, UNKNOWN]);
    let report = report(&sample);
    let (status, said) = of(&report, "kubelet.alive");
    assert_eq!(status, Status::Fail);
    assert!(said.contains("the flux is out"), "{said}");
    assert_eq!(of(&report, "logs.errors").0, Status::Ok);
}

#[test]
fn a_known_line_makes_the_check_warn_that_looks_at_the_same_thing() {
    let mut sample = Sample::worker();
    let line = "E1121 03:20:00.0 1 range_allocator.go:1] CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range";
    let pod = sample.pod("kube-controller-manager", "running");
    pod.log = vec![line.to_owned()];
    let (status, said) = of(&report(&sample), "cni.config");
    assert_eq!(status, Status::Warn, "{said}");
    for words in [
        "pod range is used up",
        "kube-controller-manager of pod kube-system/",
        "nonMasqueradeCIDR",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_container_that_ended_with_a_known_line_fails_its_check() {
    let mut sample = Sample::worker();
    let pod = sample.pod("cilium-agent", "exited");
    pod.exit_code = Some(1);
    pod.log = vec!["level=error msg=\"etcdserver: no leader\"".to_owned()];
    let (status, said) = of(&report(&sample), "etcd.alive");
    assert_eq!(status, Status::Fail, "{said}");
    assert!(said.contains("etcd has no quorum"), "{said}");
}

#[test]
fn lines_of_a_start_that_went_well_are_over() {
    let mut sample = Sample::worker();
    let later = "I1121 03:21:59.000000    1201 kubelet.go:1] all is well";
    let early = UNKNOWN.replace("03:20:00", "03:05:00");
    sample.journal("kubelet.service", &[early.as_str(), early.as_str(), later]);
    assert_eq!(of(&report(&sample), "logs.errors").0, Status::Ok);
}

#[test]
fn what_was_logged_before_the_boot_was_ready_is_over() {
    let mut sample = Sample::worker();
    let ready = Timestamp::parse("2026-11-21T03:20:30Z").expect("an instant");
    let record = sample.survey.record.as_mut().expect("a sample has one");
    record.started = Timestamp(ready.0 - 60_000);
    for phase in record.phases.values_mut() {
        phase.ended_ms = Some(60_000);
    }
    sample.journal("kubelet.service", &[UNKNOWN, UNKNOWN]);
    assert_eq!(of(&report(&sample), "logs.errors").0, Status::Ok);
    let later = UNKNOWN.replace("03:20:00", "03:21:30");
    sample.journal("kubelet.service", &[later.as_str(), later.as_str()]);
    assert_eq!(of(&report(&sample), "logs.errors").0, Status::Warn);
}

#[test]
fn a_lease_of_which_kubelet_says_nothing_any_more_is_renewed() {
    // The check itself has nothing to judge here.
    for (time, status) in [("03:22:12", Status::Warn), ("03:20:00", Status::Skip)] {
        let line = format!(
            "E1121 {time}.000000 1201 controller.go:201] \"Failed to ensure lease exists, will retry\" err=\"connection refused\""
        );
        let mut sample = Sample::worker();
        sample.journal("kubelet.service", &[line.as_str(); 12]);
        assert_eq!(of(&report(&sample), "net.api-server").0, status, "{time}");
    }
}

#[test]
fn a_usual_error_is_a_finding_once_there_are_too_many() {
    let mut sample = Sample::worker();
    let line = "E1121 03:20:00.0 1 event.go:368] \"Unable to write event (may retry after sleeping)\" err=\"x\"";
    sample.journal("kubelet.service", &[line; 20]);
    assert_eq!(of(&report(&sample), "logs.errors").0, Status::Ok);
    sample.journal("kubelet.service", &[line; 40]);
    assert_eq!(of(&report(&sample), "logs.errors").0, Status::Warn);
}

#[test]
fn the_run_before_of_a_container_that_restarts_is_read() {
    let mut sample = Sample::worker();
    let pod = sample.pod("kube-proxy", "running");
    pod.restarts = 7;
    pod.previous = Some(PodEnd {
        exit_code: Some(1),
        log: vec!["E1121 03:20:00.0 1 server.go:1] gizmo: no flux".to_owned()],
        ..PodEnd::default()
    });
    let (status, said) = of(&report(&sample), "logs.errors");
    assert_eq!(status, Status::Warn, "{said}");
    assert!(said.contains("its run before"), "{said}");
}

#[test]
fn the_run_before_that_ended_while_the_node_booted_is_over_once_the_container_runs() {
    let mut sample = Sample::worker();
    let ready = Timestamp::parse("2026-11-21T03:20:30Z").expect("an instant");
    let record = sample.survey.record.as_mut().expect("a sample has one");
    record.started = Timestamp(ready.0 - 60_000);
    for phase in record.phases.values_mut() {
        phase.ended_ms = Some(60_000);
    }
    let pod = sample.pod("kube-proxy", "running");
    pod.restarts = 7;
    pod.previous = Some(PodEnd {
        exit_code: Some(1),
        log: vec!["E1121 03:20:00.0 1 server.go:1] gizmo: no flux".to_owned()],
        ..PodEnd::default()
    });
    assert_eq!(of(&report(&sample), "logs.errors").0, Status::Ok);
    let pod = sample.pods().last_mut().expect("it is there");
    (pod.state, pod.exit_code) = ("exited".to_owned(), Some(1));
    assert_eq!(of(&report(&sample), "logs.errors").0, Status::Warn);
}

#[test]
fn the_kernel_log_speaks_too_and_a_check_that_weighed_it_has_the_last_word() {
    let mut sample = Sample::worker();
    let line = "gizmo 0000:00:05.0: flux controller failed to reset";
    sample.survey.kernel_log = Seen::Yes(vec![line.to_owned(), line.to_owned()]);
    let (status, said) = of(&report(&sample), "logs.errors");
    assert_eq!(status, Status::Warn, "{said}");
    assert!(said.contains("kernel logged 2 times"), "{said}");
}

#[test]
fn without_any_log_nothing_is_known() {
    let mut sample = Sample::worker();
    sample.survey.journals = Seen::default();
    assert_eq!(of(&report(&sample), "logs.errors").0, Status::Skip);
    assert!(find("logs.errors").is_some());
}

#[test]
fn a_trace_of_the_kernel_is_no_finding_beside_the_line_that_it_belongs_to() {
    let mut sample = Sample::worker();
    let kill = [
        "java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=999",
        "CPU: 1 UID: 0 PID: 812 Comm: java Not tainted 6.1.0-1 #1",
        "Call Trace:",
        " dump_stack_lvl+0x44/0x5c",
        "Memory cgroup out of memory: Killed process 812 (java) total-vm:1kB",
    ];
    let log = |lines: &[&str]| Seen::Yes(lines.iter().map(|line| (*line).to_owned()).collect());
    sample.survey.kernel_log = log(&[kill, kill].concat());
    let (status, said) = of(&report(&sample), "logs.errors");
    assert_eq!(status, Status::Ok, "{said}");
    sample.survey.kernel_log = log(&["Call Trace:", "Call Trace:"]);
    assert_eq!(of(&report(&sample), "logs.errors").0, Status::Warn);
}

#[test]
fn errors_of_one_kind_that_differ_in_their_end_are_told_with_the_innermost_of_them() {
    let mut sample = Sample::worker();
    let line = |cause: &str| {
        format!(
            "E1121 03:21:01.0 1201 pod_workers.go:1301] \"Error syncing pod, skipping\" err=\"failed to {cause}\""
        )
    };
    let long = "begin the gizmo of this host at last ".repeat(6);
    let one = line(&format!(
        "{long}: flux is out of order in the second cellar of the house"
    ));
    let other = line("stop");
    sample.journal("kubelet.service", &[one.as_str()]);
    assert_eq!(of(&report(&sample), "logs.errors").0, Status::Ok);
    sample.journal("kubelet.service", &[one.as_str(), other.as_str()]);
    let (status, said) = of(&report(&sample), "logs.errors");
    assert_eq!(status, Status::Warn, "{said}");
    assert!(
        said.starts_with("kubelet logged 2 times what no other check explains: flux is out"),
        "{said}"
    );
}

#[test]
fn a_known_line_that_its_check_did_not_take_over_is_told() {
    let mut sample = Sample::worker();
    let line = "E1121 03:21:00.0 1201 log.go:32] \"RunPodSandbox from runtime service failed\" err=\"rpc error: code = Unknown desc = failed to setup network for sandbox \\\"3f5a\\\": plugin type=\\\"gizmo\\\" failed (add): set the gizmo: operation not permitted\"";
    sample.journal("kubelet.service", &[line, line]);
    let (status, said) = of(&report(&sample), "logs.errors");
    assert_eq!(status, Status::Warn, "{said}");
    assert!(said.contains("operation not permitted"), "{said}");
    assert!(said.contains("the pod network's plugin failed"), "{said}");
}

#[test]
fn what_any_program_may_log_of_itself_is_no_finding_of_the_check_that_passes() {
    let mut sample = Sample::worker();
    let pod = sample.pod("gizmo", "exited");
    pod.exit_code = Some(1);
    pod.log = vec!["listen udp 169.254.20.10:53: bind: address already in use".to_owned()];
    let report = report(&sample);
    assert_ne!(of(&report, "etcd.pods").0, Status::Warn);
    let (status, said) = of(&report, "logs.errors");
    assert_eq!(status, Status::Warn, "{said}");
    assert!(said.contains("another process has the port"), "{said}");
}

#[test]
fn of_two_meanings_of_a_line_the_one_that_says_what_to_do_is_told_with_the_resources_it_names() {
    let mut sample = Sample::control_plane();
    let line = "W1121 03:20:33.5 1 aws.go:4046] Error opening ingress rules for the load balancer to the instances: \"Multiple tagged security groups found for instance i-0ba118132440e527f; ensure only the k8s security group is tagged; the tagged groups were sg-0a47f194362fa26a4(nodes) sg-04b52fd571603668f(ftp)\"";
    let pods = sample.pods();
    let mut own = pods.iter_mut();
    let pod = own.find(|pod| pod.container == "kube-controller-manager");
    let pod = pod.expect("a control plane has one");
    pod.log = vec![line.to_owned(), line.replace("03:20:33", "03:21:33")];
    let report = report(&sample);
    let (status, said) = of(&report, "identity.tags");
    assert_eq!(status, Status::Warn, "{said}");
    for words in [
        "two security groups",
        "sg-0a47f194362fa26a4, sg-04b52fd571603668f",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_ne!(of(&report, "identity.profile").0, Status::Warn);
}

#[test]
fn a_known_line_long_before_the_end_of_a_program_is_not_why_it_ended() {
    let known = "E1121 02:20:05.4 1 range_allocator.go:1] CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range";
    let of_pod = |log: &[String]| {
        let mut sample = Sample::worker();
        let pod = sample.pod("gizmo", "exited");
        pod.exit_code = Some(1);
        pod.log = log.to_vec();
        of(&report(&sample), "cni.config").0
    };
    let early = [known.to_owned(), UNKNOWN.to_owned()];
    assert_eq!(of_pod(&early), Status::Warn);
    let late = [known.replace("02:20:05", "03:19:59"), UNKNOWN.to_owned()];
    assert_eq!(of_pod(&late), Status::Fail);
}

#[test]
fn a_line_that_healthy_nodes_log_is_no_finding_although_it_is_known() {
    let mut sample = Sample::worker();
    let line = "E1121 03:20:05.4 1101 summary.go:102] Failed to get system container stats for \"/system.slice/docker.service\": failed to get cgroup stats for \"/system.slice/docker.service\": failed to get container info for \"/system.slice/docker.service\": unknown container \"/system.slice/docker.service\"";
    sample.journal("kubelet.service", &[line; 4]);
    let (status, said) = of(&report(&sample), "host.cgroup");
    assert_ne!(status, Status::Warn, "{said}");
}
