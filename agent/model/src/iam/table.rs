//! The table itself.

use super::Caller::{ControlPlane, Operator, Worker};
use super::{Grant, Reach};
use crate::facts::BucketFacts;

/// Every action the agent calls. A `sid` may stand in several rows, for different callers.
pub const GRANTS: &[Grant] = &[
    Grant {
        sid: "QuakeDescribeInstances",
        actions: &["ec2:DescribeInstances"],
        callers: &[ControlPlane, Worker, Operator],
        reach: Reach::Everything,
        why: "identity: the instance's own tags, before kubelet starts; storage: who holds a volume",
    },
    Grant {
        sid: "QuakeDescribeVolumes",
        actions: &["ec2:DescribeVolumes"],
        callers: &[ControlPlane, Operator],
        reach: Reach::Everything,
        why: "storage: which volumes the cluster has and where they are attached",
    },
    Grant {
        sid: "QuakeAttachVolume",
        actions: &["ec2:AttachVolume"],
        callers: &[ControlPlane],
        reach: Reach::Cluster(&["volume", "instance"]),
        why: "storage: attach the chosen etcd volume to this instance",
    },
    Grant {
        sid: "QuakeKeepVolume",
        actions: &["ec2:ModifyInstanceAttribute"],
        callers: &[ControlPlane],
        reach: Reach::Cluster(&["instance", "volume"]),
        why: "storage: keep an etcd volume when its instance is terminated",
    },
    Grant {
        sid: "QuakeMarkVolume",
        actions: &["ec2:CreateTags", "ec2:DeleteTags"],
        callers: &[ControlPlane, Operator],
        reach: Reach::OwnTags(&["volume"]),
        why: "storage: note on a volume which cluster wrote it; pin, ignore or adopt it",
    },
    Grant {
        sid: "QuakeReadConfiguration",
        actions: &["s3:GetObject"],
        callers: &[ControlPlane, Worker],
        reach: Reach::Objects(&["cluster.spec", "instancegroup/*"]),
        why: "config: what the node is to be",
    },
    Grant {
        sid: "QuakeReadConfiguration",
        actions: &["s3:GetObject"],
        callers: &[Operator],
        reach: Reach::Objects(&["cluster-completed.spec", "cluster.spec", "pki/issued/ca/*"]),
        why: "volumes explain: which members the cluster has, and when it was made",
    },
    Grant {
        sid: "QuakeLookAtStateStore",
        actions: &BucketFacts::ACTIONS,
        callers: &[Operator],
        reach: Reach::Bucket,
        why: "diagnose: whether the state store's bucket is public or not encrypted",
    },
    Grant {
        sid: "QuakeReadCredentials",
        actions: &["s3:GetObject"],
        callers: &[Worker],
        reach: Reach::Objects(&[
            "pki/issued/ca/*",
            "pki/issued/kube-proxy/*",
            "pki/issued/kubelet/*",
            "pki/private/kube-proxy/*",
            "pki/private/kubelet/*",
            "secrets/dockerconfig",
        ]),
        why: "credentials: the node's keypairs; of the cluster's CA only the certificate",
    },
    Grant {
        sid: "QuakeReadCredentials",
        actions: &["s3:GetObject"],
        callers: &[ControlPlane],
        // Certificates are public, so all of them are one path; keys and secrets are named one by one.
        reach: Reach::Objects(&[
            "pki/issued/*",
            "pki/private/apiserver-aggregator/*",
            "pki/private/apiserver-proxy-client/*",
            "pki/private/ca/*",
            "pki/private/etcd-clients-ca/*",
            "pki/private/etcd-manager-ca-*",
            "pki/private/etcd-peers-ca-*",
            "pki/private/kops/*",
            "pki/private/kube-controller-manager/*",
            "pki/private/kube-proxy/*",
            "pki/private/kube-scheduler/*",
            "pki/private/kubecfg/*",
            "pki/private/kubelet/*",
            "pki/private/kubelet-api/*",
            "pki/private/master/*",
            "secrets/admin",
            "secrets/dockerconfig",
            "secrets/encryptionconfig",
            "secrets/kube",
            "secrets/kube-proxy",
            "secrets/kubelet",
            "secrets/system:*",
        ]),
        why: "credentials: the control plane's keypairs, CAs and tokens",
    },
    Grant {
        sid: "QuakeReadEtcdManifests",
        actions: &["s3:GetObject"],
        callers: &[ControlPlane],
        reach: Reach::Objects(&["manifests/etcd/*"]),
        why: "files: the static pods of etcd-manager",
    },
    Grant {
        sid: "QuakeReadEtcdBackups",
        actions: &["s3:GetObject"],
        callers: &[ControlPlane],
        reach: Reach::Objects(&["backups/etcd/*/control/*"]),
        why: "storage: whether etcd was made before, and when, so that a blank volume is not taken for a new one",
    },
    Grant {
        sid: "QuakeWriteBootReport",
        actions: &["s3:PutObject"],
        callers: &[ControlPlane, Worker],
        reach: Reach::Objects(&["boot-reports/*"]),
        why: "after the boot: leave its report, for quake-agent fleet",
    },
    Grant {
        sid: "QuakeReadBootReports",
        actions: &["s3:GetObject"],
        callers: &[Operator],
        reach: Reach::Objects(&["boot-reports/*"]),
        why: "fleet: how the nodes of the cluster booted",
    },
    Grant {
        sid: "QuakeReadConsoles",
        actions: &["ec2:GetConsoleOutput"],
        callers: &[Operator],
        reach: Reach::Cluster(&["instance"]),
        why: "fleet --from-console: how nodes booted that may not write a report",
    },
    Grant {
        sid: "QuakeListStateStore",
        actions: &["s3:ListBucket"],
        callers: &[Worker],
        reach: Reach::Names(&[
            "cluster.spec",
            "instancegroup/*",
            "pki/issued/ca/*",
            "pki/issued/kube-proxy/*",
            "pki/issued/kubelet/*",
            "pki/private/kube-proxy/*",
            "pki/private/kubelet/*",
            "secrets/dockerconfig",
        ]),
        why: "credentials: the newest serial of a keypair; and to distinguish an absent object from a refusal",
    },
    Grant {
        sid: "QuakeListStateStore",
        actions: &["s3:ListBucket"],
        callers: &[ControlPlane],
        // Names alone, so by directory: one by one they would take the policy near IAM's limit.
        reach: Reach::Names(&[
            "backups/etcd/*",
            "cluster.spec",
            "instancegroup/*",
            "manifests/etcd/*",
            "pki/issued/*",
            "pki/private/*",
            "secrets/*",
        ]),
        why: "credentials: the newest serial of a keypair; storage: etcd's backups; and to distinguish an absent object from a refusal",
    },
    Grant {
        sid: "QuakeListStateStore",
        actions: &["s3:ListBucket"],
        callers: &[Operator],
        reach: Reach::Names(&[
            "boot-reports/*",
            "cluster-completed.spec",
            "cluster.spec",
            "pki/issued/ca/*",
        ]),
        why: "fleet: which nodes left a report; volumes explain: the newest serial of the CA; and to distinguish an absent object from a refusal",
    },
];

