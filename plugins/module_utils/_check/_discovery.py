# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the ports that are to be active by declarations. Pure."""

from __future__ import annotations

from .._concern import Discovery, Subject
from .._discovered import Left, Reading, Value
from .._facts._port_rows import fabric_ports
from .._facts._portname import describe, durable

_ACTIVE = "ACTIVE"


def read(subject: Subject) -> Reading:
    """The declarations of one host. Without a declaration, all of its InfiniBand ports are to be active."""
    ports = fabric_ports(subject.facts)
    active = [port for port in ports if port.get("state") == _ACTIVE]
    idle = [port for port in ports if port.get("state") != _ACTIVE]
    if not active:
        return Reading((), (), ["no InfiniBand port is active"] if ports else [])
    if not idle:
        return Reading()
    names = ", ".join(describe(port) for port in idle)
    values = [Value("rdma_ports", [durable(port) for port in active], "the ports that are active, other than %s" % names)]
    return Reading(values, [Left("port %s, which is not active" % names, "rdma_ports names the others, so it may stay so")])


DISCOVERY = Discovery(read)
