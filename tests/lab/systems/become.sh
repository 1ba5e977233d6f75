#!/bin/sh
# Makes a bare node of Debian look like another system: become.sh el8|el9|el10|sles|sles16|ubuntu|ubuntu20|ubuntu22|ubuntu26
#
# What is the other system's: os-release, its package manager (dnf, zypper and rpm are real, from Debian) with the repository in
# /srv/rpm, and the packages of it (repository.py). On el8 and sles the system has no Python that the modules run with; the lab keeps
# Debian's for itself, under another path. What stays Debian's: the C library, systemd, the kernel, networkd, and all else.
set -eu
export DEBIAN_FRONTEND=noninteractive
system=$1
own=/usr/lib/rdmalab

release() {
    rm -f /etc/os-release
    printf 'NAME="%s"\nID="%s"\nVERSION_ID="%s"\nID_LIKE="%s"\nPRETTY_NAME="%s %s"\n' "$4" "$1" "$2" "$3" "$4" "$2" >/etc/os-release
}

hide_python() {
    mkdir -p "$own"
    sed -i "1s|/usr/bin/python3|$own/python3.11|" /opt/lab/bin/*
    [ ! -e /usr/bin/dnf ] || sed -i "1s|.*|#!$own/python3.11|" "$(readlink -f /usr/bin/dnf)"
    mv /usr/bin/python3.11 "$own/"
    rm -f /usr/bin/python3
}

hide_apt() {
    mkdir -p "$own"
    mv /usr/bin/apt /usr/bin/apt-* /usr/bin/dpkg /usr/bin/dpkg-* "$own/"
    rm -f /etc/debian_version
}

rpm_system() {
    apt-get update -q
    # What the programs of Debian in the packages are linked with.
    apt-get install -qq -y --no-install-recommends rpm "$1" libwrap0 libnl-3-200 libnl-route-3-200 libpci3 pci.ids perl
    mkdir -p /etc/rpm
    echo '%_dbpath /var/lib/rpm' >/etc/rpm/macros
    echo /usr/lib64 >/etc/ld.so.conf.d/lib64.conf
    ldconfig
}

case $system in
ubuntu) release ubuntu 24.04 debian Ubuntu ;;
ubuntu20) release ubuntu 20.04 debian Ubuntu ;;
ubuntu22) release ubuntu 22.04 debian Ubuntu ;;
ubuntu26) release ubuntu 26.04 debian Ubuntu ;;
el8) release rocky 8.10 "rhel centos fedora" "Rocky Linux" ;;
el9) release almalinux 9.4 "rhel centos fedora" AlmaLinux ;;
el10) release rhel 10.0 "centos fedora" "Red Hat Enterprise Linux" ;;
sles) release sles 15.5 suse "SUSE Linux Enterprise Server" ;;
sles16) release sles 16.0 suse "SUSE Linux Enterprise Server" ;;
*)
    echo "no such system: $system" >&2
    exit 2
    ;;
esac
case $system in
el*)
    rpm_system dnf
    echo "${system#el}" >/etc/dnf/vars/releasever
    echo plugins=0 >>/etc/dnf/dnf.conf
    mkdir -p /etc/yum.repos.d
    printf '[baseos]\nname=BaseOS\nbaseurl=file:///srv/rpm\nenabled=1\ngpgcheck=0\n' >/etc/yum.repos.d/baseos.repo
    dnf -y -q install filesystem kmod iproute pciutils
    hide_apt
    ;;
sles*)
    rpm_system zypper
    mkdir -p /etc/zypp/repos.d
    printf '[sle]\nname=SLE\nbaseurl=file:///srv/rpm\nenabled=1\ngpgcheck=0\n' >/etc/zypp/repos.d/sle.repo
    zypper --quiet --non-interactive --no-gpg-checks install filesystem kmod iproute2 pciutils
    hide_apt
    ;;
ubuntu*)
    # What the installer of Ubuntu leaves behind, but for the interface of the lab itself.
    apt-get update -q
    apt-get install -qq -y --no-install-recommends netplan.io
    printf 'network:\n  version: 2\n  renderer: networkd\n' >/etc/netplan/00-installer-config.yaml
    chmod 600 /etc/netplan/00-installer-config.yaml
    ;;
esac
case $system in
el8 | sles) hide_python ;;
esac
