"""Stands in for kubelet where there are no Kubernetes programs: it answers on its health port, runs etcd's static
pods as their manifests say, with this machine's etcd for the image, answers for the other static pods, and registers its
node. A control plane's API server is that of the network."""

import glob
import http.server
import json
import os
import socket
import subprocess
import threading
import urllib.request

import yaml

MANIFESTS = "/etc/kubernetes/manifests"
API_SERVER = ("172.20.0.1", 443)
PORTS = {"kube-apiserver": 8080, "kube-scheduler": 10251, "kube-controller-manager": 10252}


def is_healthy(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return json.load(answer)["health"] in (True, "true")
    except (OSError, ValueError, KeyError):
        return False


def serve(port, holds):
    class Health(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if holds() else 500)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Health)
    threading.Thread(target=server.serve_forever).start()


def carry(source, target):
    try:
        while chunk := source.recv(65536):
            target.sendall(chunk)
    except OSError:
        pass
    finally:
        target.close()


def forward(port, place):
    """Whoever connects here speaks with that place."""
    server = socket.create_server(("127.0.0.1", port))

    def accept():
        while True:
            client, _ = server.accept()
            try:
                target = socket.create_connection(place, timeout=10)
            except OSError:
                client.close()
                continue
            for pair in ((client, target), (target, client)):
                threading.Thread(target=carry, args=pair, daemon=True).start()

    threading.Thread(target=accept).start()


def run_pod(pod):
    """Its one container, in a mount namespace of its own with the paths that the pod asks for."""
    container = pod["spec"]["containers"][0]
    sources = {volume["name"]: volume["hostPath"]["path"] for volume in pod["spec"]["volumes"]}
    steps = ["set -eu", "mount -t tmpfs tmpfs /tmp"]
    for mount in container["volumeMounts"]:
        source, target = sources[mount["name"]], mount["mountPath"]
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
        elif not os.path.exists(target):
            open(target, "w", encoding="utf-8").close()
        steps.append(f"mount --bind '{source}' '{target}'")
    steps.append('exec "$@"')
    environment = {"PATH": os.environ["PATH"]}
    environment.update({each["name"]: each["value"] for each in container["env"]})
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(steps), "sh"]
    subprocess.Popen(command + container["command"], env=environment, start_new_session=True)


def main():
    members = []
    for path in sorted(glob.glob(f"{MANIFESTS}/*.manifest")):
        with open(path, encoding="utf-8") as file:
            pod = yaml.safe_load(file)
        name = pod["metadata"]["name"]
        if name.startswith("etcd-server"):
            port = [each["containerPort"] for each in pod["spec"]["containers"][0]["ports"] if each["name"] == "clientport"][0]
            members.append(port)
            # Pods outlive a restart of kubelet.
            if not is_healthy(port):
                run_pod(pod)
        elif name in PORTS:
            if name == "kube-apiserver":
                forward(443, API_SERVER)
            serve(PORTS[name], lambda: all(is_healthy(member) for member in members))
    serve(10248, lambda: True)
    register({"metadata": {"name": own_name()}}, "v1.15.12")


main()
