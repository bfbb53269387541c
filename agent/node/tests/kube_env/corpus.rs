//! Real documents: every boot and spec of the conformance data, and the first users' own node in detail.

use crate::support::{conformance, document, folders, inline_sources, instance, read};
use proptest::prelude::*;
use quake_model::fault::{Code, Fault};
use quake_model::spec::{Flag, NetworkMode, NodeSpec, Role, Runtime};
use quake_node::config::check;
use quake_node::config::legacy::{Form, lower, read_cluster, read_instance_group};
use quake_node::user_data::find_documents;

/// Flags as a command line has them.
fn texts(flags: &[Flag]) -> String {
    let flags: Vec<String> = flags.iter().map(Flag::to_string).collect();
    flags.join(" ")
}

fn seed() -> Option<NodeSpec> {
    let folder = conformance("kube_env/boots/seed-1.8.1-master")?;
    let lowered = lower(&inline_sources(&folder), &instance()).expect("the seed lowers");
    Some(lowered.spec)
}

#[test]
fn every_boot_lowers_to_its_role_and_finds_nothing_but_weak_digests() {
    let Some(boots) = conformance("kube_env/boots") else {
        return;
    };
    let mut roles = Vec::new();
    for folder in folders(&boots) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let lowered = lower(&inline_sources(&folder), &instance());
        let lowered = lowered.unwrap_or_else(|fault| panic!("{name}: {fault} {fault:?}"));
        let codes: Vec<Code> = lowered.warnings.iter().map(|fault| fault.code).collect();
        assert_eq!(
            codes,
            [Code::ConfigWeakDigest],
            "{name}: {:?}",
            lowered.warnings
        );
        let master = name.contains("master");
        assert_eq!(lowered.spec.is_control_plane(), master, "{name}");
        assert_eq!(lowered.spec.control_plane.is_some(), master, "{name}");
        assert_eq!(
            lowered.spec.etcd.len(),
            if master { 2 } else { 0 },
            "{name}"
        );
        assert_eq!(lowered.spec.assets.len(), 4, "{name}");
        assert!(lowered.spec.kube_proxy.is_some(), "{name}");
        assert!(lowered.spec.automatic_upgrades, "{name}");
        roles.push(lowered.spec.role);
    }
    let masters = roles.iter().filter(|role| **role == Role::ControlPlane);
    assert_eq!((roles.len(), masters.count()), (27, 15));
}

#[test]
fn every_spec_is_read_without_a_finding() {
    let Some(specs) = conformance("kube_env/specs") else {
        return;
    };
    let folders = folders(&specs);
    assert_eq!(folders.len(), 24);
    for folder in folders {
        let cluster = read_cluster(&read(&folder, "cluster_spec.yaml"), Form::Inline);
        let group = read_instance_group(&read(&folder, "ig_spec.yaml"), Form::Inline);
        let (_, cluster) = cluster.expect("a good cluster spec");
        let (_, group) = group.expect("a good instance group spec");
        assert_eq!((cluster, group), (vec![], vec![]), "{}", folder.display());
    }
}

#[test]
fn every_file_of_the_corpus_is_recognised() {
    let (Some(boots), Some(specs)) = (conformance("kube_env/boots"), conformance("kube_env/specs"))
    else {
        return;
    };
    for folder in [folders(&boots), folders(&specs)].concat() {
        for name in [
            "kube_env.yaml",
            "cluster_spec.yaml",
            "ig_spec.yaml",
            "user-data.sh",
        ] {
            let Ok(bytes) = std::fs::read(folder.join(name)) else {
                continue;
            };
            let mut found: Vec<Fault> = check(name, &bytes);
            found.retain(|fault| fault.code != Code::ConfigWeakDigest);
            assert_eq!(found, [], "{} {name}", folder.display());
        }
    }
}

#[test]
fn the_seed_is_a_control_plane_of_1_8_7_with_kubenet_and_docker() {
    let Some(spec) = seed() else { return };
    assert_eq!(spec.role, Role::ControlPlane);
    assert_eq!(spec.kubernetes.to_string(), "1.8.7");
    assert_eq!(spec.cluster, "abc.joshdurbin.net");
    assert_eq!(spec.networking.mode, NetworkMode::Kubenet);
    assert_eq!(spec.networking.mtu, Some(9001));
    assert_eq!(
        spec.networking.cluster_cidr.as_deref(),
        Some("100.96.0.0/11")
    );
    assert_eq!(
        spec.networking.non_masquerade_cidr.as_deref(),
        Some("100.64.0.0/10")
    );
    assert_eq!(
        spec.networking.service_cidr.as_deref(),
        Some("100.64.0.0/13")
    );
    let Runtime::Docker(docker) = &spec.runtime else {
        panic!("docker is the only runtime of this kops generation");
    };
    assert_eq!(docker.version.as_deref(), Some("1.13.1"));
    let wanted = "--ip-masq=false --iptables=false --log-driver=json-file --log-level=warn \
        --log-opt=max-file=5 --log-opt=max-size=10m --storage-driver=overlay,aufs";
    assert_eq!(texts(&docker.flags), wanted);
}

