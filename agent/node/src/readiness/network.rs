//! The configuration of the pod network: which file counts, whose it is, and who is late with it.
//!
//! The agent writes none where a `DaemonSet` does, and removes none: it says which file is in the way, and waits.

use super::pods::{SHOWN, ended, has_ended_badly, with_log};
use quake_formats::image_pull::pull_refused;
use quake_formats::yaml::shorten;
use quake_model::facts::{NodeObject, PodsSeen};
use quake_model::fault::{Code, Fault};
use quake_model::pod_networks::{
    META, Network, OF_TEMPLATE, STAND_IN, is_configuration, of_file, of_word,
};
use serde_json::Value;

/// A pod network, and where the runtime reads its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodNetwork<'a> {
    /// The network's word; `kubenet` where the runtime itself writes it, empty for one that nobody named.
    pub word: &'a str,
    pub directory: &'a str,
}

/// Who brings a pod network to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CniProvider {
    /// Pods whose names begin with these words, of a `DaemonSet`.
    Pods(&'static [&'static str]),
    /// The runtime, by a template, once the cluster gave the node a range of addresses.
    Runtime,
    Unknown,
}

/// Who brings the network of this word.
pub fn bringer(word: &str) -> CniProvider {
    match of_word(word) {
        Some(network) => CniProvider::Pods(network.pods),
        None if word == "kubenet" => CniProvider::Runtime,
        None => CniProvider::Unknown,
    }
}

