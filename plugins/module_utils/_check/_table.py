# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcomes of all hosts as one plain table, and what only all of them together show. Pure; linear in hosts."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check import _words
from ansible_collections.rdma.ofed.plugins.module_utils._finding import BY_HAND, Severity, rank_of
from ansible_collections.rdma.ofed.plugins.module_utils._hosts import fold, natural, sharing

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TITLES = ("host", "port", "state", "LID", "SM LID", "rate", "interface", "mode", "MTU", "addresses", "SM", "result")
# The cells of a row by their titles: `sm_lid` is below "SM LID".
KEYS = tuple(title.lower().replace(" ", "_") for title in TITLES)
UNKNOWN = "-"
_SPLIT = (
    "fabric %s: this node's master is %s, that of most others %s: the fabric is split ('iblinkinfo' on both sides shows the links that are down between them)"
)
# Versions that equal hosts should share: of the firmware of adapters with one PSID, and of one vendor's stack. What a distribution has is up to its release.
_FIRMWARE, _STACK = "firmware", "stack"
_SHARED: t.Mapping[str, str] = {_FIRMWARE: "firmware of adapters with PSID %s", _STACK: "release of %s"}
_VENDORS = ("mlnx_ofed", "doca")


def differences_of(results: Mapping[str, Mapping[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Versions that equal hosts should share and do not, as entries of `differences`; of each, that of most hosts comes first.

    None is a deviation by itself: an upgrade that goes on is one, too. `results` are those of `fabric_check`, by host.
    """
    seen: dict[tuple[str, str], dict[str, dict[str, None]]] = {}

    def see(of: tuple[str, str], version: str, host: str) -> None:
        if of[1] and version:
            seen.setdefault(of, {}).setdefault(version, {})[host] = None

    for host, result in results.items():
        for card in result.get("adapters") or ():
            see((_FIRMWARE, str(card.get("psid", ""))), str(card.get("firmware", "")), host)
        stack = result.get("stack") or {}
        if stack.get("kind") in _VENDORS:
            see((_STACK, str(stack["kind"])), str(stack.get("version", "")), host)
    found = []
    for (what, of), hosts in sorted(seen.items()):
        if len(hosts) > 1:
            order = sorted(hosts, key=lambda version: (-len(hosts[version]), natural(version)))
            found.append({"what": what, "of": of, "hosts": {version: list(hosts[version]) for version in order}})
    return found


def _difference(entry: Mapping[str, t.Any]) -> str:
    """`firmware of adapters with PSID MT_0000000008: 16.35.2000 on node[1-3], 16.35.4030 on node4`."""
    hosts = ", ".join("%s on %s" % (version, fold(names)) for version, names in entry["hosts"].items())
    return "%s: %s" % (_SHARED[entry["what"]] % entry["of"], hosts)


def deviations_of(results: Mapping[str, Mapping[str, t.Any]]) -> dict[str, list[str]]:
    """The deviations in words by host, from the results of `fabric_check` by host. A host without one is left out.

    A host without an outcome deviates too, because it was unreachable or the module failed: nothing is known of it.
    """
    found: dict[str, list[str]] = {}
    for host, result in results.items():
        if "deviations" in result:
            lines = [str(line) for line in result.get("deviation_lines", ())]
        else:
            why = "unreachable" if result.get("unreachable") else "not checked"
            lines = ["%s: %s" % (why, _first_line(str(result.get("msg", ""))) or "no result")]
        if lines:
            found[host] = lines
    for host, line in _split_fabrics(results):
        found.setdefault(host, []).append(line)
    return found


def foreseen(results: Mapping[str, Mapping[str, t.Any]]) -> dict[str, list[str]]:
    """The deviations that no role mends, in words by host. Those of hosts without an outcome are not known."""
    codes = {code.value for code in BY_HAND}
    found = {host: [_words.line_of(each) for each in result.get("deviations") or () if each.get("code") in codes] for host, result in results.items()}
    return {host: lines for host, lines in found.items() if lines}


def render_foreseen(results: Mapping[str, Mapping[str, t.Any]], deviations: Mapping[str, Sequence[str]]) -> str:
    """What a run would fail for, each once with its hosts; "" for nothing."""
    lines = ["  " + line for line in _grouped(results, deviations)]
    return "\n".join(("No role mends this. The run would fail unless it is mended before:", *lines)) if lines else ""


def _first_line(text: str) -> str:
    """The message itself; ansible-core 2.19 adds the place in the playbook and an excerpt."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _split_fabrics(results: Mapping[str, Mapping[str, t.Any]]) -> list[tuple[str, str]]:
    """Two masters that can't see each other: no node deviates by itself, only all of them together show it."""
    seen: dict[str, dict[str, list[str]]] = {}
    for host, result in results.items():
        if result.get("master_guid"):
            seen.setdefault(str(result.get("fabric", "")), {}).setdefault(str(result["master_guid"]), []).append(host)
    lines = []
    for fabric, masters in sorted(seen.items()):
        if len(masters) < 2:
            continue
        # The side that fewer hosts see is the likelier odd one out: it carries the message.
        by_size = sorted(masters, key=lambda guid: (-len(masters[guid]), guid))
        for guid in by_size[1:]:
            for host in masters[guid]:
                lines.append((host, _SPLIT % (fabric, guid, by_size[0])))
    return lines


def columns(table: Sequence[tuple[str, ...]]) -> list[str]:
    """The lines of a table, of which the first row has the titles."""
    widths = [max(map(len, column)) for column in zip(*table)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in table]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def verdict(findings: Sequence[Mapping[str, t.Any]], form: str) -> str:
    """The first error in that form, and how many more there are; "" without errors."""
    errors = [each for each in findings if each["severity"] == Severity.ERROR.value]
    more = "; and %d more" % (len(errors) - 1) if errors[1:] else ""
    return form % errors[0] + more if errors else ""


def render(results: Mapping[str, Mapping[str, t.Any]], deviations: Mapping[str, Sequence[str]], differences: Sequence[Mapping[str, t.Any]] = ()) -> str:
    """The table, then the deviations, each once with its hosts and causes first, then where hosts differ, then one line of outcome."""
    table: list[tuple[str, ...]] = [TITLES]
    for host, result in results.items():
        rows = result.get("rows") or [{"result": "BAD"}]
        for row in rows:
            cells = {**row, "host": host}
            if host in deviations and cells.get("result") == "OK":
                cells["result"] = "BAD"
            table.append(tuple(str(cells.get(key, UNKNOWN)) for key in KEYS))
    lines = columns(table)
    if deviations:
        lines += ["", "Deviations:"]
        lines += ["  " + line for line in _grouped(results, deviations)]
    if differences:
        lines += ["", "Different versions:", *("  " + _difference(each) for each in differences)]
    lines += ["", _outcome(len(results), len(deviations))]
    return "\n".join(lines)


def _grouped(results: Mapping[str, Mapping[str, t.Any]], deviations: Mapping[str, Sequence[str]]) -> list[str]:
    """Each deviation with the hosts that have it. A host with what explains the deviations of others comes before these."""

    def rank(host: str) -> int:
        return min((rank_of(str(each.get("code")), str(each.get("kind"))) for each in results.get(host, {}).get("deviations") or ()), default=0)

    hosts = sharing({host: deviations[host] for host in sorted(deviations, key=rank)})
    return ["%s: %s" % (fold(names), text) for text, names in hosts.items()]


def _outcome(hosts: int, bad: int) -> str:
    if not hosts:
        return "No host was checked."
    if bad:
        return "%d of %d hosts deviate from the declared state." % (bad, hosts)
    return "%s as declared." % ("The one host is" if hosts == 1 else "All %d hosts are" % hosts)
