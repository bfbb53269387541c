#!/usr/bin/python3
"""What an unprivileged user of a node tries against the agent, for as many seconds as it is told. It prints a line of JSON: how
often each attempt was made, and what worked although it must not."""

import collections
import fcntl
import glob
import json
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import time

PLACES = ["/run/quake-agent", "/var/lib/quake-agent", "/etc/kubernetes", "/etc/cni/net.d", "/var/lib/kubelet",
          "/etc/systemd/system", "/usr/local/bin", "/usr/local/lib/systemd/system", "/opt/cni/bin", "/srv/kubernetes",
          "/etc/default", "/etc/sysconfig", "/run/systemd/system", "/mnt"]
ENDPOINT = ("127.0.0.1", 9105)
SOCKET = "/run/quake-agent/quake-agent.sock"
SECRETS = ["/var/lib/quake-agent/volumes.json", "/etc/sysconfig/kops-configuration", "/var/lib/kubelet/kubeconfig",
           "/srv/kubernetes/*.key", "/srv/kubernetes/*/*.key", "/etc/kubernetes/pki/*/*.key"]

tried, broken, held = collections.Counter(), [], []


def files():
    for place in PLACES:
        for folder, folders, names in os.walk(place):
            yield from (os.path.join(folder, name) for name in names + folders)
        yield place


def attempt(name, action, *arguments):
    """Makes one attempt; what returns true worked although it must not."""
    tried[name] += 1
    try:
        if action(*arguments):
            broken.append([name, *map(str, arguments)])
    except (OSError, subprocess.SubprocessError, ValueError):
        pass


def write(path):
    with open(path, "ab") as file:
        # A unit that is masked is a link to /dev/null.
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def truncate(path):
    os.truncate(path, 0)
    return True


def rename(path):
    os.rename(path, path + ".stolen")
    return True


def remove(path):
    (os.rmdir if os.path.isdir(path) and not os.path.islink(path) else os.unlink)(path)
    return True


def replace(path):
    os.symlink("/tmp", os.path.join(path, ".intruder") if os.path.isdir(path) else path + ".intruder")
    return True


def chmod(path):
    os.chmod(path, 0o777)
    return True


def lock(path):
    """Locks that the agent waits for; a lock on a file that it never locks changes nothing."""
    if "quake-agent" not in path or not path.endswith("lock"):
        return False
    file = os.open(path, os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    held.append(file)
    return True


def read_secret(path):
    with open(path, "rb") as file:
        return bool(file.read(1))


def connect(sent):
    """Holds on to some connections, as long as the agent lets it."""
    stream = socket.create_connection(ENDPOINT, timeout=2)
    stream.sendall(sent)
    held.append(stream)
    if len(held) > 600:
        for old in held[:300]:
            old.close() if isinstance(old, socket.socket) else os.close(old)
        del held[:300]
    return False


def ask_socket():
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(SOCKET)
    return True


def change_by_http(method, path):
    with socket.create_connection(ENDPOINT, timeout=2) as stream:
        stream.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
        return stream.recv(64).split(b" ")[1:2] in ([b"200"], [b"202"], [b"204"])


def notify():
    """Tells systemd that the agent stops."""
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    stream.sendto(b"STOPPING=1\nMAINPID=1", "/run/systemd/notify")
    return False


def command(*words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          timeout=10, check=False).returncode == 0


def kill(number):
    os.kill(number, signal.SIGTERM)
    return True


def look_into(number):
    with open(f"/proc/{number}/environ", "rb") as file:
        file.read()
    return True


def agents():
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path, encoding="utf-8") as file:
                if file.read().strip() == "quake-agent":
                    yield int(path.split("/")[2])
        except OSError:
            pass


HEADS = [b"", b"GET /readyz HT", b"GET /v1/status?wait=60s HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0" * 4000,
         b"GET /" + b"a" * 60000, b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20]
COMMANDS = [
    ["systemctl", "stop", "quake-agent.service"], ["systemctl", "restart", "quake-agent.service"],
    ["systemctl", "kill", "quake-agent.service"], ["systemctl", "mask", "--runtime", "quake-agent.service"],
    ["systemctl", "stop", "kubelet.service"], ["systemctl", "daemon-reload"], ["systemctl", "set-environment", "A=b"],
    ["systemd-run", "--unit=intruder", "true"], ["umount", "/mnt"], ["mount", "--bind", "/tmp", "/run/quake-agent"],
    ["/usr/local/bin/quake-agent", "boot", "--exit-when-ready", "--deadline", "2s"],
    ["/usr/local/bin/quake-agent", "install"], ["/usr/local/bin/quake-agent", "store", "gc", "--yes"],
]


def once():
    for path in files():
        for action in [write, truncate, rename, remove, replace, chmod, lock]:
            attempt(action.__name__, action, path)
    for pattern in SECRETS:
        for path in glob.glob(pattern):
            attempt("read_secret", read_secret, path)
    for _ in range(200):
        attempt("connect", connect, random.choice(HEADS))
    attempt("ask_socket", ask_socket)
    for method in ["POST", "PUT", "DELETE", "PATCH"]:
        for path in ["/v1/status", "/readyz", "/v1/events", "/v1/drift"]:
            attempt("change_by_http", change_by_http, method, path)
    attempt("notify", notify)
    for words in COMMANDS:
        attempt("command", command, *words)
    for number in agents():
        attempt("kill", kill, number)
        attempt("look_into", look_into, number)


def main():
    ends = time.monotonic() + float(sys.argv[1])
    rounds = 0
    while rounds == 0 or time.monotonic() < ends:
        once()
        rounds += 1
    print(json.dumps({"rounds": rounds, "tried": tried, "broken": broken[:40]}))


main()
