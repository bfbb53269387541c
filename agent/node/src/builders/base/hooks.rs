//! Units that the operator adds: of the instance group first, then of the cluster; the first of a name wins.

use crate::builders::Context;
use crate::config::current::Section;
use quake_formats::unit_text::{UnitText, command_line};
use quake_model::fault::{Code, Fault};
use quake_model::item::{Autostart, File, Item, Source, Unit, UnitState};
use std::collections::BTreeSet;

/// What a unit's name may end with (kops, `pkg/systemd/unit.go`); another name is a service's.
const SUFFIXES: &[&str] = &[
    ".automount",
    ".device",
    ".mount",
    ".path",
    ".scope",
    ".service",
    ".slice",
    ".socket",
    ".swap",
    ".target",
    ".timer",
];

const RUNTIME: &str = "containerd.service";

/// The units. One that is turned off is stopped, and takes the place of the cluster's of its name; one with nothing to run is
/// left out, as nodeup does.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let mut seen = BTreeSet::new();
    let mut items = Vec::new();
    for (index, of_group, hook) in all(context) {
        let unit = unit_name(context, index, of_group, hook)?;
        if !seen.insert(unit.clone()) {
            continue;
        }
        if hook.boolean("enabled") == Some(false) {
            items.push(stopped(&unit));
        } else if let Some(text) = text(&unit, hook) {
            items.extend(running(context, &unit, text));
        }
    }
    Ok(items)
}

/// Whether there is a hook for the unit, be it on or off.
pub(super) fn has(context: &Context<'_>, unit: &str) -> bool {
    all(context).any(|(_, _, hook)| hook.text("name").map(with_suffix).as_deref() == Some(unit))
}

/// Each hook with its place in its list, and whether that is the instance group's.
fn all<'a>(context: &Context<'a>) -> impl Iterator<Item = (usize, bool, &'a Section)> {
    let numbered = |of_group: bool, hooks: &'a [Section]| {
        let hooks = hooks.iter().enumerate();
        hooks.map(move |(index, hook)| (index, of_group, hook))
    };
    numbered(true, &context.config.group_hooks)
        .chain(numbered(false, &context.config.cluster_hooks))
}

/// The unit's name: the hook's own, or one from its place in the list, as nodeup counts.
fn unit_name(
    context: &Context<'_>,
    index: usize,
    of_group: bool,
    hook: &Section,
) -> Result<String, Fault> {
    let Some(name) = hook.text("name") else {
        let suffix = if of_group { "-ig" } else { "" };
        return Ok(format!("kops-hook-{index}{suffix}.service"));
    };
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    if !name.chars().all(is_allowed) || name.starts_with('.') {
        let summary = format!("Hooks.name is {name:?}, which cannot be the name of a unit");
        return Err(context.fault_at(hook, "Hooks.name", Code::ConfigWrongType, summary));
    }
    Ok(with_suffix(name))
}

fn with_suffix(name: &str) -> String {
    if SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
        name.to_owned()
    } else {
        format!("{name}.service")
    }
}

fn stopped(unit: &str) -> Item {
    Item::Unit(Unit {
        state: UnitState::Stopped,
        autostart: Autostart::Disabled,
        ..Unit::packaged(unit).optional()
    })
}

/// The unit and its file, which may hold a password in its environment and so is root's alone. The operator's unit may fail
/// without the node being any worse.
fn running(context: &Context<'_>, unit: &str, text: String) -> [Item; 2] {
    let path = context.unit_path(unit);
    let file = File::secret(&path, Source::Bytes(text.into()));
    let unit = Unit::packaged(unit).reading([path]).optional();
    [Item::File(file), Item::Unit(unit)]
}

