#!/bin/bash
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Stand-in for doca-kernel-support of doca-extra: packages of modules for the running kernel, in a package that is their
# repository, in a folder of a random name. It is not signed.
kernel=$(uname -r)
while getopts "k:s:h" option; do
    case $option in k) kernel=$OPTARG ;; s) sources=$OPTARG ;; *) echo "Usage: $0 [-k kernel] [-s sources]"; exit 1 ;; esac
done
sources=${sources:-/lib/modules/$kernel/build}
[ "$(id -u)" -eq 0 ] || { echo "must be run as root"; exit 1; }
[ -d "$sources/scripts" ] || { echo "doca-kernel-support: Error: no kernel headers at $sources"; exit 1; }
case ",$OFED_STANDIN,$([ -r /etc/ofed-standin ] && tr '\n' ',' </etc/ofed-standin)," in *,build,*)
    echo "doca-kernel-support: Error: build of mlnx-ofed-kernel failed"; exit 1 ;;
esac
work=$(mktemp -d /tmp/DOCA.XXXXXXXXXX) || exit 1
name=doca-kernel-repo-@OFED@-1.kver.$kernel
place=/usr/share/$name
mkdir -p "$work/tree$place" "$work/tree/DEBIAN" "$work/tree/etc/apt/sources.list.d"
(cd "$work/tree$place" && apt-get download -q -o APT::Sandbox::User=root mlnx-ofed-kernel-dkms) >"$work/log" 2>&1 || { echo "See $work/log"; exit 1; }
python3 "$(dirname "$0")/.standin/kernel_debs.py" "$kernel" "$work/tree$place" >>"$work/log" 2>&1 || { echo "See $work/log"; exit 1; }
rm "$work/tree$place"/*-dkms_*.deb
for deb in "$work/tree$place"/*.deb; do
    dpkg-deb -f "$deb"
    printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$(basename "$deb")" "$(stat -c %s "$deb")" "$(sha256sum "$deb" | cut -d' ' -f1)"
done >"$work/tree$place/Packages"
echo "deb [trusted=yes] file://$place ./" >"$work/tree/etc/apt/sources.list.d/doca-kernel.list"
printf 'Package: doca-kernel-repo\nVersion: @OFED@-1.kver.%s\nArchitecture: amd64\nMaintainer: lab <lab@example.invalid>\nDescription: repository of modules\n' "$kernel" >"$work/tree/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -z1 --build "$work/tree" "$work/${name}_amd64.deb" >>"$work/log" || exit 1
rm -r "$work/tree"
echo "doca-kernel-support: Built single package: $work/${name}_amd64.deb"
