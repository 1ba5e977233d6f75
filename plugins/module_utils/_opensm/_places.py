# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Paths and unit names of subnet managers. Pure."""

from __future__ import annotations

from ._conf import ADOPTED, CONF, DECLARED

SYSTEMD = "/etc/systemd/system"
TEMPLATE = SYSTEMD + "/rdma-opensm@.service"
SETTINGS = "/etc/rdma-ofed/opensm"
# What else the role has done on the host and can undo, one entry per line.
RECORD = SETTINGS + "/record"
ROTATION = "/etc/logrotate.d/rdma-opensm"

PARTITIONS, ROOT_GUIDS, QOS_POLICY = "partitions.conf", "root-guids.conf", "qos-policy.conf"
# opensm rereads the content of these files at a heavy sweep: the partitions in osm_prtn_make_partitions (an existing group stays as it is,
# also while opensm is standby), the policy in osm_qos_setup, the root GUIDs whenever routes are computed (osm_ucast_updn.c,
# osm_ucast_ftree.c).
READ_AGAIN = (PARTITIONS, ROOT_GUIDS, QOS_POLICY)
# The statements about partitions adopted from the subnet manager that ours replaced, like the keys in ADOPTED.
ADOPTED_PARTITIONS = "adopted-partitions.conf"
RECORDS = (ADOPTED, ADOPTED_PARTITIONS, DECLARED)
# Files without secrets.
PUBLIC = (PARTITIONS, ADOPTED_PARTITIONS, DECLARED)
FILES = (CONF, *READ_AGAIN, *RECORDS)

# Units of packages: distributions ship the first and the last, MLNX_OFED the first or the second.
PACKAGED = ("opensm.service", "opensmd.service", "opensm@.service")
# Words of the record before the name of such a unit: what it did when the role took its place.
RAN, BOOTED = "running ", "enabled "


def unit_name(fabric: str) -> str:
    return "rdma-opensm@%s.service" % fabric


def fabric_of(unit: str) -> str:
    """The fabric of one of our units; "" for other units."""
    prefix, suffix = unit_name("\0").split("\0")
    return unit[len(prefix) : -len(suffix)] if unit.startswith(prefix) and unit.endswith(suffix) else ""


def file_path(fabric: str, name: str = CONF) -> str:
    """The path of one of FILES of a fabric."""
    return "%s/%s/%s" % (SETTINGS, fabric, name)


def silence_path(fabric: str) -> str:
    """The path of a drop-in of the fabric's unit."""
    return "%s/%s.d/rdma-ofed-secrets.conf" % (SYSTEMD, unit_name(fabric))