/// The unit's text; `None` where the hook has nothing to run.
fn text(unit: &str, hook: &Section) -> Option<String> {
    let manifest = hook.text("manifest");
    if hook.is_set("useRawManifest") {
        return manifest.map(str::to_owned);
    }
    let Some(container) = hook.section("execContainer") else {
        return manifest.map(|text| head(unit, hook).section("Service").raw(text).finish());
    };
    let image = container.text("image").map(str::trim);
    let image = full_image_name(image.filter(|image| !image.is_empty())?);
    let name = unit.trim_end_matches(".service");
    Some(
        head(unit, hook)
            .section("Service")
            .set("Type", "oneshot")
            .comment("Once it has run it counts as up, and is not run again before the next boot.")
            .set("RemainAfterExit", "yes")
            .set(
                "ExecStartPre",
                &command_line(&ctr(&["image", "pull", &image])),
            )
            .set("ExecStart", &command_line(&run(&container, &image, name)))
            .section("Install")
            .set("WantedBy", "multi-user.target")
            .finish(),
    )
}

/// What the unit requires, and its order. nodeup gives no order to what is required, so that a container may be asked for
/// before its runtime runs. A hook that goes before other units than kubelet is not put after the runtime, which may itself
/// wait for them.
fn head(unit: &str, hook: &Section) -> UnitText {
    let (mut requires, before) = (hook.texts("requires"), hook.texts("before"));
    let is_early = before.iter().any(|unit| *unit != "kubelet.service");
    let mut after = requires.clone();
    if hook.has("execContainer") {
        requires.push(RUNTIME);
        after.extend((!is_early).then_some(RUNTIME));
    }
    after.retain(|unit| !before.contains(unit));
    let description = format!("Hook {}", unit.trim_end_matches(".service"));
    let mut text = UnitText::new()
        .section("Unit")
        .set("Description", &description);
    for (setting, units) in [("Requires", requires), ("Before", before), ("After", after)] {
        let mut seen = BTreeSet::new();
        for unit in units.into_iter().filter(|unit| seen.insert(*unit)) {
            text = text.set(setting, unit);
        }
    }
    text
}

/// The image's name with all that people leave out: containerd fills in nothing.
fn full_image_name(name: &str) -> String {
    let registry = name.split_once('/').map(|(first, _)| first);
    let is_registry = |first: &str| first.contains(['.', ':']) || first == "localhost";
    let mut full = match registry {
        Some(first) if is_registry(first) => name.to_owned(),
        Some(_) => format!("docker.io/{name}"),
        None => format!("docker.io/library/{name}"),
    };
    let last = full.rsplit('/').next().unwrap_or_default();
    if !last.contains([':', '@']) {
        full.push_str(":latest");
    }
    full
}

/// A container with the host's network and files.
fn run(container: &Section, image: &str, name: &str) -> Vec<String> {
    let mount = |source: &str, target: &str, propagation: &str| {
        format!("type=bind,src={source},dst={target},options=rbind:{propagation}")
    };
    let mut words: Vec<String> = ctr(&["run", "--rm"])
        .iter()
        .map(ToString::to_string)
        .collect();
    for mount in [
        mount("/", "/rootfs", "rslave"),
        mount("/var/run/dbus", "/var/run/dbus", "rprivate"),
        mount("/run/systemd", "/run/systemd", "rprivate"),
    ] {
        words.extend(["--mount".to_owned(), mount]);
    }
    words.extend(["--net-host", "--privileged"].map(str::to_owned));
    for (variable, value) in container.map("environment") {
        words.extend(["--env".to_owned(), format!("{variable}={value}")]);
    }
    words.extend([image, name].map(str::to_owned));
    words.extend(container.texts("command").into_iter().map(str::to_owned));
    words
}

