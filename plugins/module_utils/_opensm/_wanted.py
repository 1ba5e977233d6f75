# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate the options of the module and bring them into the form that the planner compares. Pure."""

from __future__ import annotations

import typing as t

from .._codes import normal_guid
from .._errors import Problem, require_none
from .._facts._portname import find
from .._host._files import HEADER
from .._tools._node_names import Hcas
from ._input import declared_keys, is_set, port_problems, problems
from ._master import known_of
from ._options import FIRST_CLASS
from ._partitions._file import Absentee, objections_to
from ._unit import Instance

if t.TYPE_CHECKING:
    from .._facts._ports import Port

Options = t.Mapping[str, t.Any]

# Options that are checked like the role variables that they come from; next, those of an entry of `instances`.
_CHECKED = ("wait_timeout", "options", "qos_policy", "root_guids", "secret_options", *FIRST_CLASS)
_CHECKED_PER_INSTANCE = ("port", "port_guid", "priority", "log_file")
_WHOLE = "opensm discards the whole file because of one error"


class Wanted(t.NamedTuple):
    """The subnet managers that are to run on a node."""

    instances: tuple[Instance, ...] = ()
    node_names: tuple[t.Mapping[str, Hcas | None], t.Mapping[str, str]] | None = None
    """The HCAs of hosts and the declared names by node GUID. The HCAs are None for a host that is unknown in this run, which keeps its names. None where
    the file stays as it is.
    """
    present: bool = True
    """False where nothing of ours is to be left."""
    wait_timeout: float = 60
    """Seconds."""
    declared: frozenset[str] = frozenset()
    """The keys of opensm.conf that the inventory declares for the fabrics of this host."""
    partitions: str = ""
    """The declared partitions of all its fabrics, as far as their P_Keys and flags matter."""
    give_up: frozenset[str] = frozenset()
    """The names of predecessor settings that may be lost."""
    adopt: bool = False
    """Whether undeclared settings of a predecessor are kept."""
    allow_removal: bool = False
    restore: bool = False
    """If not `present`: whether the packaged units that ran or started at boot before do so again."""
    package_installed: bool = False
    """Whether the role has just installed the package or, if not `present`, still has to remove it."""


class Bound(t.NamedTuple):
    """An instance with its port."""

    instance: Instance
    port: Port


def _variables(options: Options, names: t.Sequence[str]) -> dict[str, t.Any]:
    """Options by the names of the role's variables, which users write and problems name."""
    return {"opensm_%s" % name: options[name] for name in names if options.get(name) is not None}


def _problems(options: Options) -> list[Problem]:
    """Problems of the options, beyond their types."""
    found = problems(_variables(options, _CHECKED))
    seen: set[str] = set()
    for item in options["instances"] or ():
        prefix = {item["fabric"]: {"subnet_prefix": item["subnet_prefix"]}}
        found += problems({**_variables(item, _CHECKED_PER_INSTANCE), "fabric": item["fabric"], "opensm_fabrics": prefix})
        if item["fabric"] in seen:
            found.append(Problem("instances", item["fabric"], "each fabric once"))
        seen.add(item["fabric"])
    for fabric, text in (options.get("partitions") or {}).items():
        found += [Problem("partitions.%s" % (fabric,), said, "a text that opensm reads without an error", _WHOLE) for said in objections_to(str(text))[:1]]
    return found


def _keys(options: Options) -> dict[str, t.Any]:
    """The declared keys of opensm.conf."""
    own = {key: options[key] for key in FIRST_CLASS if is_set(options.get(key))}
    return {**own, **(options.get("options") or {}), **(options.get("secret_options") or {})}


def _declared(options: Options) -> frozenset[str]:
    return frozenset((*declared_keys(options), *(options.get("declared_settings") or ())))


def _instance(item: Options, options: Options) -> Instance:
    roots = sorted({normal_guid(guid) for guid in options.get("root_guids") or ()})
    policy = (options.get("qos_policy") or "").rstrip()
    return Instance(
        fabric=item["fabric"],
        guid=item["port_guid"] or "",
        priority=item["priority"],
        log_file=item["log_file"] or "",
        role=item["role"],
        subnet_prefix=item["subnet_prefix"].lower(),
        port=item["port"] or "",
        designated=item["designated_host"] or "",
        options=_keys(options),
        declared=_declared(options),
        partitions=(options.get("partitions") or {}).get(item["fabric"], ""),
        absentees=tuple(
            Absentee(member["pkey"], member["host"], member["membership"])
            for member in options.get("absent_members") or ()
            if member["fabric"] == item["fabric"]
        ),
        root_guids=HEADER + "".join(guid + "\n" for guid in roots) if roots else "",
        qos_policy=HEADER + policy + "\n" if policy else "",
        known=known_of(options)._replace(
            guids=frozenset(item["peer_guids"]),
            anyone=options["allow_foreign_master"],
            elsewhere=frozenset(item["other_guids"]),
            outranked=bool(options.get("outrank_foreign_master")),
        ),
    )


def read_wanted(options: Options) -> Wanted:
    """The wanted state. Raises InvalidInput with all problems, by the names of the role's variables."""
    common = Wanted(
        wait_timeout=options["wait_timeout"],
        allow_removal=bool(options.get("allow_removal")),
        restore=bool(options.get("restore")),
        package_installed=bool(options.get("package_installed")),
    )
    if options["state"] == "absent":
        return common._replace(present=False)
    require_none(_problems(options))
    names = options.get("node_names")
    return common._replace(
        instances=tuple(_instance(item, options) for item in options["instances"]),
        node_names=(names["hosts"], names["names"]) if names is not None else None,
        declared=_declared(options),
        partitions="\n".join((options.get("partitions") or {}).values()),
        give_up=frozenset(options.get("give_up") or ()),
        adopt=bool(options.get("adopt")),
    )


def bind(instances: t.Iterable[Instance], ports: t.Sequence[Port]) -> list[Bound]:
    """Bind each instance to its port. Raises InvalidInput that lists all instances without a port."""
    found: list[Bound] = []
    wrong: list[Problem] = []
    facts = [port._asdict() for port in ports]
    for instance in instances:
        missing = port_problems(instance.port, instance.guid, facts)
        if missing:
            wrong += missing
            continue
        declared = [name for name in (instance.port, instance.guid) if name]
        # A declared port is used whatever its device is reserved for.
        usable = sorted((port for port in ports if (port.infiniband if declared else port.in_fabric)), key=lambda port: bool(port.apart))
        port = next(port for port in usable if all(find(name, [port._asdict()]) is not None for name in declared))
        holder = next((bound for bound in found if bound.port.name == port.name), None)
        if holder is not None:
            hint = "fabric %s has it: give each fabric its ports with rdma_fabrics" % holder.instance.fabric
            wrong.append(Problem("port of fabric %s" % instance.fabric, port.name, "a port of its own", hint))
        found.append(Bound(instance._replace(guid=port.port_guid), port))
    require_none(wrong)
    own, taken = frozenset(port.port_guid for port in ports), frozenset(bound.instance.guid for bound in found)
    # Other ports of this host that have an instance are on other fabrics.
    return [
        Bound(instance._replace(known=instance.known._replace(own=own, elsewhere=instance.known.elsewhere | taken - {instance.guid})), port)
        for instance, port in found
    ]
