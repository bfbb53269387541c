#!/bin/sh
systemctl stop containerd
rm -rf /var/lib/containerd/tmpmounts/*