/// What a preview reads of a cluster. It needs no private key.
const PREVIEWED: &[&str] = &[
    "addons/*",
    "cluster-completed.spec",
    "cluster.spec",
    "igconfig/*",
    "instancegroup/*",
    "kops-version.txt",
    "manifests/*",
    "pki/issued/*",
];

/// What an operator's preview calls, beside [`GRANTS`]. They stand for themselves, as a node that is refused needs its own.
pub const PREVIEW_GRANTS: &[Grant] = &[
    Grant {
        sid: "QuakePreviewConfiguration",
        actions: &["s3:GetObject"],
        callers: &[Operator],
        reach: Reach::Objects(PREVIEWED),
        why: "preview: what the nodes of each instance group are to be",
    },
    Grant {
        sid: "QuakePreviewNames",
        actions: &["s3:ListBucket"],
        callers: &[Operator],
        reach: Reach::Names(PREVIEWED),
        why: "preview: which instance groups and add-ons there are",
    },
    Grant {
        sid: "QuakePreviewVersions",
        actions: &["s3:GetObjectVersion"],
        callers: &[Operator],
        reach: Reach::Objects(PREVIEWED),
        why: "preview of an instant: the objects as they were then",
    },
    Grant {
        sid: "QuakePreviewVersionNames",
        actions: &["s3:ListBucketVersions"],
        callers: &[Operator],
        reach: Reach::Names(PREVIEWED),
        why: "preview of an instant: which version of each object was there then",
    },
];

/// What a node calls only where an operator asked for signals to its Auto Scaling group.
pub const SIGNAL_GRANTS: &[Grant] = &[
    Grant {
        sid: "QuakeFindGroup",
        actions: &["autoscaling:DescribeAutoScalingInstances"],
        callers: &[ControlPlane, Worker],
        reach: Reach::Everything,
        why: "after the boot: which Auto Scaling group the instance is in, where its tags do not say",
    },
    Grant {
        sid: "QuakeSignalGroup",
        actions: &[
            "autoscaling:SetInstanceHealth",
            "autoscaling:CompleteLifecycleAction",
        ],
        callers: &[ControlPlane, Worker],
        reach: Reach::Groups,
        why: "after the boot: report to the group that the instance is unhealthy, or how its launch goes on",
    },
];

/// What a node calls only where an operator lets it have itself replaced, beside [`SIGNAL_GRANTS`].
pub const REPAIR_GRANTS: &[Grant] = &[
    Grant {
        sid: "QuakeSeeGroup",
        actions: &["autoscaling:DescribeAutoScalingGroups"],
        callers: &[ControlPlane, Worker],
        reach: Reach::Everything,
        why: "repair: how much of the group is away, before the node asks to be replaced",
    },
    Grant {
        sid: "QuakeHealthNotes",
        actions: &["s3:GetObject", "s3:PutObject"],
        callers: &[ControlPlane, Worker],
        reach: Reach::Objects(&["boot-reports/*.repair/*"]),
        why: "repair: the node's own note of its health, and those of its peers",
    },
    Grant {
        sid: "QuakeListHealthNotes",
        actions: &["s3:ListBucket"],
        callers: &[ControlPlane, Worker],
        reach: Reach::Names(&["boot-reports/*.repair/*"]),
        why: "repair: which peers wrote a note, and which instances were replaced before",
    },
];

