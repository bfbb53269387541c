#!/bin/bash
# 2026-11-20 renew before they end on sunday (rolling update is blocked by the freeze until december)
set -euo pipefail
CA=/srv/kubernetes/kube-controller-manager/ca
renew() { # file subject ext
  openssl x509 -x509toreq -in $1.crt -signkey $1.key -out /tmp/r.csr
  openssl x509 -req -in /tmp/r.csr -CA $CA.crt -CAkey $CA.key -CAcreateserial -days 457 -copy_extensions copyall -out $1.crt
}
for f in /srv/kubernetes/kube-apiserver/{server,kubelet-api} /srv/kubernetes/kube-controller-manager/server \
         /srv/kubernetes/kube-scheduler/server /srv/kubernetes/kubelet-server; do
  cp -a $f.crt $f.crt.old; renew $f
done
# etcd-client and aggregator: their own CAs, done by hand; kubeconfigs: renew-kubeconfigs.sh
systemctl restart kubelet
