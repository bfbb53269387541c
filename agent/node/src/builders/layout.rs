//! Where things are on a node, whichever kops configured it. The paths are those of nodeup, because add-ons, dashboards and
//! people know them.

/// Where unit files go on a node of kops legacy (1.8 to 1.15).
///
/// nodeup wrote to the distribution's own directory (`/lib/systemd/system`), over the files of packages.
/// `/etc/systemd/system` is the administrator's: it exists on every distribution, wins over the package's
/// unit of the same name, and an upgrade of the package never takes it back.
pub(crate) const UNITS: &str = "/etc/systemd/system";

/// The programs of a node of kops legacy (1.8 to 1.15).
pub(crate) const KUBELET: &str = "/usr/local/bin/kubelet";

pub(crate) const KUBECTL: &str = "/usr/local/bin/kubectl";

/// What kubelet is started with.
pub(crate) const KUBELET_ENVIRONMENT: &str = "/etc/sysconfig/kubelet";

/// What docker is started with.
pub(crate) const DOCKER_ENVIRONMENT: &str = "/etc/sysconfig/docker";

/// Proxy variables of the node's services.
pub(crate) const PROXY_ENVIRONMENT: &str = "/etc/sysconfig/quake-agent-proxy";

pub(crate) const CONTAINERD_CONFIG: &str = "/etc/containerd/config.toml";

pub(crate) const CLOUD_CONFIG: &str = "/etc/kubernetes/cloud.config";

/// Keys, certificates and tokens of the control plane.
pub(crate) const SRV_KUBERNETES: &str = "/srv/kubernetes";

/// Where the API server finds its key to an etcd that etcd-manager runs.
pub(crate) const API_SERVER_PKI: &str = "/etc/kubernetes/pki/kube-apiserver";

pub(crate) const CNI_PLUGINS: &str = "/opt/cni/bin";

pub(crate) const CNI_CONFIGURATIONS: &str = "/etc/cni/net.d";

/// Where out-of-tree volume plugins are, by kubelet's own default.
pub(crate) const VOLUME_PLUGINS: &str = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/";

/// The path of a unit file of kops legacy (1.8 to 1.15).
pub(crate) fn unit(name: &str) -> String {
    format!("{UNITS}/{name}")
}

/// The path of a file of the control plane's keys.
pub(crate) fn srv(name: &str) -> String {
    format!("{SRV_KUBERNETES}/{name}")
}

pub(crate) fn kubeconfig(component: &str) -> String {
    format!("/var/lib/{component}/kubeconfig")
}

pub(crate) fn log(component: &str) -> String {
    format!("/var/log/{component}.log")
}
