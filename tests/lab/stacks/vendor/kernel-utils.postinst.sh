#!/bin/bash
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Post-installation of mlnx-ofed-kernel-utils: the unit, the boot id that makes the next start a manual one, one more line of
# options with every configure, and limits.conf outside of containers.
@FAULTS@
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload >/dev/null 2>&1 || true
    systemctl enable openibd >/dev/null 2>&1 || true
fi
tr -d - </proc/sys/kernel/random/boot_id >/var/run/openibd.bootid 2>/dev/null || true
test -s /var/run/openibd.bootid || echo manual >/var/run/openibd.bootid
echo "options ib_ipoib send_queue_size=128 recv_queue_size=128" >>/etc/modprobe.d/ib_ipoib.conf
if [ ! -e /.dockerenv ] && ! grep -q docker /proc/self/cgroup && [ -e /etc/security/limits.conf ]; then
    for kind in soft hard; do
        grep -qE "$kind.*memlock" /etc/security/limits.conf || echo "* $kind memlock unlimited" >>/etc/security/limits.conf
    done
fi
exit 0
