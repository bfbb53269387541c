//! Every code: its name, its class, why it matters and what to do. Add a row and nothing else.

use super::Entry;
use crate::fault::Class;
use serde::{Deserialize, Serialize};

catalogue! {
    IdentityImdsUnreachable "identity.imds-unreachable" Transient
        why "without the instance metadata service the agent knows neither its instance id nor its credentials"
        remedy "check the route: ip route get 169.254.169.254; allow port 80 of it (and of fd00:ec2::254) in nftables and iptables; in a container: aws ec2 modify-instance-metadata-options --instance-id <id> --http-put-response-hop-limit 2";
    IdentityImdsDisabled "identity.imds-disabled" Denied
        why "the metadata service answers without a token: it is disabled, or another service at its address refuses this host"
        remedy "run: aws ec2 modify-instance-metadata-options --instance-id <id> --http-endpoint enabled --http-tokens required";
    IdentityImdsMalformed "identity.imds-malformed" Transient
        why "the answer is not metadata; for example, it is the error page of a proxy"
        remedy "the agent uses no proxy here, so a rule redirects the address: iptables -t nat -S OUTPUT; exclude 169.254.169.254 and fd00:ec2::254 from it and try: curl -X PUT http://169.254.169.254/latest/api/token -H 'X-aws-ec2-metadata-token-ttl-seconds: 60'";
    IdentityRoleMissing "identity.role-missing" NotYet
        why "no IAM role is attached to the instance, so it can neither read the state store nor attach volumes; a new profile needs some seconds"
        remedy "run: aws ec2 associate-iam-instance-profile --instance-id <id> --iam-instance-profile Name=<profile>; and name it in the launch template (IamInstanceProfile)";
    IdentityTagsPending "identity.tags-pending" NotYet
        why "EC2 does not show the cluster's tags on this instance yet; kubelet's cloud provider reads them once, at its start, and fails without them"
        remedy "wait; if they do not appear: aws ec2 create-tags --resources <id> --tags Key=KubernetesCluster,Value=<cluster>; and give the auto scaling group's tags PropagateAtLaunch";
    IdentityDescribeDenied "identity.describe-denied" Denied
        why "the agent may not read the instance's own tags, which kubelet's cloud provider needs before it starts"
        remedy "allow ec2:DescribeInstances on * for the node's role: quake-agent iam policy prints the statement";
    IdentityInstanceUnknown "identity.instance-unknown" NotYet
        why "EC2 does not show this instance yet; its answers lag after a launch"
        remedy "wait; if it lasts: aws ec2 describe-instances --instance-ids <id>, and remove a wrong AWS_REGION or AWS_ENDPOINT_URL from the unit: systemctl show quake-agent -p Environment";
    IdentityClockSkew "identity.clock-skew" NotYet
        why "the clock is wrong, and AWS refuses a request whose time is more than five to fifteen minutes off"
        remedy "start chrony or systemd-timesyncd with server 169.254.169.123, or step the clock: chronyc makestep";
    IdentityOsUnknown "identity.os-unknown" Invalid
        why "/etc/os-release is missing, so the agent does not know the paths and packages of this distribution"
        remedy "run: ln -s ../usr/lib/os-release /etc/os-release; a scratch root needs a copy of one";
    IdentityOsUnsupported "identity.os-unsupported" Invalid
        why "the agent does not know the paths, packages and kernel of this distribution; a node that is set up in part breaks its pods"
        remedy "launch the instance group from an image of Debian 12 or 13, Ubuntu 22.04, 24.04 or 26.04, Amazon Linux 2023 or Flatcar: kops edit instancegroup <group>, spec.image";

    ConfigUserDataUnusable "config.user-data-unusable" Invalid
        why "the user data has no kube_env.yaml, so the node has no configuration"
        remedy "quake-agent user-data explain shows the error; render the user data again (kops update cluster --yes) and replace the instance, or pass --kube-env FILE";
    ConfigYamlSyntax "config.yaml-syntax" Invalid
        why "the document is not valid YAML, often because an upload was cut off; the agent applies no part of it"
        remedy "correct the file at this line and column; test it with: quake-agent check FILE";
    ConfigYamlTooLarge "config.yaml-too-large" Invalid
        why "the document expands to more than any real configuration needs"
        remedy "write the object again with the cluster's tool (kops update cluster --yes), without nested anchors and aliases, and check who else writes to the bucket";
    ConfigWrongType "config.wrong-type" Invalid
        why "the agent does not guess what a value of the wrong type means"
        remedy "give the value the named type, at this line and column";
    ConfigUnknownKey "config.unknown-key" Invalid
        why "the agent does not know this key; it is often a typing error, and the setting has no effect"
        remedy "correct or remove the key; on a node it is a warning, so that an older agent survives a newer spec";
    ConfigMissingKey "config.missing-key" Invalid
        why "the node cannot be configured without this value"
        remedy "add this key to this document; test it with: quake-agent check FILE";
    ConfigUnknownRole "config.unknown-role" Invalid
        why "the agent does not know the role of the instance group, and the role decides what the node runs"
        remedy "set spec.role of the instance group to Master, Node, APIServer or Bastion: kops edit ig <group>, then kops update cluster --yes";
    ConfigRoleDisagrees "config.role-disagrees" Invalid
        why "the user data and the instance group give the node different roles; with the wrong role it runs the wrong components"
        remedy "make the instance group's role and the _kubernetes_master tag of kube_env.yaml agree: render the user data again";
    ConfigClusterSpecMissing "config.cluster-spec-missing" Invalid
        why "neither the state store nor the user data has the cluster spec, which says what this node runs"
        remedy "write it with the cluster's tool (kops update cluster --yes), or correct ConfigBase";
    ConfigInstanceGroupMissing "config.instance-group-missing" Invalid
        why "neither the state store nor the user data has the instance group, which says what role this node has"
        remedy "write it with the cluster's tool (kops update cluster --yes), or correct InstanceGroupName";
    ConfigDrift "config.drift" Invalid
        why "the state store changed after this instance was launched, so a reboot applies changes that no launch has tested"
        remedy "quake-agent plan shows what a reboot would change; if the changes are right, roll the group: kops rolling-update cluster --instance-group <group> --yes; if not, restore the old values: kops edit cluster";
    ConfigHashMismatch "config.hash-mismatch" Invalid
        why "the launch template of this instance and the state store have different versions of the configuration"
        remedy "replace the instance: kops update cluster --yes, so that the launch template names the configuration in the state store, then kops rolling-update cluster --instance-group <group> --yes";
    ConfigAssetMalformed "config.asset-malformed" Invalid
        why "the asset is not digest@url[,url], so it cannot be downloaded and verified"
        remedy "correct the entry: <sha1|sha256|sha512 hex>@https://host/path[,https://mirror/path]; s3://bucket/key may stand for each URL";
    ConfigDigestRefused "config.digest-refused" Invalid
        why "md5 can be forged, and without a digest nothing is verified"
        remedy "pin the asset with sha256 (or sha1 for old clusters)";
    ConfigWeakDigest "config.weak-digest" Invalid
        why "sha1 can be forged by a determined attacker"
        remedy "pin the asset with sha256 if your kops version supports it";
    ConfigLocationUnusable "config.location-unusable" Invalid
        why "the state store cannot be read from this location"
        remedy "use s3://bucket/prefix or file:///path";
    ConfigUnsupported "config.unsupported" Invalid
        why "the spec has a setting that this agent does not support; without the setting the node would be broken"
        remedy "remove this setting (kops edit cluster, kops edit ig <group>), or use an agent that supports it";
    ConfigObjectMissing "config.object-missing" Invalid
        why "the configuration refers to an object that is not in the state store"
        remedy "write it with the cluster's tool (kops update cluster --yes)";
    ConfigObjectMalformed "config.object-malformed" Invalid
        why "an object in the state store is too large, or does not have the content that its name promises"
        remedy "write it again with the cluster's tool (kops update cluster --yes), and check who else writes to the bucket";
    ConfigStoreDenied "config.store-denied" Denied
        why "the node's role may not read its own configuration"
        remedy "allow this action on this object for the node's role: quake-agent iam policy prints the statements; with KMS encryption also kms:Decrypt on the key";
    ConfigStoreUnreachable "config.store-unreachable" Transient
        why "the state store does not answer"
        remedy "try from the node: curl -sS https://s3.<region>.amazonaws.com; fix routes, DNS or proxies; an S3 gateway endpoint works without NAT";
    ConfigBucketMissing "config.bucket-missing" Invalid
        why "the state store's bucket does not exist in this partition"
        remedy "correct the bucket in ConfigBase, or restore it: aws s3api head-bucket --bucket <bucket>";
    ConfigControllerUnregistered "config.controller-unregistered" NotYet
        why "the control plane has not registered itself yet: the name of kops-controller has no address, or the placeholder address"
        remedy "wait while the control plane boots; if it lasts: kops validate cluster; check etcd, kube-apiserver and kops-controller on the control plane (and dns-controller, which writes the record), and that the VPC resolves the cluster's private zone: dig kops-controller.internal.<cluster>";
    ConfigControllerUnreachable "config.controller-unreachable" Transient
        why "a worker gets its configuration and certificates from kops-controller on the control plane, and no server of it answers"
        remedy "check that it runs: kubectl -n kube-system get pods -l k8s-app=kops-controller; allow port 3988 of the control plane, or of its load balancer, in security groups and ACLs: nc -vz <server> 3988";
    ConfigControllerFailing "config.controller-failing" Transient
        why "kops-controller answers with an error: it cannot read the Node object or the group's configuration, or another server answers in its place"
        remedy "read its log: kubectl -n kube-system logs -l k8s-app=kops-controller; with \"failed to build node config\" the instance's tag kops.k8s.io/instancegroup and igconfig/node/<group>/nodeupconfig.yaml in the state store must exist";
    ConfigControllerUntrusted "config.controller-untrusted" Denied
        why "the server's certificate does not prove that it is kops-controller: it is signed by a CA that the user data does not trust, or has another name"
        remedy "if the cluster's CA was rotated, this instance was launched from an older launch template: kops update cluster --yes, then kops rolling-update cluster --instance-group <group> --yes; else check which server answers: openssl s_client -connect <server>:3988 -servername kops-controller.internal.<cluster>";
    ConfigControllerDenied "config.controller-denied" Denied
        why "kops-controller does not accept this instance: it checks the STS signature, the account, the partition, the role, and the instance in EC2"
        remedy "read which check failed: kubectl -n kube-system logs -l k8s-app=kops-controller | grep 'verify err'; then fix it: the instance profile of the group, kops update cluster --yes for a role that kops-controller does not list, ec2:DescribeInstances for the control plane's role; its throttled calls look the same, and end by themselves";
    ConfigControllerRejected "config.controller-rejected" Invalid
        why "kops-controller cannot use the request; most often the instance was launched for another version of the cluster's CA"
        remedy "read its log: kubectl -n kube-system logs -l k8s-app=kops-controller; replace the instance: kops update cluster --yes, then kops rolling-update cluster --instance-group <group> --yes";
    ConfigNodeExists "config.node-exists" Denied
        why "a Ready node has the name of this instance, and kops-controller gives its certificates to no other; this instance does not have those of its earlier boot"
        remedy "run: kubectl get node <instance-id>; if kubelet here no longer owns it: kubectl delete node <instance-id>, and start the agent: systemctl reset-failed quake-agent && systemctl start quake-agent; else replace the instance";
    ConfigItemConflict "config.item-conflict" Invalid
        why "two parts of the configuration want different content at one path, and the agent cannot know which is right"
        remedy "remove one of them from the spec of the cluster or the group (fileAssets, hooks, volumeMounts), then: kops update cluster --yes";
    ConfigEtcdDisagrees "config.etcd-disagrees" Invalid
        why "etcd-manager would use other volumes than the agent selects, and could start etcd without its data"
        remedy "render both again: kops update cluster --yes; then replace the instance";
    ConfigInstanceTypeDenied "config.instance-type-denied" Denied
        why "the limit of pods depends on the addresses of the instance type, and the role may not read it"
        remedy "allow ec2:DescribeInstanceTypes on * for the role, or set maxPods in the spec's kubelet section";
    ConfigInstanceTypeUnknown "config.instance-type-unknown" Transient
        why "the limit of pods depends on the addresses of the instance type, and EC2 did not return it"
        remedy "nothing, if it recovers; else check the route to EC2, or set maxPods in the spec's kubelet section";
    ConfigStartupTaintUnusable "config.startup-taint-unusable" Invalid
        why "kubelet would register the node with a taint that nobody removes, or that the node is to keep, and no pod would ever be scheduled on it"
        remedy "name who removes it: --startup-taint-remover=controller with a key below readiness.k8s.io/, or the path of a kubeconfig whose user may get and patch nodes; else leave out --startup-taint";

    NetworkModuleMissing "network.module-missing" Invalid
        why "the kernel has no such module, and the node's network needs it"
        remedy "try: modprobe <module>; install the package with the kernel's extra modules, or use an image whose kernel has it";
    NetworkSysctlRefused "network.sysctl-refused" Denied
        why "the kernel refused a setting that the node needs"
        remedy "check whether /proc/sys is read-only: findmnt /proc/sys; run as root on the host and not in a container; a setting of net.bridge needs: modprobe br_netfilter";
    NetworkUnreadable "network.unreadable" Denied
        why "the kernel did not let the agent list links, addresses and routes"
        remedy "run in the host's network namespace, with AF_NETLINK allowed: systemctl show quake-agent -p PrivateNetwork -p RestrictAddressFamilies";
    NetworkPrefixDenied "network.prefix-denied" Denied
        why "pods of an IPv6-only cluster get addresses from a prefix of the instance, and the role may not request one"
        remedy "allow ec2:AssignIpv6Addresses on the node's network interface for the role";
    NetworkPrefixFailed "network.prefix-failed" Transient
        why "pods of an IPv6-only cluster get addresses from a prefix of the instance, and EC2 assigned none"
        remedy "check that the subnet has an IPv6 range with a free /80: aws ec2 describe-subnets --subnet-ids <subnet>";
    NetworkPrefixPending "network.prefix-pending" NotYet
        why "EC2 assigned an IPv6 prefix, and the instance's metadata does not show it yet"
        remedy "nothing, it normally takes seconds; else: aws ec2 describe-network-interfaces --network-interface-ids <eni>";

    DnsZoneMissing "dns.zone-missing" Invalid
        why "the cluster's hosted zone does not exist, or cannot have the cluster's names: nodes and etcd members cannot find each other"
        remedy "list the zones: aws route53 list-hosted-zones; correct dnsZone and topology.dns.type of the cluster, then: kops update cluster --yes";
    DnsZoneAmbiguous "dns.zone-ambiguous" Invalid
        why "several hosted zones have the name of the cluster's zone, and nodes do not resolve names in the wrong one"
        remedy "name the zone by its id in dnsZone of the cluster, or associate only one private zone of this name with the VPC";
    DnsDenied "dns.denied" Denied
        why "the role may not use the hosted zone, so etcd members and other nodes cannot find this node"
        remedy "allow route53:ListResourceRecordSets, route53:ChangeResourceRecordSets and route53:GetHostedZone on the zone for the role: quake-agent iam policy --zone <id> prints the statements";
    DnsRefused "dns.refused" Invalid
        why "Route 53 refused a request for a reason that the agent does not know; a retry would have the same result"
        remedy "look up the error code and text of Route 53 in its API reference: an invalid name or address, or a limit of the zone; correct the cluster, or report it with the boot's ledger";
    DnsThrottled "dns.throttled" Transient
        why "Route 53 allows five requests per second for one account, and other clients use this limit or change the same zone"
        remedy "wait: the agent retries; if it lasts, find in CloudTrail which clients call route53.amazonaws.com most";
    DnsNoAnswer "dns.no-answer" Transient
        why "Route 53 does not answer, so the node's names may have old addresses"
        remedy "try from the node: curl -sS https://route53.amazonaws.com; it has no VPC endpoint, so a private subnet needs NAT or a proxy";
    DnsConflict "dns.conflict" Conflict
        why "another client changed the same names at the same time; the agent does not undo its change"
        remedy "nothing, the agent normally settles it at its next reconcile; if it lasts, find out who else writes the names: aws route53 list-resource-record-sets --hosted-zone-id <zone>";
    DnsRecordForeign "dns.record-foreign" Refused
        why "the name is an alias or has a routing policy; the agent did not make it and does not change it"
        remedy "remove the record, or make it point to the node; kops makes only plain address records";
    DnsPending "dns.pending" NotYet
        why "Route 53 accepted the names, but not all of its name servers have them yet"
        remedy "nothing, it normally takes a minute; else: aws route53 get-change --id <change>";

    StorageVolumeConflict "storage.volume-conflict" Refused
        why "several volumes claim one etcd member, and choosing the wrong one could start the cluster from old data"
        remedy "find the volume with the data: quake-agent volumes explain; then: quake-agent volumes pin <volume id> --slot <slot> --yes, or for the others: quake-agent volumes ignore <volume id> --reason <text> --yes";
    StorageVolumeElsewhere "storage.volume-elsewhere" Invalid
        why "EBS attaches a volume only within its own zone, so this node can never use it"
        remedy "copy it into the instance's zone (aws ec2 create-snapshot, then aws ec2 create-volume --availability-zone <zone>, with its tags) and exclude it: quake-agent volumes ignore <volume id> --reason <text> --yes; or correct the instance group's subnets";
    StorageVolumeHeld "storage.volume-held" NotYet
        why "another instance has the volume attached, and only one instance may"
        remedy "wait until the other instance terminates; if it should not run: aws autoscaling terminate-instance-in-auto-scaling-group --instance-id <holder> --no-should-decrement-desired-capacity";
    StorageVolumeMissing "storage.volume-missing" NotYet
        why "without its volume this etcd member has no place for its data"
        remedy "look for a volume without a tag: quake-agent volumes list --all; create the volume: kops update cluster --yes";
    StorageVolumeBusy "storage.volume-busy" NotYet
        why "the volume is being created, attached or detached, or another program has its device"
        remedy "wait; a volume that stays so for ten minutes: aws ec2 describe-volumes --volume-ids <id>, then aws ec2 reboot-instances --instance-ids <the instance that has it>";
    StorageMultiAttach "storage.multi-attach" Refused
        why "two instances could mount this volume at the same time, and ext4 does not survive that"
        remedy "while it is attached nowhere: aws ec2 modify-volume --volume-id <id> --no-multi-attach-enabled (io2); or copy it by a snapshot to a volume without";
    StorageTagMalformed "storage.tag-malformed" Invalid
        why "the volume's k8s.io/etcd tag cannot be parsed, and it decides which etcd member owns the volume"
        remedy "run: aws ec2 create-tags --resources <id> --tags 'Key=k8s.io/etcd/<cluster>,Value=\"<member>/<member>,<member>\"'";
    StorageDescribeDenied "storage.describe-denied" Denied
        why "the agent may not list volumes, so it cannot find the volumes of this node"
        remedy "allow ec2:DescribeVolumes on * for the control plane's role: quake-agent iam policy --role control-plane prints the statement";
    StorageAttachDenied "storage.attach-denied" Denied
        why "the agent may not attach the node's volume"
        remedy "allow ec2:AttachVolume for the control plane's role on both the volume and the instance; kops' policy asks for the tag KubernetesCluster on both";
    StorageAttachFailed "storage.attach-failed" Conflict
        why "the volume could not be attached as planned; another instance may have attached it"
        remedy "nothing at first: the agent lists the volumes again and decides again";
    StorageCloudUnreachable "storage.cloud-unreachable" Transient
        why "the EC2 API does not answer"
        remedy "try from the node: curl -sS https://ec2.<region>.amazonaws.com; fix routes, DNS or proxies; a private subnet needs a NAT or an interface endpoint of EC2";
    StorageDeviceMissing "storage.device-missing" NotYet
        why "EC2 reports the volume as attached, but the kernel has no device with its serial number"
        remedy "wait; then: lsblk -o NAME,SERIAL; echo 1 > /sys/bus/pci/rescan; modprobe nvme; at last: aws ec2 reboot-instances --instance-ids <id>";
    StorageDeviceNotBlank "storage.device-not-blank" Refused
        why "the device has a signature, so formatting it would destroy data"
        remedy "see its signatures: wipefs --no-act <device>; if the data is not needed, take a snapshot and run wipefs --all <device> on another instance, or create a new volume";
    StorageFilesystemUnusable "storage.filesystem-unusable" Refused
        why "mounting or repairing a damaged filesystem blindly can lose what is left of it"
        remedy "aws ec2 create-snapshot --volume-id <id>, then: e2fsck -f <device>; if it never held data, zero it on another instance: wipefs --all <device> && blkdiscard -z <device>; or restore etcd's backup";
    StorageMountOccupied "storage.mount-occupied" Refused
        why "something else is mounted where the volume belongs"
        remedy "find it with: findmnt <path> and fuser -vm <path>; if nothing needs it: umount <path>";
    StorageFormatFailed "storage.format-failed" Denied
        why "a blank volume could not be given its filesystem"
        remedy "install e2fsprogs if mkfs.ext4 is missing; else read the kernel's messages: dmesg | tail; a device that is read-only (blockdev --getro <device>) needs a new volume";
    StorageMountFailed "storage.mount-failed" Denied
        why "the kernel did not mount the volume"
        remedy "read the kernel's messages: dmesg | tail; a kernel without ext4 needs: modprobe ext4";
    StorageMountGone "storage.mount-gone" Transient
        why "etcd would write to the root disk below the mount point, where its data is lost"
        remedy "find out who unmounted it: journalctl -b -k; then: systemctl restart quake-agent.service mounts it, and the etcd pod must be started again";
    StorageFilesystemRepaired "storage.filesystem-repaired" Transient
        why "e2fsck repaired errors of the filesystem; they come from a crash or from another program that wrote to the device"
        remedy "nothing now; if it happens again, check the volume and why the instance stops";
    StorageCheckFailed "storage.check-failed" Denied
        why "a filesystem that cannot be checked is not mounted read-write"
        remedy "install e2fsprogs if e2fsck is missing; else read the kernel's messages: dmesg | tail; an impaired volume needs: aws ec2 enable-volume-io --volume-id <id>";
    StorageGrowFailed "storage.grow-failed" Denied
        why "the volume is larger than its filesystem"
        remedy "install e2fsprogs if resize2fs is missing, then: resize2fs <device>, while it is mounted";
    StorageSeveralPins "storage.several-pins" Refused
        why "two volumes are pinned for one member, and the agent cannot know which pin is right"
        remedy "remove the tag quake.io/etcd-pin from all but one: quake-agent volumes unpin <volume id> --yes";
    StorageVolumeStale "storage.volume-stale" Refused
        why "a volume older than the cluster's own CA may hold the data of a deleted cluster of the same name"
        remedy "if the volume is wanted: quake-agent volumes adopt <volume id> --yes; if not: quake-agent volumes ignore <volume id> --reason <text> --yes";
    StorageNotEncrypted "storage.not-encrypted" Refused
        why "the cluster spec asks for an encrypted volume, and etcd holds every secret of the cluster"
        remedy "copy it encrypted (aws ec2 create-volume --snapshot-id <snapshot> --encrypted) with its tags and ignore the old one, or set etcdMembers[].encryptedVolume to false in the cluster spec";
    StorageSeveralAttachments "storage.several-attachments" Refused
        why "two instances may write to the volume at once, and ext4 does not survive that"
        remedy "stop etcd on all but one instance, unmount it there, then: aws ec2 detach-volume --volume-id <id> --instance-id <other>";
    StorageSeveralRoles "storage.several-roles" Invalid
        why "the volume has several k8s.io/etcd tags but the data of only one etcd cluster; the agent cannot know which one"
        remedy "keep one: aws ec2 delete-tags --resources <id> --tags Key=k8s.io/etcd/<the wrong one>";
    StorageHeldByForeign "storage.held-by-foreign" Refused
        why "an instance of another group uses the volume of this group's member"
        remedy "find out why that instance holds it; stop the program that uses it, unmount it, then: aws ec2 detach-volume --volume-id <id>";
    StorageTwoMembers "storage.two-members" Refused
        why "this instance holds the volumes of two members of one etcd cluster, and would count twice in its quorum"
        remedy "stop etcd, unmount the volumes of one member, then for each: aws ec2 detach-volume --volume-id <id>; the agent never detaches";
    StorageNoMember "storage.no-member" Invalid
        why "the spec gives this instance group no etcd member in this zone"
        remedy "correct etcdMembers[].instanceGroup in the cluster spec (kops edit cluster), or the instance group's subnets (kops edit ig <group>)";
    StorageHolderEnding "storage.holder-ending" NotYet
        why "the instance that has the volume is shutting down, and EC2 has not released the volume yet"
        remedy "wait; after half an hour: aws ec2 terminate-instances --instance-ids <holder>, and only once it is terminated: aws ec2 detach-volume --volume-id <id> --force";
    StorageHolderStopped "storage.holder-stopped" NotYet
        why "a stopped instance keeps its volumes, and only an operator knows whether it comes back"
        remedy "aws ec2 start-instances --instance-ids <holder> if it is needed; else aws ec2 terminate-instances, or aws ec2 detach-volume --volume-id <id>";
    StorageHolderUnknown "storage.holder-unknown" NotYet
        why "EC2 says that an instance has the volume, but does not describe that instance"
        remedy "wait; then: aws ec2 describe-instances --instance-ids <holder>; if no account has such an instance: aws ec2 detach-volume --volume-id <id>";
    StorageViewInconsistent "storage.view-inconsistent" NotYet
        why "EC2's answers contradict each other or have just changed, so the agent does not decide yet"
        remedy "wait; then: aws ec2 describe-volumes --volume-ids <id>";
    StorageAttachLimit "storage.attach-limit" Denied
        why "the instance already has as many volumes as its type allows"
        remedy "detach unused volumes (kubectl get volumeattachments), or give the instance group a larger machineType: kops edit ig <group>";
    StorageKeyDenied "storage.key-denied" Denied
        why "EC2 cannot use the key that encrypts the volume"
        remedy "allow kms:CreateGrant and kms:Decrypt on the volume's key for the control plane's role, and check that the key is enabled: aws kms describe-key --key-id <key>";
    StorageDeviceUnreadable "storage.device-unreadable" Refused
        why "the device cannot be read, so the agent cannot know that it is empty"
        remedy "aws ec2 describe-volume-status --volume-ids <id>; an impaired volume: aws ec2 enable-volume-io --volume-id <id>; else restore its newest snapshot into a new one";
    StorageSignatureAmbiguous "storage.signature-ambiguous" Refused
        why "the device has several signatures, and at most one of them is right"
        remedy "find the right one (wipefs --no-act <device>), or use another volume";
    StorageDataUnsigned "storage.data-unsigned" Refused
        why "the device has data that this agent did not write"
        remedy "see the data: hexdump -C -s <offset> -n 256 <device>; if it is not needed, take a snapshot and zero the volume on another instance (blkdiscard -z <device>), or create a new one";
    StorageBlankFromSnapshot "storage.blank-from-snapshot" Refused
        why "the volume was made from a snapshot and should have data, but it is empty"
        remedy "make a volume from the right snapshot, or for an empty member one without a snapshot; then: quake-agent volumes ignore <volume id> --reason <text> --yes";
    StorageDataExpected "storage.data-expected" Refused
        why "the volume is empty, but this member had data; an empty start would silently lose the member or the cluster"
        remedy "restore the backup, or attach the volume that has the data; if an empty member is wanted: quake-agent volumes wipe <volume id> --slot <slot> --i-know-this-is-empty --yes";
    StorageForeignClusterData "storage.foreign-cluster-data" Refused
        why "the volume has the data of another cluster, or of an earlier cluster with this name"
        remedy "use the right volume; to use this one anyway: quake-agent volumes adopt <volume id> --yes";
    StorageForeignMemberData "storage.foreign-member-data" Refused
        why "the volume has the data of another etcd member"
        remedy "correct the tag: aws ec2 create-tags --resources <id> --tags 'Key=k8s.io/etcd/<cluster>,Value=\"<member>/<member>,<member>\"'; volumes adopt does not accept the data of another member";
    StorageVolumeCloned "storage.volume-cloned" Refused
        why "the volume is a copy of another one, and both could be used as the same member"
        remedy "to use the copy: quake-agent volumes ignore <original> --reason <text> --yes, then quake-agent volumes adopt <volume id> --yes; else: quake-agent volumes ignore <volume id> --reason <text> --yes";
    StorageLegacyUnproven "storage.legacy-unproven" Refused
        why "the volume has etcd data, and nothing proves to which cluster it belongs"
        remedy "if it is this cluster's: quake-agent volumes adopt <volume id> --yes";
    StorageFilesystemUnproven "storage.filesystem-unproven" Refused
        why "this agent did not make this empty filesystem, so it may have another purpose"
        remedy "if it is meant for this member: quake-agent volumes adopt <volume id> --yes";
    StorageMarkerMissing "storage.marker-missing" Refused
        why "the filesystem has files that are not etcd's, and does not have the agent's marker (.quake-agent/volume.json)"
        remedy "if it is this member's volume: quake-agent volumes adopt <volume id> --yes";
    StorageJournalUnusable "storage.journal-unusable" Transient
        why "/var/lib/quake-agent/volumes.json cannot be read, so the agent does not know its last AttachVolume request"
        remedy "nothing: the agent attaches no volume until EC2's answers are the same for 90 seconds";
    StorageTagDenied "storage.tag-denied" Denied
        why "the agent may not write the tags that say whose data the volume has, or keep the volume when its instance ends; the marker on the volume still says it"
        remedy "allow ec2:CreateTags, ec2:DeleteTags and ec2:ModifyInstanceAttribute on the cluster's volumes for the control plane's role: quake-agent iam policy --role control-plane prints the statements";
    StorageSurplusVolumes "storage.surplus-volumes" Refused
        why "a second volume has the tags of a running member; it would block the next bootstrap of this member"
        remedy "exclude it: quake-agent volumes ignore <volume id> --reason <text> --yes; or after a snapshot: aws ec2 delete-volume --volume-id <volume id>";
    StorageSplitBundle "storage.split-bundle" Refused
        why "this instance holds members of different names, such as main/a and events/b, so losing it harms two"
        remedy "when the other member's instance is replaced: stop etcd here, umount the volume, aws ec2 detach-volume --volume-id <id>; that instance takes it";

    AssetsDigestMismatch "assets.digest-mismatch" Invalid
        why "the bytes do not have the pinned digest: an error page, a republished file, or a file of an attacker"
        remedy "curl -sL URL | sha256sum, and compare it with the publisher's digest; correct the pin, or the mirror";
    AssetsNotFound "assets.not-found" Invalid
        why "no mirror has the file, so the node cannot get it"
        remedy "publish the file to a mirror, or correct the URL and render the user data again; for one node: quake-agent seed load BUNDLE";
    AssetsForbidden "assets.forbidden" Denied
        why "the mirror refuses to serve the file"
        remedy "make the object readable to the node (the bucket's policy), or correct the URL; for one node: quake-agent seed load BUNDLE";
    AssetsUnreachable "assets.unreachable" Transient
        why "no mirror answered"
        remedy "try from the node: curl -sS https://<host>; fix routes, DNS or proxies; without network access: quake-agent seed load BUNDLE";
    AssetsArchiveUnsafe "assets.archive-unsafe" Invalid
        why "an archive with paths outside its directory, or with links or devices, can take over the node"
        remedy "replace the archive with one that has only plain files in its own directory";
    AssetsMemberMissing "assets.member-missing" Invalid
        why "the archive does not have a file that the node needs"
        remedy "pin an archive that has this file: curl -sL <url> | tar -tzf - lists them; if the store lost it: quake-agent store verify --remove";
    AssetsSizeImplausible "assets.size-implausible" Invalid
        why "the mirror claims or sends more bytes than any asset has; they would fill the disk of the node"
        remedy "curl -sIL URL shows the length that the mirror claims; fix the mirror or the proxy, or name another mirror; for one node: quake-agent seed load BUNDLE";
    AssetsTooSlow "assets.too-slow" Transient
        why "the mirror is too slow for a start in time, and there is no other mirror"
        remedy "measure it from the node: curl -so /dev/null -w '%{speed_download}' URL; fix the mirror or the link, or name another mirror; for one node: quake-agent seed load BUNDLE";
    AssetsNoSpace "assets.no-space" Denied
        why "the filesystem of the asset store is full"
        remedy "quake-agent store gc --yes; or grow the root volume (rootVolumeSize of the instance group; at once: aws ec2 modify-volume --volume-id <id> --size <GiB>, growpart, resize2fs)";
    AssetsStoreFailed "assets.store-failed" Denied
        why "the asset store could not be written or read"
        remedy "findmnt -T /var/lib/quake-agent shows whether it is read-only, dmesg | tail shows why; quake-agent store verify finds damaged files";
    AssetsStoreLocked "assets.store-locked" NotYet
        why "another process holds a lock of the asset store, so its files cannot be changed safely"
        remedy "wait for the process in the evidence; if it hangs: kill <process id>, and the next attempt continues";
    AssetsBundleDamaged "assets.bundle-damaged" Invalid
        why "the bundle changed after it was written: it was cut off, or somebody changed it"
        remedy "copy it again, or make it again: quake-agent seed bundle --kube-env FILE --out FILE";
    AssetsReleaseUnknown "assets.release-unknown" Invalid
        why "the agent has no list of the assets of this release, and does not guess"
        remedy "take the assets from a node's user data (--kube-env FILE) or from a list (--list FILE)";
    AssetsPackagesLocked "assets.packages-locked" NotYet
        why "another program installs packages, and only one can at a time"
        remedy "wait; or find the process: fuser -v /var/lib/dpkg/lock-frontend; systemctl stop unattended-upgrades";
    AssetsPackagesFailed "assets.packages-failed" Transient
        why "packages that the node needs are not installed"
        remedy "install them by hand to see the error of the package manager (apt-get install, dnf install), and check that its sources can be reached";
    AssetsPackageUnknown "assets.package-unknown" Invalid
        why "no source of the distribution has a package of this name"
        remedy "correct the name in the spec's packages, or add the source it comes from to the image";
    AssetsKeyringUnusable "assets.keyring-unusable" Invalid
        why "the signing key of a package source is not a key, so its packages cannot be trusted"
        remedy "open the URL and check its content; often it is the page of a proxy";
    AssetsUserRefused "assets.user-refused" Invalid
        why "a system user that the node needs cannot be made: another user has its name or number"
        remedy "find the other user: getent passwd <number>; getent group <number>; give that user another number";
    AssetsUserFailed "assets.user-failed" Transient
        why "a system user that the node needs could not be made"
        remedy "make it by hand to see why: useradd --system --uid <number> <name>";

    CredentialsMissing "credentials.missing" Invalid
        why "the node needs a keypair to authenticate, and the state store does not have it"
        remedy "write it with the cluster's tool (kops update cluster --yes); if pki/private/ca is gone, restore it from the bucket's versions; do not make a new one";
    CredentialsMalformed "credentials.malformed" Invalid
        why "the keypair in the state store cannot be read"
        remedy "restore the last good version: aws s3api list-object-versions --bucket <bucket> --prefix <key>; the keypair of a client can be made again: kops update cluster --yes";
    CredentialsDenied "credentials.denied" Denied
        why "the node's role may not read the keypair"
        remedy "allow s3:GetObject on this object for the node's role: quake-agent iam policy prints the statement; with KMS encryption also kms:Decrypt on the key";
    CredentialsNotRenewed "credentials.not-renewed" Denied
        why "a certificate will expire while the node runs, and its components then stop working"
        remedy "replace the instance: kops rolling-update cluster --instance-group <name> --yes";
    CredentialsCertificateUnfit "credentials.certificate-unfit" Invalid
        why "the certificate from kops-controller has another CA, key or subject than requested; the agent keeps nothing of the answer"
        remedy "find its CA in the log: kubectl -n kube-system logs -l k8s-app=kops-controller; if the cluster's CA was rotated, replace the instance: kops rolling-update cluster --instance-group <group> --yes";

    FilesWriteFailed "files.write-failed" Denied
        why "a file could not be written, so the node would run with an old version of it"
        remedy "findmnt -T <path> shows whether it is read-only (mount -o remount,rw), lsattr -d <path> whether it is immutable, dmesg | tail whether the disk failed";
    FilesNoSpace "files.no-space" Denied
        why "the filesystem is full"
        remedy "find the files that fill it: df -h <path>, df -i <path>; journalctl --vacuum-size=200M; quake-agent store gc --yes; or grow the root volume";
    FilesOccupied "files.occupied" Refused
        why "another kind of file is at this path, and removing it could lose data"
        remedy "check the file (ls -la <path>, findmnt <path>), then: mv <path> <path>.before-quake";
    FilesOverwritten "files.overwritten" Conflict
        why "somebody changed a file that the agent manages; each boot writes such a file again, and the change is lost"
        remedy "make the change in the cluster spec, the instance group or the user data, or in your own drop-in file; quake-agent plan shows such changes before a boot overwrites them";
    FilesOwnerUnknown "files.owner-unknown" Invalid
        why "the owner of a file is a user or group that this host does not have"
        remedy "check /etc/passwd and /etc/group; the agent makes the users of the spec before";
    FilesReactionFailed "files.reaction-failed" Transient
        why "a command that must run after a change of a file failed, so the change is not in effect"
        remedy "run the command by hand to see its error; the next boot runs it again";

    ServicesBusUnreachable "services.bus-unreachable" Transient
        why "without the system bus the agent cannot start or watch a unit"
        remedy "systemctl status dbus; systemctl start dbus.socket dbus; if systemd itself hangs: systemctl daemon-reexec";
    ServicesUnitUnknown "services.unit-unknown" Invalid
        why "systemd does not know the unit, so it cannot be started"
        remedy "install its package, also in the image; if the unit is masked: systemctl unmask <unit>";
    ServicesUnitFailed "services.unit-failed" Transient
        why "a unit that the node needs does not stay up"
        remedy "read the journal lines in the evidence, or: journalctl -b -u <unit>; fix the error, then: systemctl restart <unit>";
    ServicesUnitStarting "services.unit-starting" NotYet
        why "the unit has not reached its active state"
        remedy "wait; then: systemctl status <unit>, and systemctl list-jobs shows its dependencies";
    ServicesImageFailed "services.image-failed" Transient
        why "an image could not be imported from its archive; kubelet will pull it"
        remedy "check the runtime: ctr --namespace k8s.io images ls, or docker image ls; then start the agent again";
    ServicesImageUnusable "services.image-unusable" Invalid
        why "the archive has no image that can be imported; kubelet will pull it"
        remedy "make the archive again: a tar of an OCI image layout or of docker save, with the name of the image";
    ServicesPullFailed "services.pull-failed" Transient
        why "an image could not be pulled in advance; kubelet pulls it when a pod needs it, and that pod starts later"
        remedy "pull it by hand to see the error: ctr --namespace k8s.io images pull <image>";

    ReadyRuntimeSilent "ready.runtime-silent" NotYet
        why "kubelet can start no pod while the container runtime does not answer"
        remedy "journalctl -b -u containerd; containerd config dump shows errors in /etc/containerd/config.toml";
    ReadyPodFailing "ready.pod-failing" NotYet
        why "a static pod in /etc/kubernetes/manifests is not running; the node waits for it, and on a control plane the cluster too"
        remedy "read its last lines: tail /var/log/pods/kube-system_<pod>*/*/*.log; journalctl -b -u kubelet | grep <pod>; fix the flag, file or peer in the message";
    ReadyNodeUnregistered "ready.node-unregistered" NotYet
        why "the API server does not have this node, so the cluster schedules no pod on it"
        remedy "journalctl -b -u kubelet | grep -i -e register -e unauthorized -e 'no such host' -e refused; then fix the name, the security group or the certificate in the message";
    ReadyNodeForeign "ready.node-foreign" Conflict
        why "the Node object of this name belongs to another instance, so this instance must not set its labels and taints"
        remedy "kubectl get node <name> -o jsonpath='{.spec.providerID}'; if that instance is gone: kubectl delete node <name>, and kubelet registers this one; else rename one of the two";
    ReadyNodeIdentityDenied "ready.node-identity-denied" Denied
        why "labels and taints of the node are missing, so pods are scheduled wrongly; the API server does not let this kubeconfig set them"
        remedy "let kubelet register the node again with them (--node-labels, --register-with-taints), or set them as an administrator: kubectl label node <name> <key>=<value>";
    ReadyNodeIdentityMissing "ready.node-identity-missing" Transient
        why "labels and taints of the node are missing, so pods are scheduled wrongly; the API server refused them, and the agent retries"
        remedy "read the API server's answer: an admission webhook or policy that refuses changes of nodes must allow them";
    ReadyConditionsDenied "ready.conditions-denied" Denied
        why "the Node object does not have the agent's conditions; the API server does not let kubelet's certificate patch the status of its own node"
        remedy "check the user of kubelet's certificate, which must be system:node:<name> of the group system:nodes: kubectl --kubeconfig <kubeconfig> auth can-i patch nodes/<name> --subresource=status; or turn the conditions off: QUAKE_AGENT_NODE_CONDITIONS=off in /etc/default/quake-agent";
    ReadyConditionsUnreported "ready.conditions-unreported" Transient
        why "the conditions of the Node object are old, and programs that read them act too late; the agent retries"
        remedy "read the API server's answer in the evidence; check the API server: kubectl get --raw /readyz";
    ReadyStartupTaintKept "ready.startup-taint-kept" Denied
        why "the conditions of the startup taint hold and it is still there, so no pod without a toleration is scheduled on the node"
        remedy "remove it as an administrator: kubectl taint node <name> <key>:<effect>-";
    ReadyCniForeign "ready.cni-foreign" NotYet
        why "the runtime uses the first file by name; a file of the image or of another network gives pods wrong addresses"
        remedy "remove this file, then delete the pods that started with it";
    ReadyCniMissing "ready.cni-missing" NotYet
        why "kubelet reports the node not ready until a CNI configuration is in /etc/cni/net.d"
        remedy "check the DaemonSet that writes it: kubectl -n kube-system get pods -o wide; if the agent writes it: systemctl restart quake-agent.service";
    ReadyProbeFailing "ready.probe-failing" NotYet
        why "the health check of a component that the node needs fails"
        remedy "read its log: journalctl -b -u kubelet, tail /var/log/<component>.log, docker ps -a or crictl ps -a";
    ReadyHookDenied "ready.hook-denied" Denied
        why "the node is configured, but may not complete its lifecycle hook; the group terminates the instance when the hook times out"
        remedy "allow autoscaling:DescribeLifecycleHooks on * and autoscaling:CompleteLifecycleAction on the group for the role";
    ReadyHookFailed "ready.hook-failed" Transient
        why "the node is configured, but completing its lifecycle hook failed; the group terminates the instance when the hook times out"
        remedy "nothing, if it recovers; else check the route to Auto Scaling";

    AddonsChannelUnreadable "addons.channel-unreadable" NotYet
        why "a channel or a manifest in it cannot be read, so the desired add-ons are unknown; applied objects stay"
        remedy "check that the object exists and that the node's role may read it: aws s3 ls <location>, quake-agent iam policy; kops update cluster --yes writes it again";
    AddonsChannelInvalid "addons.channel-invalid" Invalid
        why "the channel cannot be parsed, so its add-ons are not applied"
        remedy "correct the channel at this line and column, or write it again with kops update cluster --yes; add-ons of other channels are applied";
    AddonsManifestInvalid "addons.manifest-invalid" Invalid
        why "the agent applies no part of a manifest with an error: a half-applied add-on is worse than its last version"
        remedy "correct the manifest at this line and column; kops update cluster --yes writes the manifests of kops' add-ons again";
    AddonsManifestMismatch "addons.manifest-mismatch" NotYet
        why "the manifest does not have the hash in the channel: the state store is being written, or somebody edited the manifest"
        remedy "wait until kops update cluster --yes ends, or run it again; put a manifest that you edit into the cluster's spec.addons";
    AddonsObjectRefused "addons.object-refused" Invalid
        why "the API server refused an object, so the add-on is applied in part; its other objects are applied"
        remedy "read the API server's message; correct the manifest, or the admission policy that refuses it: kubectl apply --dry-run=server -f <manifest>";
    AddonsObjectConflict "addons.object-conflict" Conflict
        why "another field manager owns a field of the object, or changed the object at the same time, so nothing was overwritten"
        remedy "find the field manager: kubectl get <kind> <name> -n <namespace> -o yaml --show-managed-fields; remove the field from the manifest, or from the other manager";
    AddonsKindUnserved "addons.kind-unserved" NotYet
        why "the API server does not serve this kind: its CRD is not there yet, or the manifest is for another version of Kubernetes"
        remedy "check kubectl api-resources and kubectl get crd; another add-on may bring the CRD; else correct kubernetesVersion in the channel";
    AddonsCrdNotEstablished "addons.crd-not-established" NotYet
        why "the API server accepted the CRD but does not serve its kind yet, so no object of this kind can be applied"
        remedy "find the reason: kubectl get crd <name> -o jsonpath='{.status.conditions}'; two CRDs cannot have the same names";
    AddonsApiUnreachable "addons.api-unreachable" NotYet
        why "add-ons are applied through the API server, and it does not answer; nothing else on the node waits for them"
        remedy "check its pod: crictl ps -a --name kube-apiserver, and quake-agent diagnose; the agent retries";
    AddonsApiDenied "addons.api-denied" Denied
        why "the API server and the kubeconfig of this node do not accept each other, or RBAC does not allow what add-ons need"
        remedy "check its user: kubectl --kubeconfig /var/lib/kops/kubeconfig auth whoami; the certificate needs the cluster's CA and a group with full access, such as system:masters";
    AddonsThrottled "addons.throttled" Transient
        why "the API server asks for fewer requests; a client that does not slow down waits longer"
        remedy "wait; if it lasts, find the client with the most requests: kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels";
    AddonsWebhookSilent "addons.webhook-silent" Transient
        why "an admission webhook does not answer, so the API server refuses the objects that it checks"
        remedy "check its pods: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations, then its service; if its pods are gone for good, delete its configuration";
    AddonsPruneFailed "addons.prune-failed" Transient
        why "an object that is no longer part of the add-on stays in the cluster; the objects of the add-on are applied"
        remedy "the agent retries; by hand: kubectl delete <kind> <name> -n <namespace>";
    AddonsIssuerUnserved "addons.issuer-unserved" NotYet
        why "the add-on gets certificates from cert-manager, and the API server does not serve its issuers yet; pods that mount one wait"
        remedy "check the add-on cert-manager: quake-agent addons list; the agent retries when the CRD issuers.cert-manager.io exists";
    AddonsPodForeign "addons.pod-foreign" Refused
        why "the agent replaces the pod kops-channels and may remove only its manifest; the manifest here is another one, and its pod may apply add-ons too"
        remedy "read it; if it applies add-ons or is not needed, remove it: rm /etc/kubernetes/manifests/kops-channels.manifest; if it is needed, give it another name";
    AddonsLeaseLost "addons.lease-lost" NotYet
        why "another node holds the lease and applies the add-ons now; two nodes would undo each other's work"
        remedy "nothing: the node with the lease continues; kubectl get lease quake-agent -n kube-system names it";
    AddonsPodFailing "addons.pod-failing" NotYet
        why "the pod that applies the cluster's add-ons reports that its last attempt failed; applied objects stay"
        remedy "read its log: tail -n 50 /var/log/containers/kops-channels*.log; quake-agent addons plan shows the drift of each object";

    EtcdBackupMissing "etcd.backup-missing" Refused
        why "there is no backup to restore from, or the one that was named is not there; a restore without one would be an empty cluster"
        remedy "list them: quake-agent etcd backups; without any, the volumes that are left have the only copy: aws ec2 create-snapshot --volume-id <id> for each before anything else";
    EtcdSnapshotCorrupt "etcd.snapshot-corrupt" Refused
        why "the snapshot is truncated, or its bytes are not those that etcd wrote; etcd restored from it would lose keys without a word"
        remedy "choose another backup: quake-agent etcd backups --verify NAME for the one before, then --backup NAME";
    EtcdSnapshotsMixed "etcd.snapshots-mixed" Refused
        why "members restored from different backups form one cluster with different data, and etcd does not notice"
        remedy "restore all members from one backup; if the other restore is a mistake, remove its command: aws s3 rm <backup store>/control/<command>/_command.json";
    EtcdBackupForeign "etcd.backup-foreign" Refused
        why "the snapshot was taken of another cluster or of another etcd cluster; restored here, the API server would act on objects of elsewhere"
        remedy "take a backup of this etcd cluster: quake-agent etcd backups lists them; the snapshot's members have the names <member>.internal.<cluster>";
    EtcdVersionUnsupported "etcd.version-unsupported" Refused
        why "etcd reads what its own minor version and the one before wrote; it fails on anything newer or much older"
        remedy "choose a backup that this etcd version wrote, or set the version that wrote it: kops edit cluster, etcdClusters[].version";
    EtcdQuorumHealthy "etcd.quorum-healthy" Refused
        why "a majority of members is healthy or may be, so the cluster has newer data than any backup; a restore would throw it away"
        remedy "replace the lost member only: quake-agent volumes wipe <id> --slot <slot> --i-know-this-is-empty --yes, and etcd fills it; to replace the data nevertheless: --replace-healthy-quorum";
    EtcdMembersMissing "etcd.members-missing" NotYet
        why "etcd-manager restores into a new cluster of all members, or of one less of an odd number; with fewer it would copy the backup into what is there"
        remedy "create the volumes and instances: kops update cluster --yes; allow each new volume: quake-agent volumes wipe <id> --slot <slot> --i-know-this-is-empty --yes; quake-agent etcd restore --plan counts the members that run";
    EtcdMemberRunning "etcd.member-running" NotYet
        why "etcd still has its database open; data that is replaced below a running etcd is written over by it"
        remedy "stop kubelet and etcd on this node: systemctl stop kubelet, then docker stop of etcd's containers; start kubelet after the restore";
    EtcdProgramsMissing "etcd.programs-missing" Invalid
        why "a real etcd checks and restores the snapshot, and this host has none of a version that reads it"
        remedy "name a directory that has them: --etcd-bin DIR; on a node of kops they are in etcd-manager's pod: ls -d /var/lib/kubelet/pods/*/volumes/kubernetes.io~empty-dir/*/etcd-v*";
    EtcdRestoreFailed "etcd.restore-failed" Transient
        why "a program of etcd did not restore the snapshot, or the restored etcd did not answer; the member's data is as it was"
        remedy "read what the program printed in the causes; try another backup: quake-agent etcd restore --rehearse --backup NAME";

    BootBudgetExceeded "boot.budget-exceeded" Bug
        why "the agent made more cloud calls than a boot can need, and used up the quota of the account"
        remedy "fix the earlier faults of this boot; report it with: quake-agent status --output json";
    BootSinkFailed "boot.sink-failed" Transient
        why "one destination of events could not be written; the boot itself is not affected"
        remedy "df -h /var/lib/quake-agent /run; ls -ld /var/lib/quake-agent/boots; systemctl status systemd-journald";
    BootInterrupted "boot.interrupted" NotYet
        why "the agent received a signal to stop; completed steps stay"
        remedy "start the agent again: systemctl start quake-agent";
    BootPhaseTimedOut "boot.phase-timed-out" Transient
        why "a call to this host or to a service never returned, so the boot ended at its deadline; completed steps stay"
        remedy "find what hangs: dmesg | tail -50 (a failing disk, a process in state D); systemctl start quake-agent continues the boot; reboot if a disk does not answer";
    BootResourcesExhausted "boot.resources-exhausted" Transient
        why "the host has no file descriptor, thread or memory left for the agent; the agent keeps its last verdict and retries"
        remedy "find what uses them: cat /proc/sys/fs/file-nr; systemctl status quake-agent (Tasks, Memory); free -m; ps -eLf | wc -l; stop that program, or raise LimitNOFILE, TasksMax or the memory";
    BootConsoleDenied "boot.console-denied" Denied
        why "the operator may not read the console of an instance, so `quake-agent fleet --from-console` does not know how it booted"
        remedy "allow ec2:GetConsoleOutput on the cluster's instances for the operator: quake-agent iam policy --role operator prints the statement";
    BootConsoleUnread "boot.console-unread" Transient
        why "EC2 did not show the console of an instance, so `quake-agent fleet --from-console` does not know how it booted"
        remedy "run the command again; if EC2 answers RequestLimitExceeded, use a smaller --limit or one --instance-group";
    BootReportDenied "boot.report-denied" Denied
        why "the node may not write its boot report to the state store, so `quake-agent fleet` does not show this boot; the boot itself is not affected"
        remedy "allow s3:PutObject on boot-reports/* below the cluster's directory (quake-agent iam policy has the statement), or turn reports off: QUAKE_AGENT_BOOT_REPORT=off in /etc/default/quake-agent";
    BootReportFailed "boot.report-failed" Transient
        why "the boot report could not be written in time, so `quake-agent fleet` shows an older boot or none; the boot itself is not affected"
        remedy "nothing, if it happens once; else check the route to the state store, and on S3 that the bucket's policy requires only its default encryption";
    BootReportUnplaced "boot.report-unplaced" NotYet
        why "the boot ended before it knew the cluster's state store, so its report is only on this host"
        remedy "fix the fault of the boot: quake-agent status; its ledger is in /var/lib/quake-agent/boots";
    BootSignalDenied "boot.signal-denied" Denied
        why "the agent may not report the result of the boot to the Auto Scaling group or the API server; the boot itself is not affected"
        remedy "for the group: allow the statements of quake-agent iam policy --with-signals; for the API server: let the group system:nodes create events; or remove the signal from /etc/default/quake-agent";
    BootSignalFailed "boot.signal-failed" Transient
        why "the Auto Scaling group or the API server did not accept the result of the boot in time; the boot itself is not affected"
        remedy "nothing, if it happens once; else check the route to the service; meanwhile act by hand: aws autoscaling set-instance-health --instance-id <id> --health-status Unhealthy";
    BootSignalUnplaced "boot.signal-unplaced" NotYet
        why "the result of the boot has no receiver: the instance is unknown, is in no Auto Scaling group, or does not wait at the hook"
        remedy "compare the hook with aws autoscaling describe-lifecycle-hooks --auto-scaling-group-name <group>, and check that the instance is in the group; else remove the signal from /etc/default/quake-agent";
    BootInternal "boot.internal" Bug
        why "an invariant of the agent is broken"
        remedy "keep /var/lib/quake-agent/boots and report it with: quake-agent status --output json";
}
