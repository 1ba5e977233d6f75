#!/bin/bash
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# create_nv.symvers.sh KERNEL: what NVIDIA's driver exports for peer memory, for modpost. The kernel of the lab compares no numbers.
driver=$(/sbin/modinfo -k "$1" -F filename nvidia) || exit 1
nm "$driver" | awk '$3 ~ /^__ksymtab_nvidia_p2p_/ {printf "0x00000000\t%s\tnvidia\tEXPORT_SYMBOL\t\n", substr($3, 11)}' >nv.symvers
[ -s nv.symvers ]
