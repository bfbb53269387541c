//! What is read of channels, and what is said of those that are none.

use super::*;

const CHANNEL: &str = "s3://b/c/addons/bootstrap-channel.yaml";

fn parse(text: &str) -> Result<Channel, Fault> {
    let location = CHANNEL.parse().expect("a literal");
    parse_channel(&location, text.as_bytes())
}

fn only(text: &str) -> Addon {
    let mut channel = parse(text).expect("a channel");
    assert_eq!(channel.warnings, [], "{text}");
    assert_eq!(channel.addons.len(), 1);
    channel.addons.remove(0)
}

fn with(addon: &str) -> String {
    format!("kind: Addons\nmetadata: {{name: bootstrap}}\nspec:\n  addons:\n  - {addon}\n")
}

#[test]
fn an_add_on_of_the_newer_kops_is_read_whole() {
    let addon = only(&with(
        "{name: a.io, namespace: other, selector: {k8s-addon: a.io}, manifest: a.io/k8s-1.25.yaml, manifestHash: ab, id: k8s-1.25, needsRollingUpdate: control-plane, needsPKI: true, prune: {kinds: [{group: apps, kind: Deployment, namespaces: [kube-system], labelSelector: 'a=b', fieldSelector: 'c=d'}]}}",
    ));
    let wanted = Addon {
        name: "a.io".to_owned(),
        namespace: "other".to_owned(),
        channel: CHANNEL.to_owned(),
        manifest: "s3://b/c/addons/a.io/k8s-1.25.yaml"
            .parse()
            .expect("a literal"),
        version: AddonVersion {
            id: "k8s-1.25".to_owned(),
            version: String::new(),
            manifest_hash: "ab".to_owned(),
        },
        kubernetes: None,
        prune: vec![PruneKind {
            group: "apps".to_owned(),
            kind: "Deployment".to_owned(),
            namespaces: vec!["kube-system".to_owned()],
            labels: "a=b".to_owned(),
            fields: "c=d".to_owned(),
        }],
        needs_rolling_update: Some(RollingUpdate::ControlPlane),
        needs_pki: true,
    };
    assert_eq!(addon, wanted);
}

#[test]
fn an_add_on_of_the_older_kops_is_read_whole() {
    let addon = only(&with(
        "{id: k8s-1.6, kubernetesVersion: '>=1.6.0 <1.12.0', manifest: d/k8s-1.6.yaml, name: d, selector: {k8s-addon: d}, version: 1.10}",
    ));
    assert_eq!(addon.version.version, "1.10");
    assert_eq!(addon.kubernetes.as_deref(), Some(">=1.6.0 <1.12.0"));
    assert_eq!(addon.namespace, "kube-system");
}

#[test]
fn a_channel_may_be_empty() {
    for text in [
        "",
        "# nothing\n",
        "---\n",
        "kind: Addons\n",
        "kind: Addons\nspec: {addons: []}\n",
        "kind: Addons\nspec:\n  addons:\n",
    ] {
        assert_eq!(parse(text).expect(text).addons, [], "{text}");
    }
}

#[test]
fn an_add_on_without_a_name_has_the_channels() {
    assert_eq!(only(&with("{manifest: a.yaml}")).name, "bootstrap");
}

#[test]
fn a_manifest_is_a_channel_of_one_add_on() {
    let text = "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: Secret\n";
    let addon = only(text);
    // The first digits of SHA-256 of the location.
    assert_eq!(
        addon.name,
        format!("manifest-{}", &sha256_of_text(CHANNEL)[..12])
    );
    assert_eq!(addon.manifest.to_string(), CHANNEL);
    assert!(crate::hash_matches(&addon, text.as_bytes()));
}

#[test]
fn a_manifests_place_is_relative_to_the_channel() {
    for (reference, wanted) in [
        ("a/b.yaml", "s3://b/c/addons/a/b.yaml"),
        ("./a.yaml", "s3://b/c/addons/a.yaml"),
        ("../a.yaml", "s3://b/c/a.yaml"),
        ("/a/b.yaml", "s3://b/a/b.yaml"),
        ("s3://other/a.yaml", "s3://other/a.yaml"),
        ("file:///srv/a.yaml", "file:///srv/a.yaml"),
    ] {
        let addon = only(&with(&format!("{{name: a, manifest: {reference}}}")));
        assert_eq!(addon.manifest.to_string(), wanted);
    }
}

#[test]
fn an_add_on_that_cannot_be_meant_holds_up_no_other() {
    for (broken, place, says) in [
        ("{name: a}", ("5", "5"), "the add-on a names no manifest"),
        (
            "{name: a, manifest: ''}",
            ("5", "5"),
            "the add-on a names no manifest",
        ),
        (
            "{name: a, manifest: https://h/a.yaml}",
            ("5", "25"),
            "is not a state store location",
        ),
        (
            "{name: a, manifest: ../../../a.yaml}",
            ("5", "25"),
            "leaves the store",
        ),
        (
            "{name: a, manifest: [a]}",
            ("5", "25"),
            "manifest is a list",
        ),
        (
            "{name: a, manifest: a, needsRollingUpdate: some}",
            ("5", "48"),
            "\"some\"",
        ),
        (
            "{name: a, manifest: a, needsPKI: 1}",
            ("5", "38"),
            "true or false",
        ),
        (
            "{name: a, manifest: a, prune: {kinds: [{group: apps}]}}",
            ("5", "44"),
            "prunes no kind",
        ),
        ("just a text", ("5", "5"), "should be a map"),
    ] {
        let text = format!("{}  - {{name: b, manifest: b.yaml}}\n", with(broken));
        let channel = parse(&text).expect("a channel");
        let names: Vec<&str> = channel
            .addons
            .iter()
            .map(|addon| addon.name.as_str())
            .collect();
        assert_eq!(names, ["b"], "{broken}");
        let fault = &channel.warnings[0];
        assert_eq!(fault.code, Code::AddonsChannelInvalid);
        assert!(fault.summary.contains(says), "{fault}");
        let evidence = |name| fault.evidence_named(name).unwrap_or_default();
        assert_eq!((evidence("line"), evidence("column")), place, "{broken}");
        assert_eq!(evidence("source"), CHANNEL);
    }
}

#[test]
fn unknown_keys_are_warnings() {
    let channel = parse(&with("{name: a, manifest: a.yaml, manifestSum: x}")).expect("a channel");
    assert_eq!(channel.addons.len(), 1);
    let warning = &channel.warnings[0];
    assert_eq!(warning.code, Code::ConfigUnknownKey);
    assert_eq!(
        warning.summary,
        "a: manifestSum is no key that is read here"
    );
}

#[test]
fn what_is_no_channel_is_refused_with_its_place() {
    for (text, line) in [
        ("kind: Addons\nspec: {addons: {a: b}}\n", "2"),
        ("a: [\n", "1"),
        ("a: b\n\tc: d\n", "1"),
    ] {
        let fault = parse(text).expect_err(text);
        assert_eq!(fault.code, Code::AddonsChannelInvalid, "{fault}");
        assert_eq!(fault.evidence_named("line"), Some(line), "{fault}");
    }
    let location = CHANNEL.parse().expect("a literal");
    let fault = parse_channel(&location, b"a: \xff").expect_err("no UTF-8");
    assert_eq!(fault.code, Code::AddonsChannelInvalid);
}