fn ctr<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let program = ["/usr/bin/ctr", "--namespace", "k8s.io"];
    program.iter().chain(words).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    fn sample(group: &str, cluster: &str) -> Sample {
        Sample::worker(&format!("Hooks:\n- {group}\n- {cluster}\n"))
    }

    fn units(sample: &Sample) -> Vec<(String, UnitState)> {
        let units = sample.all(build, Item::unit).into_iter();
        units.map(|unit| (unit.name, unit.state)).collect()
    }

    fn unit(keys: &str) -> String {
        let sample = sample("null", &format!("[{{name: h, {keys}}}]"));
        sample.file(build, "/usr/lib/systemd/system/h.service")
    }

    #[test]
    fn a_hook_without_a_name_is_called_by_its_place() {
        let found = units(&sample(
            "[{manifest: x}]",
            "[{name: a, manifest: x}, {manifest: x}]",
        ));
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["kops-hook-0-ig.service", "a.service", "kops-hook-1.service"]
        );
    }

    #[test]
    fn the_groups_hook_takes_the_place_of_the_clusters_even_when_it_is_off() {
        let found = units(&sample(
            "[{name: a, enabled: false}]",
            "[{name: a.service, manifest: x}, {name: b.timer, manifest: x}]",
        ));
        let wanted = [
            ("a.service".to_owned(), UnitState::Stopped),
            ("b.timer".to_owned(), UnitState::Running),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_hook_with_nothing_to_run_is_left_out() {
        let cluster = "[{name: a}, {execContainer: {image: \" \"}}, {useRawManifest: true}]";
        assert_eq!(units(&sample("null", cluster)), []);
    }

    #[test]
    fn a_manifest_is_the_section_of_the_service_unless_it_is_the_whole_unit() {
        let text =
            unit("manifest: \"Type=oneshot\\nExecStart=/bin/true\\n\", before: [kubelet.service]");
        assert!(text.contains("\nBefore=kubelet.service\n"), "{text}");
        assert!(
            text.contains("\n[Service]\nType=oneshot\nExecStart=/bin/true\n"),
            "{text}"
        );
        let raw = "useRawManifest: true, manifest: \"[Service]\\nType=oneshot\\n\", requires: [x]";
        assert_eq!(unit(raw), "[Service]\nType=oneshot\n");
    }

    #[test]
    fn a_container_comes_after_its_runtime_unless_the_runtime_may_wait_for_it() {
        let after = |keys: &str| {
            let text = unit(&format!("execContainer: {{image: x}}{keys}"));
            let lines = text.lines().filter(|line| line.starts_with("After="));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(after(""), ["After=containerd.service"]);
        let wanted = ["After=a.service", "After=containerd.service"];
        let keys = ", requires: [a.service], before: [kubelet.service]";
        assert_eq!(after(keys), wanted);
        assert_eq!(after(", before: [network.target]"), [""; 0]);
    }

    #[test]
    fn the_text_of_a_hook_is_never_shown() {
        for file in sample("null", "[{manifest: x}]").all(build, Item::file) {
            assert_eq!(file.mode, 0o600);
            assert_eq!(file.visibility, quake_model::step::Visibility::Secret);
        }
    }

    #[test]
    fn a_name_that_leaves_the_folder_is_refused_at_its_place() {
        for name in ["../x", "a b", ".x", "a/b"] {
            let sample = sample("null", &format!("\n  - {{name: \"{name}\", manifest: x}}"));
            let fault = sample.try_items(build).expect_err(name);
            assert_eq!(fault.code, Code::ConfigWrongType, "{name}");
            assert_eq!(fault.evidence_named("line"), Some("6"), "{name}");
        }
    }

    #[test]
    fn what_people_leave_out_of_an_images_name_is_filled_in() {
        for (name, wanted) in [
            ("busybox", "docker.io/library/busybox:latest"),
            ("busybox:1.36", "docker.io/library/busybox:1.36"),
            ("org/tool", "docker.io/org/tool:latest"),
            ("registry:5000/tool", "registry:5000/tool:latest"),
            ("quay.io/org/tool@sha256:0", "quay.io/org/tool@sha256:0"),
        ] {
            assert_eq!(full_image_name(name), wanted);
        }
    }

    #[test]
    fn the_environment_goes_before_the_image_and_systemd_changes_no_word() {
        let text = unit(
            "execContainer: {image: x, environment: {B: \"1 2\", A: \"%h\"}, command: [echo, \"$HOME\"]}",
        );
        let words = "--env A=%%h --env \"B=1 2\" docker.io/library/x:latest h echo $$HOME\n";
        assert!(text.contains(words), "{text}");
    }
}
