//! What kubelet's journal says: lines with which it ends, and lines by which it does not come to its cluster.

use quake_formats::journal::KnownLine;

/// Lines with which kubelet ends, or cannot begin.
pub(super) const FATAL: &[KnownLine] = &[
    KnownLine {
        parts: &["is different from docker cgroup driver"],
        means: "its cgroup driver is not docker's",
        fix: "set kubelet.cgroupDriver and docker.execOpt: native.cgroupdriver=... to the same in the cluster spec",
    },
    KnownLine {
        parts: &["running with swap on is not supported"],
        means: "swap is on",
        fix: "swapoff -a, take the swap lines out of /etc/fstab and the image; or kubelet.failSwapOn: false in the cluster spec; then: systemctl restart kubelet.service",
    },
    KnownLine {
        parts: &["unknown flag"],
        means: "it does not know one of its flags",
        fix: "take the flag that the line names out of the cluster spec's kubelet section, or pin the kubelet that the spec is for",
    },
    KnownLine {
        parts: &["unknown shorthand flag"],
        means: "it does not know one of its flags",
        fix: "take the flag that the line names out of the cluster spec's kubelet section",
    },
    KnownLine {
        parts: &["failed to parse kubelet flag"],
        means: "one of its flags has a value that it cannot read",
        fix: "fix the flag that the line names in the cluster spec's kubelet section; cat /etc/sysconfig/kubelet shows all",
    },
    KnownLine {
        parts: &["unrecognized feature gate"],
        means: "it does not know one of its feature gates",
        fix: "take the gate that the line names out of kubelet.featureGates in the cluster spec: it is gone in this version",
    },
    KnownLine {
        parts: &[
            "kubelet config file",
            "no kind \"",
            "is registered for version",
        ],
        means: "its configuration has a version or kind that it does not know",
        fix: "write apiVersion: kubelet.config.k8s.io/v1beta1 and kind: KubeletConfiguration in the file that --config names; then: systemctl restart kubelet.service",
    },
    KnownLine {
        parts: &["kubelet config file", "strict decoding error"],
        means: "its configuration has a field that it does not know",
        fix: "take the field that the line names out of kubelet's section of the cluster spec; then: systemctl restart quake-agent.service",
    },
    KnownLine {
        parts: &["kubelet config file", "yaml: "],
        means: "its configuration has a syntax error",
        fix: "fix the line that it names; quake-agent diagnose --only kubelet.config names its line",
    },
    KnownLine {
        parts: &["CredentialProviderConfig", "is registered for version"],
        means: "the configuration of its credential provider is of a version that it does not know",
        fix: "write apiVersion: kubelet.config.k8s.io/v1 in /var/lib/kubelet/credential-provider.conf (v1beta1 before Kubernetes 1.26); then: systemctl restart kubelet.service",
    },
    KnownLine {
        parts: &["private key does not match public key"],
        means: "a certificate and its key are not a pair",
        fix: "the line names the files. One was replaced without the other: systemctl restart quake-agent.service writes both anew",
    },
    KnownLine {
        parts: &["node IP: ", "not found in the host's network interfaces"],
        means: "the address of --node-ip is not on this host",
        fix: "ip -brief address shows what the host has; take nodeIP out of the cluster spec's kubelet section, or correct it; then: systemctl restart quake-agent.service",
    },
    KnownLine {
        parts: &["failed to create new OS thread"],
        means: "it can start no more threads: TasksMax of its unit, or kernel.pid_max, is reached",
        fix: "systemctl show -p TasksCurrent,TasksMax kubelet.service; raise the one that is reached: systemctl set-property kubelet.service TasksMax=infinity, sysctl -w kernel.pid_max=4194304",
    },
    KnownLine {
        parts: &["failed to load kubelet config file"],
        means: "it cannot read its configuration",
        fix: "fix the field that the line names; quake-agent diagnose --only kubelet.config names its line",
    },
    KnownLine {
        parts: &["failed to load Kubelet config file"],
        means: "it cannot read its configuration",
        fix: "fix the field that the line names; quake-agent diagnose --only kubelet.config names its line",
    },
    KnownLine {
        parts: &["kubelet is configured to not run on a host using cgroup v1"],
        means: "it refuses control groups of the first version",
        fix: "boot an image with control groups of the second version (Debian 12, Ubuntu 22.04, Amazon Linux 2023), or failCgroupV1: false",
    },
    KnownLine {
        parts: &["unknown service runtime.v1"],
        means: "containerd does not serve kubelet: its plugin is turned off or did not load",
        fix: "take \"cri\" out of disabled_plugins in /etc/containerd/config.toml; journalctl -b -u containerd.service | grep cri says why it did not load",
    },
    KnownLine {
        parts: &["validate CRI v1", "API"],
        means: "the container runtime does not speak with it",
        fix: "systemctl status containerd.service; kubelet since 1.26 wants containerd 1.6 or newer",
    },
    KnownLine {
        parts: &[
            "cloud provider",
            "was specified, but built-in cloud providers are disabled",
        ],
        means: "it has no cloud provider built in any more",
        fix: "set cloud-provider to external, and run the cloud controller in the cluster",
    },
    KnownLine {
        parts: &["unknown cloud provider"],
        means: "it has no cloud provider built in any more",
        fix: "set cloud-provider to external, and run the cloud controller in the cluster",
    },
    KnownLine {
        parts: &["could not init cloud provider", "UnauthorizedOperation"],
        means: "its role may not call ec2:DescribeInstances",
        fix: "allow ec2:DescribeInstances on \"*\" to the node's role",
    },
    KnownLine {
        parts: &["could not init cloud provider", "EC2Metadata"],
        means: "its cloud provider cannot read the instance's metadata",
        fix: "no proxy may stand before 169.254.169.254 (NO_PROXY), and the service must be on: curl -s http://169.254.169.254/latest/meta-data/",
    },
    KnownLine {
        parts: &[
            "could not init cloud provider",
            "Found multiple cluster tags with prefix",
        ],
        means: "the instance has the tags of two clusters",
        fix: "the line names both; aws ec2 delete-tags takes away kubernetes.io/cluster/NAME of the other one, also from the launch template or what else sets it; kubelet then starts by itself",
    },
    KnownLine {
        parts: &["could not init cloud provider", "no such host"],
        means: "its cloud provider does not resolve the name of EC2's API",
        fix: "dig @169.254.169.253 the name that the line has: aws ec2 modify-vpc-attribute --enable-dns-support; without a NAT gateway the VPC needs an endpoint of EC2 with private DNS",
    },
    KnownLine {
        parts: &["could not init cloud provider", "i/o timeout"],
        means: "its cloud provider does not reach EC2's API",
        fix: "give the subnet's route table a NAT gateway, or the VPC an interface endpoint of EC2, and let the security group out on TCP 443",
    },
    KnownLine {
        parts: &["could not init cloud provider"],
        means: "it cannot begin with its cloud provider",
        fix: "the line's end says why: a missing permission (ec2:DescribeInstances), no route to EC2, or no KubernetesCluster tag on the instance",
    },
    KnownLine {
        parts: &["failed to get instance ID from cloud provider"],
        means: "its cloud provider does not find this instance",
        fix: "allow ec2:DescribeInstances to the node's role; the node's name must be the instance's private DNS name",
    },
    KnownLine {
        parts: &["cpu_manager_state", "configured policy"],
        means: "the CPU manager's policy was changed under its state",
        fix: "drain the node; systemctl stop kubelet.service; rm /var/lib/kubelet/cpu_manager_state; systemctl start kubelet.service",
    },
    KnownLine {
        parts: &["invalid Node Allocatable configuration"],
        means: "what it is to reserve is more than the machine has",
        fix: "the line names the resource: lower systemReserved, kubeReserved and evictionHard of spec.kubelet in kops edit cluster (or of the instance group), or take a larger machineType",
    },
    KnownLine {
        parts: &["Failed to enforce", "Reserved Cgroup Limits on"],
        means: "enforceNodeAllocatable names a control group that does not exist",
        fix: "the line names it; have its slice made before kubelet (systemctl start kube-reserved.slice), or take kube-reserved and system-reserved out of kubelet.enforceNodeAllocatable, kubeReservedCgroup and systemReservedCgroup of the cluster spec",
    },
    KnownLine {
        parts: &["invalid kernel flag"],
        means: "protectKernelDefaults is on, and a sysctl is not as it wants",
        fix: "sysctl -w vm.overcommit_memory=1 vm.panic_on_oom=0 kernel.panic=10 kernel.panic_on_oops=1, and kubelet starts at its next try; take the keys that the line names out of the file in /etc/sysctl.d that sets them otherwise (grep -rE 'overcommit_memory|kernel.panic' /etc/sysctl.d /etc/sysctl.conf /usr/lib/sysctl.d), or they come back; protectKernelDefaults stays on",
    },
    KnownLine {
        parts: &["Failed to start ContainerManager"],
        means: "it cannot set up its control groups",
        fix: "the line's end says why: a controller that is missing (host.cgroup), sysctls that it may not set (protectKernelDefaults), or reserved resources that do not fit",
    },
    KnownLine {
        parts: &["unable to load client CA file"],
        means: "it cannot read the file of the cluster's CA",
        fix: "ls -l /srv/kubernetes/ca.crt; systemctl restart quake-agent.service writes it anew",
    },
    KnownLine {
        parts: &["unable to load bootstrap kubeconfig"],
        means: "it has neither a kubeconfig nor one to ask for it with",
        fix: "systemctl restart quake-agent.service writes the kubeconfig anew",
    },
    KnownLine {
        parts: &["error loading config file", "kubeconfig"],
        means: "it cannot read its kubeconfig",
        fix: "systemctl restart quake-agent.service writes it anew",
    },
    KnownLine {
        parts: &["invalid configuration: no server found"],
        means: "its kubeconfig names no server",
        fix: "systemctl restart quake-agent.service writes it anew",
    },
    KnownLine {
        parts: &["address already in use"],
        means: "something else has its port",
        fix: "ss -ltnp | grep -e 10250 -e 10248 -e 10255 shows who; stop that, then: systemctl restart kubelet.service",
    },
    KnownLine {
        parts: &[
            "part of the existing bootstrap client certificate",
            "expired",
        ],
        means: "its client certificate has expired",
        fix: "rm /var/lib/kubelet/pki/kubelet-client-*; systemctl restart kubelet.service; then kubectl get csr",
    },
    KnownLine {
        parts: &["Exec format error"],
        means: "its program is for another processor",
        fix: "pin the kubelet of the instance's own architecture in the cluster spec, and roll the group",
    },
    KnownLine {
        parts: &["status=203/EXEC"],
        means: "its program cannot be run",
        fix: "ls -l /usr/local/bin/kubelet; systemctl restart quake-agent.service places it anew; a filesystem mounted noexec is another cause",
    },
    KnownLine {
        parts: &["inotify", "too many open files"],
        means: "the kernel's inotify instances are used up",
        fix: "raise fs.inotify.max_user_instances in a file of /etc/sysctl.d that is read last; sysctl --system; systemctl restart kubelet.service",
    },
    KnownLine {
        parts: &["inotify", "no space left on device"],
        means: "the kernel's inotify watches are used up",
        fix: "raise fs.inotify.max_user_watches in a file of /etc/sysctl.d that is read last; sysctl --system; systemctl restart kubelet.service",
    },
    KnownLine {
        parts: &["no space left on device"],
        means: "its filesystem is full",
        fix: "make room below /var/lib: crictl rmi --prune, journalctl --vacuum-size=200M; or grow the volume",
    },
    KnownLine {
        parts: &["oom-kill"],
        means: "the kernel killed it for want of memory",
        fix: "take a larger instance type, or keep memory for it (kubelet.systemReserved, pods' limits)",
    },
    KnownLine {
        parts: &["failed to run Kubelet"],
        means: "it cannot run",
        fix: "the line's end says why; fix that, then: systemctl restart kubelet.service",
    },
    KnownLine {
        parts: &["\"command failed\" err="],
        means: "it ended with an error",
        fix: "the line says which; fix that, then: systemctl restart kubelet.service",
    },
    KnownLine {
        parts: &["panic:"],
        means: "it crashed",
        fix: "journalctl -b -u kubelet.service has the trace; remove a setting that was changed last, or pin another patch version",
    },
];