impl PodNetwork<'_> {
    /// The file that counts: of those that the runtime takes for configurations the first by its name.
    pub fn winner<'n>(&self, names: &'n [String]) -> Option<&'n str> {
        let candidates = names.iter().filter(|name| is_configuration(name));
        candidates.min().map(String::as_str)
    }

    /// Judges a directory by the names in it; `text` is what the file that counts holds.
    ///
    /// # Errors
    ///
    /// `ready.cni-missing` while the network's own file is not there, `ready.cni-foreign` when another comes before it.
    pub fn judge(&self, names: &[String], text: &str) -> Result<(), Fault> {
        let Some(winner) = self.winner(names) else {
            return Err(self.absent());
        };
        if self.owns(winner) || self.may_be_another() || calls_others(text) {
            return Ok(());
        }
        let path = self.path(winner);
        let whose = match of_file(winner) {
            Some(other) => format!("{path} of {}", other.word()),
            None if winner == OF_TEMPLATE => format!("{path} of containerd's template"),
            None => path.clone(),
        };
        let is_own = |name: &&String| is_configuration(name) && self.owns(name);
        let summary = match names.iter().find(is_own) {
            Some(own) => Some(format!(
                "{whose} comes before {own} by its name, and counts"
            )),
            None if self.yields(winner) => None,
            None => Some(format!(
                "{whose} counts, and will when {} comes: it is the first by its name",
                self.own_file()
            )),
        };
        let fault = match summary {
            Some(summary) => Fault::new(Code::ReadyCniForeign, summary).remedied_by(removal(&path)),
            None => self.absent().seen("counts meanwhile", whose),
        };
        Err(fault.seen("plugins", programs(text).join(", ")))
    }

    /// What may be wrong with a directory that is taken as it is: the configuration of a cluster that its runtime's template
    /// serves does not say whether the operator brings another network (`external` looks as kubenet does).
    pub fn doubt(&self, names: &[String]) -> Option<Fault> {
        let winner = self.winner(names)?;
        if !self.may_be_another() || self.owns(winner) {
            return None;
        }
        let path = self.path(winner);
        let summary = format!("{path} comes before {OF_TEMPLATE} by its name, and counts");
        let removal = removal(&path);
        let remedy =
            format!("if it is not the network that you brought to this cluster: {removal}");
        Some(Fault::new(Code::ReadyCniForeign, summary).remedied_by(remedy))
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory.trim_end_matches('/'))
    }

    fn may_be_another(&self) -> bool {
        self.word == "kubenet"
    }

    /// Adds to a fault of [`PodNetwork::judge`] what the pods that bring the network do meanwhile.
    pub fn with_pods(&self, fault: Fault, seen: &PodsSeen, journal: &[String]) -> Fault {
        let Some(network) = of_word(self.word) else {
            return fault;
        };
        let own = seen
            .containers
            .iter()
            .filter(|one| network.has_pod(&one.name));
        if let Some(broken) = own.clone().find(|one| has_ended_badly(one)) {
            let fix = format!(
                "kubectl -n {0} logs {1} -c {2} --previous; on this node: /var/log/pods/{0}_{1}_*/{2}/",
                broken.namespace, broken.name, broken.container
            );
            let fault = fault.seen("pod", format!("{}: {}", broken.name, ended(broken)));
            return with_log(fault, broken).remedied_by(fix);
        }
        let pod = seen.pods.iter().find(|pod| network.has_pod(&pod.name));
        let Some(pod) = pod else {
            return fault
                .seen("pod", format!("no pod of the DaemonSet {} is on this node yet", network.pod()))
                .remedied_by(format!(
                    "kubectl -n kube-system get daemonset,pods -o wide | grep {}; one that is missing was not applied: kops update cluster --yes",
                    network.pod()
                ));
        };
        let is_of = |line: &str| {
            line.contains(&pod.name) || network.images.iter().any(|image| line.contains(image))
        };
        match pull_refused(journal, is_of) {
            Some(refused) => fault
                .seen("pod", format!("{} has no image: {}", pod.name, refused.what))
                .seen("because", refused.means)
                .seen("kubelet", shorten(refused.line, SHOWN))
                .remedied_by(refused.fix),
            None => fault
                .seen("pod", stage(&pod.name, !pod.created.is_empty(), own.count()))
                .remedied_by(format!(
                    "kubectl -n {0} logs {1} --all-containers; one that runs and does not write it: kubectl -n {0} delete pod {1}",
                    pod.namespace, pod.name
                )),
        }
    }

    /// Adds whether the cluster gave the node the range that the runtime's template needs.
    pub fn with_range(&self, fault: Fault, node: Option<&NodeObject>) -> Fault {
        match node.map(|node| node.pod_range.as_str()) {
            None => fault.seen("range", "the API server does not report the node's range of addresses yet"),
            Some("") => fault
                .seen("range", "the cluster has given the node no range of addresses yet")
                .remedied_by("kube-controller-manager gives it (--allocate-node-cidrs): kubectl -n kube-system logs of it; kubectl get node <name> -o jsonpath={.spec.podCIDR}"),
            Some(range) => fault
                .seen("range", format!("{range} is given; containerd writes its file when kubelet passes it on"))
                .remedied_by("journalctl -b -u containerd -u kubelet | grep -i -e cni -e podcidr; conf_template of /etc/containerd/config.toml must name a file that is there"),
        }
    }

    /// Whether a file is the network's own; of a network that nobody named, any is.
    fn owns(&self, name: &str) -> bool {
        match (of_word(self.word), self.word) {
            (Some(network), _) => network.has_file(name),
            (None, "kubenet") => name == OF_TEMPLATE || name == STAND_IN,
            (None, _) => true,
        }
    }

    /// Whether a foreign file stops counting once the network's own is there.
    fn yields(&self, foreign: &str) -> bool {
        of_word(self.word).map_or(OF_TEMPLATE, |network| network.usual) < foreign
    }

    fn own_file(&self) -> String {
        match of_word(self.word) {
            Some(Network { usual, .. }) if !usual.is_empty() => (*usual).to_owned(),
            Some(network) => format!("that of {}", network.word()),
            None => OF_TEMPLATE.to_owned(),
        }
    }

    fn absent(&self) -> Fault {
        let who = match bringer(self.word) {
            CniProvider::Pods(pods) => format!("the pod of the DaemonSet {} writes it", pods[0]),
            CniProvider::Runtime => "containerd writes it from its template".to_owned(),
            CniProvider::Unknown => "the network's DaemonSet writes it".to_owned(),
        };
        let directory = self.directory;
        let summary = format!("there is no configuration of the pod network in {directory}: {who}");
        Fault::new(Code::ReadyCniMissing, summary).seen("directory", directory)
    }
}

fn removal(path: &str) -> String {
    format!("rm {path}; then delete the pods that got their addresses by it")
}

/// How far a pod came that ended nowhere.
fn stage(pod: &str, is_created: bool, started: usize) -> String {
    match (is_created, started) {
        (false, _) => format!("{pod} is here; its image is being pulled"),
        (true, 0) => format!("{pod} is here; its container was created, and is not started"),
        (true, _) => format!("{pod} runs, and has written no configuration yet"),
    }
}

/// Whether a configuration has other networks called.
fn calls_others(text: &str) -> bool {
    let mut programs = programs(text).into_iter();
    programs.any(|program| META.contains(&program.as_str()))
}

/// The plugins of a configuration, or of a list of them; none where it cannot be read.
fn programs(text: &str) -> Vec<String> {
    let Ok(document) = serde_json::from_str::<Value>(text) else {
        return Vec::new();
    };
    let kind = |plugin: &Value| plugin["type"].as_str().map(str::to_owned);
    match document.get("plugins").and_then(Value::as_array) {
        Some(plugins) => plugins.iter().filter_map(kind).collect(),
        None => kind(&document).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests;
