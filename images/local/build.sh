#!/bin/sh
# Makes the base system that the machine tests boot, from Debian packages, and cleans it with the provisioning step
# of every image: FOLDER/root, the same as the disk FOLDER/root.ext4, and the kernel FOLDER/vmlinuz.
# Neither the agent nor anything of a test is in it: those are laid over it, so that it can be kept.
#
#   build.sh FOLDER      as root; needs mmdebstrap, e2fsprogs and the network
set -eu

SUITE=bookworm
KERNEL=linux-image-cloud-amd64

here=$(cd "$(dirname "$0")" && pwd)
out=${1:?the folder to build in}
mkdir -p "$out"
root=$out/root

packages=$(grep -v '^#' "$here/packages.txt" | tr -s '\n' ',' | sed 's/^,//; s/,$//')
rm -rf "$root"
mmdebstrap --quiet --mode=root --variant=minbase --include="$packages" \
    --aptopt='APT::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$SUITE" "$root"

# The kernel as a file: as a package it would bring an initramfs, which a disk with a built-in driver needs not.
package=$(apt-cache depends "$KERNEL" | sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
version=${package#linux-image-}
rm -rf "$out/kernel"
mkdir -p "$out/kernel"
(cd "$out/kernel" && apt-get --quiet --quiet -o APT::Sandbox::User=root download "$package" && dpkg --extract "$package"_*.deb .)
cp "$out/kernel/boot/vmlinuz-$version" "$out/vmlinuz"
mkdir -p "$root/lib/modules"
cp -a "$out/kernel/lib/modules/$version" "$root/lib/modules/"
rm -rf "$out/kernel"
for unused in sound drivers/media drivers/infiniband drivers/gpu; do
    rm -rf "$root/lib/modules/$version/kernel/$unused"
done
chroot "$root" depmod "$version"

cp -a "$here/root/." "$root/"
# The agent starts what a node runs; Debian would at every boot. Networks are networkd's, not ifupdown's.
dpkg --root="$root" --force-all --purge ifupdown netplan.io >/dev/null 2>&1 || true
chroot "$root" systemctl --quiet disable docker.service docker.socket containerd.service etcd.service
# Whatever sets the clock, upgrades packages or turns logs over belongs to the node that wants it.
chroot "$root" systemctl --quiet disable chrony.service unattended-upgrades.service logrotate.timer
chroot "$root" systemctl --quiet enable systemd-networkd.service systemd-networkd-wait-online.service
chroot "$root" systemctl --quiet mask apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service \
    fstrim.timer dpkg-db-backup.timer getty@tty1.service systemd-timesyncd.service
# Where the agent's unit looks for docker; Debian has it in sbin.
ln -sf ../sbin/dockerd "$root/usr/bin/dockerd"
mkdir -p "$root/var/log/journal"

cp "$here/../provision.sh" "$root/tmp/provision.sh"
chroot "$root" /tmp/provision.sh
rm "$root/tmp/provision.sh"

rm -f "$out/root.ext4"
truncate -s 6G "$out/root.ext4"
mkfs.ext4 -q -F -m 0 -L root -d "$root" "$out/root.ext4"
