"""Stands in for kubelet and for what runs as pods on a node of kops 1.32 and newer. It begins each static pod that has a
manifest, as kubelet and containerd show that in files; answers on kubelet's health port and on the components' own; writes the
CNI configuration that a DaemonSet would; and registers its node at the API server that its kubeconfig names. Where there is a
manifest of the API server, a stand-in for that one is begun, too."""

import glob
import hashlib
import http.server
import json
import os
import ssl
import sys
import threading
import time

import yaml

MANIFESTS = "/etc/kubernetes/manifests"
NETWORK = "/etc/cni/net.d/10-stand-in.conflist"
CONTAINERS = "/var/lib/containerd/io.containerd.grpc.v1.cri/containers"
VERSION = "v1.35.0-alpha.1"
# Manifest, port, and the folder of the key where it speaks TLS. The first is the sidecar that asks the API server.
PODS = [
    ("kube-apiserver", 3990, None),
    ("kube-controller-manager", 10257, "/srv/kubernetes/kube-controller-manager"),
    ("kube-scheduler", 10259, "/srv/kubernetes/kube-scheduler"),
]
NODES = {}


class Health(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, b"ok")

    def log_message(self, *_):
        pass


class ApiServer(Health):
    """It keeps the nodes that register, and answers those alone whom the cluster's authority certified, as
    --anonymous-auth=false has it; a node may write its own object and no other."""

    def who(self):
        certificate = self.connection.getpeercert() or {}
        names = [pair for part in certificate.get("subject", ()) for pair in part]
        return dict(names).get("commonName")

    def do_GET(self):
        nodes = "/api/v1/nodes/"
        if not self.who():
            self.answer(401, b"{}")
        elif self.path == "/version":
            self.answer(200, json.dumps({"gitVersion": VERSION}).encode())
        elif self.path.startswith(nodes):
            node = NODES.get(self.path[len(nodes):])
            self.answer(200, node) if node else self.answer(404, b"{}")
        else:
            self.answer(200, b"ok")

    def do_POST(self):
        node = self.rfile.read(int(self.headers["Content-Length"]))
        name = json.loads(node)["metadata"]["name"]
        if self.who() != f"system:node:{name}":
            self.answer(403, b"{}")
            return
        NODES[name] = node
        self.answer(201, node)


def serve(port, keys, handler=Health, clients=None):
    server = http.server.ThreadingHTTPServer(("0.0.0.0" if clients else "127.0.0.1", port), handler)
    if keys:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{keys}/server.crt", f"{keys}/server.key")
        if clients:
            context.load_verify_locations(clients)
            context.verify_mode = ssl.CERT_OPTIONAL
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever).start()


def run(name, *server):
    """In a process of its own, as a pod is: it outlives kubelet, and the one of before is left alone."""
    if os.fork():
        return
    with open("/proc/self/comm", "w", encoding="utf-8") as file:
        file.write(name[:15])
    try:
        serve(*server)
    except OSError as error:
        print(f"{name} runs already: {error}", file=sys.stderr, flush=True)
        os._exit(0)
    threading.Event().wait()


def begin(manifest, node):
    """What kubelet and containerd leave of a pod that runs: its folder, its containers' logs, the links to these, and how each
    container stands. What is there from an earlier boot stays."""
    with open(manifest, "rb") as file:
        contents = file.read()
    pod = yaml.safe_load(contents)
    namespace, name = pod["metadata"].get("namespace", "default"), f"{pod['metadata']['name']}-{node}"
    uid = hashlib.md5(contents).hexdigest()
    for container in pod["spec"]["containers"]:
        log = f"/var/log/pods/{namespace}_{name}_{uid}/{container['name']}/0.log"
        identity = hashlib.sha256(log.encode()).hexdigest()
        os.makedirs(os.path.dirname(log), exist_ok=True)
        with open(log, "a", encoding="utf-8") as file:
            file.write("2026-11-22T09:00:00.000000000Z stdout F it runs\n")
        os.makedirs(f"{CONTAINERS}/{identity}", exist_ok=True)
        with open(f"{CONTAINERS}/{identity}/status", "w", encoding="utf-8") as file:
            json.dump({"Version": "v1", "Pid": os.getpid(), "CreatedAt": 1, "StartedAt": 2, "FinishedAt": 0}, file)
        os.makedirs("/var/log/containers", exist_ok=True)
        link = f"/var/log/containers/{name}_{namespace}_{container['name']}-{identity}.log"
        if not os.path.islink(link):
            os.symlink(log, link)


def watch(node):
    """As kubelet does: what is put among the manifests later is begun, too."""
    begun = set()
    while True:
        for manifest in sorted(glob.glob(f"{MANIFESTS}/*.manifest")):
            try:
                version = (manifest, os.stat(manifest).st_mtime_ns)
                if version not in begun:
                    begin(manifest, node)
                    begun.add(version)
            except OSError as error:
                print(f"{manifest} is gone or cannot be begun: {error}", file=sys.stderr, flush=True)
        time.sleep(1)


def main():
    node = own_name()
    # Before there are threads.
    if os.path.exists(f"{MANIFESTS}/kube-apiserver.manifest"):
        run("kube-apiserver", 443, "/srv/kubernetes/kube-apiserver", ApiServer, "/srv/kubernetes/ca.crt")
    for name, port, keys in PODS:
        if os.path.exists(f"{MANIFESTS}/{name}.manifest"):
            run(name, port, keys)
    threading.Thread(target=watch, args=(node,)).start()
    if not os.path.exists(NETWORK):
        with open(NETWORK, "w", encoding="utf-8") as file:
            file.write('{"cniVersion": "1.0.0", "name": "stand-in", "plugins": [{"type": "bridge"}]}\n')
    serve(10248, None)
    register({"metadata": {"name": node}, "spec": {"providerID": f"aws:///us-test-1a/{node}"}}, VERSION)


main()
