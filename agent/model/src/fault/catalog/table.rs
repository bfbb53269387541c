//! Every code: its name, its class, why it matters and what to do. Add a row and nothing else.

use super::Entry;
use crate::fault::Class;
use serde::{Deserialize, Serialize};

catalogue! {
    IdentityImdsUnreachable "identity.imds-unreachable" Transient
        why "without the instance metadata service the agent knows neither what this instance is nor its credentials"
        remedy "look for the way: ip route get 169.254.169.254; let port 80 of it (and fd00:ec2::254) past nftables and iptables; in a container: aws ec2 modify-instance-metadata-options --instance-id <id> --http-put-response-hop-limit 2";
    IdentityImdsDisabled "identity.imds-disabled" Denied
        why "the metadata service answers and gives no token: it is turned off, or what stands in its place refuses this host"
        remedy "run: aws ec2 modify-instance-metadata-options --instance-id <id> --http-endpoint enabled --http-tokens required";
    IdentityImdsMalformed "identity.imds-malformed" Transient
        why "the metadata service answered something that is not metadata, as an error page of something in its way would"
        remedy "the agent asks it without a proxy, so something redirects the address: iptables -t nat -S OUTPUT; let 169.254.169.254 and fd00:ec2::254 past it and try: curl -X PUT http://169.254.169.254/latest/api/token -H 'X-aws-ec2-metadata-token-ttl-seconds: 60'";
    IdentityRoleMissing "identity.role-missing" NotYet
        why "no IAM role is attached to the instance, and without one it can neither read the state store nor attach volumes; a new profile takes some seconds to appear"
        remedy "run: aws ec2 associate-iam-instance-profile --instance-id <id> --iam-instance-profile Name=<profile>; and name it in the launch template (IamInstanceProfile)";
    IdentityTagsPending "identity.tags-pending" NotYet
        why "EC2 shows no tag of the cluster on this instance yet; kubelet's cloud provider reads them once, and started before they are there it stays broken until restarted"
        remedy "wait; if they never come: aws ec2 create-tags --resources <id> --tags Key=KubernetesCluster,Value=<cluster>; and give the auto scaling group's tags PropagateAtLaunch";
    IdentityDescribeDenied "identity.describe-denied" Denied
        why "the agent may not read the instance's own tags, which kubelet's cloud provider needs before it starts"
        remedy "allow ec2:DescribeInstances on * for the node's role: quake-agent iam policy prints the statement";
    IdentityInstanceUnknown "identity.instance-unknown" NotYet
        why "EC2 does not show this instance yet; its reads lag behind a launch"
        remedy "wait; if it lasts: aws ec2 describe-instances --instance-ids <id>, and take a wrong AWS_REGION or AWS_ENDPOINT_URL out of the unit: systemctl show quake-agent -p Environment";
    IdentityClockSkew "identity.clock-skew" NotYet
        why "the clock is off, and AWS refuses requests signed more than five to fifteen minutes off"
        remedy "start chrony or systemd-timesyncd with server 169.254.169.123, or step the clock: chronyc makestep";
    IdentityOsUnknown "identity.os-unknown" Invalid
        why "there is no /etc/os-release, and without it the agent does not know this distribution's paths and packages"
        remedy "run: ln -s ../usr/lib/os-release /etc/os-release; a scratch root needs a copy of one";
    IdentityOsUnsupported "identity.os-unsupported" Invalid
        why "the paths, packages and kernel of this distribution are not known, and a node that is half set up runs pods and breaks them"
        remedy "launch the instance group from an image of Debian 12 or 13, Ubuntu 22.04, 24.04 or 26.04, Amazon Linux 2023 or Flatcar: kops edit instancegroup <group>, spec.image";

    ConfigUserDataUnusable "config.user-data-unusable" Invalid
        why "the user data holds no kube_env.yaml, so the node does not know what to become"
        remedy "quake-agent user-data explain says what is wrong with it; render it again with the cluster's tool (kops update cluster --yes) and launch the instance anew, or pass --kube-env FILE";
    ConfigYamlSyntax "config.yaml-syntax" Invalid
        why "the document is no YAML, as a rule because an upload was cut off, and what cannot be read is not applied in part"
        remedy "correct the file at the line and column named; quake-agent check FILE tries it";
    ConfigYamlTooLarge "config.yaml-too-large" Invalid
        why "the document expands beyond what any configuration needs, as a crafted one does"
        remedy "write the object again with the cluster's tool (kops update cluster --yes), without nested anchors and aliases, and look who else writes to the bucket";
    ConfigWrongType "config.wrong-type" Invalid
        why "a value of another type would be read as something nobody wrote"
        remedy "give the value the type named, at the line and column named";
    ConfigUnknownKey "config.unknown-key" Invalid
        why "a key that nothing reads is usually a misspelt one, and its setting is silently lost"
        remedy "correct or remove the key; on a node it is a warning, so that an older agent survives a newer spec";
    ConfigMissingKey "config.missing-key" Invalid
        why "a value is not given that the node cannot be configured without"
        remedy "add the key named to the document named; quake-agent check FILE tries it";
    ConfigUnknownRole "config.unknown-role" Invalid
        why "the instance group's role is none that the agent knows, and the role decides everything the node runs"
        remedy "set spec.role of the instance group to Master, Node, APIServer or Bastion: kops edit ig <group>, then kops update cluster --yes";
    ConfigRoleDisagrees "config.role-disagrees" Invalid
        why "user data and instance group give the node different roles, and with the wrong one it joins the cluster as something it is not"
        remedy "make the instance group's role and the _kubernetes_master tag of kube_env.yaml agree: render the user data again";
    ConfigClusterSpecMissing "config.cluster-spec-missing" Invalid
        why "the cluster spec says what this node runs, and neither the state store nor the user data has it"
        remedy "write it with the cluster's tool (kops update cluster --yes), or correct ConfigBase";
    ConfigInstanceGroupMissing "config.instance-group-missing" Invalid
        why "the instance group says which role this node has, and neither the state store nor the user data has it"
        remedy "write it with the cluster's tool (kops update cluster --yes), or correct InstanceGroupName";
    ConfigDrift "config.drift" Invalid
        why "the state store has changed since this instance was launched, so a reboot applies what no launch reviewed"
        remedy "quake-agent plan says what a reboot would change; if that is wanted, roll the group: kops rolling-update cluster --instance-group <group> --yes; if not, put the old values back: kops edit cluster";
    ConfigHashMismatch "config.hash-mismatch" Invalid
        why "this instance was launched from a template older (or newer) than the state store, so the configuration there is not the one its user data was made for"
        remedy "replace the instance: kops update cluster --yes, so that the launch template names the configuration in the state store, then kops rolling-update cluster --instance-group <group> --yes";
    ConfigAssetMalformed "config.asset-malformed" Invalid
        why "an asset that is not digest@url[,url] cannot be fetched and verified"
        remedy "correct the entry: <sha1|sha256|sha512 hex>@https://host/path[,https://mirror/path]; s3://bucket/key may stand for each URL";
    ConfigDigestRefused "config.digest-refused" Invalid
        why "md5 can be forged and a missing digest verifies nothing, so the bytes could be anybody's"
        remedy "pin the asset with sha256 (or sha1 for old clusters)";
    ConfigWeakDigest "config.weak-digest" Invalid
        why "sha1 can be forged by a determined attacker"
        remedy "pin the asset with sha256 when the cluster's tool allows it";
    ConfigLocationUnusable "config.location-unusable" Invalid
        why "the state store cannot be read from this location"
        remedy "use s3://bucket/prefix or file:///path";
    ConfigUnsupported "config.unsupported" Invalid
        why "the spec asks for something this agent does not do, and doing half of it would leave a broken node"
        remedy "take the setting named out (kops edit cluster, kops edit ig <group>), or use an agent that supports it";
    ConfigObjectMissing "config.object-missing" Invalid
        why "an object the configuration refers to is not in the state store"
        remedy "write it with the cluster's tool (kops update cluster --yes)";
    ConfigObjectMalformed "config.object-malformed" Invalid
        why "an object of the state store is larger than any configuration, or not what its name says"
        remedy "write it again with the cluster's tool (kops update cluster --yes), and look who else writes to the bucket";
    ConfigStoreDenied "config.store-denied" Denied
        why "the node's role may not read its own configuration"
        remedy "allow the action named on the object named for the node's role: quake-agent iam policy prints the statements; with KMS encryption also kms:Decrypt on the key";
    ConfigStoreUnreachable "config.store-unreachable" Transient
        why "the state store does not answer"
        remedy "try from the node: curl -sS https://s3.<region>.amazonaws.com; fix routes, DNS or proxies; an S3 gateway endpoint makes it independent of NAT";
    ConfigBucketMissing "config.bucket-missing" Invalid
        why "the state store's bucket does not exist in this partition"
        remedy "correct the bucket in ConfigBase, or restore it: aws s3api head-bucket --bucket <bucket>";
    ConfigControllerUnregistered "config.controller-unregistered" NotYet
        why "the control plane has not registered itself yet: the name of kops-controller has no address, or the one that stands for none until there is one"
        remedy "wait while the control plane boots; if it lasts: kops validate cluster, then on the control plane see etcd, kube-apiserver and kops-controller (and dns-controller, which writes the record), and whether the VPC resolves the cluster's private zone: dig kops-controller.internal.<cluster>";
    ConfigControllerUnreachable "config.controller-unreachable" Transient
        why "a worker gets its configuration and its certificates from kops-controller on the control plane, and none of its servers answers"
        remedy "see whether it runs: kubectl -n kube-system get pods -l k8s-app=kops-controller; let port 3988 of the control plane, or of its load balancer, past security groups and ACLs: nc -vz <server> 3988";
    ConfigControllerFailing "config.controller-failing" Transient
        why "kops-controller answers and fails: it cannot ask the API server for the node, or cannot read the group's configuration, or something else answers in its place"
        remedy "read why: kubectl -n kube-system logs -l k8s-app=kops-controller; with \"failed to build node config\" the instance's tag kops.k8s.io/instancegroup and igconfig/node/<group>/nodeupconfig.yaml in the state store must be there";
    ConfigControllerUntrusted "config.controller-untrusted" Denied
        why "what answers in the place of kops-controller does not prove to be it: its certificate is signed by another CA than the user data trusts, or is for another name"
        remedy "if the cluster's CA was rotated, this instance was launched from an older launch template: kops update cluster --yes, then kops rolling-update cluster --instance-group <group> --yes; else see who answers: openssl s_client -connect <server>:3988 -servername kops-controller.internal.<cluster>";
    ConfigControllerDenied "config.controller-denied" Denied
        why "kops-controller does not take this instance for a node of its cluster: STS must know the signature, the account and partition must be the cluster's, the role one of its node groups', and EC2 must show it the instance"
        remedy "read which check failed: kubectl -n kube-system logs -l k8s-app=kops-controller | grep 'verify err'; then fix it: the instance profile of the group, kops update cluster --yes for a role that kops-controller does not list, ec2:DescribeInstances for the control plane's role; throttled calls of its own look the same, and pass";
    ConfigControllerRejected "config.controller-rejected" Invalid
        why "kops-controller can do nothing with what it was asked for: most often this instance was launched for another generation of the cluster's CA than it signs with"
        remedy "read why: kubectl -n kube-system logs -l k8s-app=kops-controller; replace the instance: kops update cluster --yes, then kops rolling-update cluster --instance-group <group> --yes";
    ConfigNodeExists "config.node-exists" Denied
        why "a node of this instance's name is Ready in the cluster, and kops-controller gives nobody else its certificates; this instance does not hold what an earlier boot of it got"
        remedy "kubectl get node <instance-id>; is kubelet here not its owner any more, delete it: kubectl delete node <instance-id>, and start the agent: systemctl reset-failed quake-agent && systemctl start quake-agent; else replace the instance";
    ConfigItemConflict "config.item-conflict" Invalid
        why "two parts of the configuration want different things in one place, and which of them is meant nobody can tell"
        remedy "take one of them out of the cluster's or the group's spec (fileAssets, hooks, volumeMounts), then kops update cluster";
    ConfigEtcdDisagrees "config.etcd-disagrees" Invalid
        why "etcd-manager would look for other volumes than those that the agent chooses, and could start etcd without its data"
        remedy "render both anew with: kops update cluster --yes; then replace the instance";
    ConfigInstanceTypeDenied "config.instance-type-denied" Denied
        why "pods get addresses of the instance, and how many its type has could not be asked"
        remedy "allow ec2:DescribeInstanceTypes on * for the role, or set maxPods in the spec's kubelet section";
    ConfigInstanceTypeUnknown "config.instance-type-unknown" Transient
        why "pods get addresses of the instance, and EC2 did not say how many its type has"
        remedy "nothing, if it heals; else check the route to EC2, or set maxPods in the spec's kubelet section";

    NetworkModuleMissing "network.module-missing" Invalid
        why "the kernel lacks a module the node's networking needs"
        remedy "try: modprobe <module>; install the package with the kernel's extra modules, or use an image whose kernel has it";
    NetworkSysctlRefused "network.sysctl-refused" Denied
        why "the kernel did not take a setting the node needs"
        remedy "look whether /proc/sys is read-only: findmnt /proc/sys; run as root on the host and not in a container; a setting of net.bridge needs: modprobe br_netfilter";
    NetworkUnreadable "network.unreadable" Denied
        why "the kernel did not let the agent list links, addresses and routes"
        remedy "run in the host's network namespace, with AF_NETLINK allowed: systemctl show quake-agent -p PrivateNetwork -p RestrictAddressFamilies";
    NetworkPrefixDenied "network.prefix-denied" Denied
        why "pods of a cluster of IPv6 alone get their addresses from a prefix of the instance, and this one may not ask for it"
        remedy "allow ec2:AssignIpv6Addresses on the node's network interface for the role";
    NetworkPrefixFailed "network.prefix-failed" Transient
        why "pods of a cluster of IPv6 alone get their addresses from a prefix of the instance, and EC2 gave none"
        remedy "see that the subnet has an IPv6 range with a free /80: aws ec2 describe-subnets --subnet-ids <subnet>";
    NetworkPrefixPending "network.prefix-pending" NotYet
        why "EC2 assigned an IPv6 prefix, and the instance's metadata does not show it yet"
        remedy "nothing, as a rule it takes seconds; else: aws ec2 describe-network-interfaces --network-interface-ids <eni>";

    DnsZoneMissing "dns.zone-missing" Invalid
        why "the cluster names a hosted zone that does not exist, or that does not hold its names: nodes and etcd's members cannot find each other"
        remedy "see which zones there are: aws route53 list-hosted-zones; correct dnsZone and topology.dns.type of the cluster, then: kops update cluster --yes";
    DnsZoneAmbiguous "dns.zone-ambiguous" Invalid
        why "several hosted zones have the name that the cluster gives, and names in the wrong one are found by nobody"
        remedy "name the zone by its id in dnsZone of the cluster, or associate only one private zone of this name with the VPC";
    DnsDenied "dns.denied" Denied
        why "the node may not use the hosted zone, so that etcd's members and the other nodes do not find it"
        remedy "allow route53:ListResourceRecordSets, route53:ChangeResourceRecordSets and route53:GetHostedZone on the zone for the role: quake-agent iam policy --zone <id> prints the statements";
    DnsRefused "dns.refused" Invalid
        why "Route 53 does not take a request of the agent, for a reason that the agent has no name for; asked again it would say the same"
        remedy "read what Route 53 said (error code, and the text behind it) in its API reference: a name or an address that it does not take, or a limit of the zone; correct the cluster, or report it with the boot's ledger";
    DnsThrottled "dns.throttled" Transient
        why "Route 53 answers five requests a second for a whole account, and somebody asks more often, or changes the same zone"
        remedy "wait: the agent tries again; if it lasts, see in CloudTrail who calls route53.amazonaws.com so often";
    DnsNoAnswer "dns.no-answer" Transient
        why "Route 53 does not answer, so that the node's names may lead elsewhere"
        remedy "try from the node: curl -sS https://route53.amazonaws.com; it has no VPC endpoint, so that a private subnet needs NAT or a proxy";
    DnsConflict "dns.conflict" Conflict
        why "somebody else changed the same names at the same time; what they wrote is not undone"
        remedy "nothing, as a rule the agent's next look settles it; if it lasts, see who else writes the names: aws route53 list-resource-record-sets --hosted-zone-id <zone>";
    DnsRecordForeign "dns.record-foreign" Refused
        why "the name is an alias or has a routing policy, which the agent did not make and does not change"
        remedy "remove the record, or let it lead to the node; kops makes plain address records only";
    DnsPending "dns.pending" NotYet
        why "Route 53 has taken the names and not all of its name servers answer with them yet"
        remedy "nothing, as a rule it takes a minute; else: aws route53 get-change --id <change>";

    StorageVolumeConflict "storage.volume-conflict" Refused
        why "several volumes claim one etcd member, and choosing the wrong one could start the cluster from old data"
        remedy "find out which one has the data: quake-agent volumes explain; then: quake-agent volumes pin <volume id> --slot <slot> --yes, or for the others: quake-agent volumes ignore <volume id> --reason <text> --yes";
    StorageVolumeElsewhere "storage.volume-elsewhere" Invalid
        why "EBS attaches a volume only within its own zone, so this node can never use it"
        remedy "copy it into the instance's zone (aws ec2 create-snapshot, then aws ec2 create-volume --availability-zone <zone>, with its tags) and leave it out: quake-agent volumes ignore <volume id> --reason <text> --yes; or correct the instance group's subnets";
    StorageVolumeHeld "storage.volume-held" NotYet
        why "another instance holds the volume, and only one may"
        remedy "wait for the other instance to end; if it should not run: aws autoscaling terminate-instance-in-auto-scaling-group --instance-id <holder> --no-should-decrement-desired-capacity";
    StorageVolumeMissing "storage.volume-missing" NotYet
        why "without its volume this etcd member has no place for its data"
        remedy "look for one that lacks a tag: quake-agent volumes list --all; create it with the cluster's tool: kops update cluster --yes";
    StorageVolumeBusy "storage.volume-busy" NotYet
        why "the volume is being created, attached or detached, or another program has its device"
        remedy "wait; a volume that stays so for ten minutes: aws ec2 describe-volumes --volume-ids <id>, then aws ec2 reboot-instances --instance-ids <the instance that it hangs on>";
    StorageMultiAttach "storage.multi-attach" Refused
        why "a volume that two instances may mount at once can be written by both, and ext4 does not survive that"
        remedy "while it is attached nowhere: aws ec2 modify-volume --volume-id <id> --no-multi-attach-enabled (io2); or copy it by a snapshot to a volume without";
    StorageTagMalformed "storage.tag-malformed" Invalid
        why "the volume's k8s.io/etcd tag cannot be read, and it decides which etcd member the volume belongs to"
        remedy "run: aws ec2 create-tags --resources <id> --tags 'Key=k8s.io/etcd/<cluster>,Value=\"<member>/<member>,<member>\"'";
    StorageDescribeDenied "storage.describe-denied" Denied
        why "the agent may not list volumes, and so cannot find this node's"
        remedy "allow ec2:DescribeVolumes on * for the control plane's role: quake-agent iam policy --role control-plane prints the statement";
    StorageAttachDenied "storage.attach-denied" Denied
        why "the agent may not attach the node's volume"
        remedy "allow ec2:AttachVolume for the control plane's role on both the volume and the instance; kops' policy asks for the tag KubernetesCluster on both";
    StorageAttachFailed "storage.attach-failed" Conflict
        why "the volume could not be attached as planned; someone else may have taken it"
        remedy "nothing at first: the volumes are read again and the choice is made anew";
    StorageCloudUnreachable "storage.cloud-unreachable" Transient
        why "the EC2 API does not answer"
        remedy "try from the node: curl -sS https://ec2.<region>.amazonaws.com; fix routes, DNS or proxies; a private subnet needs a NAT or an interface endpoint of EC2";
    StorageDeviceMissing "storage.device-missing" NotYet
        why "EC2 says attached, and the kernel shows no device with the volume's serial"
        remedy "wait; then: lsblk -o NAME,SERIAL; echo 1 > /sys/bus/pci/rescan; modprobe nvme; at last: aws ec2 reboot-instances --instance-ids <id>";
    StorageDeviceNotBlank "storage.device-not-blank" Refused
        why "formatting a device that carries a signature would destroy data"
        remedy "look what it is: wipefs --no-act <device>; if it is not wanted, take a snapshot and run wipefs --all <device> on another instance, or create a new volume";
    StorageFilesystemUnusable "storage.filesystem-unusable" Refused
        why "mounting or repairing a damaged filesystem blindly can lose what is left of it"
        remedy "aws ec2 create-snapshot --volume-id <id>, then: e2fsck -f <device>; or restore etcd's backup";
    StorageMountOccupied "storage.mount-occupied" Refused
        why "something else is mounted where the volume belongs"
        remedy "findmnt <path> and fuser -vm <path> say what it is; if nobody needs it: umount <path>";
    StorageFormatFailed "storage.format-failed" Denied
        why "a blank volume could not be given its filesystem"
        remedy "install e2fsprogs if mkfs.ext4 is missing; else read the kernel's messages: dmesg | tail; a device that is read-only (blockdev --getro <device>) needs a new volume";
    StorageMountFailed "storage.mount-failed" Denied
        why "the kernel did not mount the volume"
        remedy "read the kernel's messages: dmesg | tail; a kernel without ext4 needs: modprobe ext4";
    StorageMountGone "storage.mount-gone" Transient
        why "etcd would write below the mount point, onto the root disk, where nothing is kept"
        remedy "find out who unmounted it: journalctl -b -k; then: systemctl restart quake-agent.service mounts it, and the etcd pod must be started again";
    StorageFilesystemRepaired "storage.filesystem-repaired" Transient
        why "the filesystem had faults that a safe repair fixed; something wrote to it or stopped badly"
        remedy "nothing now; if it comes again, look at the volume and at what stops the instance";
    StorageCheckFailed "storage.check-failed" Denied
        why "a filesystem that cannot be checked is not mounted read-write"
        remedy "install e2fsprogs if e2fsck is missing; else read the kernel's messages: dmesg | tail; an impaired volume needs: aws ec2 enable-volume-io --volume-id <id>";
    StorageGrowFailed "storage.grow-failed" Denied
        why "the volume is larger than its filesystem"
        remedy "install e2fsprogs if resize2fs is missing, then: resize2fs <device>, mounted as it is";
    StorageSeveralPins "storage.several-pins" Refused
        why "two operators chose differently, and neither choice is more right"
        remedy "take the tag quake.io/etcd-pin off all but one: quake-agent volumes unpin <volume id> --yes";
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
        why "the volume has several k8s.io/etcd tags, and holds the data of one etcd cluster only; which one cannot be told"
        remedy "keep one: aws ec2 delete-tags --resources <id> --tags Key=k8s.io/etcd/<the wrong one>";
    StorageHeldByForeign "storage.held-by-foreign" Refused
        why "an instance of another group uses the volume of this group's member"
        remedy "find out why that instance holds it; stop what uses it, unmount it, then: aws ec2 detach-volume --volume-id <id>";
    StorageTwoMembers "storage.two-members" Refused
        why "this instance holds the volumes of two members of one etcd cluster, and would count twice in its quorum"
        remedy "stop etcd, unmount the volumes of one member, then for each: aws ec2 detach-volume --volume-id <id>; the agent never detaches";
    StorageNoMember "storage.no-member" Invalid
        why "the spec gives this instance group no etcd member in this zone"
        remedy "correct etcdMembers[].instanceGroup in the cluster spec (kops edit cluster), or the instance group's subnets (kops edit ig <group>)";
    StorageHolderEnding "storage.holder-ending" NotYet
        why "the instance that holds the volume is going, and EC2 has not released it yet"
        remedy "wait; after half an hour: aws ec2 terminate-instances --instance-ids <holder>, and only once it is terminated: aws ec2 detach-volume --volume-id <id> --force";
    StorageHolderStopped "storage.holder-stopped" NotYet
        why "a stopped instance keeps its volumes, and only an operator knows whether it comes back"
        remedy "aws ec2 start-instances --instance-ids <holder> if it comes back; else aws ec2 terminate-instances, or aws ec2 detach-volume --volume-id <id>";
    StorageHolderUnknown "storage.holder-unknown" NotYet
        why "EC2 names an instance as the volume's holder and does not describe that instance"
        remedy "wait; then: aws ec2 describe-instances --instance-ids <holder>; if nobody has such an instance: aws ec2 detach-volume --volume-id <id>";
    StorageViewInconsistent "storage.view-inconsistent" NotYet
        why "EC2's answers contradict each other or have just changed, and no decision is made on such a view"
        remedy "wait; then: aws ec2 describe-volumes --volume-ids <id>";
    StorageAttachLimit "storage.attach-limit" Denied
        why "the instance holds as many volumes as its type can"
        remedy "detach volumes that nothing uses (kubectl get volumeattachments), or give the instance group a larger machineType: kops edit ig <group>";
    StorageKeyDenied "storage.key-denied" Denied
        why "EC2 cannot use the key that encrypts the volume"
        remedy "allow kms:CreateGrant and kms:Decrypt on the volume's key for the control plane's role, and see that the key is enabled: aws kms describe-key --key-id <key>";
    StorageDeviceUnreadable "storage.device-unreadable" Refused
        why "a device that cannot be read cannot be shown to be empty"
        remedy "aws ec2 describe-volume-status --volume-ids <id>; an impaired volume: aws ec2 enable-volume-io --volume-id <id>; else restore its newest snapshot into a new one";
    StorageSignatureAmbiguous "storage.signature-ambiguous" Refused
        why "several signatures are on the device, and at most one of them is true"
        remedy "find out which one is meant (wipefs --no-act <device>), or use another volume";
    StorageDataUnsigned "storage.data-unsigned" Refused
        why "the device holds bytes that this agent did not write"
        remedy "look whose they are: hexdump -C -s <offset> -n 256 <device>; if they are not wanted, take a snapshot and zero the volume on another instance (blkdiscard -z <device>), or create a new one";
    StorageBlankFromSnapshot "storage.blank-from-snapshot" Refused
        why "a volume made from a snapshot should hold data and is empty"
        remedy "make a volume from the right snapshot, or for an empty member one without a snapshot; then: quake-agent volumes ignore <volume id> --reason <text> --yes";
    StorageDataExpected "storage.data-expected" Refused
        why "the volume is empty where this member has had data; to begin empty would lose the member, or the cluster, in silence"
        remedy "restore the backup, or attach the volume that has the data; if an empty member is wanted: quake-agent volumes wipe <volume id> --slot <slot> --i-know-this-is-empty --yes";
    StorageForeignClusterData "storage.foreign-cluster-data" Refused
        why "the volume holds the data of another cluster, or of an earlier life of this one"
        remedy "use the right volume; to take this one nevertheless: quake-agent volumes adopt <volume id> --yes";
    StorageForeignMemberData "storage.foreign-member-data" Refused
        why "the volume holds the data of another etcd member"
        remedy "put the tag right: aws ec2 create-tags --resources <id> --tags 'Key=k8s.io/etcd/<cluster>,Value=\"<member>/<member>,<member>\"'; no adoption lets another member's data in";
    StorageVolumeCloned "storage.volume-cloned" Refused
        why "the volume is a copy of another one, and both could be used as the same member"
        remedy "to use the copy: quake-agent volumes ignore <original> --reason <text> --yes, then quake-agent volumes adopt <volume id> --yes; else: quake-agent volumes ignore <volume id> --reason <text> --yes";
    StorageLegacyUnproven "storage.legacy-unproven" Refused
        why "etcd data is on the volume, and nothing proves which cluster it belongs to"
        remedy "if it is this cluster's: quake-agent volumes adopt <volume id> --yes";
    StorageFilesystemUnproven "storage.filesystem-unproven" Refused
        why "an empty filesystem that this agent did not make may have been meant for something else"
        remedy "if it is meant for this member: quake-agent volumes adopt <volume id> --yes";
    StorageMarkerMissing "storage.marker-missing" Refused
        why "the filesystem holds files that are not etcd's, and not the agent's marker (.quake-agent/volume.json)"
        remedy "if it is this member's volume: quake-agent volumes adopt <volume id> --yes";
    StorageJournalUnusable "storage.journal-unusable" Transient
        why "/var/lib/quake-agent/volumes.json cannot be read, so it is not known which volume this instance asked EC2 for before its last stop"
        remedy "nothing: no volume is attached before EC2's views have stayed the same for 90 seconds";
    StorageTagDenied "storage.tag-denied" Denied
        why "the agent may not write the tags that say whose data the volume holds, or keep the volume when its instance ends; the marker on the volume still says whose it is"
        remedy "allow ec2:CreateTags, ec2:DeleteTags and ec2:ModifyInstanceAttribute on the cluster's volumes for the control plane's role: quake-agent iam policy --role control-plane prints the statements";
    StorageSurplusVolumes "storage.surplus-volumes" Refused
        why "another volume has the tags of a member that runs, or one was adopted; a second one would block the member's next bootstrap"
        remedy "leave it out: quake-agent volumes ignore <volume id> --reason <text> --yes; or after a snapshot: aws ec2 delete-volume --volume-id <volume id>";
    StorageSplitBundle "storage.split-bundle" Refused
        why "this instance holds members of different names, such as main/a and events/b, so losing it harms two"
        remedy "when the other member's instance is replaced: stop etcd here, umount the volume, aws ec2 detach-volume --volume-id <id>; that instance takes it";

    AssetsDigestMismatch "assets.digest-mismatch" Invalid
        why "the bytes are not those that were pinned: an error page, a republished file, or someone else's"
        remedy "curl -sL URL | sha256sum, and compare with what the publisher says; correct the pin, or the mirror";
    AssetsNotFound "assets.not-found" Invalid
        why "no mirror has the file, so the node cannot get it"
        remedy "publish the file to a mirror, or correct the URL and render the user data again; for one node: quake-agent seed load BUNDLE";
    AssetsForbidden "assets.forbidden" Denied
        why "the mirror refuses to hand out the file"
        remedy "make the object readable to the node (the bucket's policy), or correct the URL; for one node: quake-agent seed load BUNDLE";
    AssetsUnreachable "assets.unreachable" Transient
        why "no mirror answered"
        remedy "try from the node: curl -sS https://<host>; fix routes, DNS or proxies; without a way out: quake-agent seed load BUNDLE";
    AssetsArchiveUnsafe "assets.archive-unsafe" Invalid
        why "an archive that writes outside its directory or plants links and devices can take over the node"
        remedy "replace the archive with one that holds plain files below its own directory";
    AssetsMemberMissing "assets.member-missing" Invalid
        why "the archive does not hold a file the node needs"
        remedy "pin an archive that holds the file named: curl -sL <url> | tar -tzf - lists them; a store that lost it: quake-agent store verify --remove";
    AssetsSizeImplausible "assets.size-implausible" Invalid
        why "the mirror claims or sends more bytes than any asset has; taking them would fill the disk of the node"
        remedy "curl -sIL URL shows the length that the mirror claims; fix the mirror or the proxy, or name another mirror; for one node: quake-agent seed load BUNDLE";
    AssetsTooSlow "assets.too-slow" Transient
        why "the mirror gives fewer bytes than a node needs to start in time, and there is no other mirror"
        remedy "measure it from the node: curl -so /dev/null -w '%{speed_download}' URL; fix the mirror or the link, or name another mirror; for one node: quake-agent seed load BUNDLE";
    AssetsNoSpace "assets.no-space" Denied
        why "the filesystem of the asset store is full"
        remedy "quake-agent store gc --yes; or grow the root volume (rootVolumeSize of the instance group; at once: aws ec2 modify-volume --volume-id <id> --size <GiB>, growpart, resize2fs)";
    AssetsStoreFailed "assets.store-failed" Denied
        why "the asset store could not be written or read"
        remedy "findmnt -T /var/lib/quake-agent shows whether it is read-only, dmesg | tail why; quake-agent store verify shows what is broken";
    AssetsStoreLocked "assets.store-locked" NotYet
        why "another process holds a lock of the asset store, so its files cannot be changed safely"
        remedy "wait for that process, which the evidence names; one that hangs: kill <process id>, and the next try goes on";
    AssetsBundleDamaged "assets.bundle-damaged" Invalid
        why "a bundle that is not byte for byte as it was written was cut off, or someone had a hand in it"
        remedy "copy it once more, or write it anew: quake-agent seed bundle --kube-env FILE --out FILE";
    AssetsReleaseUnknown "assets.release-unknown" Invalid
        why "what a release gives its nodes is known from its source, and not guessed"
        remedy "take the assets from a node's user data (--kube-env FILE) or from a list (--list FILE)";
    AssetsPackagesLocked "assets.packages-locked" NotYet
        why "another program installs packages, and the package manager lets one in at a time"
        remedy "wait; or see who holds it: fuser -v /var/lib/dpkg/lock-frontend; systemctl stop unattended-upgrades";
    AssetsPackagesFailed "assets.packages-failed" Transient
        why "packages of the distribution that the node needs are not installed"
        remedy "install them by hand to see what the package manager says (apt-get install, dnf install), and see whether its sources can be reached";
    AssetsPackageUnknown "assets.package-unknown" Invalid
        why "no source of the distribution has a package of this name"
        remedy "correct the name in the spec's packages, or add the source it comes from to the image";
    AssetsKeyringUnusable "assets.keyring-unusable" Invalid
        why "what a source of packages serves as its signing key is none, and packages of it cannot be trusted"
        remedy "open the URL and see what it serves: a proxy's page, as a rule";
    AssetsUserRefused "assets.user-refused" Invalid
        why "a system user that the node needs cannot be made: its name or number is another's"
        remedy "see who has it: getent passwd <number>; getent group <number>; give that user another number";
    AssetsUserFailed "assets.user-failed" Transient
        why "a system user that the node needs was not made"
        remedy "make it by hand to see why: useradd --system --uid <number> <name>";

    CredentialsMissing "credentials.missing" Invalid
        why "the state store lacks a keypair that the node cannot authenticate without"
        remedy "write it with the cluster's tool (kops update cluster --yes); if pki/private/ca is gone, restore it from the bucket's versions and make no new one";
    CredentialsMalformed "credentials.malformed" Invalid
        why "the keypair in the state store cannot be read"
        remedy "put the last good version back: aws s3api list-object-versions --bucket <bucket> --prefix <key>; a client's keypair can be made anew: kops update cluster --yes";
    CredentialsDenied "credentials.denied" Denied
        why "the node's role may not read the keypair"
        remedy "allow s3:GetObject on the object named for the node's role: quake-agent iam policy prints the statement; with KMS encryption also kms:Decrypt on the key";
    CredentialsNotRenewed "credentials.not-renewed" Denied
        why "a certificate ends while the node runs, and what uses it stops working that day"
        remedy "replace the instance: kops rolling-update cluster --instance-group <name> --yes";
    CredentialsCertificateUnfit "credentials.certificate-unfit" Invalid
        why "kops-controller sent a certificate that is not what was ordered: of another CA, another key or another subject; a node that used it would be somebody else, and nothing of the answer is kept"
        remedy "see what kops-controller signs with: kubectl -n kube-system logs -l k8s-app=kops-controller; if the cluster's CA was rotated, replace the instance: kops rolling-update cluster --instance-group <group> --yes";

    FilesWriteFailed "files.write-failed" Denied
        why "a file could not be written, and the node would run on an old one"
        remedy "findmnt -T <path> shows whether it is read-only (mount -o remount,rw), lsattr -d <path> whether it is immutable, dmesg | tail whether the disk failed";
    FilesNoSpace "files.no-space" Denied
        why "the filesystem is full"
        remedy "find what fills it: df -h <path>, df -i <path>; journalctl --vacuum-size=200M; quake-agent store gc --yes; or grow the root volume";
    FilesOccupied "files.occupied" Refused
        why "something of another kind stands where the file belongs, and removing it could lose data"
        remedy "look what it is (ls -la <path>, findmnt <path>), then: mv <path> <path>.before-quake";
    FilesOverwritten "files.overwritten" Conflict
        why "somebody changed a file that the agent writes, and a boot writes every file as it is rendered: the change is gone"
        remedy "make the change where the node's configuration comes from (the cluster spec, the instance group, the user data), or in a drop-in of your own; quake-agent plan shows such changes before a boot overwrites them";
    FilesOwnerUnknown "files.owner-unknown" Invalid
        why "a file is to belong to a user or group that this machine does not have"
        remedy "see /etc/passwd and /etc/group; the users that the node makes itself are made before";
    FilesReactionFailed "files.reaction-failed" Transient
        why "a command that must follow a change of a file did not succeed, so what the file says is not in force"
        remedy "run the command by hand to see what it says; it is owed, and tried again on the next boot";

    ServicesBusUnreachable "services.bus-unreachable" Transient
        why "without the system bus the agent cannot start or watch a unit"
        remedy "systemctl status dbus; systemctl start dbus.socket dbus; if systemd itself hangs: systemctl daemon-reexec";
    ServicesUnitUnknown "services.unit-unknown" Invalid
        why "systemd does not know the unit, so it cannot be started"
        remedy "install the package that brings it, and bake it into the image; a masked one: systemctl unmask <unit>";
    ServicesUnitFailed "services.unit-failed" Transient
        why "a unit the node needs does not stay up"
        remedy "read the journal lines in the evidence, or: journalctl -b -u <unit>; fix what they say, then: systemctl restart <unit>";
    ServicesUnitStarting "services.unit-starting" NotYet
        why "the unit has not reached its active state"
        remedy "wait; then: systemctl status <unit>, and systemctl list-jobs shows what it waits for";
    ServicesImageFailed "services.image-failed" Transient
        why "the runtime lacks an image that the node has an archive of; kubelet will have to pull it"
        remedy "ask the runtime: ctr --namespace k8s.io images ls, or docker image ls; then start the agent again";
    ServicesImageUnusable "services.image-unusable" Invalid
        why "the archive holds no image that can be imported; kubelet will have to pull it"
        remedy "make the archive anew: an OCI image layout or what docker save writes, in a tar, that names its image";
    ServicesPullFailed "services.pull-failed" Transient
        why "an image that a warm pool has ready was not pulled; kubelet pulls it when a pod needs it, and the pod waits for that"
        remedy "pull it by hand to see why: ctr --namespace k8s.io images pull <image>";

    ReadyRuntimeSilent "ready.runtime-silent" NotYet
        why "kubelet can start no pod while the container runtime does not answer"
        remedy "journalctl -b -u containerd; containerd config dump says what it cannot read of /etc/containerd/config.toml";
    ReadyPodFailing "ready.pod-failing" NotYet
        why "a pod that this node runs from a file in /etc/kubernetes/manifests is not up; the node, and on a control plane the cluster, waits for it"
        remedy "read what it said last: tail /var/log/pods/kube-system_<pod>*/*/*.log; journalctl -b -u kubelet | grep <pod>; fix the flag, file or peer that it names";
    ReadyNodeUnregistered "ready.node-unregistered" NotYet
        why "the cluster gives no pod to a node that its API server does not know"
        remedy "journalctl -b -u kubelet | grep -i -e register -e unauthorized -e 'no such host' -e refused; then what it names: the name's address, the security group, the certificate";
    ReadyNodeForeign "ready.node-foreign" Conflict
        why "the cluster has an object of this name for another instance; labels and taints of this one would be said of that one"
        remedy "kubectl get node <name> -o jsonpath='{.spec.providerID}'; where that instance is gone: kubectl delete node <name>, and kubelet registers this one; else give one of the two another name";
    ReadyNodeIdentityDenied "ready.node-identity-denied" Denied
        why "without its labels and taints the cluster places pods as if the node were another; the API server lets this kubeconfig say no more of it"
        remedy "let kubelet say it of a node that it registers anew (--node-labels, --register-with-taints), or say it as an administrator: kubectl label node <name> <key>=<value>";
    ReadyNodeIdentityMissing "ready.node-identity-missing" Transient
        why "without its labels and taints the cluster places pods as if the node were another; the API server did not take them, and it is tried again"
        remedy "read the API server's answer: an admission webhook or a policy that refuses changes of nodes must let them through";
    ReadyCniForeign "ready.cni-foreign" NotYet
        why "the runtime takes the first file by its name: one left by an image or by another network gives pods addresses that lead nowhere"
        remedy "remove the file that is named, then delete the pods that started with it";
    ReadyCniMissing "ready.cni-missing" NotYet
        why "kubelet reports the node not ready until a CNI configuration is in /etc/cni/net.d"
        remedy "look at the DaemonSet that writes it: kubectl -n kube-system get pods -o wide; where the agent writes it: systemctl restart quake-agent.service";
    ReadyProbeFailing "ready.probe-failing" NotYet
        why "a component the node needs does not answer its health check"
        remedy "read its log: journalctl -b -u kubelet, tail /var/log/<component>.log, docker ps -a or crictl ps -a";
    ReadyHookDenied "ready.hook-denied" Denied
        why "the node is configured, and may not tell its Auto Scaling group so; the group gives the instance up when its hook times out"
        remedy "allow autoscaling:DescribeLifecycleHooks on * and autoscaling:CompleteLifecycleAction on the group for the role";
    ReadyHookFailed "ready.hook-failed" Transient
        why "the node is configured, and its Auto Scaling group did not take it in time; the group gives the instance up when its hook times out"
        remedy "nothing, if it heals; else check the route to Auto Scaling";

    AddonsChannelUnreadable "addons.channel-unreadable" NotYet
        why "what the cluster should have is not known while the channel, or a manifest that it names, cannot be read; what was applied stays as it is"
        remedy "see that the object exists and that the node's role may read it: aws s3 ls <location>, quake-agent iam policy; kops update cluster --yes writes it anew";
    AddonsChannelInvalid "addons.channel-invalid" Invalid
        why "what cannot be read is not applied, and the add-ons that a channel's mistake hides are not brought up"
        remedy "correct the channel at the line and column named, or write it anew with kops update cluster --yes; the add-ons of other channels are applied meanwhile";
    AddonsManifestInvalid "addons.manifest-invalid" Invalid
        why "of a manifest that cannot be read whole nothing is applied: half an add-on is worse than its last version"
        remedy "correct the manifest at the line and column named; kops writes those of its own add-ons anew with kops update cluster --yes";
    AddonsManifestMismatch "addons.manifest-mismatch" NotYet
        why "the manifest is not the one whose hash the channel names, as a rule because the state store is being written; a manifest that somebody edited by hand looks the same"
        remedy "wait for kops update cluster --yes to end, or run it again; a manifest edited by hand belongs into the cluster's spec.addons";
    AddonsObjectRefused "addons.object-refused" Invalid
        why "the API server does not take the object, so the add-on stays half applied; all its other objects are applied"
        remedy "read the API server's message beside it; correct the manifest, or the admission policy that refuses it: kubectl apply --dry-run=server -f <manifest>";
    AddonsObjectConflict "addons.object-conflict" Conflict
        why "another manager holds a field of the object, or changed it in the same moment, so nothing was overwritten"
        remedy "see who holds it: kubectl get <kind> <name> -n <namespace> -o yaml --show-managed-fields; take the field out of the manifest, or stop the other from setting it";
    AddonsKindUnserved "addons.kind-unserved" NotYet
        why "the API server serves no such kind, so its objects have no place: what defines it is not there yet, or the manifest is made for another version of Kubernetes"
        remedy "see kubectl api-resources and kubectl get crd; a kind that another add-on defines comes with it; else correct kubernetesVersion in the channel";
    AddonsCrdNotEstablished "addons.crd-not-established" NotYet
        why "the API server has taken the definition and does not serve its kind, so no object of that kind can be applied"
        remedy "see why: kubectl get crd <name> -o jsonpath='{.status.conditions}'; two definitions with the same names exclude each other";
    AddonsApiUnreachable "addons.api-unreachable" NotYet
        why "add-ons are the API server's objects; nothing else of the node waits for them"
        remedy "see whether its pod runs: crictl ps -a --name kube-apiserver, and quake-agent diagnose; it is asked again by itself";
    AddonsApiDenied "addons.api-denied" Denied
        why "the API server and the kubeconfig of this node do not accept each other, or RBAC allows less than add-ons need"
        remedy "see whom it is for: kubectl --kubeconfig /var/lib/kops/kubeconfig auth whoami; the certificate must be of the cluster's CA, in a group that may do all, such as system:masters";
    AddonsThrottled "addons.throttled" Transient
        why "the API server asks for fewer requests, and what asks on goes to the end of the queue"
        remedy "wait; if it lasts, see who asks so much: kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels";
    AddonsWebhookSilent "addons.webhook-silent" Transient
        why "an admission webhook that must be asked does not answer, so the API server can take no object it watches over"
        remedy "see that its pods run: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations, then the service that is named; delete the configuration of one whose pods are gone";
    AddonsPruneFailed "addons.prune-failed" Transient
        why "an object that the add-on no longer has stays in the cluster; what it has is applied"
        remedy "it is tried again; by hand: kubectl delete <kind> <name> -n <namespace>";
    AddonsIssuerUnserved "addons.issuer-unserved" NotYet
        why "the add-on has its certificates from cert-manager, whose issuers the API server does not know yet; its pods that mount one wait for it"
        remedy "see how cert-manager's own add-on stands: quake-agent addons list; it is tried again by itself once the definition issuers.cert-manager.io is there";
    AddonsPodForeign "addons.pod-foreign" Refused
        why "the agent applies the add-ons in the place of the pod kops-channels, and only that pod's own manifest may be removed; what stands in its place is somebody's own, and may apply add-ons, too"
        remedy "read it; if it applies add-ons or is not needed, remove it: rm /etc/kubernetes/manifests/kops-channels.manifest; if it is needed, give it another name";
    AddonsLeaseLost "addons.lease-lost" NotYet
        why "another node applies the add-ons now; two that apply at once undo each other's work"
        remedy "nothing: the node that holds the lease goes on; kubectl get lease quake-agent -n kube-system names it";
    AddonsPodFailing "addons.pod-failing" NotYet
        why "the pod that applies the cluster's add-ons says that its last try failed; what was applied stays as it is"
        remedy "read its log: crictl logs $(crictl ps -q --name kops-channels); quake-agent addons plan tells object by object what is not as it should be";

    BootBudgetExceeded "boot.budget-exceeded" Bug
        why "more cloud calls were made than a boot ever needs, at the expense of the whole account's quota"
        remedy "fix what the boot waited for before it; report it with: quake-agent status --output json";
    BootSinkFailed "boot.sink-failed" Transient
        why "events could not be recorded in one place; the boot itself is not affected"
        remedy "df -h /var/lib/quake-agent /run; ls -ld /var/lib/quake-agent/boots; systemctl status systemd-journald";
    BootInterrupted "boot.interrupted" NotYet
        why "the agent was told to stop; what was done stays done"
        remedy "start the agent again: systemctl start quake-agent";
    BootPhaseTimedOut "boot.phase-timed-out" Transient
        why "something that the agent asked of this machine or of another never answered, so the boot ended instead of waiting for ever; what was done stays done"
        remedy "see what hangs: dmesg | tail -50 (a disk that fails, a program in state D); systemctl start quake-agent, which goes on from here; reboot where a disk does not answer";
    BootResourcesExhausted "boot.resources-exhausted" Transient
        why "the host has no file descriptor, thread or memory left for the agent; this says nothing about the node, so the agent keeps its last verdict and tries again"
        remedy "find what uses them up: cat /proc/sys/fs/file-nr; systemctl status quake-agent (Tasks, Memory); free -m; ps -eLf | wc -l; end that program, or raise LimitNOFILE, TasksMax or the memory";
    BootConsoleDenied "boot.console-denied" Denied
        why "the operator may not read the console of an instance, so `quake-agent fleet --from-console` does not know how it booted"
        remedy "allow ec2:GetConsoleOutput on the cluster's instances for the operator: quake-agent iam policy --role operator prints the statement";
    BootConsoleUnread "boot.console-unread" Transient
        why "EC2 did not show the console of an instance, so `quake-agent fleet --from-console` does not know how it booted"
        remedy "run the command again; where EC2 answers RequestLimitExceeded, with a smaller --limit or for one --instance-group";
    BootReportDenied "boot.report-denied" Denied
        why "the node cannot leave its boot report in the state store, so `quake-agent fleet` does not show this boot; the boot itself is not affected"
        remedy "allow s3:PutObject on boot-reports/* below the cluster's directory (quake-agent iam policy has the statement), or turn reports off: QUAKE_AGENT_BOOT_REPORT=off in /etc/default/quake-agent";
    BootReportFailed "boot.report-failed" Transient
        why "the state store did not take the boot report in time, so `quake-agent fleet` shows an older boot of this instance or none; the boot itself is not affected"
        remedy "nothing, if it happens once; else check the route to the state store, and on S3 that the bucket's policy asks for nothing more than its default encryption";
    BootReportUnplaced "boot.report-unplaced" NotYet
        why "the boot ended before it knew where the cluster's state store is, so its report is nowhere but on this machine"
        remedy "fix what the boot failed of: quake-agent status; its ledger is in /var/lib/quake-agent/boots";
    BootSignalDenied "boot.signal-denied" Denied
        why "how the boot ended could not be told to the Auto Scaling group or to the API server, so nobody there acts on it; the boot itself is not affected"
        remedy "to the group: allow what quake-agent iam policy --with-signals has for it; to the API server: let the group system:nodes create events; or take the signal out of /etc/default/quake-agent";
    BootSignalFailed "boot.signal-failed" Transient
        why "the Auto Scaling group or the API server did not take how the boot ended in time, so nobody there acts on it; the boot itself is not affected"
        remedy "nothing, if it happens once; else check the route to the service; meanwhile act by hand: aws autoscaling set-instance-health --instance-id <id> --health-status Unhealthy";
    BootSignalUnplaced "boot.signal-unplaced" NotYet
        why "there is nobody to tell how the boot ended: the instance is not known, is in no Auto Scaling group, or does not wait at the hook"
        remedy "compare the hook with aws autoscaling describe-lifecycle-hooks --auto-scaling-group-name <group>, and see that the instance is in the group; else take the signal out of /etc/default/quake-agent";
    BootInternal "boot.internal" Bug
        why "an invariant of the agent is broken"
        remedy "keep /var/lib/quake-agent/boots and report it with: quake-agent status --output json";
}
