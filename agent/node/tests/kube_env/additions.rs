//! Files and hooks of the spec.

use crate::support::{document, inline_cluster, lowered, place, refused, stored};
use quake_model::fault::Code;
use quake_model::spec::HookKind;

#[test]
fn files_and_hooks_are_those_of_the_role_and_the_groups_win() {
    let cluster = "fileAssets:
- {name: all, content: cluster}
- {name: masters, path: /etc/masters, content: x, roles: [Master]}
- {name: encoded, path: /etc/encoded, content: aGVsbG8, isBase64: true}
hooks:
- {manifest: Type=oneshot, roles: [Master]}
- {manifest: Type=simple, before: [kubelet.service]}
- {name: shared.service, manifest: from-cluster}
- {name: off.service, manifest: from-cluster}
- {execContainer: {image: busybox, command: [sh, -c], environment: {A: b}}}
- {name: nothing}
";
    let group = "fileAssets:
- {name: all, content: group}
hooks:
- {manifest: Type=oneshot}
- {name: shared.service, manifest: from-group, useRawManifest: true}
- {name: off.service, disabled: true}
";
    let found = lowered(&stored("Node", cluster, group));
    let files: Vec<(&str, &str)> = found
        .spec
        .file_assets
        .iter()
        .map(|file| (file.path.as_str(), file.content.as_str()))
        .collect();
    let wanted = [
        ("/etc/encoded", "hello"),
        ("/srv/kubernetes/assets/all", "group"),
    ];
    assert_eq!(files, wanted);
    let units: Vec<&str> = found
        .spec
        .hooks
        .iter()
        .map(|hook| hook.unit.as_str())
        .collect();
    let wanted = [
        "kops-hook-0-ig.service",
        "kops-hook-1.service",
        "kops-hook-4.service",
        "shared.service",
    ];
    assert_eq!(units, wanted);
    assert_eq!(found.spec.hooks[1].before, ["kubelet.service"]);
    let HookKind::Container { image, command, .. } = &found.spec.hooks[2].kind else {
        panic!("the fourth hook of the cluster runs a container");
    };
    assert_eq!((image.as_str(), command.len()), ("busybox", 2));
    let text = "from-group".to_owned();
    assert_eq!(
        found.spec.hooks[3].kind,
        HookKind::Manifest { text, raw: true }
    );
    assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
}

#[test]
fn what_is_known_by_its_fingerprint_only_is_left_out_with_a_warning() {
    let mut sources = stored("Node", "", "");
    sources.instance_group = None;
    sources.inline_cluster = Some(inline_cluster("Node", ""));
    let print = "xYagtQLwBAAi3V8Wc2Jrojz28I0= (fingerprint)";
    let text = format!(
        "fileAssets:\n- {{name: f, path: /f, content: {print}}}\nhooks:\n- {{name: h, manifest: {print}}}\n"
    );
    sources.inline_instance_group = Some(document("ig_spec.yaml", &text));
    let found = lowered(&sources);
    assert_eq!(
        (found.spec.file_assets.len(), found.spec.hooks.len()),
        (0, 0)
    );
    let codes: Vec<Code> = found.warnings.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, [Code::ConfigObjectMissing]);
    let left = found.warnings[0].evidence_named("left-out");
    assert_eq!(left, Some("/f, h.service"));
}

#[test]
fn a_path_or_name_that_leaves_its_folder_is_refused() {
    for more in [
        "fileAssets:\n- {name: ../x, content: a}\n",
        "fileAssets:\n- {name: x, path: /etc/../x, content: a}\n",
        "fileAssets:\n- {name: x, path: etc/x, content: a}\n",
        "hooks:\n- {name: ../x, manifest: a}\n",
        "hooks:\n- {name: \"a b\", manifest: a}\n",
        "fileAssets:\n- {name: x, content: \"???\", isBase64: true}\n",
    ] {
        let fault = refused(&stored("Node", more, ""));
        assert_eq!(fault.code, Code::ConfigWrongType, "{more}: {fault}");
        assert!(!place(&fault).0.is_empty(), "{more}");
    }
}
