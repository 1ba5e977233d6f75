# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The subnet managers of a fabric as an inventory declares them, with files for the simulation. The code of the role renders these. Pure."""

from __future__ import annotations

import re
import typing as t

from ...module_utils._codes import is_guid, is_secret, normal_guid, number
from ...module_utils._errors import RdmaError, require_none
from ...module_utils._facts._portname import parse
from ...module_utils._opensm import _placement
from ...module_utils._opensm._conf import CONF
from ...module_utils._opensm._data import partitions_of
from ...module_utils._opensm._options import parse_template
from ...module_utils._opensm._options import problems as key_problems
from ...module_utils._opensm._placement import Groups, Hostvars
from ...module_utils._opensm._places import PARTITIONS, QOS_POLICY, ROOT_GUIDS
from ...module_utils._opensm._wanted import read_wanted
from ...module_utils._plain import plain
from ._netlist import Netlist, Port

if t.TYPE_CHECKING:
    from ...module_utils._opensm._partitions._file import Absentee
    from ...module_utils._opensm._unit import Instance

# The folder of the simulation, with a folder for each subnet manager.
ROOT = "/tmp/rehearsal"
# The options of the module that come from variables of the same name with the prefix of the role.
_PASSED = ("routing_engine", "root_guids", "qos", "qos_policy", "sm_key", "log_max_size", "log_flags", "options", "secret_options", "adopt")
_VARIABLES = ("fabric", "rdma_fabrics", "opensm_fabrics", "opensm_standby", "opensm_port", "opensm_port_guid", "opensm_priority", "opensm_partitions")
_GUID = re.compile(r"\b0x[0-9a-f]{16}\b")


class Change(t.NamedTuple):
    """What is planned: the hosts of group opensm in their order, and variables. Empty for the inventory as it is."""

    managers: tuple[str, ...] = ()
    variables: t.Mapping[str, t.Any] = {}


class Manager(t.NamedTuple):
    """A subnet manager in one state of the inventory."""

    host: str
    role: str
    """`master` or `standby`."""
    port: Port
    instance: Instance
    files: t.Mapping[str, str]
    """The content of its files; "" for a file that it has not."""


class State(t.NamedTuple):
    """The subnet managers of a fabric, the designated one first."""

    managers: tuple[Manager, ...]
    resting: tuple[str, ...]
    """Hosts of group opensm that run none."""
    partitions: str
    """The partitions of the designated host, with simulated GUIDs; "" for none."""
    absentees: tuple[Absentee, ...]
    """Members of partitions without a port in the fabric."""
    left_out: tuple[str, ...]
    """Declared keys that are not rehearsed, in words."""


class Variables(t.Mapping[str, t.Any]):
    """The variables of a host with a planned change."""

    def __init__(self, own: t.Mapping[str, t.Any], changed: t.Mapping[str, t.Any], gone: t.Collection[str] = ()) -> None:
        self._own, self._changed, self._gone = own, changed, gone

    def __getitem__(self, name: str) -> t.Any:
        if name in self._changed:
            return self._changed[name]
        if name in self._gone:
            raise KeyError(name)
        return plain(self._own[name])

    def __iter__(self) -> t.Iterator[str]:
        yield from self._changed
        yield from (name for name in self._own if name not in self._changed and name not in self._gone)

    def __len__(self) -> int:
        return sum(1 for _name in self)


def changed(groups: Groups, hostvars: Hostvars, change: Change, *, ports: t.Mapping[str, t.Sequence[Port]]) -> tuple[dict[str, t.Sequence[str]], Hostvars]:
    """The groups and variables after a change. `ports`: those that each host has in the fabric; a host that declares none gets these."""
    # The order of the group ranks the hosts.
    gone = ("opensm_rank",) if change.managers else ()
    found: dict[str, t.Mapping[str, t.Any]] = {}
    for host in dict.fromkeys([*groups.get("all", ()), *groups.get(_placement.GROUP, ()), *change.managers]):
        own = hostvars[host]
        known = {} if own.get("opensm_port_guids") else {"opensm_port_guids": [port.guid for port in ports.get(host, ())]}
        found[host] = Variables(own, {**known, **change.variables}, gone)
    return {**groups, **({_placement.GROUP: list(change.managers)} if change.managers else {})}, found


def ports_of(hosts: t.Iterable[str], hostvars: Hostvars, fabric: Netlist) -> dict[str, list[Port]]:
    """The ports of each host in the fabric: those it declares by GUID, else those whose node description begins with its name."""
    by_guid = {port.guid: port for port in fabric.ports}
    by_name = fabric.by_host()
    found = {}
    for host in hosts:
        declared = hostvars[host].get("opensm_port_guids")
        guids = [normal_guid(guid) for guid in declared if is_guid(guid)] if isinstance(declared, (list, tuple)) else []
        named = by_name.get(host.lower()) or by_name.get(host.lower().partition(".")[0]) or []
        found[host] = [by_guid[guid] for guid in guids if guid in by_guid] or named
    return found


def _chosen(host: str, item: t.Mapping[str, t.Any], ports: t.Sequence[Port], *, source: str) -> Port:
    """The port that a subnet manager is bound to. Raises RdmaError."""
    declared = [name for name in (item["port_guid"], item["port"]) if name]
    names = [name for name in map(parse, declared) if name is not None]
    guids = {name.guid for name in names if name.guid}
    devices = {name.device for name in names if name.device}
    meant = [port for port in ports if not guids or port.guid in guids]
    # A PCI address is not in the fabric, and a device only where the node description has it.
    meant = [port for port in meant if devices.intersection(port.description.split()[1:])] or meant
    if not meant:
        hint = "its ports there: %s" % (", ".join(port.guid for port in ports) or "none, by the first word of node descriptions and by opensm_port_guids")
        raise RdmaError("the port of %s%s is not in %s; %s" % (host, " (%s)" % ", ".join(declared) if declared else "", source, hint))
    if meant[0].number != 1:
        words = "%s manages the fabric through port %d of %s, and the simulator can do that through port 1 of an adapter only. Next: name another port, or host"
        raise RdmaError(words % (host, meant[0].number, meant[0].description))
    return meant[0]


