//! containerd as the runtime: its configuration, its unit or what is added to the image's, and its programs
//! where the spec pins them.

use super::common_files::proxy_file;
use super::{cni, layout, programs};
use crate::plan_inputs::PlanInputs;
use quake_formats::unit_text::UnitText;
use quake_model::item::{File, Item};
use quake_model::spec::{AssetSpec, NodeSpec};

/// What the agent adds to the unit, whoever wrote it.
const DROP_IN: &str = "containerd.service.d/10-quake-agent.conf";

pub(crate) fn items(spec: &NodeSpec, known: &PlanInputs) -> Vec<Item> {
    let write = |path: &str, text: String| Item::File(File::plain(path, text));
    let mut items = Vec::new();
    if let Some(archive) = archive(spec) {
        items.extend(programs::items(archive, known, "/usr/local/bin"));
        items.push(write(&layout::unit("containerd.service"), unit()));
    }
    // runc, whose releases are one file for each processor.
    let is_runc = |name: &str| name.starts_with("runc.");
    items.extend(programs::plain(spec, is_runc, "/usr/local/sbin/runc"));
    items.push(write(layout::CONTAINERD_CONFIG, configuration(spec)));
    items.push(write(&layout::unit(DROP_IN), drop_in(spec)));
    items
}

/// The unit files the agent writes: its additions, and the unit itself where the spec pins the programs.
pub(crate) fn unit_files(spec: &NodeSpec) -> Vec<String> {
    let unit = archive(spec).map(|_| layout::unit("containerd.service"));
    unit.into_iter().chain([layout::unit(DROP_IN)]).collect()
}

fn archive(spec: &NodeSpec) -> Option<&AssetSpec> {
    programs::archive(spec, "containerd-")
}

/// The configuration, in the second version of its format: containerd 1.3 to 2.x read it.
fn configuration(spec: &NodeSpec) -> String {
    let systemd_groups = spec.kubelet.flag("cgroup-driver") == Some("systemd");
    let mut text = String::from(
        "# Written by quake-agent; changes are lost at the next boot.\nversion = 2\n\n\
         [plugins.\"io.containerd.grpc.v1.cri\"]\n",
    );
    if let Some(image) = spec.kubelet.flag("pod-infra-container-image") {
        text.push_str(&format!("sandbox_image = {}\n", toml_string(image)));
    }
    text.push_str(&format!(
        "\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"{}\"\nconf_dir = \"{}\"\n",
        layout::CNI_PLUGINS,
        layout::CNI_CONFIGURATIONS
    ));
    if cni::uses_template(spec) {
        text.push_str(&format!("conf_template = \"{}\"\n", cni::TEMPLATE));
    }
    text.push_str(&format!(
        "\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n\
         runtime_type = \"io.containerd.runc.v2\"\n\n\
         [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\n\
         # The same manager of control groups as kubelet's, or pods are killed at random.\n\
         SystemdCgroup = {systemd_groups}\n"
    ));
    text
}

fn toml_string(text: &str) -> String {
    // A JSON string is a TOML basic string.
    serde_json::Value::from(text).to_string()
}

fn unit() -> String {
    UnitText::new()
        .section("Unit")
        .set("Description", "containerd container runtime")
        .set("Documentation", "https://containerd.io")
        .set("After", "network.target local-fs.target")
        .section("Service")
        .comment("The module may be built in.")
        .set("ExecStartPre", "-/sbin/modprobe overlay")
        .set("ExecStart", "/usr/local/bin/containerd")
        .set("Type", "notify")
        .section("Install")
        .set("WantedBy", "multi-user.target")
        .finish()
}

fn drop_in(spec: &NodeSpec) -> String {
    UnitText::new()
        .section("Service")
        .set_optional("EnvironmentFile", proxy_file(spec))
        .comment("Containers outlive containerd's own process.")
        .set("KillMode", "process")
        .comment("The control groups of containers are containerd's.")
        .set("Delegate", "yes")
        .set("LimitNOFILE", "1048576")
        .set("LimitNPROC", "infinity")
        .set("LimitCORE", "infinity")
        .comment("Every process of every container is a task of this unit.")
        .set("TasksMax", "infinity")
        .comment("Without it the kernel may kill the runtime to make room for a container.")
        .set("OOMScoreAdjust", "-999")
        .set("Restart", "always")
        .set("RestartSec", "2s")
        .finish()
}
