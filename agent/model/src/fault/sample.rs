//! A line of each code as an operator meets it, with values made up: to be recognised, and to be searched for.

use super::Code;

/// The first line of such a fault. The summaries of real ones are written where they arise; these only look alike.
const SAMPLES: &str = r#"
identity.imds-unreachable: the metadata service does not answer: http://169.254.169.254/latest/api/token: no answer within 2 s
identity.imds-disabled: the metadata service refused a token: http://169.254.169.254/latest/api/token answered 403
identity.imds-malformed: the instance identity document is no JSON
identity.role-missing: the instance has no role: meta-data/iam/security-credentials/ is empty
identity.tags-pending: EC2 does not show the cluster's tags on i-0a1b2c3d4e5f yet
identity.describe-denied: ec2:DescribeInstances answered UnauthorizedOperation
identity.instance-unknown: EC2 does not show i-0a1b2c3d4e5f yet
identity.clock-skew: the local clock is 1260 s behind AWS: ec2:DescribeInstances answered RequestExpired
identity.os-unknown: /etc/os-release does not exist
identity.os-unsupported: ubuntu 20.04 is not supported
config.user-data-unusable: the user data of i-0a1b2c3d4e5f has no kube_env.yaml
config.yaml-syntax: instancegroup/nodes:14:3 a mapping has another indentation than its first key
config.yaml-too-large: cluster.spec expands to more than 100000 nodes
config.wrong-type: cluster.spec:31:18 spec.kubelet.maxPods is text, and should be a number
config.unknown-key: cluster.spec:40:5 spec.kubelet.maxPod is no key that is read here
config.missing-key: kube_env.yaml:1:1 InstanceGroupName is missing
config.unknown-role: instancegroup/nodes:9:9 spec.role is Worker
config.role-disagrees: the instance group says Node, and the launch says control-plane
config.cluster-spec-missing: s3://state-store/c.example.com/cluster.spec does not exist
config.instance-group-missing: s3://state-store/c.example.com/instancegroup/nodes does not exist
config.drift: cluster.spec has changed since launch
config.hash-mismatch: s3://state-store/c.example.com/igconfig/control-plane/master-a/nodeupconfig.yaml has the hash IQrH…, and the user data names FsSu…
config.asset-malformed: kube_env.yaml:7:5 names "kubelet", which is not digest@url
config.digest-refused: kube_env.yaml:7:5 pins kubelet by MD5
config.weak-digest: kube_env.yaml pins 4 assets by SHA-1
config.location-unusable: kube_env.yaml:3:13 ConfigBase is gs://state-store, which this agent does not read
config.unsupported: cluster.spec:22:5 networking.cilium is not brought up by this agent
config.object-missing: s3://state-store/c.example.com/manifests/etcd/main.yaml does not exist
config.object-malformed: s3://state-store/c.example.com/pki/private/ca/keyset.yaml is no Keyset
config.store-denied: s3:GetObject of s3://state-store/c.example.com/cluster.spec answered AccessDenied
config.store-unreachable: s3:GetObject of s3://state-store/c.example.com/cluster.spec: no answer within 30 s
config.bucket-missing: the bucket state-store does not exist
config.controller-unregistered: kops-controller.internal.c.example.com has the address that kops writes before there is one: 203.0.113.123
config.controller-unreachable: https://kops-controller.internal.c.example.com:3988/bootstrap could not be connected to
config.controller-failing: https://kops-controller.internal.c.example.com:3988/bootstrap answered 500: internal error
config.controller-untrusted: https://kops-controller.internal.c.example.com:3988/bootstrap is not believed: the certificate is signed by CN=kubernetes-ca (key 5a0e…), and trusted are CN=kubernetes-ca (key 91c2…)
config.controller-denied: https://kops-controller.internal.c.example.com:3988/bootstrap answered 403: failed to verify token
config.controller-rejected: https://kops-controller.internal.c.example.com:3988/bootstrap answered 400: failed to issue "kubelet": request's keypair ID "698…" for kubernetes-ca didn't match server's "702…"
config.node-exists: https://kops-controller.internal.c.example.com:3988/bootstrap answered 409: node already registered
config.item-conflict: /etc/containerd/config.toml is wanted differently by containerd_config and file_assets
config.etcd-disagrees: etcd-manager of main looks for volumes with the tag team=blue
config.instance-type-denied: ec2:DescribeInstanceTypes for m5.large answered 403: UnauthorizedOperation
config.instance-type-unknown: ec2:DescribeInstanceTypes for m5.large was not answered
config.startup-taint-unusable: nobody would remove the startup taint example.com/starting: kubelet's certificate may not (admission plugin NodeRestriction), and the node has no other
network.module-missing: the kernel module br_netfilter was not loaded
network.sysctl-refused: set the kernel setting net.ipv4.ip_forward to 1: the kernel said no
network.unreadable: the interfaces cannot be listed
network.prefix-denied: ec2:AssignIpv6Addresses for eni-0a1b2c3d answered 403: UnauthorizedOperation
network.prefix-failed: ec2:AssignIpv6Addresses for eni-0a1b2c3d answered 400: InsufficientCidrBlocks
network.prefix-pending: the metadata shows no IPv6 prefix of eni-0a1b2c3d yet
dns.zone-missing: there is no hosted zone Z1D633PJN98FT9
dns.zone-ambiguous: 2 private zones are called example.com: Z1D633PJN98FT9, Z2FDTNDATAQYW2
dns.denied: route53:ChangeResourceRecordSets for the zone Z1D633PJN98FT9 answered 403: AccessDenied
dns.refused: route53:ChangeResourceRecordSets for the zone Z1D633PJN98FT9 answered 400: LimitsExceeded
dns.throttled: route53:ListResourceRecordSets for the zone Z1D633PJN98FT9 answered 400: Throttling
dns.no-answer: route53:ListResourceRecordSets for the zone Z1D633PJN98FT9 was not answered
dns.conflict: api.internal.c.example.com was changed by somebody else in the meantime
dns.record-foreign: etcd-a.internal.c.example.com is an alias
dns.pending: the change C2682N5HXP0BZ4 has not come to all name servers of Z1D633PJN98FT9
storage.volume-conflict: main/a is claimed by vol-0a1b, vol-0c2d; nothing was attached
storage.volume-elsewhere: vol-0a1b of main/a is in another zone than its member (eu-west-1b)
storage.volume-held: vol-0a1b of main/a is attached to i-0f9e8d, which is running
storage.volume-missing: no volume in eu-west-1a is tagged for main/a
storage.volume-busy: vol-0a1b of main/a is detaching from i-0f9e8d, which is shutting-down
storage.multi-attach: vol-0a1b of main/a has Multi-Attach enabled
storage.tag-malformed: the etcd tag of vol-0a1b cannot be read; it may be main/a's
storage.describe-denied: ec2:DescribeVolumes answered UnauthorizedOperation
storage.attach-denied: ec2:AttachVolume of vol-0a1b answered UnauthorizedOperation
storage.attach-failed: another instance took vol-0a1b of main/a first
storage.cloud-unreachable: ec2:DescribeVolumes: no answer within 30 s
storage.device-missing: no device has the serial of vol-0a1b
storage.device-not-blank: vol-0a1b of main/a holds an LVM volume
storage.filesystem-unusable: the filesystem of vol-0a1b of main/a is btrfs, and should be ext4
storage.mount-occupied: /dev/nvme2n1 is mounted at /mnt/master-vol-0a1b, where vol-0a1b belongs
storage.format-failed: mkfs.ext4 of /dev/nvme1n1 ended with exit status 1
storage.mount-failed: mount /dev/nvme1n1 at /mnt/master-vol-0a1b: the kernel said no
storage.mount-gone: vol-0a1b is not mounted at /mnt/master-vol-0a1b any more
storage.filesystem-repaired: the filesystem of vol-0a1b was repaired
storage.check-failed: e2fsck of /dev/nvme1n1 was ended by a signal
storage.grow-failed: resize2fs of /dev/nvme1n1 ended with exit status 1
storage.several-pins: main/a has several pinned volumes: vol-0a1b, vol-0c2d
storage.volume-stale: vol-0a1b of main/a is older than the cluster's CA, which was made at 2020-01-03T10:05:11Z
storage.not-encrypted: vol-0a1b of main/a is not encrypted
storage.several-attachments: vol-0a1b of main/a is attached to i-0f9e8d, i-07a6b5
storage.several-roles: vol-0a1b has several etcd tags; it may be main/a's
storage.held-by-foreign: vol-0a1b of main/a is attached to i-0f9e8d, which is running and of another group
storage.two-members: this instance holds volumes of the members a, b
storage.no-member: the instance group control-plane-c has no etcd member in eu-west-1c
storage.holder-ending: vol-0a1b of main/a is attached to i-0f9e8d, which is stopping
storage.holder-stopped: vol-0a1b of main/a is attached to i-0f9e8d, which is stopped
storage.holder-unknown: vol-0a1b of main/a is attached to i-0f9e8d, which is in an unknown state
storage.view-inconsistent: EC2's answers about vol-0a1b of main/a contradict each other
storage.attach-limit: no device name is free for vol-0a1b
storage.key-denied: ec2:AttachVolume of vol-0a1b: its KMS key cannot be used
storage.device-unreadable: /dev/nvme1n1 cannot be read: input/output error
storage.signature-ambiguous: vol-0a1b of main/a has signatures of ext4 and xfs
storage.data-unsigned: vol-0a1b of main/a has data and no signature of a filesystem
storage.blank-from-snapshot: vol-0a1b of main/a is empty, and was made of snap-0e1f
storage.data-expected: vol-0a1b of main/a is empty, and etcd was made before
storage.foreign-cluster-data: vol-0a1b of main/a has the data of the cluster other.example.com
storage.foreign-member-data: vol-0a1b of main/a has the data of main/b
storage.volume-cloned: vol-0a1b of main/a says that it is vol-0c2d
storage.legacy-unproven: vol-0a1b of main/a has data that nothing ties to this cluster
storage.filesystem-unproven: vol-0a1b of main/a has a filesystem that holds no data of etcd
storage.marker-missing: vol-0a1b of main/a was marked by this agent, and the mark is gone
storage.journal-unusable: what was noted of vol-0a1b cannot be read
storage.tag-denied: ec2:CreateTags of vol-0a1b answered UnauthorizedOperation
storage.surplus-volumes: main/a runs on vol-0a1b; vol-0c2d has its tags too
storage.split-bundle: events/b runs here beside another member's
assets.digest-mismatch: kubelet has another digest than it is pinned by
assets.not-found: kubelet is on none of its 2 mirrors
assets.forbidden: https://mirror.example.com/kubelet answered 403
assets.unreachable: kubelet could not be fetched: https://mirror.example.com/kubelet: nobody listens there
assets.archive-unsafe: cni-plugins.tgz has the entry ../../etc/passwd
assets.member-missing: cni-plugins.tgz has no file named bridge
assets.size-implausible: https://mirror.example.com/kubelet claims 3000000000000000 bytes, and no asset has more than 4294967296
assets.too-slow: kubelet comes at 12 bytes a second from https://mirror.example.com/kubelet
assets.no-space: the store has no room for kubelet: 112 MB are wanted, 40 MB are free
assets.store-failed: kubelet is not in the store after its fetch
assets.store-locked: /var/lib/quake-agent/store/staging.lock is locked by backup (process 812)
assets.bundle-damaged: bundle.tar ends in the middle of kubelet
assets.release-unknown: kops 1.9.0 does not support Kubernetes 1.15.0
assets.packages-locked: the package manager's lock is held by unattended-upgr (process 812)
assets.packages-failed: apt-get install --yes iptables ended with exit status: 100
assets.package-unknown: apt-get install --yes nfs-comon ended with exit status: 100
assets.keyring-unusable: https://packages.example.com/gpgkey is no armoured OpenPGP key
assets.user-refused: useradd --uid 10011 kops-controller ended with exit status: 4
assets.user-failed: groupadd --system --gid 10011 kops-controller ended with exit status: 10
credentials.missing: pki/private/kubelet/ has no key
credentials.malformed: s3://state-store/c.example.com/pki/issued/ca/keyset.yaml has no certificate that can be read
credentials.certificate-unfit: the certificate kubelet of kops-controller is of another CA than the user data trusts
credentials.denied: s3:GetObject of s3://state-store/c.example.com/pki/private/kubelet/keyset.yaml answered AccessDenied
credentials.not-renewed: a certificate that kops-controller signed ends at 2028-02-20T02:53:20.000Z, and it signs none for a node that is Ready
files.write-failed: /etc/sysconfig/kubelet is not as just written
files.no-space: write /var/lib/kubelet/kubeconfig: no space is left
files.occupied: a directory stands at /etc/sysconfig/kubelet
files.overwritten: /etc/sysconfig/kubelet was changed since the agent wrote it (other contents), and is written again
files.owner-unknown: /home/admin/.kube/config must belong to admin, and this host has no admin
files.reaction-failed: sysctl --system ended with exit status: 255
services.bus-unreachable: ask systemd for GetUnit: the bus is not there
services.unit-unknown: systemd has no unit file for docker.service
services.unit-failed: kubelet.service does not stay up: activating (auto-restart), exit status 255, restarted 5 times
services.unit-starting: the job to bring up docker.service still ran after 90 s
services.image-failed: the runtime did not take protokube.tar.gz
services.image-unusable: protokube.tar.gz is no archive of an image
services.pull-failed: ctr did not pull registry.k8s.io/kube-proxy:v1.35.0
ready.runtime-silent: containerd does not answer
ready.pod-failing: kube-apiserver ended with 1, started again 5 times
ready.node-unregistered: the API server knows no node i-0a1b2c3d4e5f
ready.node-foreign: the object of node ip-10-0-1-5.ec2.internal is of another instance
ready.node-identity-denied: /var/lib/kubelet/kubeconfig may not say of node ip-10-0-1-5.ec2.internal: label kubernetes.io/role=node
ready.node-identity-missing: the API server at https://127.0.0.1 answers 403 to a patch of Node/ip-10-0-1-5.ec2.internal
ready.conditions-denied: /var/lib/kubelet/kubeconfig may not report the conditions of node i-0a1b2c3d4e5f
ready.conditions-unreported: https://api.internal.c.example.com could not be connected to
ready.startup-taint-kept: nobody has removed the startup taint readiness.k8s.io/quake.io-starting, whose conditions hold
ready.cni-foreign: /etc/cni/net.d/00-loopback.conf comes before 10-calico.conflist by its name, and counts
ready.cni-missing: /etc/cni/net.d has no configuration
ready.probe-failing: kubelet is not healthy
ready.hook-denied: autoscaling:CompleteLifecycleAction for i-0a1b2c3d4e5f at kops-warmpool answered 403: AccessDenied
ready.hook-failed: autoscaling:DescribeLifecycleHooks for nodes.c.example.com was not answered
addons.channel-unreadable: s3://state-store/c.example.com/addons/bootstrap-channel.yaml: s3:GetObject answered AccessDenied
addons.channel-invalid: s3://state-store/c.example.com/addons/bootstrap-channel.yaml:14:5 the add-on coredns.addons.k8s.io names no manifest
addons.manifest-invalid: s3://state-store/c.example.com/addons/coredns.addons.k8s.io/k8s-1.12.yaml:40:1 a document is no object: it has no kind
addons.manifest-mismatch: s3://state-store/c.example.com/addons/coredns.addons.k8s.io/k8s-1.12.yaml has the hash 5d41402abc4b, and the channel names c89f00f91983
addons.object-refused: Deployment/kube-system/coredns: spec.template.spec.containers[0].image: Required value
addons.object-conflict: DaemonSet/kube-system/kops-controller: conflict with "kubectl-edit" using apps/v1: .spec.template.spec.priorityClassName
addons.kind-unserved: VolumeSnapshotClass.snapshot.storage.k8s.io/v1 is not served
addons.crd-not-established: CustomResourceDefinition/ippools.crd.projectcalico.org: not established within 60 s
addons.api-unreachable: https://127.0.0.1/version: connection refused
addons.api-denied: Namespace/kube-system: namespaces "kube-system" is forbidden: User "kops" cannot patch resource "namespaces"
addons.throttled: ConfigMap/kube-system/coredns: the API server answered 429
addons.webhook-silent: Pod/kube-system/debug: failed calling webhook "pod-identity-webhook.amazonaws.com": no endpoints available
addons.prune-failed: Deployment/kube-system/calico-typha could not be removed: the API server answered 500
addons.issuer-unserved: eks-pod-identity-webhook.addons.k8s.io needs an Issuer.cert-manager.io/v1, and that is not served
addons.pod-foreign: /etc/kubernetes/manifests/kops-channels.manifest is no manifest of the pod kops-channels
addons.lease-lost: the lease kube-system/quake-agent is held by i-0f9e8d
addons.pod-failing: kops-channels says that not all add-ons are applied (http://127.0.0.1:3986/readyz: 500)
etcd.backup-missing: s3://state-store/c.example.com/backups/etcd/main has no backup of main that is complete
etcd.snapshot-corrupt: the snapshot 2026-11-26T02:00:00Z-000012 cannot be restored: it has 20000 bytes, so its end or its hash is missing
etcd.snapshots-mixed: the command 2026-11-26T02:03:22Z-000000 restores 2026-11-25T02:00:00Z-000001 into main, and 2026-11-26T02:00:00Z-000012 was asked for
etcd.backup-foreign: the snapshot main.db was taken of etcd-a at https://etcd-a.internal.other.example:2380, not of main of c.example.com
etcd.version-unsupported: the backup 2026-11-26T02:00:00Z-000012 is of etcd 3.6.0, and etcd 3.4.23 does not read it
etcd.quorum-healthy: main has a quorum of 2: healthy are a, b
etcd.members-missing: 1 of 3 members run, and etcd-manager restores into 2 or more
etcd.member-running: /mnt/master-vol-0a1b/var/etcd/data/member/snap/db is locked by etcd
etcd.programs-missing: no etcd on this host reads a snapshot of etcd 3.5.21
etcd.restore-failed: etcdutl snapshot restore ended with exit status 1
boot.budget-exceeded: ec2:DescribeVolumes was called 300 times, and a boot has 300
boot.sink-failed: events do not reach the ledger
boot.interrupted: the agent was told to stop (SIGTERM)
boot.phase-timed-out: the phase files was not done by its deadline: file:/etc/hosts is still under way
boot.resources-exhausted: unit kubelet.service cannot be read: too many open files
boot.console-denied: ec2:GetConsoleOutput for the console of i-0a1b2c3d4e5f answered 403: UnauthorizedOperation
boot.console-unread: ec2:GetConsoleOutput for the console of i-0a1b2c3d4e5f answered 503: RequestLimitExceeded
boot.report-denied: s3:PutObject on s3://state-store/c.example.com/boot-reports/nodes/i-0a1b2c3d4e5f.json answered AccessDenied
boot.report-failed: the boot report could not be left in s3://state-store/c.example.com/boot-reports/nodes within 5 s
boot.report-unplaced: the boot ended before it knew where the state store is
boot.signal-denied: autoscaling:SetInstanceHealth for i-0a1b2c3d4e5f answered 403: AccessDenied
boot.signal-failed: unhealthy was not told within 10 s
boot.signal-unplaced: i-0a1b2c3d4e5f is in no Auto Scaling group
boot.internal: the node's spec is not known to a phase that needs it
"#;

/// What the sample of a code says happened.
pub(super) fn sample_of(code: Code) -> Option<&'static str> {
    let of_code = |line: &'static str| line.strip_prefix(code.entry().code)?.strip_prefix(": ");
    SAMPLES.lines().find_map(of_code)
}
