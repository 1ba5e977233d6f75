#!/bin/sh
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Stand-in for /usr/lib/dkms/common.postinst: NAME VERSION TARBALLS ARCH UPGRADED_FROM. Builds for the running kernel, and for
# all others that have headers.
name=$1 version=$2
echo "Loading new $name-$version DKMS files..."
[ -e "/var/lib/dkms/$name/$version/source" ] || dkms add -m "$name" -v "$version" >/dev/null
running=$(uname -r)
for kernel in "$running" $(ls /lib/modules); do
    [ "$kernel" = "$running" ] || [ -d "/lib/modules/$kernel/build/scripts" ] || continue
    case " $done " in *" $kernel "*) continue ;; esac
    done="$done $kernel"
    if [ ! -d "/lib/modules/$kernel/build/scripts" ]; then
        echo "Module build for kernel $kernel was skipped since the"
        echo "kernel headers for this kernel do not seem to be installed."
        continue
    fi
    echo "Building initial module for $kernel"
    dkms install -m "$name" -v "$version" -k "$kernel" || exit $?
done
exit 0
