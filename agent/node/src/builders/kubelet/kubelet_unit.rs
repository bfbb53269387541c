//! kubelet's unit.

use super::{CONFIG, CREDENTIAL_PROVIDERS, KUBECONFIG, KUBELET_ENVIRONMENT, program, slices};
use crate::builders::Context;
use quake_formats::unit_text::UnitText;
use quake_model::fault::Fault;
use quake_model::item::{Autostart, Item, Unit, UnitState};

const NAME: &str = "kubelet.service";

/// The unit, which on an instance that warms up neither runs nor starts by itself.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let unit = context.unit(NAME, text(context));
    // kubelet reads these once; a renewed certificate is no use to it before it starts again, and pods outlive that.
    let unit = unit.reading([
        KUBELET_ENVIRONMENT.to_owned(),
        CONFIG.to_owned(),
        CREDENTIAL_PROVIDERS.to_owned(),
        KUBECONFIG.to_owned(),
        context.srv("kubelet-server.crt"),
        program(context),
    ]);
    let (state, autostart) = match context.is_warming() {
        true => (UnitState::Stopped, Autostart::Disabled),
        false => (UnitState::Running, Autostart::Enabled),
    };
    Ok(vec![Item::Unit(Unit {
        state,
        autostart,
        ..unit
    })])
}

fn text(context: &Context<'_>) -> String {
    let group = context.config.kubelet.text("kubeletCgroups");
    let slice = group.map(slices::unit_name);
    let start = format!("{} \"$DAEMON_ARGS\"", program(context));
    UnitText::new()
        .section("Unit")
        .set("Description", "Kubernetes Kubelet Server")
        .set("Documentation", "https://github.com/kubernetes/kubernetes")
        .set("After", "containerd.service")
        .section("Service")
        .set("EnvironmentFile", KUBELET_ENVIRONMENT)
        .comment("systemd takes the quotes off and splits the variable into words.")
        .set("ExecStart", &start)
        .set("Restart", "always")
        .set("RestartSec", "2s")
        .comment("Never give up.")
        .set("StartLimitInterval", "0")
        .comment("Pods outlive a restart of kubelet.")
        .set("KillMode", "process")
        .set("User", "root")
        .set("CPUAccounting", "true")
        .set("MemoryAccounting", "true")
        .set_optional("Slice", slice.as_deref())
        .section("Install")
        .set("WantedBy", "multi-user.target")
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::Lifecycle;
    use crate::builders::sample::Sample;

    fn unit(sample: &Sample) -> Unit {
        sample.all(build, Item::unit).remove(0)
    }

    #[test]
    fn kubelet_starts_with_its_node() {
        let unit = unit(&Sample::worker(""));
        assert_eq!(unit.state, UnitState::Running);
        assert_eq!(unit.autostart, Autostart::Enabled);
    }

    #[test]
    fn kubelet_does_not_run_on_an_instance_that_warms_up_nor_after_its_next_boot() {
        let mut sample = Sample::worker("");
        sample.machine.lifecycle = Lifecycle::Warming;
        let unit = unit(&sample);
        assert_eq!(unit.state, UnitState::Stopped);
        assert_eq!(unit.autostart, Autostart::Disabled);
    }

    #[test]
    fn kubelet_runs_in_the_control_group_that_the_spec_names() {
        let sample = Sample::worker("KubeletConfig: {kubeletCgroups: /kube}\n");
        let file = unit(&sample).file.expect("the unit has a file");
        assert!(file.text.contains("\nSlice=kube.slice\n"), "{}", file.text);
    }
}
