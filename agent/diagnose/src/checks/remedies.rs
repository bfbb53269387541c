//! Remedies as they can be followed on this node: with its names in the place of `<name>`, with the clients that it has, and
//! without hints at checks that hold.

use super::check::{Check, Finding};
use super::host::without_modprobe;
use super::identity::own_id;
use super::kubelet::kubeconfig;
use super::named::{setter, with_resolver};
use super::node::{AGENT_UNIT, Node};
use super::report::{CheckReport, Status};
use quake_formats::image_pull::image_in;
use quake_model::facts::EntryKind;

/// Where crictl may be.
const CRICTL: &[&str] = &[
    "/usr/local/bin/crictl",
    "/opt/kops/bin/crictl",
    "/usr/bin/crictl",
    "/opt/bin/crictl",
];

/// What crictl is asked in remedies, and who answers the same without it: containerd's own client or the logs, and docker's.
const WITHOUT_CRICTL: &[(&str, &str, &str)] = &[
    (
        "crictl rmi --prune",
        "ctr -n k8s.io images prune --all",
        "docker image prune --all",
    ),
    ("crictl pull ", "ctr -n k8s.io images pull ", "docker pull "),
    ("crictl images", "ctr -n k8s.io images ls", "docker images"),
    (
        "crictl inspect",
        "ctr -n k8s.io containers info",
        "docker inspect",
    ),
    ("crictl info", "ctr -n k8s.io plugins ls", "docker info"),
    ("crictl pods", "ls /var/log/pods", "docker ps -a"),
    (
        "crictl ps -a --name ",
        "ls -t /var/log/containers | grep ",
        "docker ps -a --filter name=",
    ),
    ("crictl ps -a", "ls -lt /var/log/containers", "docker ps -a"),
    ("crictl ps", "ls -lt /var/log/containers", "docker ps"),
    (
        "crictl rm -f",
        "ctr -n k8s.io tasks kill -s SIGKILL",
        "docker rm -f",
    ),
];

/// Placeholders of a volume, and what stays of their words.
const VOLUMES: &[(&str, &str)] = &[
    ("<volume id>", ""),
    ("<volume>", ""),
    ("--volume-ids <id>", "--volume-ids "),
    ("--volume-id <id>", "--volume-id "),
    ("--resources <id>", "--resources "),
];

/// How a remedy shows the report of some checks alone.
const ONLY: &str = "quake-agent diagnose --only ";

