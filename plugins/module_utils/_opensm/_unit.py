# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The systemd unit that runs a subnet manager: our own, because the packaged ones say "active" while nothing runs."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER

SYSTEMD = "/etc/systemd/system"
TEMPLATE = SYSTEMD + "/rdma-opensm@.service"
SETTINGS = "/etc/rdma-ofed"

# What packages bring: distributions the first and the last, MLNX_OFED the first or the second.
PACKAGED = ("opensm.service", "opensmd.service", "opensm@.service")

# The process stays in the foreground, so systemd sees it die; a port that comes late (driver, cable) is a matter of
# trying again, so there is no limit to the attempts.
UNIT_TEXT = (
    HEADER
    + """\
[Unit]
Description=InfiniBand subnet manager of fabric %i
Documentation=man:opensm(8)
After=rdma-hw.target network-pre.target
Before=network.target remote-fs-pre.target
StartLimitIntervalSec=0

[Service]
Type=simple
EnvironmentFile=/etc/rdma-ofed/opensm-%i.env
Environment=OSM_CACHE_DIR=/var/cache/opensm/%i OSM_TMP_DIR=/var/cache/opensm/%i
CacheDirectory=opensm/%i
ExecStartPre=-/sbin/modprobe -bq ib_umad
ExecStart=/usr/sbin/opensm $OPENSM_ARGUMENTS
Restart=always
RestartSec=2
TimeoutStopSec=20
OOMScoreAdjust=-900
NoNewPrivileges=true
ProtectHome=true
ProtectSystem=full

[Install]
WantedBy=multi-user.target
"""
)


class Instance(t.NamedTuple):
    """One subnet manager of this host: opensm binds to one port, so a fabric is an instance."""

    fabric: str
    guid: str
    """Port GUID, never the node GUID."""
    priority: int
    log_file: str

    @property
    def unit(self) -> str:
        return unit_name(self.fabric)

    @property
    def settings(self) -> str:
        return settings_path(self.fabric)

    def settings_text(self) -> str:
        arguments = "--guid %s --priority %d --log_file %s --log_limit 128" % (self.guid, self.priority, self.log_file)
        return '%sOPENSM_ARGUMENTS="%s"\n' % (HEADER, arguments)


def unit_name(fabric: str) -> str:
    return "rdma-opensm@%s.service" % fabric


def settings_path(fabric: str) -> str:
    return "%s/opensm-%s.env" % (SETTINGS, fabric)


__all__ = ("PACKAGED", "SETTINGS", "SYSTEMD", "TEMPLATE", "UNIT_TEXT", "Instance", "settings_path", "unit_name")
