#!/usr/bin/python3
"""Stands in for kubelet and for what runs as pods on a node of kops 1.32 and newer: it answers on kubelet's health port, and
for each static pod that has a manifest on the port of that one; it writes the CNI configuration that a DaemonSet would."""

import http.server
import os
import ssl
import threading

MANIFESTS = "/etc/kubernetes/manifests"
NETWORK = "/etc/cni/net.d/10-stand-in.conflist"
# Manifest, port, and the folder of the key where it speaks TLS. The first answers for the API server: its sidecar does.
PODS = [
    ("kube-apiserver", 3990, None),
    ("kube-controller-manager", 10257, "/srv/kubernetes/kube-controller-manager"),
    ("kube-scheduler", 10259, "/srv/kubernetes/kube-scheduler"),
]


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def serve(port, keys):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Health)
    if keys:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{keys}/server.crt", f"{keys}/server.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever).start()


def main():
    for name, port, keys in PODS:
        if os.path.exists(f"{MANIFESTS}/{name}.manifest"):
            serve(port, keys)
    if not os.path.exists(NETWORK):
        with open(NETWORK, "w", encoding="utf-8") as file:
            file.write('{"cniVersion": "1.0.0", "name": "stand-in", "plugins": [{"type": "bridge"}]}\n')
    serve(10248, None)


main()