/// Lines by which a kubelet that runs does not come to its cluster.
pub(in crate::checks) const AWAY: &[KnownLine] = &[
    KnownLine {
        parts: &["x509: certificate signed by unknown authority"],
        means: "the API server's certificate is of another CA than its kubeconfig's",
        fix: "the cluster's CA was changed, or the name leads to another cluster: systemctl restart quake-agent.service fetches the CA anew; roll nodes that were there before the change: kops rolling-update cluster --instance-group <group> --cloudonly --force --yes; next time rotate in steps, so that all nodes trust both CAs before the new one is used (kops create keypair, roll, kops promote keypair, roll, kops distrust keypair)",
    },
    KnownLine {
        parts: &["x509: certificate has expired or is not yet valid"],
        means: "a certificate has expired, or the clock is wrong",
        fix: "timedatectl and chronyc tracking show the clock; quake-agent diagnose --only certificates names a certificate that has expired",
    },
    KnownLine {
        parts: &["certificate has expired"],
        means: "a certificate has expired",
        fix: "quake-agent diagnose --only certificates names it; write it anew with the cluster's tool",
    },
    KnownLine {
        parts: &["x509: certificate is valid for"],
        means: "the API server's certificate is not for the name in its kubeconfig",
        fix: "add the name to the API server's certificate (additionalSANs in the cluster spec), or use one that it has",
    },
    KnownLine {
        parts: &["proxyconnect"],
        means: "it goes to the API server by a proxy, which does not answer",
        fix: "add the API server's name to NO_PROXY where kubelet's proxy is set: grep -ri proxy /etc/environment /etc/systemd/system/kubelet.service*",
    },
    KnownLine {
        parts: &["is invalid: metadata.name"],
        means: "the host's name cannot be a node's name",
        fix: "hostnamectl set-hostname with a name of lower-case letters, digits, dots and hyphens; systemctl restart kubelet.service",
    },
    KnownLine {
        parts: &["no such host"],
        means: "the API server's name does not resolve",
        fix: "getent hosts api.internal.<cluster>; the record is written by the control plane (dns-controller) or by kops: look at its hosted zone",
    },
    KnownLine {
        parts: &["Unauthorized"],
        means: "the API server does not accept its certificate",
        fix: "the client certificate is of another CA or has expired: systemctl restart quake-agent.service fetches it anew",
    },
    KnownLine {
        parts: &["is forbidden: ValidatingAdmissionPolicy", "nodes"],
        means: "an admission policy refuses the object of this node",
        fix: "the line names the policy and its binding: set validationActions: [Warn, Audit] in the ValidatingAdmissionPolicyBinding, and leave nodes out of the policy",
    },
    KnownLine {
        parts: &["is forbidden", "nodes"],
        means: "it may not register this node",
        fix: "its certificate must be system:node:<the node's name> of system:nodes; compare with --hostname-override; where --authorization-mode lacks Node, the group needs the role: kubectl create clusterrolebinding system-nodes --clusterrole=system:node --group=system:nodes",
    },
    KnownLine {
        parts: &["connect: connection refused"],
        means: "nothing listens at the API server's address",
        fix: "on a control plane look at kube-apiserver's pod; else at the load balancer's targets, or where the name leads",
    },
    KnownLine {
        parts: &["dial tcp", "i/o timeout"],
        means: "the API server's address does not answer",
        fix: "security groups and routes: the nodes' group must reach the control plane's on port 443",
    },
    KnownLine {
        parts: &["net/http: TLS handshake timeout"],
        means: "the API server is too slow to answer",
        fix: "look at the control plane's load and at etcd",
    },
    KnownLine {
        parts: &["node", "not found"],
        means: "the API server does not know this node",
        fix: "the lines before it say why registering fails; a node that was deleted registers anew with: systemctl restart kubelet.service",
    },
];
