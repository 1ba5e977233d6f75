# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The files that keep nvidia_peermem: a unit of systemd, and its option. Pure.

modules-load.d would load it before openibd has replaced what an initramfs brought, and then it holds ib_core against
openibd. A unit can be ordered after openibd, and bound to it: systemd stops it before openibd stops, and starts it after
openibd has started again. What it stands on, NVIDIA's driver and ib_core, modprobe loads before it.
"""

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER

_TEXT = (
    HEADER
    + """\
[Unit]
Description=GPU memory for RDMA adapters (nvidia_peermem)
After=systemd-modules-load.service openibd.service
PartOf=openibd.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/env modprobe {file}
ExecStop=/usr/bin/env sh -c 'test ! -d /sys/module/nvidia_peermem || exec rmmod nvidia_peermem'

[Install]
WantedBy=multi-user.target openibd.service
"""
)


def unit_text(file: str) -> str:
    """The unit. `file` is what modprobe calls the module."""
    return _TEXT.format(file=file)


def options_text(file: str, support: str) -> str:
    """The file in modprobe.d; none where the module's own default is meant."""
    return HEADER + "options %s peerdirect_support=%s\n" % (file, support) if support else ""


def support_of(declared: str, ofed_version: str) -> str:
    """The value for the parameter; "" leaves it to the module. MLNX_OFED 4.9 and before know the legacy interface alone."""
    if declared != "auto":
        return declared
    return "1" if ofed_version.partition(".")[0] in ("2", "3", "4") else ""
