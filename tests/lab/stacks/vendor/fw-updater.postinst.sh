#!/bin/sh
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Post-installation of mlnx-fw-updater. Flashes only if it is told to; a line in /var/log/ofed-standin-firmware is all it does.
# RUN_FW_UPDATER unset, as with apt: the real one's behaviour is not known, this one does nothing.
@FAULTS@
[ "$RUN_FW_UPDATER" = yes ] || exit 0
log=$(echo "$FW_UPDATE_FLAGS" | sed -n 's/.*--log \([^ ]*\).*/\1/p')
log=${log:-/tmp/mlnx_fw_update.log}
status=$(echo ",$faults," | sed -n 's/.*,firmware=\([0-9]*\),.*/\1/p')
echo "$(date +%s) $FW_UPDATE_FLAGS" >>/var/log/ofed-standin-firmware
{
    echo "Initializing..."
    echo "Attempting to perform Firmware update..."
    [ -n "$status" ] || echo "Please reboot your system for the changes to take effect."
    echo "EXIT_STATUS:${status:-0}"
} >>"$log"
echo "Log File: $log"
exit 0
