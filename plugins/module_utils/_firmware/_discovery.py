# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the firmware of the adapters, and the parameters that differ from their defaults, by declarations. Pure.

Declarations by PSID are the same for all hosts, whichever boards a host has: an entry for a board that it lacks has no effect.
"""

from __future__ import annotations

import collections
import functools
import json
import typing as t

from .._concern import Discovery, Subject
from .._discovered import Joined, Left, Reading, Value, together
from .._hosts import fold
from .._tools import _flint, _mlxconfig
from ._config._input import entry_problems
from ._config._values import as_declared, base_name, number_of, readable, same, text_of
from ._found import Seen, SeenAdapter
from ._image._input import image_problems

if t.TYPE_CHECKING:
    from .._tools._mlxconfig import Row

_CONFIG, _VERSIONS, _INSTALL = "hca_firmware_config", "hca_firmware_versions", "hca_firmware_install_tools"
_DEFAULT = "the default"
_NO_FLINT = "neither mstflint nor flint is installed, so it is not declared: install mstflint and discover again"
_NO_CONFIG = "neither mlxconfig nor mstconfig is installed: install mstflint and discover again"
_UNREAD = "what could not be read of it is not declared"
_NO_DEFAULTS = "its firmware does not report their defaults, so it is not known which were set"
_OF_ADAPTERS = "the firmware of the adapters, by PSID"
_OF_OTHERS = "the firmware of boards that other hosts have, by PSID"
_SEVERAL = "its adapters have different firmware, and a version is declared by PSID: %s"

_Parameters = t.Dict[str, t.Any]
_T = t.TypeVar("_T")


def _name(adapter: SeenAdapter) -> str:
    return "adapter %s (%s)" % (adapter.pci, adapter.psid or adapter.flash_psid or "PSID unknown")


def _differs(row: Row) -> bool:
    """Whether the configured value is not the default."""
    return row.default is not None and readable(row.default) and not same(row.next, row.default)


@functools.lru_cache(maxsize=4096)
def _is_declarable(row: Row) -> bool:
    """Whether a declaration means exactly this value."""
    value = as_declared(row.next)
    return same(text_of(value), row.next) and not entry_problems(_CONFIG, [{"all": True, "parameters": {row.name: value}}])


def _rows(adapter: SeenAdapter) -> list[Row]:
    """The parameters to declare."""
    return [row for row in adapter.parameters or () if _differs(row) and _is_declarable(row)]


def _index(name: str) -> int:
    return number_of(name.partition("[")[2].rstrip("]")) or 0


def _runs(rows: t.Iterable[Row]) -> t.Iterator[list[Row]]:
    """Neighbouring elements of one array together."""
    run: list[Row] = []
    for row in sorted(rows, key=lambda row: (base_name(row.name), _index(row.name))):
        if run and not ("[" in row.name and base_name(row.name) == base_name(run[-1].name) and _index(row.name) == _index(run[-1].name) + 1):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _declared(rows: t.Iterable[Row]) -> _Parameters:
    """Parameters with their values, as `hca_firmware_config` has them."""
    found: _Parameters = {}
    for run in _runs(rows):
        values = [as_declared(row.next) for row in run]
        name = run[0].name if len(run) == 1 else "%s[%d..%d]" % (base_name(run[0].name), _index(run[0].name), _index(run[-1].name))
        found[name] = values[0] if len({row.next for row in run}) == 1 else values
    return found


@functools.lru_cache(maxsize=4096)
def _is_psid(psid: str) -> bool:
    return bool(psid) and not entry_problems(_CONFIG, [{"psid": psid, "parameters": {"SRIOV_EN": True}}])


def _board(adapter: SeenAdapter) -> str:
    return adapter.flash_psid or adapter.psid


class _Firmware:
    """What one host declares, by PSID where all of its adapters of that PSID are alike."""

    def __init__(self, seen: Seen) -> None:
        boards: dict[str, list[SeenAdapter]] = {}
        flashes: dict[str, list[SeenAdapter]] = {}
        self.rest: list[dict[str, t.Any]] = []
        """Entries by PCI address."""
        for adapter in seen.adapters:
            if not adapter.apart:
                boards.setdefault(adapter.psid if _is_psid(adapter.psid) else "", []).append(adapter)
                flashes.setdefault(_board(adapter), []).append(adapter)
        self.psids = frozenset(boards)
        self.parameters: dict[str, _Parameters] = {}
        for psid, alike in boards.items():
            found = [_declared(_rows(adapter)) for adapter in alike]
            if psid and all(adapter.parameters is not None for adapter in alike) and all(each == found[0] for each in found):
                self.parameters[psid] = found[0]
            else:
                self.rest += [{"pci": adapter.pci, "parameters": each} for adapter, each in zip(alike, found) if each]
        self.flashes = frozenset(flashes)
        found_versions = {psid: {adapter.version for adapter in alike} for psid, alike in flashes.items() if psid}
        self.several = {psid: sorted(found - {""}, key=_flint.by_number) for psid, found in found_versions.items() if len(found - {""}) > 1}
        alone = {psid: min(found) for psid, found in found_versions.items() if len(found) == 1}
        self.versions = {psid: version for psid, version in alone.items() if _is_version(psid, version)}


@functools.lru_cache(maxsize=4096)
def _is_version(psid: str, version: str) -> bool:
    return bool(version) and not image_problems({_VERSIONS: {psid: version}}, "hca_firmware_")


def _pending(adapter: SeenAdapter) -> list[str]:
    """What becomes effective with the next start of an adapter."""
    words = "%s: %s is %s now, and %s after the next start of the adapter"
    found = [
        words % (_name(adapter), row.name, row.current, row.next)
        for row in adapter.parameters or ()
        if row.current is not None and readable(row.current) and not same(row.next, row.current)
    ]
    if adapter.running and adapter.version and adapter.version != adapter.running:
        found.append(words % (_name(adapter), "its firmware", adapter.running, adapter.version))
    return found


def _of_adapter(adapter: SeenAdapter) -> Reading:
    """What is not declared of one adapter."""
    if adapter.apart:
        return Reading((), [Left(_name(adapter), "its firmware belongs to that of the baseboard (%s)" % adapter.apart)])
    left = [Left("%s: %s" % (_name(adapter), error), _UNREAD) for error in adapter.errors]
    if adapter.without_defaults:
        left.append(Left("parameters of %s" % _name(adapter), _NO_DEFAULTS))
    if adapter.unknown:
        left.append(Left("parameters of %s: %s" % (_name(adapter), ", ".join(adapter.unknown)), _NO_DEFAULTS))
    strange = ["%s=%s" % (row.name, row.next) for row in adapter.parameters or () if _differs(row) and not _is_declarable(row)]
    if strange:
        left.append(Left("parameters of %s: %s" % (_name(adapter), ", ".join(strange)), "no declaration can have these values; they stay as they are"))
    return Reading((), left, _pending(adapter))


def _lacks(seen: Seen, tools: t.Collection[str]) -> bool:
    """Whether the host has adapters and none of the tools that read them."""
    return any(not adapter.apart for adapter in seen.adapters) and not set(tools) & set(seen.tools)


def read(subject: Subject) -> Reading:
    """What is not declared of one host, and what its adapters wait for."""
    seen: Seen = subject.found
    own = [adapter for adapter in seen.adapters if not adapter.apart]
    left = [Left("firmware of %s" % psid, _SEVERAL % ", ".join(versions)) for psid, versions in _Firmware(seen).several.items()]
    if _lacks(seen, _flint.TOOLS):
        boards = sorted({"%s %s" % (_board(adapter), adapter.running) for adapter in own})
        left.append(Left("firmware of the adapters (%s)" % ", ".join(boards), _NO_FLINT))
    if _lacks(seen, _mlxconfig.TOOLS):
        left.append(Left("parameters of the adapters", _NO_CONFIG))
    of_mft = own and not {"mstflint", "mstconfig"} & set(seen.tools) and "mlxconfig" in seen.tools
    values = [Value(_INSTALL, False, "the tools are those of MFT")] if of_mft else []
    return together([Reading(values, left), *map(_of_adapter, seen.adapters)])


def _usual(own: t.Iterable[t.Mapping[str, _T]]) -> dict[str, _T]:
    """The value for each PSID that most hosts have."""
    counts: dict[str, collections.Counter[str]] = {}
    values: dict[str, _T] = {}
    for found in own:
        for psid, value in found.items():
            key = json.dumps(value, sort_keys=True)
            counts.setdefault(psid, collections.Counter())[key] += 1
            values["%s %s" % (psid, key)] = value
    return {psid: values["%s %s" % (psid, min(found, key=lambda key: (-found[key], key)))] for psid, found in sorted(counts.items())}


def _unlike(site: t.Mapping[str, Seen]) -> list[str]:
    """Adapters of one board with different firmware or parameters."""
    versions: dict[str, dict[str, set[str]]] = {}
    hosts: dict[str, set[str]] = {}
    unsure: dict[tuple[str, str], set[str]] = {}
    parameters: dict[tuple[str, str], dict[str, set[str]]] = {}
    for host, seen in site.items():
        for adapter in seen.adapters:
            version = adapter.version or adapter.running
            if version and not adapter.apart:
                versions.setdefault(_board(adapter), {}).setdefault(version, set()).add(host)
            for name in adapter.unknown:
                unsure.setdefault((adapter.psid, name), set()).add(host)
            # Without its defaults, an adapter can't be compared.
            if adapter.parameters is not None and not adapter.without_defaults:
                hosts.setdefault(adapter.psid, set()).add(host)
                for row in adapter.parameters:
                    if _differs(row):
                        parameters.setdefault((adapter.psid, row.name), {}).setdefault(row.next, set()).add(host)
    for (psid, parameter), found in parameters.items():
        rest = hosts[psid].difference(*found.values(), unsure.get((psid, parameter), ()))
        if rest:
            found[_DEFAULT] = rest
    words = "adapters with PSID %s have different %s: %s"
    unlike = [(psid, "firmware", found) for psid, found in sorted(versions.items()) if psid] + [
        (psid, "values of %s" % name, found) for (psid, name), found in sorted(parameters.items()) if psid
    ]
    return [
        words % (psid, what, "; ".join("%s on %s" % (value, fold(found[value])) for value in sorted(found, key=_flint.by_number)))
        for psid, what, found in unlike
        if len(found) > 1
    ]


def join(subjects: t.Sequence[Subject]) -> Joined:
    """The declarations of all hosts."""
    site: dict[str, Seen] = {subject.host: subject.found for subject in subjects}
    found = {host: _Firmware(seen) for host, seen in site.items()}
    versions = _usual(each.versions for each in found.values())
    parameters = _usual(each.parameters for each in found.values())
    values = {}
    for host, own in found.items():
        # What is not known of a board here is not declared here, even if other hosts have it. Nor is anything where the tools are missing, which a
        # declaration would install, or for other boards where a board is not known: it may be one of them.
        of_others = {} if _lacks(site[host], _flint.TOOLS) or "" in own.flashes else versions
        its_versions = {**{psid: version for psid, version in of_others.items() if psid not in own.flashes}, **own.versions}
        set_on_others = {} if _lacks(site[host], _mlxconfig.TOOLS) or "" in own.psids else parameters
        its_parameters = {**{psid: each for psid, each in set_on_others.items() if psid not in own.psids}, **own.parameters}
        entries = [{"psid": psid, "parameters": each} for psid, each in sorted(its_parameters.items()) if each] + own.rest
        values[host] = [
            Value(_VERSIONS, dict(sorted(its_versions.items())), _OF_ADAPTERS if own.versions else _OF_OTHERS),
            Value(_CONFIG, entries, "the parameters of the adapters that differ from their defaults"),
        ]
    return Joined(values, dangers=_unlike(site))


DISCOVERY = Discovery(read, join, hints={}, seen=Seen)
