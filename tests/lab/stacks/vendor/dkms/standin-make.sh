#!/bin/bash
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The build itself: standin-make.sh KERNEL SOURCES. The faults "build" and "slow-build=SECONDS" are in mlnxofedinstall's header.
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
exec make -C "$2" M="$PWD" modules
