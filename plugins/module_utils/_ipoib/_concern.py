# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The decisions of the module from its options and a found state. Pure: a controller that has the state decides as the module does."""

from __future__ import annotations

import difflib
import typing as t

from .._concern import Address, Concern, judged, planned
from .._errors import RdmaError, Undecided, require_none
from .._foreign import is_true
from .._schema._ipoib import OPTIONS, VARIABLES
from . import _wanted
from ._discovery import DISCOVERY
from ._found import Found
from ._input import problems
from ._linkplan import canonical, unborn
from ._plan import plan
from ._references import resolve, resolve_unseen
from ._registry import choose
from ._todo import IpoibPlan
from ._wanted import Interface, Wanted, child_name, interfaces_of, settled

if t.TYPE_CHECKING:
    from .._facts._netdevs import Netdev


READ = ("ipoib_interfaces", "ipoib_adopt", "ipoib_backend")
_LINK_LOCAL = "fe80:"


def hints(variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """For the look: the `names` of the declared interfaces, with their port GUIDs or "". In `adopt`, where they are to be taken over from others: the declared
    `backend`, and the `ports` of interfaces that are declared by them.

    Malformed values are left to the validation.
    """
    entries = variables.get(READ[0])
    names: dict[t.Any, str] = {}
    places: list[str] = []
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        pkey, parent, bond, guid = _wanted.parse_pkey(entry.get("pkey")), entry.get("parent"), entry.get("bond"), entry.get("port_guid")
        ports = bond.get("ports") if isinstance(bond, dict) else ()
        names.update({port: names.get(port, "") for port in (ports if isinstance(ports, list) else ()) if isinstance(port, str)})
        places += [place.lower() for place in (guid, entry.get("pci")) if isinstance(place, str)]
        if isinstance(entry.get("name"), str):
            names[entry["name"]] = str(guid).lower() if _wanted.is_guid(guid) else ""
        elif pkey is not None and isinstance(parent, str):
            names[child_name(parent, pkey)] = ""
    backend = variables.get("ipoib_backend") or "auto"
    adopting = is_true(variables.get("ipoib_adopt")) and backend in VARIABLES["ipoib_backend"]["choices"]
    known = {name: guid for name, guid in names.items() if _wanted.is_name(name)}
    return {"names": known, "adopt": {"backend": backend, "ports": places}} if adopting else {"names": known}


class Options(t.NamedTuple):
    interfaces: t.Any = ()
    backend: str = "auto"
    state: str = "present"
    backup: bool = False
    rollback_timeout: int = 0
    """Seconds; 0 refuses changes that disturb the management connection."""
    allow_removal: bool = False
    """Whether all interfaces of earlier runs may be removed because none is declared."""
    adopt: bool = False
    """Whether interfaces are taken over from the files of others."""
    allow_interruption: bool = False
    """Whether they may go down for that."""
    restore: bool = False
    """Whether the files of others are restored, with the state absent."""
    image: bool = False
    """Whether this is the tree of an image: files are written and units enabled, for interfaces that appear at boot."""
    confirm: str = ""
    """The timer to stop; if set, nothing else is done."""


def wanted_of(options: Options, found: Found) -> Wanted:
    """The declared state, validated. Raises InvalidInput, and Refused or Unsupported where no back-end can be used."""
    facts = None if options.image else found.facts
    require_none(problems({"ipoib_" + name: value for name, value in options._asdict().items()}, facts))
    declared_entries = [("ipoib_interfaces[%d]" % position, item) for position, item in enumerate(options.interfaces) if options.state != "absent"]
    resolution = resolve_unseen(declared_entries) if facts is None else resolve(declared_entries, facts)
    require_none(resolution.problems)
    entries = interfaces_of(resolution.interfaces)
    declared = [item for item in entries if item.present]
    everything = options.state == "absent" or options.allow_removal
    dismissed = None if everything else frozenset(item.name for item in entries if not item.present)
    interfaces = settled(declared)
    # Removal needs no back-end, and must work if the former one is gone.
    backend = choose(options.backend, found.backends, found.saved).name if interfaces else ""
    return Wanted(
        interfaces,
        backend,
        resolution.namings,
        rollback=options.rollback_timeout > 0,
        dismissed=dismissed,
        adopt=options.adopt,
        restore=options.restore and options.state == "absent",
        interruption=options.allow_interruption,
        image=options.image,
    )


def result_of(wanted: Wanted, todo: IpoibPlan, netdevs: t.Mapping[str, Netdev], *, predicted: bool) -> dict[str, t.Any]:
    """The result of the module. `predicted`: report the interfaces as they would be after the plan, as for an image in any case."""
    reasons = (*todo.reasons, *(dissent.reason() for dissent in todo.left_alone))
    result = todo.plan.result(pending=todo.pending, reasons=reasons)
    interfaces = [report(interface, netdevs.get(interface.name), predicted or wanted.image) for interface in wanted.interfaces]
    foreign = {*todo.adopted, *todo.restored}
    diff = [_reduced(entry) if entry["before_header"] in foreign else entry for entry in result["diff"]]
    return dict(result, diff=diff, backend=wanted.backend, interfaces=interfaces)


def _reduced(entry: t.Mapping[str, str]) -> dict[str, str]:
    """A difference without the lines that stay: other parts of files of others may hold secrets."""
    before, after = entry["before"].splitlines(keepends=True), entry["after"].splitlines(keepends=True)
    steps = [step for step in difflib.SequenceMatcher(None, before, after, False).get_opcodes() if step[0] != "equal"]
    gone = "".join(line for _tag, first, last, _new, _end in steps for line in before[first:last])
    new = "".join(line for _tag, _first, _last, first, last in steps for line in after[first:last])
    return {**entry, "before": gone, "after": new}


def report(interface: Interface, netdev: Netdev | None, predicted: bool) -> dict[str, t.Any]:
    """One interface of the result: as found, or as predicted."""
    found = netdev or unborn(interface)
    mtu = interface.mtu if predicted and interface.mtu else found.mtu
    mode = interface.mode if found.mode or interface.bond is not None else ""
    addresses = list(canonical(interface.addresses))
    return {"name": interface.name, "mode": mode, "mode_reason": interface.mode_reason, "mtu": mtu, "addresses": addresses}


def unchanged(options: t.Mapping[str, t.Any], found: Found) -> dict[str, t.Any] | None:
    """The complete result of the module where it has nothing to do; None where it has, or where that is uncertain.

    `options`: those of the module, as given.
    """
    if options.get("confirm") or not set(options) <= set(Options._fields):
        return None
    try:
        wanted = wanted_of(Options(**options), found)
        todo = plan(wanted, found)
    except (RdmaError, Undecided):
        return None
    return None if todo.plan or found.armed else result_of(wanted, todo, found.netdevs, predicted=False)


def refusals(options: t.Mapping[str, t.Any], found: Found) -> list[str]:
    """What the module would refuse to do on the node, as far as a look can tell. `options`: those of the module."""
    try:
        plan(wanted_of(Options(**options), found), found)
    except Undecided:
        return []
    except RdmaError as exc:
        return [exc.msg]
    return []


def addresses(variables: t.Mapping[str, t.Any]) -> list[Address]:
    """The addresses that a host declares, each with the network of its partition. Expects validated variables."""
    if variables.get("ipoib_state") == "absent":
        return []
    entries = [_wanted.entry_of(item) for item in variables.get(READ[0]) or ()]
    partitions = {entry.name: entry.pkey & 0x7FFF for entry in entries}
    found = []
    for position, entry in enumerate(entries):
        port = entry.bond.ports[0] if entry.bond is not None else entry.name
        network = "%x" % partitions.get(port, 0)
        for number, address in enumerate(entry.addresses if entry.present else ()):
            if not address.startswith(_LINK_LOCAL):
                found.append(Address(address, "%s[%d].addresses[%d]" % (READ[0], position, number), network))
    return found


CONCERN = Concern(
    "ipoib",
    VARIABLES,
    needs=("ofed", "kernel_modules"),
    problems=judged(problems),
    of_ports=True,
    addresses=lambda subject: addresses(subject.variables),
    reads=READ,
    hints=lambda subject: hints(subject.variables),
    seen=Found,
    refusals=planned(refusals),
    options=OPTIONS,
    elsewhere={"allow_removal": "rdma_allow_removal", "allow_interruption": "rdma_allow_interruption", "restore": "rdma_restore", "image": "rdma_image"},
    unchanged=unchanged,
    discovery=DISCOVERY,
)