/// What is known for completing remedies.
pub(super) struct Remedies<'a> {
    node: &'a Node<'a>,
    /// The checks that hold.
    hold: Vec<&'static str>,
    /// Every check that was made or skipped.
    all: Vec<&'static str>,
    /// What a placeholder stands for, after these words.
    names: Vec<(&'static str, String)>,
    /// The same for the words that rows of log lines have in their place.
    words: Vec<(&'static str, String)>,
}

impl<'a> Remedies<'a> {
    /// What the survey of a node and the report on it know.
    pub(super) fn new(node: &'a Node<'a>, checks: &[CheckReport]) -> Self {
        let hold = checks.iter().filter(|one| one.status == Status::Ok);
        Self {
            node,
            hold: hold.map(|one| one.check.id).collect(),
            all: checks.iter().map(|one| one.check.id).collect(),
            names: names(node),
            words: words(node),
        }
    }

    /// Completes the remedy of a finding.
    pub(super) fn complete(&self, check: &Check, finding: &mut Finding) {
        let mut fix = self.filled(finding);
        if fix.contains(ONLY) {
            fix = self.without_idle_hints(&fix);
            if fix.is_empty() {
                fix = check.remedy.to_owned();
            }
        }
        fix = name_the_journal(&fix, self.node);
        if fix.contains("crictl ") && !self.has_crictl() {
            fix = self.without_crictl(&fix);
        }
        if let Some(better) = with_resolver(&fix, &self.node.survey().texts) {
            fix = better;
        }
        if let Some(id) = self.own_member(&fix, finding) {
            fix = fix.replace("member remove ID", &format!("member remove {id}"));
        }
        if let Some(file) = setter(&fix, &self.node.survey().texts) {
            fix = format!("{fix}; {file}");
        }
        if let Some(better) = without_modprobe(&fix, self.node) {
            fix = better;
        }
        finding.fix = fix;
    }

    /// The ID of the member of etcd whose log a finding quotes, where the remedy removes this member and no other.
    fn own_member(&self, fix: &str, finding: &Finding) -> Option<&str> {
        const MARK: &str = "\"local-member-id\":\"";
        let is_own = ["remove it (", "this member"]
            .iter()
            .any(|it| fix.contains(it));
        if !is_own || !fix.contains("member remove ID") {
            return None;
        }
        let quoted = |name: &str| finding.evidence.iter().any(|it| it.name.contains(name));
        let mut pods = self.node.pods().filter(|pod| quoted(&pod.name));
        pods.find_map(|pod| {
            let mut log = pod.log.iter().rev();
            let (_, rest) = log.find_map(|line| line.split_once(MARK))?;
            rest.split('"').next()
        })
    }

    /// The remedy with the node's names, and with those that its evidence or its summary has.
    fn filled(&self, finding: &Finding) -> String {
        let mut fix = finding.fix.clone();
        for (word, value) in &self.words {
            fix = fix.replace(word, value);
        }
        if !fix.contains('<') {
            return fix;
        }
        for (placeholder, value) in &self.names {
            fix = fix.replace(placeholder, value);
        }
        for piece in &finding.evidence {
            let mut value = piece.value.trim();
            if piece.name == "server" {
                // Each remedy with a server has its port.
                value = kubeconfig::host(value);
            }
            let wanted = format!("<{}>", piece.name);
            if !value.is_empty() && !value.contains(char::is_whitespace) {
                fix = fix.replace(&wanted, value);
            }
        }
        if let Some(volume) = volume_in(finding) {
            for (words, kept) in VOLUMES {
                fix = fix.replace(words, &format!("{kept}{volume}"));
            }
        }
        if let Some(holder) = self.other_instance_in(finding) {
            fix = fix.replace("<holder>", holder);
            fix = fix.replace("--instance-id <other>", &format!("--instance-id {holder}"));
        }
        fix = fix.replace("--reason <text>", "--reason 'not wanted here'");
        if let Some(image) = image_of(finding) {
            fix = fix.replace("<image>", image);
            fix = fix.replace("<registry>", registry_of(image));
        }
        fix
    }

    /// The instance that a finding names, other than this one.
    fn other_instance_in<'f>(&self, finding: &'f Finding) -> Option<&'f str> {
        let own = own_id(self.node).map(|(id, _)| id);
        word_in(finding, |word| {
            word.starts_with("i-") && word.len() > 3 && Some(word) != own
        })
    }

    /// Leaves out the parts that send to checks which hold: they explain nothing.
    fn without_idle_hints(&self, fix: &str) -> String {
        let is_idle = |part: &&str| {
            let Some((_, rest)) = part.split_once(ONLY) else {
                return false;
            };
            let list = rest.split([' ', ':', ';', ')']).next().unwrap_or_default();
            let wanted = |id: &str| {
                let mut words = list
                    .split(',')
                    .map(str::trim)
                    .filter(|word| !word.is_empty());
                words.any(|word| id == word || id.split('.').next() == Some(word))
            };
            let mut wanted_ids = self.all.iter().filter(|id| wanted(id)).peekable();
            wanted_ids.peek().is_some() && wanted_ids.all(|id| self.hold.contains(id))
        };
        let parts: Vec<&str> = fix.split("; ").filter(|part| !is_idle(part)).collect();
        parts.join("; ")
    }

    fn has_crictl(&self) -> bool {
        let entries = &self.node.survey().entries;
        let is_program = |path: &&str| {
            let entry = entries.get(*path);
            entry.is_some_and(|entry| entry.kind != EntryKind::Directory)
        };
        CRICTL.iter().any(is_program)
    }

    fn without_crictl(&self, fix: &str) -> String {
        let expected = self.node.expected();
        let is_docker = expected.is_ok_and(|expected| expected.runtime == "docker");
        let replace = |fix: String, row: &(&str, &str, &str)| {
            fix.replace(row.0, if is_docker { row.2 } else { row.1 })
        };
        WITHOUT_CRICTL.iter().fold(fix.to_owned(), replace)
    }
}

/// Has a remedy read the journal of the unit that runs the agent here: systemd takes any of a unit's names, the journal only
/// the one that it was started by.
fn name_the_journal(fix: &str, node: &Node<'_>) -> String {
    let words = |unit| format!("journalctl -b -u {unit}");
    fix.replace(&words(AGENT_UNIT), &words(node.agent_unit()))
}

