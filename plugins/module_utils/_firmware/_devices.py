# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The adapters of a node: one per card, regardless of its number of PCI functions; selectors that name them; and parallel work on them."""

from __future__ import annotations

import os
import re
import typing as t
from concurrent.futures import ThreadPoolExecutor

from .._errors import CommandFailed, Problem, RdmaError, Refused, label
from .._facts._apart import NVSWITCH
from .._facts._machine import read_machine
from .._facts._models import model_of
from .._facts._portname import full_address
from .._facts._ports import read_adapters, read_hcas, read_part_number, read_ports
from .._facts._sysfs import attribute, entries, guid, pci_address
from .._facts._virtual import is_virtual
from .._foreign import integer

_NVIDIA = "0x15b3"
_PCI = re.compile(r"^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_WORD = re.compile(r"^[A-Za-z0-9_.:@-]+\Z")


_WORKERS = 16

Item = t.TypeVar("Item")
Result = t.TypeVar("Result")

SELECTORS = ("pci", "psid", "part_number", "type", "guid", "netdev", "rdma")


class Device(t.NamedTuple):
    """One adapter. A field is "" where its value is unknown, such as the PSID before a driver is loaded."""

    pci: str
    """The first of its functions, which stands for the adapter."""
    functions: tuple[str, ...] = ()
    rdma: tuple[str, ...] = ()
    netdevs: tuple[str, ...] = ()
    type: str = ""
    """`MT4119`."""
    model: str = ""
    """`ConnectX5`."""
    psid: str = ""
    part_number: str = ""
    guids: tuple[str, ...] = ()
    """Node and port GUIDs."""
    apart: str = ""
    """Why `all: true` leaves it out, like `apart` of its RDMA devices in the facts."""


def _groups(root: str, functions: t.Sequence[str], images: t.Mapping[str, str]) -> list[tuple[str, ...]]:
    """The functions of each card: those of one slot, or of several slots with one system image GUID (Socket Direct)."""
    groups: dict[str, list[str]] = {}
    owner: dict[str, str] = {}
    for function in sorted(functions):
        slot = function.rpartition(".")[0]
        image = images.get(function, "")
        home = owner.get(slot) or (owner.get(image) if image else None) or slot
        owner[slot] = home
        if image:
            owner.setdefault(image, home)
        groups.setdefault(home, []).append(function)
    return [tuple(group) for group in groups.values()]


def read_devices(root: str = "/") -> tuple[Device, ...]:
    """All adapters by address, with or without a driver. Virtual functions are left out: their firmware is that of the host, which a guest can't reach."""
    hcas = read_hcas(root)
    ports = read_ports(root)
    base = os.path.join(root, "sys/bus/pci/devices")
    adapters = {adapter.pci: adapter for adapter in read_adapters(root, hcas) if adapter.vendor.lower() == _NVIDIA and not is_virtual(root, adapter.pci)}
    netdevs: dict[str, set[str]] = {pci: set(entries(base, pci, "net")) for pci in adapters}
    for name in entries(root, "sys/class/net"):
        netdevs.get(pci_address(root, "sys/class/net", name, "device"), set()).add(name)
    images = {hca.pci: guid(attribute(root, "sys/class/infiniband", hca.name, "sys_image_guid")) for hca in hcas}
    found = []
    for functions in _groups(root, tuple(adapters), images):
        own = [hca for hca in hcas if hca.pci in functions]
        names = tuple(hca.name for hca in own)
        identity = integer(adapters[functions[0]].device)
        found.append(
            Device(
                pci=functions[0],
                functions=functions,
                rdma=names,
                netdevs=tuple(sorted(name for function in functions for name in netdevs[function])),
                type="MT%d" % identity if identity is not None else "",
                model=model_of(identity or 0),
                psid=next((hca.psid for hca in own if hca.psid), ""),
                part_number=next((hca.part_number for hca in own if hca.part_number), "") or read_part_number(os.path.join(base, functions[0], "vpd")),
                guids=tuple(sorted({*(hca.node_guid for hca in own), *(port.port_guid for port in ports if port.device in names)} - {""})),
                apart=NVSWITCH if any(hca.apart == NVSWITCH for hca in own) else "",
            )
        )
    return tuple(found)


def _plain(text: str) -> str:
    """The normalised name of a type: `ConnectX-5` and `connectx5` are the same."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def selector_problem(variable: str, kind: str, value: t.Any) -> Problem | None:
    """The problem of the text of a selector."""
    if kind == "pci":
        return None if isinstance(value, str) and _PCI.match(value.lower()) else Problem(variable, value, "a PCI address such as 0000:03:00.0")
    if kind == "guid":
        return None if isinstance(value, str) and guid(value) else Problem(variable, value, "a node or port GUID: 16 hex digits, in quotes")
    return None if isinstance(value, str) and _WORD.match(value) else Problem(variable, value, "the %s of an adapter" % kind.replace("_", " "))


def selection_problems(where: str, given: t.Mapping[t.Any, t.Any], options: t.Sequence[str] = ()) -> list[Problem]:
    """All problems of an entry's selectors. `given`: the keys that are set; `options`: keys that may accompany selectors."""
    known = ("all", *SELECTORS, *options)
    problems = [Problem("%s.%s" % (where, label(key)), given[key], ", ".join(known), "no such option") for key in given if key not in known]
    chosen = [kind for kind in SELECTORS if kind in given]
    problems += filter(None, (selector_problem("%s.%s" % (where, kind), kind, given[kind]) for kind in chosen))
    everything = given.get("all", False)
    if not isinstance(everything, bool):
        problems.append(Problem(where + ".all", everything, "true or false"))
    elif everything == bool(chosen):
        problems.append(Problem(where, chosen or "without a selector", "either all: true or some of %s" % ", ".join(SELECTORS)))
    return problems


def select(
    where: str, entry: t.Mapping[str, t.Any], devices: t.Sequence[Device], *, required: bool, must_agree: bool = False
) -> tuple[list[Device], list[Problem]]:
    """The adapters that match all selectors of an entry, and the problem where none does.

    No match is an error if one is `required`. With `must_agree`, it is also an error if adapters match only some of the selectors.
    """
    selectors = {kind: entry[kind] for kind in SELECTORS if entry.get(kind) is not None}
    # The firmware of a baseboard's adapters comes with the baseboard, so they are selected only by an explicit selector.
    selected = [device for device in devices if all(matches(device, kind, value) for kind, value in selectors.items()) and (selectors or not device.apart)]
    if selected:
        return selected, []
    said = ", ".join("%s: %s" % item for item in selectors.items()) or "all: true"
    partly = [device for device in devices if any(matches(device, kind, value) for kind, value in selectors.items())]
    if must_agree and partly and len(selectors) > 1:
        return [], [Problem(where, said, "selectors that agree", "%s matches only some of them" % "; ".join(map(describe_device, partly)))]
    if not required:
        return [], []
    have = "; ".join(map(describe_device, devices)) or "none of NVIDIA with firmware of its own, which virtual functions lack"
    unknown = "psid" in selectors and not all(device.psid for device in devices)
    hint = "this node has: %s%s" % (have, ". The PSID is known only once the driver is loaded" if unknown else "")
    return [], [Problem(where, said, "an adapter of this node, or missing: ignore (hca_firmware_missing of the role)", hint)]


def select_devices(name: str, entries: t.Sequence[t.Mapping[str, t.Any]], devices: t.Sequence[Device], *, missing: str) -> tuple[list[Device], list[Problem]]:
    """The adapters that any entry selects, each once. `missing`: `fail` or `ignore`, for selectors that match no adapter."""
    selections = [select("%s[%d]" % (name, index), entry, devices, required=missing == "fail" and not entry.get("all")) for index, entry in enumerate(entries)]
    chosen = {device.pci for selected, _problems in selections for device in selected}
    return [device for device in devices if device.pci in chosen], [problem for _selected, problems in selections for problem in problems]


def matches(device: Device, kind: str, value: str) -> bool:
    """Whether a selector matches this adapter."""
    if kind == "pci":
        return full_address(value) in device.functions
    if kind == "guid":
        return guid(value) in device.guids
    if kind == "type":
        return _plain(value) in {_plain(device.type), _plain(device.model)} - {""}
    if kind in ("psid", "part_number"):
        # No selector matches an unknown value.
        return value != "" and value.lower() == str(getattr(device, kind)).lower()
    return value in (device.netdevs if kind == "netdev" else device.rdma)


def title(device: Device) -> str:
    """The address, and the device names on the node: "0000:03:00.0 (mlx5_0)"."""
    return "%s (%s)" % (device.pci, ", ".join(device.rdma)) if device.rdma else device.pci


def describe_device(device: Device) -> str:
    """An adapter in one line, for errors that list the adapters of the node."""
    parts = [device.pci, device.model or device.type, device.part_number, "PSID %s" % (device.psid or "unknown"), *device.rdma, *device.netdevs]
    return " ".join(part for part in parts if part)


def need_host(parameters: t.Mapping[str, t.Any], root: str) -> None:
    """Refuse to change cards from a container or chroot, unless the option `allow_container` is set."""
    kind = read_machine(root).kind
    if kind in ("container", "chroot") and not parameters["allow_container"]:
        way_out = "run it there (allow_container: true, or rdma_allow_container: true for the roles, overrides this)"
        raise Refused("this is a %s: its adapters belong to the host, which may be using them; %s" % (kind, way_out))


def outcomes(function: t.Callable[[Item], Result], items: t.Sequence[Item]) -> list[Result | RdmaError]:
    """The result for each item, or its error. The items are processed in parallel, because most of the time is spent waiting for cards."""

    def one(item: Item) -> Result | RdmaError:
        try:
            return function(item)
        except RdmaError as exc:
            return exc

    if not items:
        return []
    with ThreadPoolExecutor(max_workers=min(len(items), _WORKERS)) as pool:
        return list(pool.map(one, items))


class Unread(t.NamedTuple):
    """A card that could not be queried, and why."""

    pci: str
    error: RdmaError


def sort_out(items: t.Sequence[tuple[str, Item]], function: t.Callable[[Item], Result]) -> tuple[list[Result], tuple[Unread, ...]]:
    """The results of all cards, given by address, and the cards that could not be queried. One broken card does not stop the others."""
    answers = outcomes(function, [item for _pci, item in items])
    unread = tuple(Unread(pci, answer) for (pci, _item), answer in zip(items, answers) if isinstance(answer, RdmaError))
    return [answer for answer in answers if not isinstance(answer, RdmaError)], unread


def concluded(result: dict[str, t.Any], unread: t.Sequence[Unread]) -> dict[str, t.Any]:
    """The result of a module. If cards could not be queried, raise CommandFailed with the results of all others."""
    if not unread:
        return result
    texts = [one.error.msg for one in unread]
    if any(result[key] for key in ("devices", "adapters") if key in result):
        texts.append("The other adapters of this node were done nevertheless")
    named = [{"pci": one.pci, "why": one.error.msg} for one in unread]
    raise CommandFailed(". ".join(texts), **{**unread[0].error.details, **result, "unread": named})


def each(function: t.Callable[[Item], Result], items: t.Sequence[Item]) -> list[Result]:
    """The results of all items. Raises CommandFailed with all failures, or a single failure as it is."""
    results = outcomes(function, items)
    failures = [result for result in results if isinstance(result, RdmaError)]
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise CommandFailed("; ".join(failure.msg for failure in failures), **failures[0].details)
    return [result for result in results if not isinstance(result, RdmaError)]
