//! The lowering, decision by decision, over documents of the state store.

use crate::support::{
    cluster, document, group, instance, kube_env, lowered, place, refused, spec, stored,
    stored_with,
};
use quake_model::fault::Code;
use quake_model::spec::{EtcdProvider, NetworkMode, Role, Runtime};
use quake_node::config::legacy::lower;

#[test]
fn the_store_alone_is_enough() {
    let found = lowered(&stored("Node", "", ""));
    assert_eq!(found.warnings, []);
    assert_eq!(found.spec.role, Role::Worker);
    assert_eq!(found.spec.kubernetes.to_string(), "1.12.9");
    assert_eq!(found.spec.control_plane, None);
    assert_eq!(
        found.source,
        "kube_env.yaml, s3://bucket/c.example/cluster.spec, s3://bucket/c.example/instancegroup/nodes"
    );
}

#[test]
fn the_digest_is_that_of_the_documents_used() {
    let one = lowered(&stored("Node", "", ""));
    let same = lowered(&stored("Node", "", ""));
    let other = lowered(&stored("Node", "", "minSize: 2\n"));
    assert!(one.digest.starts_with("sha256:"));
    assert_eq!(one.digest, same.digest);
    assert_ne!(one.digest, other.digest);
}

#[test]
fn labels_that_neither_kubelet_nor_the_agent_may_set_are_reported() {
    let reported = |role: &str, more: &str| {
        let mut sources = stored(role, "", more);
        let text = cluster("").text.replace("1.12.9", "1.16.3");
        sources.cluster = Some(document("cluster", &text));
        let warnings = lowered(&sources).warnings.into_iter();
        let mut labels =
            warnings.filter_map(|fault| fault.evidence_named("labels").map(str::to_owned));
        labels.next()
    };
    assert_eq!(reported("Master", ""), None);
    let own = "nodeLabels: {app.k8s.io/x: a, team: b}\n";
    assert_eq!(reported("Master", own).as_deref(), Some("app.k8s.io/x"));
    let of_node = "kubernetes.io/role, node-role.kubernetes.io/node";
    assert_eq!(reported("Node", "").as_deref(), Some(of_node));
}

#[test]
fn each_networking_option_has_its_mode() {
    let cni = |provider: &str| {
        let provider = provider.to_owned();
        Some(NetworkMode::Cni { provider })
    };
    for (option, wanted) in [
        ("kubenet", Some(NetworkMode::Kubenet)),
        ("external", Some(NetworkMode::External)),
        ("kopeio", Some(NetworkMode::External)),
        ("calico", cni("calico")),
        ("amazonvpc", cni("amazonvpc")),
        ("cni", cni("")),
        ("classic", None),
        ("lyftvpc", None),
    ] {
        let sources = stored_with("Node", "kubenet: {}", &format!("{option}: {{}}"));
        let found = lower(&sources, &instance());
        let found = found.map(|found| found.spec.networking.mode);
        match wanted {
            Some(wanted) => assert_eq!(found, Ok(wanted), "{option}"),
            None => {
                let code = found.map_err(|fault| fault.code);
                assert_eq!(code, Err(Code::ConfigUnsupported), "{option}");
            }
        }
    }
}

#[test]
fn an_etcd_member_knows_its_group_and_the_cluster_its_provider() {
    let more = "etcdClusters:
- name: events
  version: 3.2.24
  etcdMembers:
  - {name: a, instanceGroup: master-a, encryptedVolume: true}
- name: main
  provider: Manager
  image: mirror/etcd:x
  etcdMembers:
  - {name: a}
";
    let found = spec("Master", more, "").etcd;
    let names: Vec<&str> = found.iter().map(|cluster| cluster.name.as_str()).collect();
    assert_eq!(names, ["main", "events"]);
    assert_eq!(found[0].provider, EtcdProvider::Manager);
    assert_eq!(
        (&*found[0].image, &*found[0].version),
        ("mirror/etcd:x", "3.2.24")
    );
    assert_eq!(found[1].provider, EtcdProvider::Legacy);
    assert_eq!(found[1].image, "k8s.gcr.io/etcd:3.2.24");
    let member = &found[1].members[0];
    assert_eq!((&*member.name, member.encrypted), ("a", true));
    assert_eq!(member.instance_group.as_deref(), Some("master-a"));
    assert_eq!(spec("Node", more, "").etcd, []);
}

#[test]
fn etcd_manifests_mean_etcd_manager() {
    let mut sources = stored("Master", "", "");
    sources.kube_env = kube_env(
        "nodes",
        "etcdManifests: [s3://b/c/manifests/etcd/main.yaml]",
    );
    let found = lowered(&sources).spec;
    assert_eq!(found.etcd.len(), 2);
    let managed =
        |cluster: &quake_model::spec::EtcdCluster| cluster.provider == EtcdProvider::Manager;
    assert!(found.etcd.iter().all(managed));
}

