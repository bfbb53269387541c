//! kops' own goldens of what no boot of the corpus has: builders by their name, on a configuration in a few lines.

use crate::parsed::parsed;
use crate::support::{Assets, Node, instance, machine, tasks};
use quake_model::item::{File, Item};
use quake_node::builders::{Objects, builders};
use quake_node::config::current::{read_boot_config, read_nodeup_config};
use quake_node::distribution::{Distribution, Project};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a builder makes of these keys, on the distribution of kops' tests.
fn built(name: &str, keys: &str) -> Vec<Item> {
    let boot = "ClusterName: minimal.example.com\nInstanceGroupName: master-us-test-1a\n\
                InstanceGroupRole: ControlPlane\nConfigBase: s3://bucket/minimal.example.com\n";
    let config = format!("ClusterName: minimal.example.com\nKubernetesVersion: 1.35.0\n{keys}");
    let (boot, _) = read_boot_config("kube_env.yaml", boot).expect("a literal document");
    let config = read_nodeup_config("nodeupconfig.yaml", &config, "amd64");
    let (config, _) = config.expect("a literal document");
    let builder = builders().find(|builder| builder.name == name);
    let builder = builder.unwrap_or_else(|| panic!("no builder is called {name}"));
    let node = Node {
        boot,
        config,
        objects: Objects::default(),
        instance: instance(),
        machine: machine(),
        distribution: Distribution {
            project: Project::Ubuntu,
            version: (26, 4),
        },
        assets: Assets::default(),
        members: BTreeMap::new(),
    };
    let built = node.with(builder.build);
    built.unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

fn text_at(items: &[Item], path: &str) -> String {
    let mut files = items.iter().filter_map(Item::file);
    let text = files.find(|file| file.path == path).and_then(File::text);
    let text = text.map(Cow::into_owned);
    text.unwrap_or_else(|| panic!("nothing is at {path}"))
}

#[test]
fn a_hook_says_all_that_nodeups_says() {
    let Some(tasks) = tasks("golden/hooks-containerd-exec/tasks-hooks.yaml") else {
        return;
    };
    let keys = "Hooks:\n- null\n- - execContainer:\n      image: busybox\n      command:\n      - sh\n      - -c\n      \
                - chroot /rootfs apt-get update && chroot /rootfs apt-get install -y ceph-common\n";
    let [task] = &tasks[..] else {
        panic!("{tasks:?}")
    };
    let name = task["Name"].as_str().expect("a name");
    let found = text_at(
        &built("hooks", keys),
        &format!("/usr/lib/systemd/system/{name}"),
    );
    let wanted = task["definition"].as_str().expect("a definition");
    let (wanted, found) = (parsed(name, wanted), parsed(name, &found));
    for (setting, values) in wanted.as_object().expect("settings") {
        assert_eq!(&found[setting], values, "{setting}");
    }
    // Without it systemd may start the hook before containerd.
    assert_eq!(found["[Unit]After"][0], "containerd.service");
}

#[test]
fn automatic_updates_are_configured_as_nodeup_does() {
    let Some(tasks) = tasks("updateservicebuilder/automatic/tasks-updateservice.yaml") else {
        return;
    };
    let items = built("update_policy", "UpdatePolicy: automatic\n");
    assert_eq!(items.len(), tasks.len());
    let path = tasks[0]["path"].as_str().expect("a path");
    let wanted = tasks[0]["contents"].as_str().expect("contents");
    let found = text_at(&items, path);
    assert_eq!(parsed(path, &found), parsed(path, wanted));
    let package = format!("package/{}", tasks[1]["Name"].as_str().expect("a name"));
    assert!(
        items.iter().any(|item| item.subject() == package),
        "{package}"
    );
}

#[test]
fn updates_that_are_somebody_elses_are_turned_off() {
    let items = built("update_policy", "UpdatePolicy: external\n");
    let path = "/etc/apt/apt.conf.d/20auto-upgrades";
    let found = text_at(&items, path);
    assert_eq!(items.len(), 1);
    assert_eq!(parsed(path, &found)[0], "APT::Periodic::Enable \"0\";");
}
