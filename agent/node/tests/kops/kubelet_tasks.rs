//! kubelet and kube-proxy against kops' own unit tests: what the cases do not exercise.
//!
//! Those tests start from the CLI's input; here a case's configuration is changed to what the CLI makes of it. They know no
//! instance, so what names it is ours alone.

use crate::parsed::parsed;
use crate::rendered::{Tree, render};
use crate::support::{Node, boots, tasks};

/// The tree of a case whose configuration is changed; `None` where the data is absent.
fn tree(name: &str, processor: &str, changes: &[(&str, &str)]) -> Option<Tree> {
    let boot = boots().into_iter().find(|boot| boot.name == name)?;
    let node = Node::of(&boot, processor, |text| {
        changes.iter().fold(text, |text, (from, to)| {
            assert!(text.contains(from), "{name} has {from:?}");
            text.replace(from, to)
        })
    });
    Some(render(&node.built(), &node.assets))
}

/// The text of a file, or of a unit, in a list of nodeup's tasks.
fn task(list: &str, name: &str) -> String {
    let mut tasks = tasks(list)
        .expect("the tasks are beside the cases")
        .into_iter();
    let found = tasks.find_map(|task| {
        let contents = (task["path"] == name).then(|| task["contents"].clone());
        let definition = (task["Name"] == name).then(|| task["definition"].clone());
        contents.or(definition)?.as_str().map(str::to_owned)
    });
    found.unwrap_or_else(|| panic!("{list} has no {name}"))
}

fn text<'a>(tree: &'a Tree, path: &str) -> &'a str {
    let entry = tree.get(path);
    let entry = entry.unwrap_or_else(|| panic!("{path} is not made"));
    entry.content.as_deref().unwrap_or_default()
}

/// What names the node, which the tests of kops do not have.
const NAME: &str = "--hostname-override=i-0123456789abcdef0";

#[test]
fn kubelet_is_set_up_as_in_the_test_of_its_feature_gates() {
    const LIST: &str = "kubelet/featuregates/tasks.yaml";
    let gates = "  featureGates:\n    AllowExtTrafficLocalEndpoints: \"false\"\n    ExperimentalCriticalPodAnnotation: \"true\"\n  \
                 resolvConf: /run/systemd/resolve/resolv.conf\n";
    let changes = [("  anonymousAuth: false\n", gates)];
    let Some(tree) = tree("minimal-1.33/nodes", "amd64", &changes) else {
        return;
    };
    let path = "/var/lib/kubelet/kubelet.conf";
    let mut found = parsed(path, text(&tree, path));
    let fields = found.as_object_mut().expect("it is a map");
    let provider = fields.remove("providerID");
    assert_eq!(
        provider,
        Some("aws:///us-test-1a/i-0123456789abcdef0".into())
    );
    assert_eq!(found, parsed(path, &task(LIST, path)));
    let path = "/etc/sysconfig/kubelet";
    let found = text(&tree, path).replace(&format!(" {NAME}"), "");
    assert_eq!(found, task(LIST, path));
    let wanted = parsed("kubelet.service", &task(LIST, "kubelet.service"));
    let unit = text(&tree, "/usr/lib/systemd/system/kubelet.service");
    assert_eq!(parsed("kubelet.service", unit), wanted);
}

#[test]
fn kube_proxy_is_that_of_its_tests_on_either_processor() {
    let image = "image: registry.k8s.io/kube-proxy:v1.33.0";
    let remapped = "image: registry.k8s.io/kube-proxy-amd64:v1.35.0";
    for (list, processor, image_there) in [
        ("golden/minimal/tasks-kube-proxy.yaml", "amd64", image),
        (
            "golden/side-loading/tasks-kube-proxy-amd64.yaml",
            "amd64",
            remapped,
        ),
        (
            "golden/side-loading/tasks-kube-proxy-arm64.yaml",
            "arm64",
            remapped,
        ),
    ] {
        let changes = [(image, image_there)];
        let Some(tree) = tree("minimal-1.33/master-us-test-1a", processor, &changes) else {
            return;
        };
        let path = "/etc/kubernetes/manifests/kube-proxy.manifest";
        let mut found = parsed(path, text(&tree, path));
        let arguments = found["spec"]["containers"][0]["args"].as_array_mut();
        let arguments = arguments.expect("the pod has arguments");
        let before = arguments.len();
        arguments.retain(|argument| argument != NAME);
        assert_eq!(arguments.len() + 1, before, "the node is named once");
        assert_eq!(found, parsed(path, &task(list, path)), "{list}");
    }
}
