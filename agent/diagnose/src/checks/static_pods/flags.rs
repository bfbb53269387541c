//! `staticpods.flags`: flags and volumes of static pods that are valid, and do harm.

use super::harms;
use super::manifest::{Manifest, manifests, words};
use crate::checks::check::{Finding, Verdict};
use crate::checks::kubelet_config::kubernetes_minor;
use crate::checks::meminfo;
use crate::checks::node::Node;
use crate::checks::stage;
use quake_formats::yaml::{Value, Yaml};
use quake_model::facts::Unseen;

/// A container of a manifest: its flags, each once for each time that it is given.
pub(super) struct Command<'a> {
    flags: Vec<(&'a str, &'a str)>,
}

impl Command<'_> {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut own = self.flags.iter().rev().filter(|(flag, _)| *flag == name);
        own.next().map(|(_, value)| *value)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

/// A mistake in the flags of kube-apiserver: what is so, with the values, and the remedy.
type Judge = fn(&Node<'_>, &Command<'_>) -> Option<(String, &'static str)>;

const ROWS: &[Judge] = &[
    without_node,
    other_etcd,
    other_proxy_name,
    too_many_at_once,
    endless_audit,
];

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    let manifests = manifests(node)?;
    for manifest in &manifests {
        if let Some(finding) = images_as_volumes(node, manifest) {
            return finding.warn();
        }
        for container in containers(manifest) {
            let component = container.text_of("name").unwrap_or_default();
            let command = Command {
                flags: flags(container),
            };
            let is_server = component == "kube-apiserver";
            let own = ROWS.iter().filter(|_| is_server);
            let own = own.filter_map(|row| row(node, &command));
            let own = own.map(|(summary, fix)| (summary, fix.to_owned()));
            let mut found = own.chain(harms::of(component, &command));
            if let Some((summary, fix)) = found.next() {
                let finding = Finding::new(summary, fix).seen("file", manifest.path());
                let finding = found.fold(finding, |finding, (summary, _)| {
                    finding.seen("also", summary)
                });
                return finding.warn();
            }
        }
    }
    Verdict::ok(format!("{} manifests", manifests.len()))
}

fn containers<'a>(manifest: &'a Manifest<'_>) -> impl Iterator<Item = &'a Yaml> {
    let spec = manifest.spec().into_iter();
    spec.flat_map(|spec| spec.items_of("containers"))
}

fn flags(container: &Yaml) -> Vec<(&str, &str)> {
    let words = words(container);
    words
        .filter_map(|word| {
            word.trim_matches(['"', '\''])
                .strip_prefix("--")?
                .split_once('=')
        })
        .collect()
}

/// kops 1.19 and newer bind no role to the group of nodes any more (kubernetes/kops issue 11014).
fn without_node(node: &Node<'_>, command: &Command<'_>) -> Option<(String, &'static str)> {
    let is_unbound = kubernetes_minor(node).is_some_and(|minor| minor >= 19);
    let modes = command.get("authorization-mode").filter(|_| is_unbound)?;
    let has = |mode: &str| modes.split(',').any(|one| one == mode);
    (!has("Node") && !has("AlwaysAllow")).then(|| {
        (
            format!("kube-apiserver has --authorization-mode={modes} without Node: kubelets may not read their pods, secrets and leases"),
            "set spec.authorization.rbac: {} and kubeAPIServer.authorizationMode: Node,RBAC in kops edit cluster, then roll the control planes",
        )
    })
}

/// kops gives each API server the member of its own host (kubernetes/kubernetes issue 47131).
fn other_etcd(_: &Node<'_>, command: &Command<'_>) -> Option<(String, &'static str)> {
    let servers = command.get("etcd-servers")?;
    let is_own = |server: &&str| {
        let (_, rest) = server.split_once("://").unwrap_or(("", server));
        rest.starts_with("127.0.0.1:")
            || rest.starts_with("localhost:")
            || rest.starts_with("[::1]:")
    };
    let other = servers.split(',').find(|server| !is_own(server))?;
    Some((
        format!(
            "kube-apiserver has {other} in --etcd-servers: where that member does not answer, each start waits for it, and watches hang"
        ),
        "take etcdServers out of kubeAPIServer in kops edit cluster: kops writes https://127.0.0.1:4001 (http in kops legacy without TLS), the member of the same host; then roll the control planes",
    ))
}