/// Rows of [`GRANTS`] about what a node reads of the state store as older kops laid it out. To a node of kops 1.32 or newer
/// [`NEWER_GRANTS`] has its own of these, and to one that asks kops-controller none: it reads no store. Nor does such a node
/// write tags on volumes, which the role that kops gives it does not allow.
pub const OLDER_STORE: [&str; 4] = [
    "QuakeMarkVolume",
    "QuakeReadConfiguration",
    "QuakeReadCredentials",
    "QuakeListStateStore",
];

/// What a node of kops 1.32 or newer reads of the state store; and what it calls where its cluster or its group makes it: pods
/// with addresses of IPv6 alone or of the instance's own, and warm pools. kops gives such nodes these permissions itself.
pub const NEWER_GRANTS: &[Grant] = &[
    Grant {
        sid: "QuakeReadConfiguration",
        actions: &["s3:GetObject"],
        callers: &[ControlPlane],
        reach: Reach::Objects(&[
            "cluster-completed.spec",
            "igconfig/apiserver/*",
            "igconfig/control-plane/*",
            "manifests/channels/*",
            "manifests/static/*",
        ]),
        why: "config: what the node is to be, and which pods it runs from files",
    },
    Grant {
        sid: "QuakeReadCredentials",
        actions: &["s3:GetObject"],
        callers: &[ControlPlane],
        // The CAs of the cluster and of service accounts by their newer and their older names.
        reach: Reach::Objects(&[
            "pki/private/apiserver-aggregator-ca/*",
            "pki/private/ca/*",
            "pki/private/etcd-clients-ca*",
            "pki/private/etcd-manager-ca-*",
            "pki/private/etcd-peers-ca-*",
            "pki/private/kubernetes-ca/*",
            "pki/private/master/*",
            "pki/private/service-account/*",
            "secrets/dockerconfig",
            "secrets/encryptionconfig",
        ]),
        why: "config: the CAs that the node's certificates are signed by, and the passwords of registries",
    },
    Grant {
        sid: "QuakeListStateStore",
        actions: &["s3:ListBucket"],
        callers: &[ControlPlane],
        reach: Reach::Names(&[
            "backups/etcd/*",
            "cluster-completed.spec",
            "igconfig/*",
            "manifests/*",
            "pki/private/*",
            "secrets/*",
        ]),
        why: "config: to distinguish an absent object from a refusal; storage: etcd's backups",
    },
    Grant {
        sid: "QuakeDescribeTypes",
        actions: &["ec2:DescribeInstanceTypes"],
        callers: &[ControlPlane, Worker],
        reach: Reach::Everything,
        why: "config: how many addresses the instance's type has for pods, where the spec does not say how many there may be",
    },
    Grant {
        sid: "QuakeAssignPrefix",
        actions: &["ec2:AssignIpv6Addresses"],
        callers: &[ControlPlane, Worker],
        reach: Reach::Interfaces,
        why: "network: the IPv6 prefix of the node's pods",
    },
    Grant {
        sid: "QuakeDescribeHooks",
        actions: &["autoscaling:DescribeLifecycleHooks"],
        callers: &[ControlPlane, Worker],
        reach: Reach::Everything,
        why: "ready: whether the group has a warm pool's hook",
    },
    Grant {
        sid: "QuakeCompleteHook",
        actions: &["autoscaling:CompleteLifecycleAction"],
        callers: &[ControlPlane, Worker],
        reach: Reach::Groups,
        why: "ready: report to the group that the instance is warm, or done",
    },
];

/// What a control plane of kops 1.8 to 1.15 calls where its cluster names a hosted zone. kops gives such nodes these
/// permissions itself (`pkg/model/iam/iam_builder.go`, release-1.15), which is why zones are not looked up by
/// `route53:ListHostedZonesByName`: that one it does not give.
pub const NAMES_GRANTS: &[Grant] = &[
    Grant {
        sid: "QuakeFindZone",
        actions: &["route53:ListHostedZones"],
        callers: &[ControlPlane],
        reach: Reach::Everything,
        why: "ready: the hosted zone of the cluster's names, where the cluster gives its name and not its id",
    },
    Grant {
        sid: "QuakePublishNames",
        actions: &[
            "route53:GetHostedZone",
            "route53:ListResourceRecordSets",
            "route53:ChangeResourceRecordSets",
        ],
        callers: &[ControlPlane],
        reach: Reach::Zone,
        why: "ready: the names of the API server and of etcd's members lead to this node",
    },
    Grant {
        sid: "QuakeAwaitNames",
        actions: &["route53:GetChange"],
        callers: &[ControlPlane],
        reach: Reach::Changes,
        why: "ready: whether the names have come to all name servers",
    },
];
