#!/bin/sh
# Makes the debootstrap result a node: package sources as installed by Debian's installer, and nothing running that a
# container has no use for (sixteen of them share a small machine).
set -eu
export DEBIAN_FRONTEND=noninteractive

mirror=$(sed -n 's/^deb \([^ ]*\) .*/\1/p' /etc/apt/sources.list | head -n 1)
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
cat >/etc/apt/sources.list <<SOURCES
deb $mirror $suite main
deb $mirror $suite-updates main
deb ${mirror%/*}/debian-security $suite-security main
SOURCES
# Container file systems need no fsync for every unpacked file; the lists stay, for check mode on a fresh node.
echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/lab
echo 'APT::Install-Recommends "true";' >/etc/apt/apt.conf.d/10lab
apt-get update
apt-get --yes upgrade
apt-get clean

for unit in \
    apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer dpkg-db-backup.timer \
    getty.target getty-static.service console-getty.service getty@.service serial-getty@.service \
    systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udev-trigger.service systemd-udev-settle.service \
    systemd-timesyncd.service systemd-networkd-wait-online.service ifupdown-wait-online.service \
    dev-hugepages.mount dev-mqueue.mount sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-fs-fuse-connections.mount \
    systemd-ask-password-console.path systemd-ask-password-wall.path \
    systemd-remount-fs.service systemd-firstboot.service systemd-update-utmp.service systemd-update-utmp-runlevel.service; do
    ln -sf /dev/null "/etc/systemd/system/$unit"
done
# Not at boot, but when D-Bus asks for it, as shutdown(8) does.
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -sf /dev/null /etc/systemd/system/multi-user.target.wants/systemd-logind.service
mkdir -p /etc/systemd/journald.conf.d
printf '[Journal]\nStorage=volatile\nRuntimeMaxUse=16M\nForwardToConsole=no\n' >/etc/systemd/journald.conf.d/lab.conf
ln -sf /lib/systemd/system/multi-user.target /etc/systemd/system/default.target

# Which of the two network stacks a node uses is decided when its container is created.
rm -f /etc/systemd/system/*.wants/networking.service /etc/systemd/system/*.wants/systemd-networkd*.service \
    /etc/systemd/system/*.wants/systemd-network-generator.service /etc/systemd/system/sockets.target.wants/systemd-networkd.socket
printf 'source /etc/network/interfaces.d/*\n\nauto lo\niface lo inet loopback\n' >/etc/network/interfaces
mkdir -p /etc/network/interfaces.d
# Every node is given its own.
: >/etc/machine-id
