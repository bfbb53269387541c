//! The networks that kops knows: which pod brings each, and how its files are called.

/// A network that a `DaemonSet` brings.
#[derive(Debug)]
pub(super) struct Network {
    /// Its words in the spec.
    pub(super) words: &'static [&'static str],
    /// What the names of its pods begin with.
    pub(super) pods: &'static [&'static str],
    /// Parts of the names of its files.
    pub(super) files: &'static [&'static str],
}

/// Their manifests in kops, 1.8 to 1.30.
const NETWORKS: &[Network] = &[
    Network {
        words: &["calico"],
        pods: &["calico-node"],
        files: &["calico"],
    },
    Network {
        words: &["canal"],
        pods: &["canal"],
        files: &["canal"],
    },
    Network {
        words: &["cilium"],
        pods: &["cilium"],
        files: &["cilium"],
    },
    Network {
        words: &["flannel"],
        pods: &["kube-flannel"],
        files: &["flannel"],
    },
    Network {
        words: &["weave"],
        pods: &["weave-net"],
        files: &["weave"],
    },
    Network {
        words: &["kuberouter", "kube-router"],
        pods: &["kube-router"],
        files: &["kuberouter", "kube-router"],
    },
    Network {
        words: &["amazonvpc", "amazon-vpc-routed-eni"],
        pods: &["aws-node"],
        files: &["10-aws"],
    },
    Network {
        words: &["romana"],
        pods: &["romana-agent"],
        files: &["romana"],
    },
    Network {
        words: &["lyftvpc"],
        pods: &["cni-ipvlan-vpc-k8s"],
        files: &["cni-ipvlan-vpc-k8s"],
    },
    Network {
        words: &["kopeio"],
        pods: &["kopeio-networking-agent"],
        files: &["kopeio"],
    },
];

/// The network of this word.
pub(super) fn of_word(word: &str) -> Option<&'static Network> {
    NETWORKS
        .iter()
        .find(|network| network.words.contains(&word))
}

/// The network that a file belongs to, by its name.
pub(super) fn of_file(name: &str) -> Option<&'static Network> {
    NETWORKS.iter().find(|network| network.has_file(name))
}

impl Network {
    /// Whether a file is its own, by its name.
    pub(super) fn has_file(&self, name: &str) -> bool {
        self.files.iter().any(|part| name.contains(part))
    }

    /// The word it is called by.
    pub(super) fn word(&self) -> &'static str {
        self.words[0]
    }

    /// What its pods are called.
    pub(super) fn pod(&self) -> &'static str {
        self.pods[0]
    }
}
