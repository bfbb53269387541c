use crate::checks::Status;
use crate::checks::node_sample::Sample;
use quake_model::facts::{EntryKind, ReachSeen, Reached, Seen, Unseen};
use quake_model::phase::Phase;

const CONFIG: &str = "/etc/containerd/config.toml";
const CRI: &str = "io.containerd.grpc.v1.cri";

#[test]
fn a_mistake_in_the_configuration_is_told_with_its_place() {
    let mut node = Sample::worker();
    node.edit(
        CONFIG,
        ".containerd.runtimes.runc]\nruntime",
        ".containerd.runtimes.runc\nruntime",
    );
    node.assert("runtime.config", Status::Fail, "line 10, column 62");
}

/// Changes one piece of the configuration each, and what is told then.
fn assert_told(cases: &[(&str, &str, Status, &str)]) {
    for (from, to, status, words) in cases {
        let mut node = Sample::worker();
        node.edit(CONFIG, from, to)
            .assert("runtime.config", *status, words);
    }
}

#[test]
fn each_mistake_in_the_meaning_of_the_configuration_is_told() {
    use Status::{Fail, Ok, Warn};
    assert_told(&[
        (
            "version = 2",
            "version = 2\ndisabled_plugins = [\"cri\"]",
            Fail,
            "turns off cri",
        ),
        (
            "version = 2",
            "version = 2\ndisabled_plugins = [\"aufs\"]",
            Ok,
            "version 2",
        ),
        ("version = 2", "version = 9", Fail, "version 9"),
        (
            "version = 2",
            "version = 3",
            Warn,
            "does not know version 3",
        ),
        ("version = 2\n", "", Warn, "no effect in version 1"),
        (
            "version = 2\n",
            "version = 2\nplugin_request_timeout = \"20s\"\n",
            Warn,
            "plugin_request_timeout stands at the root",
        ),
        (
            "version = 2\n",
            "version = 2\nsubreaper = true\n",
            Ok,
            "version 2",
        ),
        (
            "version = 2",
            "version = 2\n[plugins.cri]\nx = 1",
            Warn,
            "[plugins.\"cri\"]",
        ),
    ]);
}

#[test]
fn each_mistake_about_registries_and_snapshotters_is_told() {
    use Status::{Fail, Ok};
    let cri = format!("[plugins.{CRI:?}.registry]\nconfig_path = \"/etc/containerd/certs.d\"\n");
    let mirrors = format!(
        "{cri}[plugins.{CRI:?}.registry.mirrors.\"docker.io\"]\nendpoint = [\"https://m\"]\n"
    );
    let auth =
        format!("{cri}[plugins.{CRI:?}.registry.configs.\"a.example\".auth]\nusername = \"u\"\n");
    let stargz = format!("[plugins.{CRI:?}.containerd]\nsnapshotter = \"stargz\"\n");
    let proxied = format!("{stargz}[proxy_plugins.stargz]\ntype = \"snapshot\"\n");
    assert_told(&[
        (
            "version = 2\n",
            &format!("version = 2\n{mirrors}"),
            Fail,
            "both config_path and mirrors",
        ),
        (
            "version = 2\n",
            &format!("version = 2\n{auth}"),
            Ok,
            "version 2",
        ),
        (
            "version = 2\n",
            &format!("version = 2\n{stargz}"),
            Fail,
            "\"stargz\"",
        ),
        (
            "version = 2\n",
            &format!("version = 2\n{proxied}"),
            Ok,
            "version 2",
        ),
    ]);
}

#[test]
fn what_an_import_replaces_is_told_and_its_mistakes_too() {
    let mut node = Sample::worker();
    node.edit(
        CONFIG,
        "version = 2",
        "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]",
    );
    let path = "/etc/containerd/conf.d/50-site.toml";
    node.text(
        path,
        &format!("version = 2\n[plugins.{CRI:?}]\nmax_container_log_line_size = 1\n"),
    );
    node.assert("runtime.config", Status::Warn, "takes the whole section");
    // With the section goes SystemdCgroup, which the file itself sets.
    node.assert(
        "runtime.cgroup-driver",
        Status::Fail,
        "containerd by cgroupfs",
    );
    node.text(path, "version = 2\n[plugins\n")
        .assert("runtime.config", Status::Fail, path);
}

