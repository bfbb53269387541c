//! Security updates: by the node itself, or by somebody else.

use super::hooks;
use super::packages::package;
use crate::builders::Context;
use crate::distribution::{Packaging, Project};
use quake_formats::unit_text::UnitText;
use quake_model::fault::Fault;
use quake_model::item::{Autostart, File, Item, Unit};

/// Where Debian's periodic jobs are told what to do.
const PERIODIC: &str = "/etc/apt/apt.conf.d/20auto-upgrades";

/// Keeps Flatcar from restarting the node.
const FLATCAR_UNIT: &str = "update-service.service";

/// What the policy comes to on this distribution. The Red Hat family updates nothing by itself.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let distribution = context.distribution;
    if distribution.project == Project::Flatcar {
        return Ok(flatcar(context).into_iter().collect());
    }
    if distribution.packaging() != Packaging::Deb {
        return Ok(Vec::new());
    }
    let is_automatic = context.config.installs_updates();
    let file = File::plain(PERIODIC, periodic(is_automatic));
    let upgrader = is_automatic.then(|| package("unattended-upgrades"));
    Ok(std::iter::once(Item::File(file)).chain(upgrader).collect())
}

fn periodic(is_automatic: bool) -> &'static str {
    match is_automatic {
        // apt's comments are `//`, and `#` only at the start of a line.
        true => {
            "# Written by quake-agent; changes are lost at the next boot.\n\
             APT::Periodic::Update-Package-Lists \"1\";\n\
             APT::Periodic::Unattended-Upgrade \"1\";\n\
             \n\
             APT::Periodic::AutocleanInterval \"7\";\n"
        }
        false => {
            "# Written by quake-agent; changes are lost at the next boot.\n\
             # Updates come from elsewhere (updatePolicy: external).\n\
             APT::Periodic::Enable \"0\";\n"
        }
    }
}

/// locksmithd restarts a node without moving its pods away, so it is off under either policy; an operator's hook of the same
/// name has the say.
fn flatcar(context: &Context<'_>) -> Option<Item> {
    if hooks::has(context, FLATCAR_UNIT) {
        return None;
    }
    let text = UnitText::new()
        .section("Unit")
        .set("Description", "No restarts for updates")
        .set("Before", "locksmithd.service")
        .section("Service")
        .set("Type", "oneshot")
        .set("RemainAfterExit", "yes")
        .set(
            "ExecStart",
            "/usr/bin/systemctl mask --now locksmithd.service",
        )
        .finish();
    // What is masked stays so: it has nothing to do at the next boot.
    Some(Item::Unit(Unit {
        autostart: Autostart::Unmanaged,
        ..context.unit(FLATCAR_UNIT, text)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    fn on(project: Project, keys: &str) -> Vec<String> {
        let sample = Sample::worker(keys).on(project, (0, 0));
        sample.items(build).iter().map(Item::subject).collect()
    }

    #[test]
    fn flatcar_restarts_no_node_by_itself_unless_a_hook_says_otherwise() {
        assert_eq!(on(Project::Flatcar, ""), [FLATCAR_UNIT]);
        let external = "UpdatePolicy: external\n";
        assert_eq!(on(Project::Flatcar, external), [FLATCAR_UNIT]);
        for hook in ["update-service", "update-service.service"] {
            let keys = format!("Hooks: [null, [{{name: {hook}, manifest: x}}]]\n");
            assert_eq!(on(Project::Flatcar, &keys), [""; 0], "{hook}");
        }
    }

    #[test]
    fn the_red_hat_family_is_left_alone() {
        assert_eq!(on(Project::AmazonLinux, ""), [""; 0]);
    }
}
