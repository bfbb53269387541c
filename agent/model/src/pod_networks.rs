//! The pod networks that kops knows: which pod brings each, of which images, and how its files are called.

/// The name under which containerd writes what its template gives.
pub const OF_TEMPLATE: &str = "10-containerd-net.conflist";

/// What a rehearsal shows in place of the file that a `DaemonSet` writes.
pub const STAND_IN: &str = "10-simulated-daemonset.conflist";

/// Plugins that call the plugins of another network, so that their file is meant to come first.
pub const META: &[&str] = &["multus", "multus-shim", "genie", "danm"];

/// A network that a `DaemonSet` brings.
#[derive(Debug)]
pub struct Network {
    /// Its words in the spec.
    pub words: &'static [&'static str],
    /// What the names of its pods begin with.
    pub pods: &'static [&'static str],
    /// What the names of other pods begin with, which begin with the same words and bring nothing to the node.
    pub others: &'static [&'static str],
    /// Parts of the names of its images.
    pub images: &'static [&'static str],
    /// Parts of the names of its files.
    pub files: &'static [&'static str],
    /// The file as its releases in kops 1.32 to 1.37 call it; empty for a network that these do not have.
    pub usual: &'static str,
    /// What the name of the VXLAN device begins with that it makes on a node.
    pub vxlan: Option<&'static str>,
}

/// Their manifests in kops, 1.8 to 1.37.
const NETWORKS: &[Network] = &[
    Network {
        words: &["calico"],
        pods: &["calico-node"],
        others: &["calico-node-controller"],
        images: &["calico/"],
        files: &["calico"],
        usual: "10-calico.conflist",
        vxlan: Some("vxlan.calico"),
    },
    Network {
        words: &["canal"],
        pods: &["canal"],
        others: &[],
        images: &["calico/", "flannel"],
        files: &["canal"],
        usual: "",
        vxlan: Some("flannel."),
    },
    Network {
        words: &["cilium"],
        pods: &["cilium"],
        others: &[
            "cilium-operator",
            "cilium-envoy",
            "cilium-monitor",
            "cilium-test",
        ],
        images: &["cilium/cilium"],
        files: &["cilium"],
        usual: "05-cilium.conflist",
        vxlan: Some("cilium_vxlan"),
    },
    Network {
        words: &["flannel"],
        pods: &["kube-flannel"],
        others: &[],
        images: &["flannel"],
        files: &["flannel"],
        usual: "10-flannel.conflist",
        vxlan: Some("flannel."),
    },
    Network {
        words: &["weave"],
        pods: &["weave-net"],
        others: &[],
        images: &["weave"],
        files: &["weave"],
        usual: "",
        vxlan: Some("vxlan-6784"),
    },
    Network {
        words: &["kuberouter", "kube-router"],
        pods: &["kube-router"],
        others: &[],
        images: &["kube-router"],
        files: &["kuberouter", "kube-router"],
        usual: "10-kuberouter.conflist",
        vxlan: None,
    },
    Network {
        words: &["kindnet"],
        pods: &["kindnet"],
        others: &[],
        images: &["kindnetd"],
        files: &["kindnet"],
        usual: "10-kindnet.conflist",
        vxlan: None,
    },
    Network {
        words: &["amazonvpc", "amazon-vpc-routed-eni"],
        pods: &["aws-node"],
        others: &["aws-node-termination-handler"],
        images: &["amazon-k8s-cni"],
        files: &["10-aws"],
        usual: "10-aws.conflist",
        vxlan: None,
    },
    Network {
        words: &["romana"],
        pods: &["romana-agent"],
        others: &[],
        images: &["romana"],
        files: &["romana"],
        usual: "",
        vxlan: None,
    },
    Network {
        words: &["lyftvpc"],
        pods: &["cni-ipvlan-vpc-k8s"],
        others: &[],
        images: &["cni-ipvlan-vpc-k8s"],
        files: &["cni-ipvlan-vpc-k8s"],
        usual: "",
        vxlan: None,
    },
    Network {
        words: &["kopeio"],
        pods: &["kopeio-networking-agent"],
        others: &[],
        images: &["kopeio"],
        files: &["kopeio"],
        usual: "",
        vxlan: None,
    },
];

/// The network of this word.
pub fn of_word(word: &str) -> Option<&'static Network> {
    NETWORKS
        .iter()
        .find(|network| network.words.contains(&word))
}

/// The network that a file belongs to, by its name.
pub fn of_file(name: &str) -> Option<&'static Network> {
    NETWORKS.iter().find(|network| network.has_file(name))
}

/// The network that a pod brings to a node, by its name.
pub fn of_pod(name: &str) -> Option<&'static Network> {
    NETWORKS.iter().find(|network| network.has_pod(name))
}

impl Network {
    /// Whether a file is its own, by its name.
    pub fn has_file(&self, name: &str) -> bool {
        self.files.iter().any(|part| name.contains(part)) || name == STAND_IN
    }

    /// Whether a pod is one of those that bring it to a node, by its name.
    pub fn has_pod(&self, name: &str) -> bool {
        let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
        begins(self.pods) && !begins(self.others)
    }

    /// The word it is called by.
    pub fn word(&self) -> &'static str {
        self.words[0]
    }

    /// What its pods are called.
    pub fn pod(&self) -> &'static str {
        self.pods[0]
    }
}

/// Whether the runtime takes a file of this name for a configuration; of those it takes the first by its name.
pub fn is_configuration(name: &str) -> bool {
    [".conf", ".conflist", ".json"]
        .iter()
        .any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_that_only_begin_alike_are_told_apart() {
        for (word, pod, is_own) in [
            ("cilium", "cilium-x7k2p", true),
            ("cilium", "cilium-operator-7d9f", false),
            ("amazonvpc", "aws-node-9qzvb", true),
            ("amazonvpc", "aws-node-termination-handler-5f6d", false),
            ("calico", "calico-node-4xq7l", true),
            ("calico", "calico-kube-controllers-6c8d", false),
        ] {
            let network = of_word(word).expect("it is known");
            assert_eq!(network.has_pod(pod), is_own, "{pod}");
        }
    }

    #[test]
    fn the_usual_file_of_a_network_is_its_own() {
        for network in NETWORKS.iter().filter(|network| !network.usual.is_empty()) {
            assert!(network.has_file(network.usual), "{network:?}");
            assert!(is_configuration(network.usual), "{network:?}");
            assert_eq!(
                of_file(network.usual).map(Network::word),
                Some(network.word())
            );
        }
    }
}
