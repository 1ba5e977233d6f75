# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare what opensm made of its files with what is declared. Pure; _record.py carries the result to the controller.

Where opensm does not understand a file, or a routing engine does not fit the fabric, it continues with its defaults. Only its log says so.
"""

from __future__ import annotations

import typing as t

from ..._finding import Code, Finding
from ..._finding import Topic as Object
from ..._foreign import integer
from ..._tools._opensm_log import Log, Topic
from .._options import UNSET, words
from .._partitions._entry import DEFAULT_PKEY
from .._partitions._file import Rule, parse_partitions

MASTER = "MASTER"
FULL, LIMITED, NONE = "full member", "limited member", "no member"
# An opensm that systemd has restarted this often, and that is younger than this, keeps crashing.
_RESTARTS = 2
_YOUNG_SECONDS = 300
# The number of members whose own tables are read, besides the port of opensm itself: each takes a query.
MOST_MEMBERS = 8
# The default sa_key of opensm, for trusted queries.
_PUBLIC_SA_KEY = "0x1"

Table = t.Mapping[int, bool]
"""The P_Keys of a port without the membership bit; True for full membership."""


class Difference(t.NamedTuple):
    """A partition whose membership differs between partitions.conf and the P_Key table of a port."""

    pkey: int
    port: str
    wanted: str
    """FULL, LIMITED or NONE."""
    found: str


class Told(t.NamedTuple):
    """The state of one of our opensm processes, from its log and its tables."""

    fabric: str = ""
    engines: tuple[str, ...] = ()
    """The declared routing engines; empty for the default."""
    log: Log = Log()
    restarts: int = 0
    """How often systemd has restarted it after it ended."""
    seconds: float = -1
    """Seconds since the last start; negative where unknown."""
    differences: tuple[Difference, ...] = ()

    @property
    def is_master(self) -> bool:
        return self.log.state == MASTER


def engines_of(keys: t.Mapping[str, str]) -> tuple[str, ...]:
    """The routing engines that opensm.conf names."""
    named = keys.get("routing_engine", UNSET)
    return tuple(str(word) for word in words("" if named == UNSET else named))


def table_of(pkeys: t.Iterable[int]) -> dict[int, bool]:
    """Parse the entries of a port's P_Key table. A port with both memberships in one partition counts as a full member."""
    found: dict[int, bool] = {}
    for pkey in pkeys:
        base = pkey & DEFAULT_PKEY
        if base:
            found[base] = found.get(base, False) or bool(pkey & 0x8000)
    return found


def expected(text: str, guid: str, *, own: bool) -> dict[int, bool]:
    """The P_Key table that opensm gives the port of an HCA, as partitions.conf defines it. `own`: whether opensm is bound to the port.

    Partitions whose P_Key opensm generates are left out.
    """
    return _given(parse_partitions(text), guid, own=own)


def _given(rules: t.Sequence[Rule], guid: str, *, own: bool) -> dict[int, bool]:
    if not rules:
        return {DEFAULT_PKEY: True}
    found = {DEFAULT_PKEY: own}
    for rule in rules:
        for who, membership in rule.entries if rule.pkey else ():
            if who in ("ALL", "ALL_CAS", guid) or (who == "SELF" and own):
                found[rule.pkey] = membership != "limited"
    return found


def named_ports(text: str) -> list[str]:
    """The ports that partitions.conf names by GUID, in its order."""
    return list(dict.fromkeys(who for rule in parse_partitions(text) for who, _membership in rule.entries if who.startswith("0x")))


def public_key(keys: t.Mapping[str, str]) -> str:
    """The sa_key with which opensm reveals the tables of all ports; "" for a secret key, which must not appear on a command line."""
    key = keys.get("sa_key", UNSET)
    return _PUBLIC_SA_KEY if key == UNSET or integer(key) == integer(_PUBLIC_SA_KEY) else ""


def suspects_first(text: str, members: t.Iterable[str], tables: t.Mapping[str, Table]) -> list[str]:
    """The members in the fabric, first those whose tables in opensm deviate from partitions.conf. `tables`: P_Key tables of the ports in the fabric."""
    rules = parse_partitions(text)
    return sorted((guid for guid in members if guid in tables), key=lambda guid: _given(rules, guid, own=False) == tables[guid])


def differences(wanted: Table, found: Table, port: str) -> tuple[Difference, ...]:
    """The differences between the P_Key table of a port and the file."""

    def held(table: Table, pkey: int) -> str:
        return NONE if pkey not in table else FULL if table[pkey] else LIMITED

    pkeys = sorted({**wanted, **found})
    return tuple(Difference(pkey, port, held(wanted, pkey), held(found, pkey)) for pkey in pkeys if held(wanted, pkey) != held(found, pkey))


def _joined(texts: t.Sequence[str]) -> str:
    return "; ".join(texts)


def _routing(told: Told) -> list[Finding]:
    declared = [engine for engine in told.engines if engine != "no_fallback"]
    log = told.log
    # Failed engines are logged at once; the engine used instead may be logged later.
    failed = set(declared) <= set(log.failed)
    if not declared or not (failed or (log.engine and log.engine not in declared)):
        return []
    taken = "" if failed and log.engine in declared else log.engine
    why = _joined(log.about(Topic.ROUTING)) or "its log does not say why"
    return [Finding(Code.ROUTING_FALLBACK, Object.SUBNET_MANAGER, told.fabric, "routing_engine", ", ".join(declared), taken or "none of them", why)]


def _objections(told: Told) -> list[Finding]:
    """Findings about its files. opensm reads them only while it is master."""
    found = []
    partitions = told.log.about(Topic.PARTITIONS)
    if partitions:
        found.append(Finding(Code.PARTITIONS_REFUSED, Object.SUBNET_MANAGER, told.fabric, "partitions", detail=_joined(partitions)))
    others = [text for topic in (Topic.ROOTS, Topic.QOS, Topic.FILES) for text in told.log.about(topic)]
    if others:
        found.append(Finding(Code.OPENSM_OBJECTS, Object.SUBNET_MANAGER, told.fabric, "configuration", detail=_joined(others)))
    return found


def findings(told: Told) -> list[Finding]:
    """Everything that is not as declared. A finding that explains others comes before them."""
    found = []
    port = told.log.about(Topic.PORT)
    if port and not told.is_master and not told.log.sweeps:
        found.append(Finding(Code.OPENSM_UNBOUND, Object.SUBNET_MANAGER, told.fabric, "port", detail=_joined(port)))
    if told.restarts >= _RESTARTS and 0 <= told.seconds < _YOUNG_SECONDS:
        found.append(Finding(Code.OPENSM_RESTARTS, Object.SUBNET_MANAGER, told.fabric, "process", found=str(told.restarts), detail=_joined(port)))
    if told.is_master:
        found += [*_objections(told), *_routing(told)]
        for pkey, port_name, wanted, held in told.differences:
            found.append(Finding(Code.PKEY_DIFFERS, Object.PARTITION, "%s 0x%04x" % (port_name, pkey), "", wanted, held, told.fabric))
    return found
