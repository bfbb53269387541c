//! Checks of settings, filters, ports and proxies.

use super::node;
use crate::checks::node_sample::Sample;
use crate::checks::report::Status;
use crate::checks::surveyed::{entry, proves, survey_with, tree};
use quake_model::facts::{EntryKind, Listener, Seen, Survey};

const FORWARD: &str = "/proc/sys/net/ipv4/ip_forward";
const BRIDGE: &str = "/proc/sys/net/bridge/bridge-nf-call-iptables";

#[test]
fn forwarding_is_wanted_and_who_turned_it_off_is_named() {
    let hardened = (
        "/etc/sysctl.d/99-cis.conf",
        "# CIS 3.1.1\nnet.ipv4.ip_forward = 0\n",
    );
    let cases = [
        (
            node("node", "calico", &[(FORWARD, "1\n"), (BRIDGE, "1\n")]),
            Status::Ok,
            "forwarded",
        ),
        (
            node("node", "calico", &[(FORWARD, "0\n")]),
            Status::Fail,
            "sysctl -w net.ipv4.ip_forward=1",
        ),
        (
            node("node", "calico", &[(FORWARD, "0\n"), hardened]),
            Status::Fail,
            "set to 0 by: /etc/sysctl.d/99-cis.conf",
        ),
        (
            node("node", "kubenet", &[(FORWARD, "1\n"), (BRIDGE, "0\n")]),
            Status::Fail,
            "pass by",
        ),
        (
            node("node", "calico", &[(FORWARD, "1\n"), (BRIDGE, "0\n")]),
            Status::Warn,
            "pass by",
        ),
        (
            node(
                "node",
                "calico",
                &[
                    (FORWARD, "1\n"),
                    ("/proc/sys/net/ipv6/conf/all/forwarding", "0\n"),
                ],
            ),
            Status::Fail,
            "IPv6",
        ),
        (
            node("bastion", "", &[(FORWARD, "0\n")]),
            Status::Skip,
            "not known to run Kubernetes",
        ),
    ];
    for (survey, status, words) in cases {
        proves("net.settings", &survey, status, words);
    }
}

#[test]
fn a_table_of_connections_that_fills_is_told_of() {
    let of = |count: &str| {
        let files = [
            ("/proc/sys/net/netfilter/nf_conntrack_count", count),
            ("/proc/sys/net/netfilter/nf_conntrack_max", "1000\n"),
        ];
        node("node", "calico", &files)
    };
    proves("net.conntrack", &of("10\n"), Status::Ok, "10 of 1000");
    proves("net.conntrack", &of("850\n"), Status::Warn, "850 of 1000");
    proves(
        "net.conntrack",
        &of("999\n"),
        Status::Fail,
        "nf_conntrack_max=2000",
    );
    let mut was_full = of("10\n");
    was_full.kernel_log = Seen::Yes(vec![
        "nf_conntrack: nf_conntrack: table full, dropping packet".into(),
    ]);
    proves("net.conntrack", &was_full, Status::Warn, "was full");
    proves(
        "net.conntrack",
        &node("node", "calico", &[]),
        Status::Skip,
        "no table",
    );
    proves("net.conntrack", &tree(&[]), Status::Skip, "osrelease");
}

#[test]
fn both_families_use_one_kind_of_iptables() {
    let of = |four: &str, six: &str| {
        let mut survey = node("node", "calico", &[]);
        for (name, target) in [("iptables", four), ("ip6tables", six)] {
            let mut link = entry(EntryKind::Link, 0o777);
            link.target = Some(format!("/usr/sbin/{name}-{target}"));
            survey
                .entries
                .insert(format!("/etc/alternatives/{name}"), link);
        }
        survey
    };
    proves(
        "net.iptables",
        &of("nft", "nft"),
        Status::Ok,
        "both are nft",
    );
    let buster = "ID=debian\nVERSION_ID=\"10\"\n";
    for (backend, status, says) in [
        ("nft", Status::Warn, "iptables 1.8.2"),
        ("legacy", Status::Ok, "both are legacy"),
    ] {
        let survey = survey_with(of(backend, backend), "/etc/os-release", buster);
        proves("net.iptables", &survey, status, says);
    }
    proves(
        "net.iptables",
        &of("legacy", "nft"),
        Status::Warn,
        "--set ip6tables /usr/sbin/ip6tables-legacy",
    );
    proves(
        "net.iptables",
        &node("node", "calico", &[]),
        Status::Ok,
        "nothing on the host",
    );
    proves(
        "net.iptables",
        &node("node", "kubenet", &[]),
        Status::Fail,
        "the bridge plugin",
    );
    proves("net.iptables", &Survey::default(), Status::Skip, "");
}

