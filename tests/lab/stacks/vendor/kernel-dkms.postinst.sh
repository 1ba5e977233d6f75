#!/bin/sh
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Post-installation of mlnx-ofed-kernel-dkms: what a killed build leaves is this package half configured.
set -e
case "$1" in configure) ;; *) exit 0 ;; esac
@FAULTS@
exec /usr/lib/dkms/common.postinst mlnx-ofed-kernel "@DKMS@" /usr/share/mlnx-ofed-kernel-dkms "$(uname -m)" "$2"
