#!/bin/sh
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# add-gpu.sh, on a node that is a container: a GPU on its PCI bus, behind a root port of its own. It is gone after a restart.
set -eu
root=/run/rdmalab
place=sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0
mkdir -p $root/$place
cd $root/$place
echo 0x10de >vendor
echo 0x2330 >device
echo 0x030200 >class
echo 0 >numa_node
ln -sfn ../../../devices/pci0000:80/0000:80:01.0/0000:81:00.0 $root/sys/bus/pci/devices/0000:81:00.0
