//! Static pods of the control plane against kops' own goldens, which show what no boot here does: an API server without a
//! sidecar, routes of the cloud's, images that are named for another processor.

use crate::meaning::meaning;
use crate::support::{boots, conformance, instance, machine};
use quake_model::item::{Item, Source};
use quake_plan::distribution::{Distribution, Project};
use quake_plan::kops::{Context, Inputs, build};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// A folder of goldens, the suffix of its files, and how to make its cluster of one that boots.
struct Golden {
    folder: &'static str,
    suffix: &'static str,
    boot: &'static str,
    processor: (&'static str, &'static str),
    changes: &'static [(&'static str, &'static str)],
}

const GOLDENS: &[Golden] = &[
    Golden {
        folder: "minimal",
        suffix: "",
        boot: "minimal-1.33/master-us-test-1a",
        processor: ("amd64", "x86_64"),
        changes: &[CLOUD_ROUTES],
    },
    Golden {
        folder: "side-loading",
        suffix: "-amd64",
        boot: "minimal-1.35/master-us-test-1a",
        processor: ("amd64", "x86_64"),
        changes: &[CLOUD_ROUTES, SIDE_LOADED],
    },
    Golden {
        folder: "side-loading",
        suffix: "-arm64",
        boot: "minimal-1.35/master-us-test-1a",
        processor: ("arm64", "arm64"),
        changes: &[CLOUD_ROUTES, SIDE_LOADED],
    },
];

const CLOUD_ROUTES: (&str, &str) = ("configureCloudRoutes: false", "configureCloudRoutes: true");
const SIDE_LOADED: (&str, &str) = (":v1.35.0-alpha.1", "-amd64:v1.35.0");

const COMPONENTS: &[&str] = &[
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

#[test]
fn every_pod_of_the_control_plane_is_the_goldens() {
    let Some(root) = conformance("kops/tasks/golden") else {
        return;
    };
    for golden in GOLDENS {
        let items = items(golden);
        for component in COMPONENTS {
            let file = format!("{}/tasks-{component}{}.yaml", golden.folder, golden.suffix);
            let tasks = fs::read_to_string(root.join(&file));
            let tasks = tasks.unwrap_or_else(|error| panic!("{file}: {error}"));
            let path = format!("/etc/kubernetes/manifests/{component}.manifest");
            assert_eq!(made(&items, &path), wanted(&tasks, &path), "{file}");
        }
    }
}

/// The items of the golden's cluster.
fn items(golden: &Golden) -> Vec<Item> {
    let boot = boots().into_iter().find(|boot| boot.name == golden.boot);
    let boot = boot.expect("the boot is beside the goldens");
    let boot_config = boot.boot_config();
    let mut bytes = boot.nodeup_config_bytes(&boot_config);
    for (from, to) in golden.changes {
        let text = String::from_utf8(bytes).expect("the configuration is text");
        assert!(text.contains(from), "{}: {from}", golden.boot);
        bytes = text.replace(from, to).into_bytes();
    }
    let (processor, architecture) = golden.processor;
    let mut config = boot.nodeup_config(&bytes, processor);
    let objects = boot.objects(&boot_config, &config);
    config.static_manifests.clear();
    let mut instance = instance();
    instance.architecture = architecture.to_owned();
    let (machine, members) = (machine(), BTreeMap::new());
    let context = Context::new(Inputs {
        boot: &boot_config,
        config: &config,
        instance: &instance,
        machine: &machine,
        distribution: Distribution {
            project: Project::Debian,
            version: (12, 0),
        },
        objects: &objects,
        members: &members,
    });
    let built = context.and_then(|context| build(&context));
    let built = built.unwrap_or_else(|fault| panic!("{}: {fault}", golden.boot));
    built.into_iter().flat_map(|built| built.items).collect()
}

/// The meaning of the file that the items make at `path`.
fn made(items: &[Item], path: &str) -> Value {
    let text = items.iter().find_map(|item| match item {
        Item::File(file) if file.path == path => match &file.source {
            Source::Bytes(contents) => Some(String::from_utf8_lossy(&contents.0)),
            Source::Issued { .. } | Source::Kubeconfig(_) => None,
        },
        _ => None,
    });
    meaning(
        path,
        &text.unwrap_or_else(|| panic!("nothing makes {path}")),
    )
}

/// The meaning of the file at `path` among tasks of nodeup.
fn wanted(tasks: &str, path: &str) -> Value {
    let mut tasks = tasks.split("\n---\n").map(|task| {
        let task: Value = serde_saphyr::from_str(task).expect("a task is YAML");
        task
    });
    let task = tasks.find(|task| task["path"] == path);
    let task = task.unwrap_or_else(|| panic!("no task makes {path}"));
    meaning(
        path,
        task["contents"].as_str().expect("its contents are text"),
    )
}
