# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The subnet managers that run on a host, ours and those of others, in one form, for a discovery. Pure."""

from __future__ import annotations

import re
import typing as t

from .._codes import is_guid, normal_guid
from .._facts._port_rows import fabric_ports
from .._facts._portname import Port
from .._foreign import decimal
from ._conf import ADOPTED, CONF, DECLARED, values
from ._fabrics import DEFAULT_PREFIX
from ._found import Found, Whole
from ._options import UNSET
from ._places import PARTITIONS, QOS_POLICY, ROOT_GUIDS, file_path, unit_name
from ._unit import Instance

# The priority of an opensm that has no other.
_LEAST = 0
# The process ID is meaningless in a file that is read later.
_PROCESS = re.compile(r"^process [0-9]+")
_SET_BY_ROLE = ("root_guid_file", "qos_policy_file")


class Manager(t.NamedTuple):
    """A subnet manager that runs, or that starts at boot."""

    host: str
    port: Port
    """The port that it is bound to; empty where that is not known."""
    fabric: str = ""
    """The name that our files give to its fabric; "" for one of others."""
    source: str = ""
    """Where its settings come from, in words."""
    priority: int = _LEAST
    keys: t.Mapping[str, tuple[str, ...]] = {}
    """The keys that opensm.conf sets explicitly."""
    partitions: str = ""
    partitions_source: str = ""
    root_guids: str = ""
    qos_policy: str = ""
    template: str = ""
    """The configuration that the installed opensm generates; "" where it is not known."""

    @property
    def is_master(self) -> bool:
        """Whether its port says that the subnet manager of the fabric is behind this same port."""
        return bool(self.port.get("lid")) and self.port.get("lid") == self.port.get("sm_lid")

    @property
    def prefix(self) -> str:
        """The subnet prefix: the declared one, or that of its port."""
        declared = (self.keys.get("subnet_prefix") or ("",))[-1]
        number = decimal(declared)
        return ("0x%016x" % number if number is not None else declared.lower()) or prefix_of(self.port) or DEFAULT_PREFIX


def prefix_of(port: Port) -> str:
    """The upper half of the first GID of a port; "" where it has none."""
    digits = str(port.get("gid", "")).replace(":", "")[:16]
    return "0x" + digits.lower() if is_guid(digits) else ""


def _bound(guid: str, ports: t.Sequence[Port]) -> Port:
    """The port with this GUID; without a GUID, the one that opensm chooses: the first that is up."""
    if guid:
        return next((port for port in ports if port.get("port_guid") == guid), {})
    return next((port for port in ports if port.get("state") != "DOWN"), {})


def _priority(keys: t.Mapping[str, t.Sequence[str]]) -> int:
    return decimal((keys.get("sm_priority") or ("",))[-1], _LEAST)


def _ours(found: Found, host: str, ports: t.Sequence[Port]) -> list[Manager]:
    managers = []
    for fabric in found.fabrics:
        if unit_name(fabric) not in (*found.running, *found.enabled):
            continue
        texts = {name: found.files.get(file_path(fabric, name), "") for name in (CONF, ADOPTED, DECLARED, PARTITIONS, ROOT_GUIDS, QOS_POLICY)}
        conf = values(texts[CONF])
        names = [*(line for line in texts[DECLARED].splitlines() if not line.startswith("#")), *values(texts[ADOPTED])]
        keys = {name: conf[name] for name in names if name in conf and name not in _SET_BY_ROLE}
        instance = Instance(fabric, "", 0)
        standard = values("".join("%s %s\n" % pair for pair in instance.values().items()))
        keys.update({name: conf[name] for name in ("log_file", "log_max_size", "subnet_prefix") if name in conf and conf[name] != standard[name]})
        guid = (conf.get("guid") or ("",))[-1]
        number = decimal(guid)
        guid = "0x%016x" % number if number is not None else normal_guid(guid) if is_guid(guid) else ""
        managers.append(
            Manager(
                host,
                _bound(guid, ports),
                fabric,
                file_path(fabric),
                _priority(conf),
                keys,
                texts[PARTITIONS],
                file_path(fabric, PARTITIONS),
                texts[ROOT_GUIDS],
                texts[QOS_POLICY],
                found.template,
            )
        )
    return managers


def _named(whole: Whole, keys: t.Mapping[str, t.Sequence[str]], key: str) -> str:
    path = (keys.get(key) or (UNSET,))[-1]
    return whole.named.get(path, "")


def managers_of(whole: Whole, host: str, facts: t.Mapping[str, t.Any] | None) -> list[Manager]:
    """The subnet managers of a host."""
    ports = fabric_ports(facts)
    managers = _ours(whole.found, host, ports)
    for predecessor in whole.found.predecessors:
        if predecessor.runs:
            managers.append(
                Manager(
                    host,
                    _bound(predecessor.guid, ports),
                    "",
                    _PROCESS.sub("the running opensm", predecessor.source),
                    _priority(predecessor.keys),
                    predecessor.keys,
                    predecessor.partitions,
                    predecessor.partitions_source,
                    _named(whole, predecessor.keys, "root_guid_file"),
                    _named(whole, predecessor.keys, "qos_policy_file"),
                    whole.found.template,
                )
            )
    return managers