/// What placeholders stand for on this node, each with the words before it that make it plain.
fn names(node: &Node<'_>) -> Vec<(&'static str, String)> {
    let mut names: Vec<(&'static str, String)> = Vec::new();
    let record = node.survey().record.as_ref();
    if let Some(spec) = record.and_then(|record| record.spec.as_ref()) {
        let group = &spec.instance_group;
        let cluster = &spec.cluster;
        let (middle, role) = match spec.role.as_str() {
            "control-plane" => (".masters", "masters"),
            "bastion" => ("", "bastions"),
            _ => ("", "nodes"),
        };
        // The names that kops gives them.
        let scaling = format!("--auto-scaling-group-name {group}{middle}.{cluster}");
        names.push(("--auto-scaling-group-name <group>", scaling));
        names.push((
            "--instance-group <name>",
            format!("--instance-group {group}"),
        ));
        names.push(("Name=<profile>", format!("Name={role}.{cluster}")));
        names.push(("<group>", group.clone()));
        names.push(("Value=<cluster>", format!("Value={cluster}")));
        names.push(("internal.<cluster>", format!("internal.{cluster}")));
        if let Some(bucket) = spec.source.strip_prefix("s3://") {
            let bucket = bucket.split('/').next().unwrap_or_default();
            names.push(("<bucket>", bucket.to_owned()));
        }
    }
    let recorded = record.and_then(|record| record.instance.as_ref());
    let recorded = recorded.map(|instance| instance.instance_id.as_str());
    if let Some(id) = own_id(node).map(|(id, _)| id).or(recorded) {
        names.push(("--instance-id <id>", format!("--instance-id {id}")));
        names.push(("--instance-ids <id>", format!("--instance-ids {id}")));
        names.push((
            "--resources <id> --tags Key=KubernetesCluster",
            format!("--resources {id} --tags Key=KubernetesCluster"),
        ));
        names.push(("<instance-id>", id.to_owned()));
    }
    if let Some(instance) = record.and_then(|record| record.instance.as_ref()) {
        names.push(("<region>", instance.region.clone()));
        names.push((
            "--availability-zone <zone>",
            format!("--availability-zone {}", instance.zone),
        ));
    }
    let name = node.expected().map(|expected| expected.node_name.as_str());
    if let Some(name) = name.ok().filter(|name| !name.is_empty()) {
        names.push(("node <name>", format!("node {name}")));
        names.push(("uncordon <name>", format!("uncordon {name}")));
        names.push(("drain <name>", format!("drain {name}")));
        names.push(("ciliumnode <name>", format!("ciliumnode {name}")));
        names.push((
            "system:node:<the node's name>",
            format!("system:node:{name}"),
        ));
    }
    let etcd = node.survey().etcd.ok().into_iter().flatten();
    let version = etcd.filter_map(|member| member.status.as_ref()).next();
    names.extend(version.map(|it| ("etcd-v<version>", format!("etcd-v{}", it.version))));
    names.extend(interface(node).map(|name| ("<interface>", name)));
    names
}

/// What the words of rows of log lines stand for: the cluster and the region.
fn words(node: &Node<'_>) -> Vec<(&'static str, String)> {
    let mut words = Vec::new();
    let record = node.survey().record.as_ref();
    if let Some(spec) = record.and_then(|record| record.spec.as_ref()) {
        let cluster = &spec.cluster;
        words.push(("=CLUSTER", format!("={cluster}")));
        words.push(("/CLUSTER=", format!("/{cluster}=")));
        words.push((".CLUSTER", format!(".{cluster}")));
    }
    if let Some(instance) = record.and_then(|record| record.instance.as_ref()) {
        words.push(("-REGION-", format!("-{}-", instance.region)));
        words.push((".REGION.", format!(".{}.", instance.region)));
    }
    words
}

/// The interface that leads out of the node: that of its default route, else the first that is no container's.
fn interface(node: &Node<'_>) -> Option<String> {
    let network = node.survey().network.ok()?;
    let named = |start: &str| {
        let mut links = network.links.iter();
        links.find(|link| link.name.starts_with(start))
    };
    let link = network
        .primary()
        .or_else(|| named("en"))
        .or_else(|| named("eth"))?;
    Some(link.name.clone())
}

/// The volume that a finding is about.
fn volume_in(finding: &Finding) -> Option<&str> {
    word_in(finding, |word| word.starts_with("vol-") && word.len() > 4)
}

/// The first such word of a finding's summary and evidence.
fn word_in(finding: &Finding, is: impl Fn(&str) -> bool) -> Option<&str> {
    let evidence = finding.evidence.iter().map(|piece| piece.value.as_str());
    let mut texts = [finding.summary.as_str()].into_iter().chain(evidence);
    texts.find_map(|text| {
        let is_id = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let mut words = text.split(|c: char| !is_id(c));
        words.find(|word| is(word))
    })
}

/// The image that a finding is about, by its summary or a line in its evidence.
fn image_of(finding: &Finding) -> Option<&str> {
    let first = finding.summary.split(' ').next()?;
    if first.contains('/') && !first.starts_with('/') {
        return Some(first);
    }
    finding
        .evidence
        .iter()
        .find_map(|piece| image_in(&piece.value))
}

/// The host that an image comes from.
fn registry_of(image: &str) -> &str {
    match image.split_once('/') {
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => host,
        _ => "registry-1.docker.io",
    }
}

#[cfg(test)]
mod tests;
