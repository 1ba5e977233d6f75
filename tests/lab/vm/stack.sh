#!/bin/sh
# Leaves one network stack, as an installation with that stack has it: stack.sh networkd|ifupdown|networkmanager|netplan|netplan-nm|ifcfg.
# netplan-nm is netplan with NetworkManager as its renderer. ifcfg is NetworkManager as RHEL 8 has it, with the reader that was built for it (ifcfg-reader.sh).
# What it shall do with the management interface is written into the disk of each machine (rdmalab/_seed.py).
set -eu

stack=$1
case $stack in
networkd) packages='' ;;
ifupdown) packages='ifupdown isc-dhcp-client' ;;
networkmanager | ifcfg) packages=network-manager ;;
netplan) packages=netplan.io ;;
netplan-nm) packages='netplan.io network-manager' ;;
*) echo "unknown network stack $stack" >&2; exit 1 ;;
esac
if [ "$stack" != ifupdown ]; then
    apt-get purge --yes ifupdown
    rm -rf /etc/network/interfaces*
fi
if [ -n "$packages" ]; then
    apt-get install --yes --no-install-recommends $packages
    apt-get clean
fi
if [ "$stack" = ifcfg ]; then
    mkdir -p /etc/NetworkManager/conf.d /etc/sysconfig/network-scripts
    printf '[main]\nplugins=ifcfg-rh,keyfile\n' >/etc/NetworkManager/conf.d/10-ifcfg.conf
fi
case $stack in
networkd | netplan) systemctl enable systemd-networkd.service ;;
*) systemctl disable systemd-networkd.service systemd-networkd.socket ;;
esac