/// kops gives the certificate that the API server shows to extension API servers the name `aggregator`, and lets that name alone
/// in (kubernetes, `authenticate-proxy`).
fn other_proxy_name(_: &Node<'_>, command: &Command<'_>) -> Option<(String, &'static str)> {
    const OWN: &str = "aggregator";
    let names = command.get("requestheader-allowed-names")?;
    let certificate = command.get("proxy-client-cert-file")?;
    let is_of_kops = certificate.contains("apiserver-aggregator");
    let is_let_in = names.is_empty() || names.split(',').any(|name| name.trim() == OWN);
    (is_of_kops && !is_let_in).then(|| {
        (
            format!("kube-apiserver has --requestheader-allowed-names={names}, and its certificate for extension API servers ({certificate}) has the name {OWN}: metrics-server and others refuse its requests with 401"),
            "set requestheaderAllowedNames: [aggregator] in spec.kubeAPIServer with kops edit cluster, or take it out; kops update cluster --yes, roll the control planes; then kubectl -n kube-system rollout restart deployment metrics-server, and other extension servers",
        )
    })
}

/// Requests at once beyond what the memory of the host bears (kubernetes/kubernetes issues 57405 and 105265).
fn too_many_at_once(node: &Node<'_>, command: &Command<'_>) -> Option<(String, &'static str)> {
    const MANY: u64 = 1600;
    const KIB_WANTED: u64 = 15 << 20;
    let most = command
        .number("max-requests-inflight")
        .filter(|most| *most > MANY)?;
    let total = meminfo::total_kib(node)?;
    (total < KIB_WANTED).then(|| {
        (
            format!("kube-apiserver has --max-requests-inflight={most} on a host of {} MiB of memory: a burst of lists takes all of it, and the kernel kills the API server or etcd", total >> 10),
            "take maxRequestsInflight out of kubeAPIServer in kops edit cluster (the default is 400), or choose a larger machineType; then roll the control planes",
        )
    })
}

/// Audit logs that are never removed: the file is cut at 100 MB by itself, and neither a count nor an age ends the old ones
/// (kube-apiserver, `--audit-log-maxbackup` and `--audit-log-maxage`: 0 is no limit; `lumberjack.Logger`, `MaxSize`).
fn endless_audit(_: &Node<'_>, command: &Command<'_>) -> Option<(String, &'static str)> {
    let path = command.get("audit-log-path").filter(|path| *path != "-")?;
    let is_open = |flag: &&str| command.number(flag).unwrap_or(0) == 0;
    ["audit-log-maxbackup", "audit-log-maxage"].iter().all(is_open).then(|| (
        format!(
            "kube-apiserver writes {path} without --audit-log-maxbackup and --audit-log-maxage: old logs of audits stay, and fill the root volume"
        ),
        "set auditLogMaxBackups: 10 and auditLogMaxAge: 10 for kubeAPIServer in kops edit cluster, then roll the control planes; ls -lh /var/log/kube-apiserver-audit* shows their size",
    ))
}

