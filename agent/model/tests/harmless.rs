//! What nodes really write, and a diagnosis needs: none of it may be masked.

use quake_model::redact::scrub;

/// Lines of kubelet, containerd, etcd, etcd-manager, the API server, CNI plugins, systemd, cloud-init and the kernel.
const LOGS: &[&str] = &[
    "the role nodes.demo.quake.example has no credentials: AssumeRoleUnauthorizedAccess",
    "auth: UnauthorizedOperation",
    "failed to list *v1.Secret: storage is (re)initializing",
    "+ echo starting\n+ restic backup /srv",
    "sudo -u postgres mkdir -p data14",
    "password authentication failed for user app1",
    "exit code 137, status code: 503, error code is 1062",
    "I1122 03:33:23.000029    1201 server.go:1277] \"Running tests\" summary=\"pass: 12 fail: 3 skip: 1\"",
    "E1122 03:33:51.000033    1201 server.go:310] \"Unable to authenticate the request\" err=\"Authorization: header missing\"",
    "level=info msg=\"using keychain\" provider=ecr key=none token=absent",
    "level=info msg=\"shim exited\" pwd=/root namespace=k8s.io",
    "E1124 22:19:20.123456    1234 kubelet.go:2419] \"Skipping pod synchronization\" err=\"container runtime is down\"",
    "E1124 10:00:00.000001    1201 pod_workers.go:1301] \"Error syncing pod, skipping\" err=\"failed to \\\"StartContainer\\\" for \\\"aws-node\\\" with CrashLoopBackOff: \\\"back-off 5m0s restarting failed container=aws-node pod=aws-node-x7k2q_kube-system(6f1b0c5e-5a0f-4a5e-9a53-2f0d1f4a7b6c)\\\"\" pod=\"kube-system/aws-node-x7k2q\" podUID=\"6f1b0c5e-5a0f-4a5e-9a53-2f0d1f4a7b6c\"",
    "W1124 10:00:00.000001    1201 reflector.go:561] k8s.io/client-go/informers/factory.go:160: failed to list *v1.Node: nodes \"i-0123456789abcdef0\" is forbidden: User \"system:anonymous\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
    "I1124 10:00:00.000001    1201 reconciler_common.go:251] \"operationExecutor.VerifyControllerAttachedVolume started for volume \\\"kube-api-access-5tq8h\\\" (UniqueName: \\\"kubernetes.io/projected/6f1b0c5e-5a0f-4a5e-9a53-2f0d1f4a7b6c-kube-api-access-5tq8h\\\") pod \\\"coredns-5d78c9869d-abcde\\\"\"",
    "E1124 10:00:00.000001    1201 kubelet_node_status.go:95] \"Unable to register node with API server\" err=\"Unauthorized\" node=\"i-0123456789abcdef0\"",
    "MountVolume.SetUp failed for volume \"etcd-client-cert\" : secret \"etcd-client-cert\" not found",
    "Unable to attach or mount volumes: unmounted volumes=[token], unattached volumes=[token kube-api-access-abcde]: timed out waiting for the condition",
    "couldn't get secret kube-system/registry-credentials: secrets \"registry-credentials\" is forbidden",
    "Unable to retrieve some image pull secrets (regcred); attempting to pull the image may not succeed.",
    "time=\"2026-11-24T22:19:20.123456789Z\" level=info msg=\"RunPodSandbox for &PodSandboxMetadata{Name:coredns-5d78c9869d-abcde,Uid:6f1b0c5e-5a0f-4a5e-9a53-2f0d1f4a7b6c,Namespace:kube-system,Attempt:0,} returns sandbox id \\\"7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097\\\"\"",
    "level=error msg=\"failed to load cni during init, please check CRI plugin status before setting up network for pods\" error=\"cni config load failed: no network config found in /etc/cni/net.d: cni plugin not initialized\"",
    "level=info msg=\"shim disconnected\" id=7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097 namespace=k8s.io",
    "level=warning msg=\"cleaning up after shim disconnected\" key=7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097",
    "failed to pull and unpack image \"123456789012.dkr.ecr.eu-west-1.amazonaws.com/app:1.2\": failed to resolve reference: pulling from host 123456789012.dkr.ecr.eu-west-1.amazonaws.com failed with status code [manifests 1.2]: 401 Unauthorized",
    "failed to authorize: failed to fetch oauth token: unexpected status from GET request to https://auth.docker.io/token?scope=repository%3Alibrary%2Fnginx%3Apull&service=registry.docker.io: 429 Too Many Requests",
    "no basic auth credentials",
    "rpc error: code = Unknown desc = failed to get sandbox image \"registry.k8s.io/pause:3.9\": dial tcp: lookup registry.k8s.io on 10.0.0.2:53: i/o timeout",
    "{\"level\":\"warn\",\"ts\":\"2026-11-24T22:19:20.123Z\",\"caller\":\"etcdserver/util.go:170\",\"msg\":\"apply request took too long\",\"took\":\"312.4ms\",\"expected-duration\":\"100ms\",\"prefix\":\"read-only range \",\"request\":\"key:\\\"/registry/secrets/kube-system/bootstrap-token-abcdef\\\" \",\"response\":\"range_response_count:0 size:6\"}",
    "{\"level\":\"info\",\"caller\":\"raft/raft.go:1223\",\"msg\":\"8e9e05c52164694d became leader at term 12\",\"cluster-id\":\"cdf818194e3a8c32\",\"local-member-id\":\"8e9e05c52164694d\"}",
    "{\"level\":\"fatal\",\"msg\":\"discovery failed\",\"error\":\"member count is unequal\",\"initial-cluster-token\":\"YAB6IY2XFsP4hK7nNDLQfw\"}",
    "I1124 10:00:00.000001 1 controller.go:189] starting controller iteration; peers: etcdClusterPeerInfo{peer=peer{id:\"etcd-a\" endpoints:\"10.0.0.1:3996\" }, info=cluster_name:\"etcd\" node_configuration:<name:\"etcd-a\" peer_urls:\"https://etcd-a.internal.example.com:2380\" >",
    "I1124 10:00:00.000001 1 etcdserver.go:100] backups: 2026-11-24T22:19:20Z-000001",
    "E1124 10:00:00.000001 1 authentication.go:73] \"Unable to authenticate the request\" err=\"[invalid bearer token, service account token has expired]\"",
    "x509: certificate has expired or is not yet valid: current time 2026-11-24T22:19:20Z is after 2026-11-01T00:00:00Z",
    "UnauthorizedOperation: You are not authorized to perform this operation. User: arn:aws:sts::123456789012:assumed-role/nodes.example.com/i-0123456789abcdef0 is not authorized to perform: ec2:AttachVolume",
    "operation error EC2: AttachVolume, https response error StatusCode: 403, RequestID: 5f3a2b1c-0d9e-4f8a-b7c6-d5e4f3a2b1c0, api error UnauthorizedOperation",
    "failed to refresh cached credentials, no EC2 IMDS role found, operation error ec2imds: GetMetadata, request canceled, context deadline exceeded",
    "error getting credentials provider: unable to retrieve token: Unauthorized",
    "systemd[1]: run-containerd-io.containerd.runtime.v2.task-k8s.io-7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097-rootfs.mount: Deactivated successfully.",
    "kernel: nvme nvme1: I/O 12 QID 3 timeout, aborting",
    "kernel: EXT4-fs error (device nvme1n1): ext4_find_entry:1455: inode #2: comm etcd: reading directory lblock 0",
    "kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097.scope,mems_allowed=0,oom_memcg=/kubepods.slice/kubepods-burstable.slice,task_memcg=/kubepods.slice,task=etcd,pid=1234,uid=0",
    "kernel: Command line: BOOT_IMAGE=/boot/vmlinuz-6.8.0-1018-aws root=PARTUUID=0c8915ad-afb2-5380-9c57-aa3f3dc8d621 ro console=ttyS0 nvme_core.io_timeout=4294967295",
    "audit: type=1400 apparmor=\"DENIED\" operation=\"ptrace\" profile=\"cri-containerd.apparmor.d\" pid=1234",
    "cloud-init[900]: Generating public/private rsa key pair.",
    "cloud-init[900]: The key fingerprint is: SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8 root@ip-10-0-0-1",
    "chronyd[600]: Selected source 169.254.169.123",
    "Nov 24 22:19:20 ip-10-0-0-1 systemd[1]: kubelet.service: Main process exited, code=exited, status=1/FAILURE",
    "iptables -A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment \"default/kubernetes:https cluster IP\" -j KUBE-SVC-NPX46M4PTMTKRN6Y",
    "{\"level\":\"error\",\"msg\":\"Failed to assign an IP address to pod\",\"error\":\"assignPodIPv4AddressUnsafe: no available IP/Prefix addresses\",\"eni\":\"eni-0123456789abcdef0\",\"sandbox\":\"_migrated-from-cri/7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097/unknown\"}",
    "level=warning msg=\"Waiting for k8s node information\" error=\"required IPv4 PodCIDR not available\" subsys=k8s",
];

