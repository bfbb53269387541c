use super::{logged, machine};
use crate::checks::report::Status;
use crate::checks::surveyed::{proves, survey_with};
use quake_model::facts::{Seen, Survey};

const ID: &str = "host.limits";

fn said(unit: &str, line: &str) -> Survey {
    let mut survey = machine("node", "1.29.0", &[]);
    let lines = [(unit.to_owned(), vec![line.to_owned()])];
    survey.journals = Seen::Yes(lines.into_iter().collect());
    survey
}

#[test]
fn a_unit_at_its_limit_of_processes_is_told_apart_from_a_pod_at_its_own() {
    let base = machine("node", "1.29.0", &[]);
    let of = |group: &str| {
        let line = format!("cgroup: fork rejected by pids controller in {group}");
        logged(base.clone(), &[line.as_str()])
    };
    let unit = of("/system.slice/containerd.service");
    proves(
        ID,
        &unit,
        Status::Fail,
        "containerd.service has as many processes",
    );
    let drop_in = "/etc/systemd/system/containerd.service.d/limits.conf";
    let set = survey_with(unit, drop_in, "[Service]\nTasksMax=512\n");
    proves(
        ID,
        &set,
        Status::Fail,
        "may have 512 processes and threads (TasksMax)",
    );
    proves(ID, &set, Status::Fail, drop_in);
    let pod = of("/kubepods.slice/kubepods-burstable.slice/x");
    proves(ID, &pod, Status::Fail, "podPidsLimit");
    let slice = of("/user.slice/user-1000.slice");
    proves(
        ID,
        &slice,
        Status::Fail,
        "/sys/fs/cgroup/user.slice/user-1000.slice/pids.max",
    );
}

#[test]
fn a_unit_that_can_start_no_thread_or_open_no_file_is_told() {
    let thread = "runtime: failed to create new OS thread (have 213 already; errno=11)";
    proves(
        ID,
        &said("kubelet.service", thread),
        Status::Fail,
        "kubelet.service can start no more",
    );
    let files = "accept4: too many open files; retrying in 5ms";
    let open = said("containerd.service", files);
    proves(
        ID,
        &open,
        Status::Fail,
        "as many files open as its LimitNOFILE",
    );
    let unit = "/etc/systemd/system/containerd.service";
    let set = survey_with(open, unit, "[Service]\nLimitNOFILE=1024\n");
    proves(ID, &set, Status::Fail, "may open 1024 files (LimitNOFILE)");
}

#[test]
fn the_unit_whose_tasks_are_few_is_named_where_the_kernel_names_none() {
    let line = "fork/exec /usr/bin/containerd-shim-runc-v2: resource temporarily unavailable";
    let mut survey = logged(machine("node", "1.29.0", &[]), &[]);
    let lines = vec![line.to_owned()];
    survey.journals = Seen::Yes([("kubelet.service".to_owned(), lines)].into());
    proves(
        ID,
        &survey,
        Status::Fail,
        "kubelet.service can start no more",
    );
    let drop_in = "/etc/systemd/system/containerd.service.d/50-x.conf";
    let set = survey_with(survey, drop_in, "[Service]\nTasksMax=512\n");
    proves(
        ID,
        &set,
        Status::Fail,
        "containerd.service and all that it started may have 512 processes",
    );
}