/// Volumes that are images, which containerd knows since 2.1 (kubernetes/kops issue 17780).
fn images_as_volumes(node: &Node<'_>, manifest: &Manifest<'_>) -> Option<Finding> {
    let volumes = manifest.spec()?.items_of("volumes").iter();
    let is_image = |volume: &&Yaml| {
        volume
            .get("image")
            .is_some_and(|image| matches!(image.value, Value::Map(_)))
    };
    volumes.clone().find(is_image)?;
    let runtime = node
        .survey()
        .runtime
        .ok()
        .filter(|runtime| runtime.name == "containerd")?;
    let version = runtime.version.as_deref()?;
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor): (u32, u32) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    ((major, minor) < (2, 1)).then(|| {
        Finding::new(
            format!("{} has an image as a volume, and containerd {version} cannot mount one: its pod does not start", manifest.path()),
            "use an image of the system with containerd 2.1 or newer (Flatcar brings its own), or let kops install one: containerd.version in kops edit cluster; then roll the control planes",
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::{Sample, manifest};

    const ID: &str = "staticpods.flags";
    const PATH: &str = "/etc/kubernetes/manifests/kube-apiserver.manifest";

    fn with(flags: &[&str]) -> Sample {
        let mut node = Sample::control_plane();
        let lines: Vec<String> = flags.iter().map(|flag| format!("    - {flag}\n")).collect();
        let command = format!("    command:\n{}  volumes:\n", lines.concat());
        let text = manifest("kube-apiserver").replace("  volumes:\n", &command);
        node.text(PATH, &text);
        node.text("/proc/meminfo", "MemTotal: 7982124 kB\n");
        node
    }

    #[test]
    fn each_flag_that_does_harm_is_found() {
        for (flags, says) in [
            (vec!["--authorization-mode=RBAC"], "without Node"),
            (
                vec!["--etcd-servers=https://127.0.0.1:4001,https://10.0.0.9:4001"],
                "https://10.0.0.9:4001",
            ),
            (vec!["--max-requests-inflight=3000"], "7795 MiB"),
            (
                vec![
                    "--audit-log-path=/var/log/audit.log",
                    "--audit-log-maxsize=100",
                ],
                "--audit-log-maxbackup",
            ),
        ] {
            with(&flags).assert(ID, Status::Warn, says);
        }
    }

    #[test]
    fn flags_as_kops_writes_them_do_no_harm() {
        let mut flags = vec![
            "--authorization-mode=Node,RBAC",
            "--etcd-servers=https://127.0.0.1:4001",
            "--max-requests-inflight=800",
            "--audit-log-path=-",
        ];
        with(&flags).assert(ID, Status::Ok, "manifests");
        flags[3] = "--audit-log-path=/var/log/audit.log";
        for limit in ["--audit-log-maxbackup=10", "--audit-log-maxage=10"] {
            with(&[flags.as_slice(), &[limit]].concat()).assert(ID, Status::Ok, "manifests");
        }
    }

    #[test]
    fn a_value_of_a_row_is_found_and_others_are_not() {
        for (flag, status, says) in [
            (
                "--service-node-port-range=10000-32767",
                Status::Warn,
                "--service-node-port-range",
            ),
            (
                "--service-node-port-range=30000-32767",
                Status::Ok,
                "manifests",
            ),
            (
                "--disable-admission-plugins=Foo,ServiceAccount",
                Status::Warn,
                "no token",
            ),
            ("--request-timeout=1m", Status::Ok, "manifests"),
            ("--request-timeout=5s", Status::Warn, "--request-timeout=5s"),
            ("--leader-elect=false", Status::Ok, "manifests"),
        ] {
            with(&[flag]).assert(ID, status, says);
        }
    }

    #[test]
    fn an_image_as_a_volume_wants_a_newer_containerd() {
        let mut node = Sample::control_plane();
        let volume = "  volumes:\n  - name: etcd\n    image:\n      reference: registry.k8s.io/etcd:3.6.6-0\n";
        let text = manifest("etcd-manager-main").replace("  volumes:\n", volume);
        node.text(
            "/etc/kubernetes/manifests/etcd-manager-main.manifest",
            &text,
        );
        node.assert(ID, Status::Warn, "containerd 1.7.24 cannot mount one");
        node.runtime().version = Some("2.1.0".to_owned());
        node.assert(ID, Status::Ok, "manifests");
    }
}
