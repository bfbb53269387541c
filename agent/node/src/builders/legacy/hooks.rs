//! Units the cluster spec asks for around the node's own.

use super::kubelet::runtime_unit;
use super::layout;
use quake_formats::unit_text::{UnitText, command_line};
use quake_model::item::{File, Item, Source};
use quake_model::spec::{Hook, HookKind, NodeSpec, Role, Runtime};

/// The unit files of hooks, in the spec's order; of two of one name the first counts.
pub(crate) fn items(spec: &NodeSpec) -> Vec<Item> {
    distinct(spec)
        .into_iter()
        .map(|hook| {
            // A hook's text may hold a password in its environment, so it is never shown.
            let text = unit(spec, hook);
            Item::File(File::secret(&layout::unit(&hook.unit), Source::bytes(text)))
        })
        .collect()
}

/// The hooks of the spec, one for each unit.
pub(crate) fn distinct(spec: &NodeSpec) -> Vec<&Hook> {
    let mut hooks: Vec<&Hook> = Vec::new();
    for hook in &spec.hooks {
        if hooks.iter().all(|earlier| earlier.unit != hook.unit) {
            hooks.push(hook);
        }
    }
    hooks
}

fn unit(spec: &NodeSpec, hook: &Hook) -> String {
    if let HookKind::Manifest { text, raw: true } = &hook.kind {
        return text.clone();
    }
    let mut unit = UnitText::new()
        .section("Unit")
        .set("Description", &format!("Hook {}", hook.unit));
    for required in &hook.requires {
        unit = unit.set("Requires", required);
    }
    let order = order(spec, hook);
    for later in &order.before {
        unit = unit.set("Before", later);
    }
    for earlier in &order.after {
        unit = unit.set("After", earlier);
    }
    match &hook.kind {
        HookKind::Manifest { text, .. } => unit.section("Service").raw(text).finish(),
        HookKind::Container {
            image,
            command,
            environment,
        } => {
            let client = client(&spec.runtime, &hook.unit);
            let image = std::slice::from_ref(image);
            let variables = environment
                .iter()
                .flat_map(|(name, value)| ["--env".to_owned(), format!("{name}={value}")]);
            let variables: Vec<String> = variables.collect();
            let pull = [&words(client.pull), image].concat();
            let run = [&words(client.run), &variables, image, &client.name, command].concat();
            let (pull, run) = (command_line(&pull), command_line(&run));
            unit.set("Requires", runtime_unit(spec))
                .section("Service")
                .set("Type", "oneshot")
                // Once it has run it counts as up, and is not run again before the next start of the machine.
                .set("RemainAfterExit", "yes")
                .set("ExecStartPre", &pull)
                .set("ExecStart", &run)
                .section("Install")
                .set("WantedBy", "multi-user.target")
                .finish()
        }
    }
}

/// Which units a hook is started before and after.
struct Order<'a> {
    before: Vec<&'a str>,
    after: Vec<&'a str>,
}

/// Orders a hook among the node's units. All are started at once and systemd orders them by their files alone, so
/// that what the spec implies is written out: a hook is up before kubelet unless it requires kubelet, and it comes
/// after what it requires and after the runtime. One that runs before another unit is not put after the
/// runtime, which may itself wait for that unit.
fn order<'a>(spec: &NodeSpec, hook: &'a Hook) -> Order<'a> {
    let (runtime, kubelet) = (runtime_unit(spec), "kubelet.service");
    let mut before: Vec<&str> = hook.before.iter().map(String::as_str).collect();
    let required = hook.requires.iter().map(String::as_str);
    let mut after: Vec<&str> = required.filter(|unit| !before.contains(unit)).collect();
    let is_container = matches!(hook.kind, HookKind::Container { .. });
    let is_early = before.iter().any(|unit| *unit != kubelet);
    if spec.role == Role::Bastion {
        after.extend(is_container.then_some(runtime));
    } else {
        let needs_kubelet = hook.requires.iter().any(|unit| unit == kubelet);
        if !needs_kubelet && !before.contains(&kubelet) {
            before.push(kubelet);
        }
        after.extend((is_container || !is_early).then_some(runtime));
    }
    after.dedup();
    Order { before, after }
}

/// How the runtime's client is called for a container that is run once, with the host's network and files.
struct Client {
    pull: &'static str,
    run: &'static str,
    /// The container's name: containerd wants one, and docker makes one up.
    name: Vec<String>,
}

fn client(runtime: &Runtime, unit: &str) -> Client {
    match runtime {
        Runtime::Docker(_) => Client {
            pull: "/usr/bin/docker pull",
            run: "/usr/bin/docker run --rm --net=host --privileged -v /:/rootfs/ \
                -v /var/run/dbus:/var/run/dbus -v /run/systemd:/run/systemd",
            name: Vec::new(),
        },
        Runtime::Containerd { .. } => Client {
            pull: "/usr/bin/env ctr --namespace k8s.io images pull",
            run: "/usr/bin/env ctr --namespace k8s.io run --rm --net-host --privileged \
                --mount type=bind,src=/,dst=/rootfs,options=rbind:rw \
                --mount type=bind,src=/var/run/dbus,dst=/var/run/dbus,options=rbind:rw \
                --mount type=bind,src=/run/systemd,dst=/run/systemd,options=rbind:rw",
            name: vec![unit.trim_end_matches(".service").to_owned()],
        },
    }
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}
