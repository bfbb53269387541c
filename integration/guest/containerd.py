#!/usr/bin/python3
"""Stands in for containerd 2, which Debian does not have: it tells systemd that it is ready, listens where kubelet asks,
and answers nobody."""

import os
import socket
import sys

SOCKET = "/run/containerd/containerd.sock"


def tell_systemd(words):
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.connect("\0" + path[1:] if path.startswith("@") else path)
            told.send(words)


def main():
    if "--version" in sys.argv:
        print("containerd github.com/containerd/containerd/v2 v2.2.4 stand-in")
        return
    if sys.argv[1:] == ["config", "dump"]:
        with open("/etc/containerd/config.toml", encoding="utf-8") as file:
            print(file.read())
        return
    os.makedirs(os.path.dirname(SOCKET), exist_ok=True)
    if os.path.exists(SOCKET):
        os.remove(SOCKET)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(SOCKET)
    listener.listen()
    tell_systemd(b"READY=1")
    while True:
        connection, _ = listener.accept()
        connection.close()


main()
