#!/bin/bash
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The build itself: standin-make.sh KERNEL SOURCES VERSION MODULE... compiles the three that do nothing, and makes of the
# distribution's modules of these names some of that version, with a srcversion of their own and the same code. The faults "build"
# and "slow-build=SECONDS" are in mlnxofedinstall's header.
faults=",$OFED_STANDIN,$([ -r /etc/ofed-standin ] && tr '\n' ',' </etc/ofed-standin),"
slow=$(echo "$faults" | sed -n 's/.*,slow-build=\([0-9.]*\),.*/\1/p')
[ -z "$slow" ] || sleep "$slow"
case "$faults" in *,build,*)
    echo "drivers/infiniband/core/device.c:42:9: error: implicit declaration of function 'standin'"
    echo "make[1]: *** [Makefile:1: __modpost] Error 2"
    exit 2
    ;;
esac
if [ -n "$STANDIN_DKMS" ]; then
    echo "  LD [M]  the modules for $1"
    exit 0
fi
make -C "$2" M="$PWD" modules || exit
kernel=$1 version=$3
shift 3
for name; do
    file=$(find "/lib/modules/$kernel/kernel" -name "$name.ko*" | head -n 1)
    case $file in
    *.xz) xz -dc "$file" >"$name.o" ;;
    *) cp "$file" "$name.o" ;;
    esac || exit
    objcopy --dump-section ".modinfo=$name.modinfo" "$name.o" "$name.ko" || exit
    code=$(echo "$name $version" | sha256sum | cut -c -23 | tr a-f A-F)
    { sed -z -e '/^version=/d' -e '/^srcversion=/d' "$name.modinfo" && printf 'version=%s\0srcversion=%s\0' "$version" "$code"; } >"$name.new"
    # The signature behind the sections, which would be wrong now, goes with it.
    objcopy --update-section ".modinfo=$name.new" "$name.o" "$name.ko" || exit
    rm -f "$name.o" "$name.modinfo" "$name.new"
done