#[test]
fn what_containerd_itself_refuses_is_told() {
    let mut node = Sample::worker();
    node.runtime().configuration_problems = vec!["invalid plugin config".to_owned()];
    node.assert("runtime.config", Status::Fail, "invalid plugin config");
}

#[test]
fn a_containerd_of_docker_need_not_serve_kubelet() {
    let mut node = Sample::worker();
    node.text(CONFIG, "disabled_plugins = [\"cri\"]\n")
        .expected()
        .runtime = "docker".to_owned();
    node.assert("runtime.config", Status::Skip, "docker");
    node.record().expected = None;
    node.assert("runtime.config", Status::Ok, "version 1");
}

#[test]
fn a_runtime_that_is_down_is_told_with_its_reason() {
    for (line, words) in [
        (
            "containerd: failed to load TOML: /etc/containerd/config.toml: (3, 1)",
            "its configuration is no TOML",
        ),
        (
            "write /var/lib/containerd/x: no space left on device",
            "its filesystem is full",
        ),
        ("something else", "exit status 1"),
    ] {
        let mut node = Sample::worker();
        node.crashing("containerd.service", &["starting containerd", line]);
        node.assert("runtime.alive", Status::Fail, words);
        node.assert("runtime.alive", Status::Fail, "started again 12 times");
    }
}

#[test]
fn a_runtime_that_is_up_must_answer() {
    let mut node = Sample::worker();
    node.assert("runtime.alive", Status::Ok, "1.7.24");
    node.runtime().error = Some("connection refused".to_owned());
    node.assert(
        "runtime.alive",
        Status::Fail,
        "does not answer: connection refused",
    );
    node.survey.runtime = Seen::TimedOut(1500);
    node.assert("runtime.alive", Status::Warn, "within 1.5 s");
    node.survey.runtime = Seen::Denied("the socket is root's".to_owned());
    node.assert("runtime.alive", Status::Ok, "not asked itself");
    node.survey.units = Seen::NotTaken("no systemd".to_owned());
    node.assert("runtime.alive", Status::Skip, "no systemd");
}

#[test]
fn a_runtime_that_systemd_does_not_know_is_missing() {
    let mut node = Sample::worker();
    node.unit("containerd.service").found = false;
    node.assert(
        "runtime.alive",
        Status::Fail,
        "systemd knows no containerd.service",
    );
}

#[test]
fn before_the_services_no_runtime_is_missed() {
    let mut node = Sample::worker();
    node.in_phase(Phase::Storage);
    node.unit("containerd.service").found = false;
    node.assert("runtime.alive", Status::Skip, "not come so far");
    node.in_phase(Phase::Services)
        .assert("runtime.alive", Status::Fail, "knows no");
}

#[test]
fn two_managers_of_control_groups_are_told() {
    let mut node = Sample::worker();
    node.assert("runtime.cgroup-driver", Status::Ok, "both use systemd");
    node.edit(CONFIG, "SystemdCgroup = true", "SystemdCgroup = false");
    node.assert(
        "runtime.cgroup-driver",
        Status::Fail,
        "kubelet manages control groups by systemd",
    );
    node.runtime().version = Some("2.0.4".to_owned());
    node.assert("runtime.cgroup-driver", Status::Fail, "cgroupfs");
    node.spec().kubernetes = "1.31.0".to_owned();
    node.assert("runtime.cgroup-driver", Status::Ok, "asks containerd");
    node.remove(CONFIG).spec().kubernetes = "1.29.0".to_owned();
    node.assert("runtime.cgroup-driver", Status::Skip, "not there");
}

#[test]
fn dockers_manager_of_control_groups_is_read_where_it_is_written() {
    let mut node = Sample::worker();
    node.expected().runtime = "docker".to_owned();
    node.assert("runtime.cgroup-driver", Status::Skip, "not written down");
    node.text(
        "/etc/sysconfig/docker",
        "DOCKER_OPTS=\"--exec-opt=native.cgroupdriver=systemd\"\n",
    );
    node.assert("runtime.cgroup-driver", Status::Ok, "systemd");
    node.remove("/etc/sysconfig/docker");
    node.entry("/sys/fs/cgroup/memory", EntryKind::Directory, 0o755);
    node.assert("runtime.cgroup-driver", Status::Fail, "docker by cgroupfs");
    let line = "misconfiguration: kubelet cgroup driver: \"systemd\" is different from docker cgroup driver: \"cgroupfs\"";
    node.journal("kubelet.service", &[line]);
    node.assert("runtime.cgroup-driver", Status::Fail, "does not start");
}