class Secrets:
    """Gives secrets other values. What was equal stays equal, and what was not set stays so."""

    def __init__(self) -> None:
        self._known: dict[t.Any, str] = {}

    def without(self, options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        return {key: self._other(value) if is_secret(key) else value for key, value in options.items()}

    def _other(self, value: t.Any) -> t.Any:
        meant = number(value)
        return value if not meant else self._known.setdefault(meant, "0x%016x" % (0x5EC0000 + len(self._known)))


class Frame(t.NamedTuple):
    """What both states of a rehearsal share."""

    fabric: str
    """The name of the fabric."""
    found: Netlist
    template: str
    """opensm.conf as the opensm of the simulation writes it."""
    secrets: Secrets
    complete: t.Callable[[t.Mapping[str, t.Any]], t.Optional[t.Mapping[str, t.Any]]]
    """Returns options of the module opensm with their defaults; None for options that it does not take."""
    source: str
    """The file with the fabric, for messages."""


def _simulated(text: str, real: t.Mapping[str, str]) -> str:
    """A text with simulated port GUIDs."""
    return _GUID.sub(lambda match: real.get(match[0], match[0]), text)


def _instance(frame: Frame, host: str, item: t.Mapping[str, t.Any], *, variables: t.Mapping[str, t.Any], partitions: str) -> Instance:
    """The subnet manager of a host as the role makes it. Raises RdmaError."""
    given = {name: variables["opensm_" + name] for name in _PASSED if variables.get("opensm_" + name) not in (None, "")}
    options = frame.complete({**given, "state": "present", "instances": [item], "partitions": {frame.fabric: partitions}})
    if options is None:
        raise RdmaError("a variable opensm_* of %s has an invalid form. Next: ansible-playbook rdma.ofed.site --check, which names what is wrong" % host)
    return read_wanted(options).instances[0]


def _manager(
    frame: Frame, place: _placement.Place, host: str, *, variables: t.Mapping[str, t.Any], ports: t.Sequence[Port], text: str
) -> tuple[Manager, list[str]]:
    """The subnet manager of a host, and the declared keys that the opensm of the simulation does not take, in words."""
    (item,) = _placement.instances_of([place], variables, {})
    port = _chosen(host, item, ports, source=frame.source)
    instance = _instance(frame, host, {**item, "port": "", "port_guid": port.guid}, variables=variables, partitions=text)
    known = parse_template(frame.template)
    bad = {key: str(problem) for key, value in instance.options.items() for problem in key_problems({key: value}, known)}
    options = frame.secrets.without({key: value for key, value in instance.options.items() if key not in bad})
    instance = instance._replace(guid=port.simulated, options=options)
    return Manager(host, place.role, port, instance, {}), ["%s of %s: %s" % (key, host, why) for key, why in bad.items()]


def state(frame: Frame, groups: Groups, hostvars: Hostvars) -> State:
    """The state that an inventory declares. Raises RdmaError."""
    fabric = frame.fabric
    members, wrong = _placement.read_members(groups, hostvars)
    own = [member for member in members if member.fabric == fabric]
    require_none([*wrong, *_placement.conflicts(own)])
    if not own:
        raise RdmaError("no host of group opensm is on fabric %s, so there is no subnet manager to rehearse" % fabric)
    election = _placement.elect(own)
    ports = ports_of([member.host for member in own], hostvars, frame.found)
    real = {port.guid: port.simulated for port in frame.found.ports}
    managers: list[Manager] = []
    left: list[str] = []
    texts: list[tuple[str, t.Sequence[Absentee]]] = []
    for host in election.positions[fabric]:
        variables = {name: hostvars[host][name] for name in (*_VARIABLES, *("opensm_" + name for name in _PASSED)) if name in hostvars[host]}
        (place,) = (place for place in _placement.places_of(host, election, variables) if place.fabric == fabric)
        text, absentees = partitions_of(fabric, groups=groups, hostvars=hostvars, facts=lambda _host: None, variables=variables)
        texts.append((_simulated(text, real), absentees))
        manager, unknown = _manager(frame, place, host, variables=variables, ports=ports[host], text=texts[-1][0])
        managers.append(manager)
        left += unknown
    return State(
        managers=tuple(managers),
        resting=tuple(member.host for member in own if member.host not in election.positions[fabric]),
        partitions=texts[0][0],
        absentees=tuple(texts[0][1]),
        left_out=tuple(dict.fromkeys(left)),
    )


def with_files(manager: Manager, folder: str, template: str) -> Manager:
    """The manager with its files, which name those in `folder`."""
    path = "%s/%s/" % (ROOT, folder)
    named = {"partition_config_file": PARTITIONS, "log_file": "opensm.log", "dump_files_dir": "", "node_name_map_name": "names"}
    texts = {PARTITIONS: manager.instance.partitions, ROOT_GUIDS: manager.instance.root_guids, QOS_POLICY: manager.instance.qos_policy}
    named.update({key: name for key, name in (("root_guid_file", ROOT_GUIDS), ("qos_policy_file", QOS_POLICY)) if texts[name]})
    instance = manager.instance._replace(options={**manager.instance.options, **{key: path + name for key, name in named.items()}})
    return manager._replace(files={CONF: instance.conf(template), **texts})