/// What Kubernetes and kops write into manifests and descriptions.
const DOCUMENTS: &[&str] = &[
    "password: <redacted>",
    "[Peer]\nPublicKey = uwUPJs0TfHrunwY1tfocM7rwE+SKZZ8b0/a6g5HjCfE=\n",
    "Name: default-token-8mtut   Type: kubernetes.io/service-account-token   Data: token: 1150 bytes",
    "    volumeMounts:\n    - mountPath: /var/run/secrets/token\n      name: data\n",
    "tolerations:\n- key: node-role.kubernetes.io/control-plane\n  operator: Exists\n  value: \"\"\n- key: CriticalAddonsOnly\n  operator: Exists\n",
    "env:\n- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      key: password\n      name: db\n",
    "configMapKeyRef:\n  key: cluster.conf\n  name: settings\n",
    "volumes:\n- name: token\n  projected:\n    sources:\n    - serviceAccountToken:\n        audience: sts.amazonaws.com\n        expirationSeconds: 86400\n        path: token\n",
    "  Volumes:\n  kube-api-access-5tq8h:\n    Type:                    Projected (a volume that contains injected data from multiple sources)\n    TokenExpirationSeconds:  3607\n    ConfigMapName:           kube-root-ca.crt\n",
    "Node-Selectors:              kubernetes.io/os=linux\nTolerations:                 node.kubernetes.io/not-ready:NoExecute op=Exists for 300s\n",
    "Labels:       pod-template-hash=5d78c9869d\n              k8s-app=kube-dns\nAnnotations:  checksum/config: 7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097\n",
    "sshKeyName: kubernetes.example.com-7a:1b:2c:3d:4e:5f\nsecretStore: s3://bucket/cluster/secrets\nkeyStore: s3://bucket/cluster/pki\n",
    "kmsKeyId: arn:aws:kms:eu-west-1:123456789012:key/0c8915ad-afb2-5380-9c57-aa3f3dc8d621\n",
    "NodeupConfigHash: wqecBnfs3p2IhUM4PQB7GaTOqcmRlrne6QjyLdN/Moo=\n",
    "authentication:\n  anonymous:\n    enabled: false\n  webhook:\n    cacheTTL: 2m0s\n    enabled: true\n  x509:\n    clientCAFile: /srv/kubernetes/ca.crt\n",
    "--service-account-signing-key-file=/srv/kubernetes/kube-apiserver/service-account.key --requestheader-allowed-names=aggregator --tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "kubeadm join --discovery-token-ca-cert-hash sha256:7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097",
    "name: ETCD_INITIAL_CLUSTER_TOKEN\nvalue: etcd-cluster-token-etcd\n",
    "aws ec2 create-tags --resources vol-0123456789abcdef0 --tags 'Key=k8s.io/etcd/main,Value=\"a/a,b,c\"'; then boot",
    "run: aws ec2 create-tags --resources <id> --tags 'Key=k8s.io/etcd/<cluster>,Value=\"<member>/<member>,<member>\"'",
    "\"X-Kops-Request-Sha\": [\"2dhlzFTsYGePGxGQhK15rn+TV9HEUZxkV94zFLf7uoo\"]",
    "resourceVersion: \"123456\"\nuid: 6f1b0c5e-5a0f-4a5e-9a53-2f0d1f4a7b6c\ngeneration: 2\n",
    "[Service]\nEnvironment=\"PATH=/usr/bin:/bin\" \"HTTPS_PROXY=http://proxy:3128\" \"NO_PROXY=10.0.0.0/8\"\nEnvironmentFile=/etc/sysconfig/kubelet\nExecStart=/usr/local/bin/kubelet \"$DAEMON_ARGS\"\n",
    "DAEMON_ARGS=\"--bootstrap-kubeconfig=/var/lib/kubelet/bootstrap-kubeconfig --config=/var/lib/kubelet/kubelet.conf --cloud-provider=external\"\n",
    "{\"keys\":[{\"kty\":\"RSA\",\"use\":\"sig\",\"kid\":\"3mNcULfgtWECYyZWY5ow1rOHjiRwEZHx28HQcRec3Ew\",\"n\":\"2JbeF8dNwqfEKKD65aGlVs58fWkA0qZdVLKw8qATzRBJTi1nqbj2kAR4gyy\",\"e\":\"AQAB\"}]}",
];

#[test]
fn nothing_that_a_diagnosis_needs_is_masked() {
    let changed: Vec<String> = LOGS
        .iter()
        .chain(DOCUMENTS)
        .filter(|text| scrub(text) != **text)
        .map(|text| format!("{text}\n-> {}", scrub(text)))
        .collect();
    assert!(changed.is_empty(), "{}", changed.join("\n\n"));
}
