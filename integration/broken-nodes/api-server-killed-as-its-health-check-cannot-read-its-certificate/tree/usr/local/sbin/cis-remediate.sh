#!/bin/bash
# CIS Kubernetes Benchmark v1.8, remediation of control plane nodes (platform security)
set -eu
# 1.1.1, 1.1.3, 1.1.5, 1.1.7
chmod 600 /etc/kubernetes/manifests/*.manifest
# 1.1.19
chown -R root:root /etc/kubernetes
# 1.1.20, 1.1.21
find /etc/kubernetes -name '*.crt' -exec chmod 600 {} +
find /etc/kubernetes -name '*.key' -exec chmod 600 {} +
# 1.2.15
grep -q -- --profiling /etc/kubernetes/manifests/kube-apiserver.manifest ||
  sed -i 's,^    - --proxy-client-cert-file,    - --profiling=false\n&,' /etc/kubernetes/manifests/kube-apiserver.manifest
