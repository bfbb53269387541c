//! docker as the runtime: its flags, its units, and its programs where the spec pins them.

use super::common_files::proxy_file;
use super::{layout, programs};
use crate::plan_inputs::PlanInputs;
use quake_formats::flags::FlagSet;
use quake_formats::unit_text::UnitText;
use quake_model::item::{File, Item};
use quake_model::spec::{AssetSpec, DockerRuntime, NodeSpec};

pub(crate) fn items(spec: &NodeSpec, docker: &DockerRuntime, known: &PlanInputs) -> Vec<Item> {
    let archived = archive(spec).map(|archive| programs::items(archive, known, "/usr/bin"));
    let mut items = archived.unwrap_or_default();
    let uses_socket = known.os.is_debian_family();
    let write = |path: &str, text: String| Item::File(File::plain(path, text));
    let environment = environment(docker, known);
    items.push(write(layout::DOCKER_ENVIRONMENT, environment));
    if uses_socket {
        items.push(write(&layout::unit("docker.socket"), socket(spec)));
    }
    let service = service(spec, docker, uses_socket);
    items.push(write(&layout::unit("docker.service"), service));
    items
}

/// The archive of docker's static programs, where the spec pins one.
fn archive(spec: &NodeSpec) -> Option<&AssetSpec> {
    programs::archive(spec, "docker-")
}

fn environment(docker: &DockerRuntime, known: &PlanInputs) -> String {
    let mut flags = FlagSet::from_spec(&docker.flags);
    if let Some(wanted) = flags.get("storage-driver") {
        let chosen = choose_storage_driver(wanted, &known.filesystems).to_owned();
        flags.set("storage-driver", chosen);
    }
    let options = flags.environment_value();
    format!("DOCKER_OPTS={options}\nDOCKER_NOFILE=\"1000000\"\n")
}

/// Chooses the first storage driver of a comma-separated list whose filesystem the kernel knows; `overlay2`
/// needs `overlay`. A single driver stands as it is, and of a list that fits nothing the first does: docker's
/// own message then says what is missing.
fn choose_storage_driver<'a>(wanted: &'a str, filesystems: &[String]) -> &'a str {
    let first = wanted.split(',').next().unwrap_or(wanted);
    let is_known = |driver: &&str| match *driver {
        "overlay2" => filesystems.iter().any(|known| known == "overlay"),
        driver => filesystems.iter().any(|known| known == driver),
    };
    wanted.split(',').find(is_known).unwrap_or(first)
}

fn socket(spec: &NodeSpec) -> String {
    // The group comes with docker's package; static programs bring none, and a socket cannot have a group
    // that is not there.
    let group = archive(spec).map_or("docker", |_| "root");
    UnitText::new()
        .section("Unit")
        .set("Description", "Docker Socket for the API")
        .set("PartOf", "docker.service")
        .section("Socket")
        .set("ListenStream", "/var/run/docker.sock")
        .set("SocketMode", "0660")
        .set("SocketUser", "root")
        .set("SocketGroup", group)
        .section("Install")
        .set("WantedBy", "sockets.target")
        .finish()
}

fn service(spec: &NodeSpec, docker: &DockerRuntime, uses_socket: bool) -> String {
    let old = is_before_1_12(docker.version.as_deref().unwrap_or_default());
    let program = match old {
        true => "/usr/bin/docker daemon",
        false => "/usr/bin/dockerd",
    };
    let (listen, after) = match uses_socket {
        true => (" -H fd://", "network.target docker.socket"),
        false => ("", "network.target"),
    };
    UnitText::new()
        .section("Unit")
        .set("Description", "Docker Application Container Engine")
        .set("Documentation", "https://docs.docker.com")
        .set("After", after)
        .set_if(uses_socket, "Requires", "docker.socket")
        .section("Service")
        .set("Type", "notify")
        .set("EnvironmentFile", layout::DOCKER_ENVIRONMENT)
        .comment("Proxies that user data set for the whole machine.")
        .set("EnvironmentFile", "-/etc/environment")
        .set_optional("EnvironmentFile", proxy_file(spec))
        .comment("Without quotes or braces systemd splits the variable into words.")
        .set("ExecStart", &format!("{program}{listen} $DOCKER_OPTS"))
        .set("ExecReload", "/bin/kill -s HUP $MAINPID")
        .comment("Containers outlive docker's own process; docker takes them up again.")
        .set("KillMode", "process")
        .comment("A first start may spend minutes on its storage.")
        .set("TimeoutStartSec", "0")
        .set_if(old, "MountFlags", "slave")
        .set("LimitNOFILE", "1048576")
        .set("LimitNPROC", "1048576")
        .set("LimitCORE", "infinity")
        .comment("Every process of every container is a task of this unit.")
        .set("TasksMax", "infinity")
        .set("Restart", "always")
        .set("RestartSec", "2s")
        .comment("Never give up; the name is the one that systemd before 230 knows too.")
        .set("StartLimitInterval", "0")
        .comment("The control groups of containers are docker's.")
        .set("Delegate", "yes")
        .section("Install")
        .set("WantedBy", "multi-user.target")
        .finish()
}

/// Whether a version is before 1.12, where the daemon became a program of its own.
fn is_before_1_12(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) < (1, 12),
        (Some(_) | None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_storage_driver_the_kernel_knows_is_chosen() {
        let known = ["ext4".to_owned(), "overlay".to_owned()];
        assert_eq!(choose_storage_driver("overlay,aufs", &known), "overlay");
        assert_eq!(choose_storage_driver("aufs,overlay2", &known), "overlay2");
        assert_eq!(choose_storage_driver("aufs,btrfs", &known), "aufs");
        assert_eq!(
            choose_storage_driver("devicemapper", &known),
            "devicemapper"
        );
    }

    #[test]
    fn a_docker_of_the_year_numbers_is_not_old() {
        assert!(is_before_1_12("1.11.2"));
        for version in ["1.12.6", "1.13.1", "17.03.2", "18.06.3", "unknown", ""] {
            assert!(!is_before_1_12(version), "{version}");
        }
    }
}
