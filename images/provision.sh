#!/bin/sh
# Makes an image of the system that it runs in: installs the agent and its units, adds the assets of a node if
# wanted, and removes what two instances must not share. Run it as root on the host that becomes the image, or
# in a chroot of it. A second run ends with the same result.
#
#   provision.sh [--agent FILE] [--units DIRECTORY] [--allow RULE]... [-- SEED ARGUMENTS...]
#
#   --agent FILE     installs this binary as /usr/local/bin/quake-agent
#   --units DIRECTORY  installs the units, presets and tmpfiles of this directory, and enables the agent
#   --allow RULE     a rule of `quake-agent seed verify` that this image may break
#   -- ARGUMENTS     fills the store: passed to `quake-agent seed build`
#
# If the agent is installed, it runs `quake-agent seed verify` at the end and exits with that status.
set -eu

AGENT=/usr/local/bin/quake-agent
UNITS=/etc/systemd/system

say() { echo "provision: $*"; }
die() {
    echo "provision: $*" >&2
    exit 64
}

install_agent() {
    # Under another name first: a binary that runs cannot be written over.
    install -m 0755 "$1" "$AGENT.new"
    mv -f "$AGENT.new" "$AGENT"
    say "installed $("$AGENT" version | head -n 1)"
}

install_units() {
    for file in "$1"/*; do
        case $file in
            *.service | *.socket | *.target | *.timer | *.path) install -D -m 0644 "$file" "$UNITS/${file##*/}" ;;
            *.preset) install -D -m 0644 "$file" "/etc/systemd/system-preset/${file##*/}" ;;
            */tmpfiles.d) for each in "$file"/*.conf; do install -D -m 0644 "$each" "/etc/tmpfiles.d/${each##*/}"; done ;;
            *tmpfiles*.conf | */quake-agent.conf) install -D -m 0644 "$file" "/etc/tmpfiles.d/quake-agent.conf" ;;
        esac
    done
    # Without D-Bus systemctl makes the links itself, so this works in a chroot too.
    for unit in quake-agent.service quake-agent.socket; do
        if [ -f "$UNITS/$unit" ]; then
            systemctl --quiet enable "$unit"
        fi
    done
    say "installed the units of $1"
}

# Removes what each instance makes for itself, and what another instance must not have.
clean() {
    rm -f /etc/ssh/ssh_host_*
    : >/etc/machine-id
    rm -f /var/lib/dbus/machine-id /var/lib/systemd/random-seed /etc/hostname
    rm -rf /var/lib/cloud/instance /var/lib/cloud/instances /var/lib/cloud/data /var/lib/cloud/sem
    rm -f /var/log/cloud-init*.log /run/cloud-init/instance-data*.json
    find /var/log -type f ! -path '/var/log/journal/*' -exec truncate -s 0 {} +
    rm -rf /var/log/journal/* /run/log/journal/*
    rm -f /var/lib/dhcp/*.leases /var/lib/dhcp/*.lease /run/systemd/netif/leases/*
    for home in /root /home/*; do
        rm -rf "$home/.aws" "$home/.bash_history"
        keep authorized-keys || rm -f "$home/.ssh/authorized_keys"
    done
    # The store is what an image may carry of the agent; ledgers and journals are another node's.
    if [ -d /var/lib/quake-agent ]; then
        find /var/lib/quake-agent -mindepth 1 -maxdepth 1 ! -name store -exec rm -rf {} +
    fi
    if command -v apt-get >/dev/null 2>&1; then
        apt-get clean
        rm -rf /var/lib/apt/lists/*
    fi
    say "cleaned"
}

# Whether a rule was allowed to be broken.
keep() {
    case " $allowed " in
        *" $1 "*) return 0 ;;
    esac
    return 1
}

agent='' units='' allowed=''
while [ $# -gt 0 ]; do
    case $1 in
        --agent) agent=${2:?--agent wants a file} && shift 2 ;;
        --units) units=${2:?--units wants a folder} && shift 2 ;;
        --allow) allowed="$allowed ${2:?--allow wants a rule}" && shift 2 ;;
        --) shift && break ;;
        *) die "what is $1? see the head of this file" ;;
    esac
done

[ "$(id -u)" -eq 0 ] || die "only root may make an image"
if [ -S /run/quake-agent/quake-agent.sock ] && systemctl --quiet is-active quake-agent.service 2>/dev/null; then
    die "this machine is a node: its agent runs. An image is made from a machine that never was one"
fi

[ -z "$agent" ] || install_agent "$agent"
[ -z "$units" ] || install_units "$units"
if [ $# -gt 0 ]; then
    # What it says of an unclean image is no failure of it: that is cleaned next.
    "$AGENT" seed build "$@"
fi
clean
if [ -x "$AGENT" ]; then
    # An image may be made without a seed.
    [ -d /var/lib/quake-agent/store ] || allowed="$allowed empty-store"
    set --
    for rule in $allowed; do
        set -- "$@" --allow "$rule"
    done
    "$AGENT" seed verify "$@"
fi