#[test]
fn a_port_that_another_program_holds_is_named_with_its_holder() {
    let of = |role: &str, port: u16, program: Option<&str>| {
        let mut survey = node(role, "calico", &[]);
        survey.listeners = Seen::Yes(vec![Listener {
            address: "0.0.0.0".into(),
            port,
            program: program.map(str::to_owned),
            pid: Some(812),
        }]);
        survey
    };
    let cases = [
        (of("node", 10250, Some("kubelet")), Status::Ok, "no other"),
        (of("node", 9105, Some("nodeup")), Status::Ok, "no other"),
        (
            of("node", 10250, Some("node_exporter")),
            Status::Fail,
            "port 10250 of kubelet is held by node_exporter (process 812)",
        ),
        (of("node", 443, Some("nginx")), Status::Ok, "no other"),
        (
            of("control-plane", 443, Some("nginx")),
            Status::Fail,
            "kube-apiserver",
        ),
        (
            of("control-plane", 2380, Some("etcd")),
            Status::Ok,
            "no other",
        ),
        (
            of("node", 10256, Some("cilium-agent")),
            Status::Ok,
            "no other",
        ),
        (
            of("bastion", 10250, Some("nginx")),
            Status::Skip,
            "not known",
        ),
        (of("node", 10250, None), Status::Skip, "needs root"),
        (
            node("node", "calico", &[]),
            Status::Skip,
            "nothing recorded it",
        ),
    ];
    for (survey, status, words) in cases {
        proves("net.ports", &survey, status, words);
    }
    let mut logged = node("node", "calico", &[]);
    let line = "listen tcp 0.0.0.0:10250: bind: address already in use".to_owned();
    logged.journals = Seen::Yes([("kubelet.service".to_owned(), vec![line])].into());
    proves(
        "net.ports",
        &logged,
        Status::Fail,
        "a port that kubelet.service needs is held",
    );
}

#[test]
fn a_proxy_must_not_stand_before_the_clusters_own() {
    const DROPIN: &str = "/etc/systemd/system/containerd.service.d/proxy.conf";
    let unit = |no_proxy: &str| {
        let text = format!(
            "[Service]\nEnvironment=\"HTTPS_PROXY=http://user:pa55word@proxy:3128\" \"NO_PROXY={no_proxy}\"\n"
        );
        node("node", "calico", &[(DROPIN, &text)])
    };
    proves(
        "net.proxy",
        &node("node", "calico", &[("/etc/environment", "PATH=/bin\n")]),
        Status::Ok,
        "no proxy",
    );
    proves(
        "net.proxy",
        &unit("169.254.0.0/16,k8s.example.com"),
        Status::Ok,
        "not before",
    );
    proves("net.proxy", &unit("*"), Status::Ok, "not before");
    let words = "NO_PROXY=localhost,169.254.169.254,.k8s.example.com";
    proves("net.proxy", &unit("localhost"), Status::Warn, words);
    let file = (
        "/etc/environment",
        "https_proxy=http://p:1\nno_proxy=\"10.0.0.0/8,.k8s.example.com\"\n",
    );
    proves(
        "net.proxy",
        &node("node", "calico", &[file]),
        Status::Warn,
        "/etc/environment sends 169.254.169.254",
    );
    proves(
        "net.proxy",
        &Survey::default(),
        Status::Skip,
        "/etc/environment",
    );
}

#[test]
fn a_proxy_that_speaks_no_tls_is_no_proxy_of_https() {
    let mut sample = Sample::worker();
    let path = "/etc/environment";
    let line = "Head \"https://r.example/v2/\": proxyconnect tcp: tls: first record does not look like a TLS handshake";
    sample.journal("containerd.service", &[line]);
    for (scheme, status) in [("https", Status::Fail), ("http", Status::Warn)] {
        let text = format!(
            "HOOK=https://h.example/T/x\nHTTPS_PROXY={scheme}://u:pw@proxy.example:3128\nNO_PROXY=*\n"
        );
        sample.text(path, &text);
        let says = match status {
            Status::Fail => "the proxy proxy.example:3128 speaks plain HTTP",
            _ => "set as https://",
        };
        sample.assert("net.proxy", status, says);
    }
}

#[test]
fn a_proxy_that_refuses_a_user_is_told_without_the_password() {
    let mut sample = Sample::worker();
    let line = "Head \"https://r.example/v2/\": Proxy Authentication Required";
    sample.journal("containerd.service", &[line]);
    for (user, says) in [
        ("", "wants another user and password"),
        ("pa55word@", "wants another user and password"),
        ("u:pa55word@", "refuses the user u and the password"),
    ] {
        let text = format!("HTTPS_PROXY=http://{user}proxy.example:3128\nNO_PROXY=*\n");
        sample.text("/etc/environment", &text);
        sample.assert("net.proxy", Status::Fail, says);
        let report = sample.judge("net.proxy");
        let finding = report.finding.expect("it has one");
        assert!(!format!("{finding:?}").contains("pa55word"), "{finding:?}");
    }
}

#[test]
fn a_name_server_that_keeps_node_local_dns_from_its_port_is_named() {
    let mut sample = Sample::worker();
    sample.survey.listeners = Seen::Yes(vec![Listener {
        address: "::".into(),
        port: 53,
        program: Some("consul".into()),
        pid: Some(655),
    }]);
    sample.assert("net.ports", Status::Ok, "no other");
    let pod = sample.pod("node-local-dns", "running");
    pod.restarts = 7;
    sample.assert("net.ports", Status::Ok, "no other");
    let pod = sample.pod("node-local-dns", "running");
    pod.restarts = 7;
    pod.log = vec!["listen tcp 169.254.20.10:53: bind: address already in use".to_owned()];
    sample.assert(
        "net.ports",
        Status::Fail,
        "consul of this host listens on port 53",
    );
}
