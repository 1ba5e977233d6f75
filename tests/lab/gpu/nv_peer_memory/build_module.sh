#!/bin/bash
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Stand-in for build_module.sh of nv_peer_memory 1.0-8: makes a source package in /tmp and says where. As there, options of tar stand
# behind the names, where GNU tar refuses them; the version comes from the spec file; /etc/debian_version decides which kind it is.
give_up() {
    echo "$*" >&2
    exit 1
}

version=$(awk '$1 == "Version:" {print $2}' ./*.spec)
[ -n "$version" ] || give_up "the spec file has no version"
scratch=$(mktemp -d /tmp/nv.XXXXXX) || give_up "no scratch folder"
name=nvidia_peer_memory-$version
cp -r . "$scratch/$name" || give_up "cp failed"
cd "$scratch" || exit 1
if [ -f /etc/debian_version ]; then
    archive=nvidia-peer-memory_$version.orig.tar.gz
    mv "$name" "nvidia-peer-memory-$version"
    tar czf "$archive" "nvidia-peer-memory-$version" --exclude=.* --exclude=build_release.sh || give_up "tar failed"
    mv "$archive" /tmp
    echo "Built: /tmp/$archive"
else
    tar czf "$name.tar.gz" "$name" --exclude=.* --exclude=build_release.sh || give_up "tar failed"
    mkdir -p top/{BUILD,RPMS,SPECS,SRPMS}
    rpmbuild -ts --nodeps --define "_topdir $scratch/top" --define 'dist %{nil}' "$name.tar.gz" >/dev/null || give_up "rpmbuild failed"
    package=$(basename top/SRPMS/*.src.rpm)
    mv "top/SRPMS/$package" /tmp
    echo "Built: /tmp/$package"
fi
rm -rf "$scratch"