#[test]
fn kube_proxy_is_absent_where_nodeup_made_none() {
    let off = "kubeProxy:\n    enabled: false\n  x";
    let text = cluster("").text;
    let off = text
        .replace("kubeProxy:\n  ", off)
        .replace("  x  image", "    image");
    let router = text.replace("kubenet: {}", "kuberouter: {}");
    let isolated = text.replace(
        "cloudProvider: aws\n  networking",
        "isolateMasters: true\n  networking",
    );
    for (role, text, wanted) in [
        ("Node", &text, true),
        ("Node", &off, false),
        ("Node", &router, false),
        ("Master", &isolated, false),
        ("Node", &isolated, true),
        ("Bastion", &text, false),
    ] {
        let mut sources = stored(role, "", "");
        sources.cluster = Some(document("cluster", text));
        let found = lowered(&sources).spec.kube_proxy;
        assert_eq!(found.is_some(), wanted, "{role}\n{text}");
    }
}

#[test]
fn storage_drivers_keep_their_order() {
    let Runtime::Docker(docker) = spec("Node", "", "").runtime else {
        panic!("docker is the only runtime of this kops generation");
    };
    let flags: Vec<String> = docker.flags.iter().map(ToString::to_string).collect();
    assert_eq!(flags, ["--storage-driver=overlay2,overlay,aufs"]);
}

#[test]
fn the_proxy_is_given_as_kops_gave_it() {
    let more = "egressProxy:\n  httpProxy: {host: proxy.example, port: 3128}\n  excludes: a,b\n";
    let found = spec("Node", more, "").proxy;
    let pairs: Vec<String> = found.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let url = "http://proxy.example:3128";
    let wanted = [
        "NO_PROXY=a,b".to_owned(),
        format!("http_proxy={url}"),
        format!("https_proxy={url}"),
        "no_proxy=a,b".to_owned(),
    ];
    assert_eq!(pairs, wanted);
    assert!(spec("Node", "", "").proxy.is_empty());
}

#[test]
fn settings_this_agent_does_not_carry_out_are_refused_at_their_place() {
    for (role, cluster, group) in [
        ("Node", "nodeAuthorization: {nodeAuthorizer: {port: 1}}", ""),
        ("Master", "authentication: {aws: {}}", ""),
        ("Node", "keyStore: s3://elsewhere/pki", ""),
        (
            "Node",
            "",
            "volumeMounts: [{device: /dev/xvdd, path: /data}]",
        ),
        ("Node", "", "kubelet: {bootstrapKubeconfig: /x}"),
        ("Node", "", "kubelet: {hostnameOverride: \"@digitalocean\"}"),
        (
            "Master",
            "etcdClusters: [{name: main, provider: Other}]",
            "",
        ),
    ] {
        let line = |text: &str| text.to_owned() + "\n";
        let fault = refused(&stored(role, &line(cluster), &line(group)));
        assert_eq!(fault.code, Code::ConfigUnsupported, "{cluster}{group}");
        assert!(!place(&fault).0.is_empty(), "{cluster}{group}");
    }
    spec("Node", "keyStore: s3://bucket/c.example/pki\n", "");
    spec("Node", "authentication:\n  aws: {}\n", "");
}

#[test]
fn a_setting_the_node_works_without_is_remarked_on() {
    let sources = stored_with(
        "Master",
        "    securePort: 443",
        "    disableBasicAuth: true",
    );
    let [warning] = &lowered(&sources).warnings[..] else {
        panic!("one setting is not carried out")
    };
    let path = warning.evidence_named("path");
    assert_eq!(path, Some("kubeAPIServer.disableBasicAuth"));
}

#[test]
fn an_unknown_key_of_the_store_is_a_warning_and_a_wrong_type_an_error() {
    let found = lowered(&stored("Node", "kubeletz: {}\n", "")).warnings;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, Code::ConfigUnknownKey);
    assert_eq!(found[0].evidence_named("path"), Some("spec.kubeletz"));
    assert_eq!(found[0].evidence_named("did-you-mean"), Some("kubelet"));
    let mut sources = stored("Node", "", "");
    sources.instance_group = Some(group("Node", "taints: yes\n"));
    let fault = refused(&sources);
    assert_eq!(fault.code, Code::ConfigWrongType);
    assert_eq!(fault.evidence_named("path"), Some("spec.taints"));
    assert_eq!(place(&fault), ("9", "11"));
}

#[test]
fn updates_are_automatic_where_the_launch_and_the_cluster_say_so() {
    let tag = "Tags: [_automatic_upgrades]";
    for (tag, more, wanted) in [
        (tag, "", true),
        ("", "", false),
        (tag, "updatePolicy: external\n", false),
    ] {
        let mut sources = stored("Node", more, "");
        sources.kube_env = kube_env("nodes", tag);
        assert_eq!(lowered(&sources).spec.automatic_upgrades, wanted);
    }
}

#[test]
fn a_cloud_config_may_be_empty_and_is_then_still_one() {
    assert_eq!(spec("Node", "", "").cloud_config, None);
    assert_eq!(spec("Node", "cloudConfig: null\n", "").cloud_config, None);
    let empty = spec("Node", "cloudConfig: {}\n", "").cloud_config;
    assert_eq!(empty.map(|config| config.len()), Some(0));
    let config = spec(
        "Node",
        "cloudConfig: {disableSecurityGroupIngress: true}\n",
        "",
    )
    .cloud_config;
    let value = config.and_then(|config| config.get("disableSecurityGroupIngress").cloned());
    assert_eq!(value.as_deref(), Some("true"));
}
