#!/bin/sh
# Stands in for containerd's client: it tells of a server where one listens, and of the images that pods' manifests name.
set -eu
if ! test -S /run/containerd/containerd.sock; then
    echo "ctr: failed to dial \"/run/containerd/containerd.sock\": no such file or directory" >&2
    exit 1
fi
case "$*" in
*version)
    printf 'Client:\n  Version:  v2.2.4\n\nServer:\n  Version:  v2.2.4\n'
    ;;
*"images ls"*)
    echo registry.k8s.io/pause:3.10.1
    sed -n 's/^[ -]*image: *//p' /etc/kubernetes/manifests/*.manifest
    ;;
esac