#[test]
fn settings_of_registries_are_read_and_their_hosts_looked_for() {
    let mut node = Sample::worker();
    node.assert("runtime.mirrors", Status::Skip, "no hosts.toml");
    let path = "/etc/containerd/certs.d/docker.io/hosts.toml";
    node.text(
        path,
        "server = \"https://registry-1.docker.io\"\n[host.\"https://mirror.example:5000\"]\n",
    );
    node.assert("runtime.mirrors", Status::Warn, "does not read");
    let registry = format!(
        "version = 2\n[plugins.{CRI:?}.registry]\nconfig_path = \"/etc/containerd/certs.d\"\n"
    );
    node.edit(CONFIG, "version = 2\n", &registry);
    node.assert("runtime.mirrors", Status::Ok, "2 hosts");
    let of_project = |more: &str| {
        format!("[host.\"https://mirror.example/v2/project\"]\ncapabilities = [\"pull\"]\n{more}")
    };
    node.text(path, &of_project(""));
    node.assert("runtime.mirrors", Status::Warn, "override_path = true");
    let asks = "404 of https://mirror.example/v2/project/v2/library/x/manifests/1";
    node.journal("containerd.service", &[asks]);
    node.assert("runtime.mirrors", Status::Fail, "override_path = true");
    node.text(path, &of_project("override_path = true\n"));
    node.assert("runtime.mirrors", Status::Ok, "1 hosts");
    node.text(
        path,
        "server = \"https://registry-1.docker.io\"\n[host.\"https://mirror.example:5000\"]\n",
    );
    node.survey.reach = Seen::Yes(vec![ReachSeen {
        purpose: "registry".to_owned(),
        host: "mirror.example".to_owned(),
        port: 5000,
        result: Reached::Refused,
        took_ms: 1,
    }]);
    node.assert("runtime.mirrors", Status::Warn, "mirror.example:5000");
    node.text(path, "server = \"ftp://x\"\n")
        .assert("runtime.mirrors", Status::Warn, "ftp");
    node.text(path, "[host\n")
        .assert("runtime.mirrors", Status::Warn, "line 1");
}

#[test]
fn a_file_that_only_root_may_read_is_not_judged() {
    let mut node = Sample::worker();
    node.survey
        .texts
        .insert(CONFIG.to_owned(), Seen::Denied("mode 0600".to_owned()));
    assert!(matches!(
        super::configuration::read(&crate::checks::node::Node::new(&node.survey)),
        Err(Unseen::Denied(_))
    ));
    node.assert("runtime.config", Status::Skip, "needs root");
}

#[test]
fn a_shim_that_hangs_is_named_with_its_container() {
    let mut node = Sample::worker();
    node.assert("runtime.shims", Status::Ok, "waited for in vain");
    let id = "0123456789ab".to_owned() + &"c".repeat(52);
    let line = format!(
        "level=error msg=\"StopContainer for \\\"{id}\\\" failed\" error=\"failed to kill container: context deadline exceeded\""
    );
    node.journal("containerd.service", &[&line]);
    node.assert("runtime.shims", Status::Ok, "waited for in vain");
    node.journal("containerd.service", &[&line, &line]);
    node.assert(
        "runtime.shims",
        Status::Fail,
        "the shim of the container 0123456789ab hangs",
    );
}

#[test]
fn the_unit_without_which_the_runtime_is_not_started_is_quoted() {
    let mut node = Sample::worker();
    node.crashing(
        "containerd.service",
        &["Dependency failed for containerd container runtime."],
    );
    node.journal(
        "docker.socket",
        &["docker.socket: Failed to resolve group gizmo: No such process"],
    );
    let summary = node.judge("runtime.alive").note;
    assert!(
        summary.contains("Failed to resolve group gizmo"),
        "{summary}"
    );
}
