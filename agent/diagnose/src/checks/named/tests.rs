//! What remedies name, by the line that a program ended with.

use super::{Texts, completed, remedy, setter};
use quake_model::facts::Seen;

fn texts(files: &[(&str, &str)]) -> Texts {
    let seen = |(path, text): &(&str, &str)| ((*path).to_owned(), Seen::Yes((*text).to_owned()));
    files.iter().map(seen).collect()
}

/// The files of a control plane that the lines below speak of.
fn collected() -> Texts {
    texts(&[
        (
            "/etc/kubernetes/manifests/kube-apiserver.manifest",
            "    - --token-auth-file=/srv/kubernetes/known_tokens.csv\n    - --tls-cert-file=/srv/kubernetes/server.crt\n",
        ),
        (
            "/var/lib/kubelet/config.yaml",
            "resolvConf: /run/systemd/resolve/resolv.conf\n",
        ),
        (
            "/etc/sysctl.d/10-network-security.conf",
            "net.ipv4.conf.all.rp_filter=2\n",
        ),
        (
            "/etc/sysctl.d/99-k8s-general.conf",
            "net.ipv4.ip_forward = 1\n",
        ),
        (
            "/etc/sysctl.d/99-stig.conf",
            "user.max_user_namespaces = 0\n",
        ),
        (
            "/etc/systemd/system/docker.service.d/10-mounts.conf",
            "[Service]\nMountFlags=slave\n",
        ),
    ])
}

/// Programs, what each ended with, and what the remedy has to name.
const NAMED: &[(&str, &str, &[&str])] = &[
    (
        "kube-apiserver",
        "error: invalid authentication config: token file '/srv/kubernetes/known_tokens.csv' must have at least 3 columns, found 2",
        &[
            "ls -l /srv/kubernetes/known_tokens.csv",
            "--token-auth-file of kube-apiserver, which is spec.kubeAPIServer.tokenAuthFile",
        ],
    ),
    (
        "kubelet",
        "open /run/systemd/resolve/resolv.conf: no such file or directory",
        &[
            "it is not there",
            "systemd-resolved.service",
            "spec.kubelet.resolvConf in kops edit cluster",
        ],
    ),
    (
        "kube-controller-manager",
        "invalid argument \"x\" for \"--cluster-cidr\" flag: bad",
        &[
            "correct --cluster-cidr",
            "spec.kubeControllerManager.clusterCIDR",
        ],
    ),
    (
        "kube-scheduler",
        "Error: unknown flag: --policy-config-file",
        &[
            "take out --policy-config-file",
            "spec.kubeScheduler.policyConfigFile",
        ],
    ),
    (
        "cluster-thing",
        "unknown flag: --gizmo",
        &["--gizmo in the command of cluster-thing"],
    ),
    (
        "kubelet",
        "Error response from daemon: client version 1.38 is too old. Minimum supported API version is 1.44, please upgrade",
        &[
            "docker is too new for this kubelet",
            "API 1.44",
            "docker.version",
        ],
    ),
    (
        "kubelet",
        "Error response from daemon: client is newer than server (client API version: 1.40, server API version: 1.38)",
        &["docker is too old for this kubelet", "1.38"],
    ),
    (
        "gizmo",
        "server version 2.4.1 is too old, 3.0 or newer is needed",
        &["of 2.4.1 and 3.0", "too old"],
    ),
    (
        "calico-node",
        "Calico requires net.ipv4.conf.all.rp_filter to be set to 0 or 1.",
        &[
            "sysctl -w net.ipv4.conf.all.rp_filter=0",
            "/etc/sysctl.d/10-network-security.conf sets it to 2",
        ],
    ),
    (
        "gizmo",
        "cannot write /proc/sys/vm/max_map_count",
        &["sysctl vm.max_map_count", "/etc/sysctl.d"],
    ),
    (
        "aws-cloud-controller-manager",
        "User: arn:aws:sts::1:assumed-role/masters.x/i-0 is not authorized to perform: ec2:DescribeVolumes",
        &["allow ec2:DescribeVolumes to the role masters.x"],
    ),
    (
        "kubelet",
        "dependency gizmo.service is down",
        &["journalctl -b -u gizmo.service"],
    ),
];

#[test]
fn a_remedy_names_what_the_line_names() {
    let collected = collected();
    for (program, error, parts) in NAMED {
        let found = remedy(error, program, &collected).unwrap_or_default();
        for part in *parts {
            assert!(found.contains(part), "{part:?}: {found}");
        }
    }
}

#[test]
fn a_line_that_names_nothing_of_the_node_has_no_remedy_of_its_own() {
    for error in [
        "watch of *v1.Namespace ended with: too old resource version: 12 (13)",
        "Get \"https://127.0.0.1/api/v1/nodes\": dial tcp 127.0.0.1:443: connect: connection refused",
        "unable to transform key \"/registry/secrets/a/b\": no matching key",
        "see kubelet --help",
        "user.slice and user.name are names, and so is fs.go:12",
        "10.0.0.1 and 10.0.0.2 must be newer than the others",
        "kubelet.service: Failed with result 'exit-code'",
        "failed at net/http and k8s.io/x.go:12",
    ] {
        assert_eq!(remedy(error, "kubelet", &collected()), None, "{error}");
    }
}

#[test]
fn a_generic_remedy_gives_way_to_what_the_line_names() {
    let generic = "the line says which; fix that, then: systemctl restart kubelet.service";
    let line = "Error: bad value for --cluster-dns";
    let of = |program: &str, fix: &str| completed(fix, line, program, &Texts::new());
    assert_eq!(
        of("kubelet", generic),
        "correct --cluster-dns of kubelet, which is spec.kubelet.clusterDNS in kops edit cluster; then: systemctl restart kubelet.service"
    );
    let other = of("kube-proxy", generic);
    assert!(!other.contains("restart kubelet"), "{other}");
    assert_eq!(of("kubelet", "plant a tree"), "plant a tree");
    let kept = of("kubelet", "the line names it: plant a tree");
    assert!(
        kept.ends_with("; the line names it: plant a tree"),
        "{kept}"
    );
}

#[test]
fn the_file_that_sets_what_a_remedy_names_is_told() {
    let collected = collected();
    for (fix, wanted) in [
        (
            "sysctl -a | grep max; a hardened image may set user.max_user_namespaces=0",
            Some("/etc/sysctl.d/99-stig.conf sets user.max_user_namespaces = 0"),
        ),
        (
            "look for MountFlags=slave or PrivateMounts in the unit",
            Some("/etc/systemd/system/docker.service.d/10-mounts.conf sets MountFlags=slave"),
        ),
        ("sysctl -w net.ipv4.conf.all.rp_filter=2", None),
        ("sysctl -w net.ipv4.ip_forward=0", None),
        ("plant a tree", None),
    ] {
        assert_eq!(setter(fix, &collected).as_deref(), wanted, "{fix}");
    }
}
