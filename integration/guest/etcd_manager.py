#!/usr/bin/python3
"""Stands in for the volume flow of etcd-manager on AWS, as v3.0.20260707 has it (pkg/volumes/mounter.go and
pkg/volumes/aws/volumes.go): the volumes of its zone that have its tags, in the order of EC2's answer; where none of them is
attached to its instance, the first one that EC2 lets it attach; the first attached one is formatted where blkid sees nothing on
it, and mounted. It prints what it did, a line of JSON for each outcome, with the number of orders of the answer that led to it."""

import argparse
import collections
import itertools
import json
import os
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as xml

# The scope of a signature is all that the stand-in of AWS reads of it.
SCOPE = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0"
DEVICES = {"main": "/dev/xvdu", "events": "/dev/xvdv"}


def ask(endpoint, action, parameters):
    """EC2's answer without the namespace of its elements; None where it refuses."""
    form = {"Action": action, "Version": "2016-11-15", **parameters}
    request = urllib.request.Request(endpoint, urllib.parse.urlencode(form).encode(), {"Authorization": SCOPE})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            root = xml.fromstring(answer.read())
    except urllib.error.HTTPError as error:
        if action == "AttachVolume":
            return None
        raise SystemExit(f"{action}: {error.read().decode()}") from error
    for element in root.iter():
        element.tag = element.tag.split("}")[-1]
    return root


def listed(options, etcd, known):
    """What EC2 lists for this etcd; asked once until something is attached or detached."""
    if etcd not in known:
        known[etcd] = describe(options, etcd)
    return known[etcd]


def describe(options, etcd):
    """Ids of the volumes that have etcd-manager's tags, with the instances that hold them, in the order of the answer."""
    filters = [
        ("availability-zone", options.zone),
        (f"tag:kubernetes.io/cluster/{options.cluster}", "owned"),
        ("tag:k8s.io/role/control-plane", "1"),
        ("tag-key", f"k8s.io/etcd/{etcd}"),
    ]
    parameters = {}
    for number, (name, value) in enumerate(filters, 1):
        parameters[f"Filter.{number}.Name"] = name
        parameters[f"Filter.{number}.Value.1"] = value
    found = {}
    while True:
        answer = ask(options.endpoint, "DescribeVolumes", parameters)
        for volume in answer.findall("volumeSet/item"):
            holders = [item.findtext("instanceId") for item in volume.findall("attachmentSet/item")]
            found[volume.findtext("volumeId")] = holders
        token = answer.findtext("nextToken")
        if not token:
            return found
        parameters["NextToken"] = token


class Machine:
    """The devices and mounts of the machine that this runs on."""

    def is_mounted(self, target):
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            return any(line.split()[1] == target for line in mounts)

    def format_and_mount(self, volume, target):
        """Whether it was formatted."""
        device = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_" + volume.replace("-", "")
        for _ in range(120):
            if os.path.exists(device):
                break
            time.sleep(1)
        is_blank = subprocess.run(["blkid", "-p", device], stdout=subprocess.DEVNULL).returncode == 2
        if is_blank:
            subprocess.run(["mkfs.ext4", "-q", "-F", "-m0", device], check=True)
        os.makedirs(target, exist_ok=True)
        subprocess.run(["mount", "-t", "ext4", device, target], check=True)
        return is_blank


class Simulated:
    """The mounts that a boot with simulated disks made; what is not among them was blank."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as region:
            self.targets = {mount["target"] for mount in json.load(region)["mounts"]}

    def is_mounted(self, target):
        return target in self.targets

    def format_and_mount(self, _volume, target):
        self.targets.add(target)
        return True


def take(options, machine, etcd, order, known):
    """What one pod of etcd-manager does, once."""
    found = listed(options, etcd, known)
    place = {volume: at for at, volume in enumerate(order)}
    volumes = sorted(found, key=lambda volume: place.get(volume, len(place)))
    taken = {"volume": None, "attached": None, "formatted": None, "mounted": None}
    here = [volume for volume in volumes if options.instance in found[volume]]
    if here:
        taken["volume"] = here[0]
    for volume in volumes if not here else []:
        if found[volume]:
            continue
        asked = {"VolumeId": volume, "InstanceId": options.instance, "Device": DEVICES[etcd]}
        if options.choose or ask(options.endpoint, "AttachVolume", asked) is not None:
            taken["volume"] = taken["attached"] = volume
            if not options.choose:
                known.clear()
            break
    # Where it only chooses, or has nothing but a region, no device comes of an attachment.
    if taken["volume"] is None or machine is None or (options.choose and taken["attached"]):
        return taken
    target = "/mnt/master-" + taken["volume"]
    if not machine.is_mounted(target):
        if machine.format_and_mount(taken["volume"], target):
            taken["formatted"] = taken["volume"]
        taken["mounted"] = taken["volume"]
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["endpoint", "cluster", "zone", "instance"]:
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--order", required=True, help="ids of volumes, with commas: how EC2 lists them")
    parser.add_argument("--every-order", action="store_true", help="once for each order of these volumes")
    parser.add_argument("--choose", action="store_true", help="say what it would attach, and attach nothing")
    parser.add_argument("--release", action="store_true", help="detach afterwards what it attached")
    parser.add_argument("--disks", default="machine", help="machine, none, or the region of a boot with simulated disks")
    options = parser.parse_args()
    machine = {"machine": Machine, "none": lambda: None}.get(options.disks, lambda: Simulated(options.disks))()
    volumes = options.order.split(",")
    outcomes = collections.Counter()
    known = {}
    for order in itertools.permutations(volumes) if options.every_order else [volumes]:
        took = {etcd: take(options, machine, etcd, order, known) for etcd in DEVICES}
        outcomes[json.dumps(took)] += 1
        for etcd, taken in took.items():
            if options.release and taken["attached"]:
                held = {"VolumeId": taken["attached"], "InstanceId": options.instance, "Device": DEVICES[etcd]}
                ask(options.endpoint, "DetachVolume", held)
                known.clear()
    for outcome, orders in outcomes.items():
        print(json.dumps({"orders": orders, **json.loads(outcome)}))


main()