#[test]
fn the_kubelet_of_the_seed_has_the_flags_nodeup_gave_it() {
    let Some(spec) = seed() else { return };
    let wanted = "--allow-privileged=true --cgroup-root=/ --cloud-provider=aws --cluster-dns=100.64.0.10 \
        --cluster-domain=cluster.local --enable-debugging-handlers=true \
        --eviction-hard=memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<10%,imagefs.inodesFree<5% --feature-gates=ExperimentalCriticalPodAnnotation=true \
        --hostname-override=ip-10-0-0-10.us-west-2.compute.internal \
        --kubeconfig=/var/lib/kubelet/kubeconfig --network-plugin-mtu=9001 \
        --network-plugin=kubenet --non-masquerade-cidr=100.64.0.0/10 \
        --pod-infra-container-image=gcr.io/google_containers/pause-amd64:3.0 \
        --pod-manifest-path=/etc/kubernetes/manifests --register-schedulable=true \
        --require-kubeconfig=true --v=2";
    assert_eq!(texts(&spec.kubelet.flags), wanted);
    let labels: Vec<String> = spec
        .kubelet
        .labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let wanted = [
        "kops.k8s.io/instancegroup=master-us-west-2a",
        "kubernetes.io/role=master",
        "node-role.kubernetes.io/master=",
    ];
    assert_eq!(labels, wanted);
    assert_eq!(
        spec.kubelet.taints,
        ["node-role.kubernetes.io/master=:NoSchedule"]
    );
}

#[test]
fn the_control_plane_of_the_seed_has_the_flags_nodeup_gave_it() {
    let Some(spec) = seed() else { return };
    let plane = spec.control_plane.expect("the seed is a control plane");
    assert_eq!(plane.internal_name, "api.internal.abc.joshdurbin.net");
    assert!(!plane.encryption_config);
    let wanted = "--address=127.0.0.1 \
        --admission-control=Initializers,NamespaceLifecycle,LimitRanger,ServiceAccount,PersistentVolumeLabel,DefaultStorageClass,DefaultTolerationSeconds,NodeRestriction,Priority,ResourceQuota \
        --allow-privileged=true --anonymous-auth=false --apiserver-count=1 \
        --authorization-mode=AlwaysAllow --cloud-provider=aws \
        --etcd-servers-overrides=/events#http://127.0.0.1:4002 \
        --etcd-servers=http://127.0.0.1:4001 --insecure-port=8080 \
        --kubelet-preferred-address-types=InternalIP,Hostname,ExternalIP \
        --requestheader-allowed-names=aggregator \
        --requestheader-extra-headers-prefix=X-Remote-Extra- \
        --requestheader-group-headers=X-Remote-Group \
        --requestheader-username-headers=X-Remote-User --secure-port=443 \
        --service-cluster-ip-range=100.64.0.0/13 --storage-backend=etcd2 --v=2";
    assert_eq!(texts(&plane.api_server.flags), wanted);
    let wanted = "--allocate-node-cidrs=true --attach-detach-reconcile-sync-period=1m0s \
        --cloud-provider=aws --cluster-cidr=100.96.0.0/11 --cluster-name=abc.joshdurbin.net \
        --configure-cloud-routes=true --leader-elect=true \
        --use-service-account-credentials=true --v=2";
    assert_eq!(texts(&plane.controller_manager.flags), wanted);
    assert_eq!(texts(&plane.scheduler.flags), "--leader-elect=true --v=2");
    let etcd: Vec<(&str, &str)> = spec
        .etcd
        .iter()
        .map(|cluster| (cluster.name.as_str(), cluster.image.as_str()))
        .collect();
    let image = "gcr.io/google_containers/etcd:2.2.1";
    assert_eq!(etcd, [("main", image), ("events", image)]);
}

#[test]
fn the_user_data_of_the_seed_holds_its_three_documents() {
    let Some(folder) = conformance("kube_env/boots/seed-1.8.1-master") else {
        return;
    };
    let bytes = std::fs::read(folder.join("user-data.sh")).expect("the file is there");
    let found = find_documents(&bytes).expect("three documents");
    let file = |name| read(&folder, name).text.trim_end().to_owned();
    assert_eq!(found.kube_env.trim_end(), file("kube_env.yaml"));
    let cluster = found.cluster_spec.unwrap_or_default();
    assert_eq!(cluster.trim_end(), file("cluster_spec.yaml"));
    assert_eq!(
        found.ig_spec.unwrap_or_default().trim_end(),
        file("ig_spec.yaml")
    );
    assert_eq!(found.form, "shell script");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_mutation_of_a_real_node_makes_anything_panic(
        which in 0..4_usize,
        cut in any::<proptest::sample::Index>(),
        at in any::<proptest::sample::Index>(),
        put in "([\\[\\]{}:&*!|>'\"#a0 \n-]){0,6}",
        flipped in any::<u8>(),
    ) {
        let Some(folder) = conformance("kube_env/boots/seed-1.8.1-master") else {
            return Ok(());
        };
        let names = ["kube_env.yaml", "cluster_spec.yaml", "ig_spec.yaml", "user-data.sh"];
        let mut bytes = std::fs::read(folder.join(names[which])).expect("the file is there");
        bytes.truncate(cut.index(bytes.len()) + 1);
        let place = at.index(bytes.len());
        bytes[place] = flipped;
        bytes.splice(place..place, put.bytes());
        let _ = check("x", &bytes);
        let _ = find_documents(&bytes);
        let mut sources = inline_sources(&folder);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match which {
            0 => sources.kube_env.text = text,
            1 => sources.inline_cluster = Some(document("x", &text)),
            _ => sources.inline_instance_group = Some(document("x", &text)),
        }
        let _ = lower(&sources, &instance());
    }
}
