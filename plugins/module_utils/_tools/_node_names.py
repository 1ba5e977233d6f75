# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of nodes by node GUID, for the log of opensm and for the diagnostics. Pure.

The file is shared with its administrator. Foreign lines are kept, and win where both name a node.
Format: cl_nodenamemap.c of opensm, ibdiag_common.c of infiniband-diags. Both ignore the whole file if a line does
not begin with a number, use the first of two lines for one GUID, end a name at a quote or `#`, and read lines of up
to 255 bytes: the rest of a longer line is treated as a line of its own.
"""

from __future__ import annotations

import re
import typing as t

from .._codes import guid_problems, normal_guid
from .._errors import Problem, describe, label
from .._foreign import integer, shown

# The default path of the diagnostics in rdma-core; opensm.conf names it.
DEFAULT_PATH = "/etc/rdma/ib-node-name-map"
# Those of other builds: of opensm, and of the diagnostics before rdma-core.
OTHER_PATHS = ("/etc/opensm/ib-node-name-map", "/etc/infiniband-diags/ib-node-name-map")
VARIABLE = "opensm_node_names"

BEGIN = "# BEGIN rdma.ofed: lines up to END are overwritten\n"
END = "# END rdma.ofed\n"

_LINE = 255
# Bytes left for a name beside the GUID, the quotes and the line end.
_NAME = _LINE - len('0x0123456789abcdef ""\n') - 1
# A number in C notation, and what may follow it.
_NUMBER = re.compile(r"\s*(0[xX][0-9a-fA-F]+|[0-9]+)(?=[\s#]|\Z)\s*(.*)")
# What `wanted` makes of a host and its HCA.
_MADE = re.compile(r".+ [a-z][a-z0-9]*_[0-9]+\Z")


Hcas = t.Mapping[str, str]
"""The node GUID of each HCA of a host, by HCA name: `{"mlx5_0": "0x..."}`."""


def _line(guid: str, name: str) -> str:
    return '%s "%s"\n' % (guid, name)


def is_name(value: t.Any) -> bool:
    """Whether a name is allowed between quotes."""
    if not isinstance(value, str) or not value.strip() or set(value) & set('"#'):
        return False
    return value.isprintable() and len(value.encode("utf-8")) <= _NAME


def _one_name(name: str) -> str:
    """The name that a node has for its HCA, as one valid name: without characters that would end the name or its line, and within the tools' limit."""
    return re.sub(r'["#]', "_", shown(name)).encode("utf-8")[:_NAME].decode("utf-8", "ignore")


def parse_line(line: str) -> tuple[str, str] | None:
    """GUID and name of a line as the tools read it; None for a comment, an empty line, or a line that they reject."""
    match = _NUMBER.match(line)
    guid = integer(match.group(1)) if match else None
    if match is None or guid is None:
        return None
    names = [word for word in re.split(r'["#]', match.group(2)) if word]
    return "0x%016x" % guid, names[0] if names else ""


def parse(text: str) -> dict[str, str]:
    """Names by GUID, as the tools read them: the first of two lines for one GUID counts."""
    found: dict[str, str] = {}
    for guid, name in filter(None, map(parse_line, text.split("\n"))):
        if name:
            found.setdefault(guid, name)
    return found


def _sections(text: str) -> tuple[str, str]:
    """The foreign lines, and ours without their markers."""
    before, begin, rest = text.partition(BEGIN)
    if not begin:
        return text, ""
    ours, end, after = rest.partition(END)
    # Without the end marker, the rest may be the administrator's, and is kept.
    return (before + after, ours) if end else (before + rest, "")


def broken_lines(text: str) -> list[str]:
    """Foreign lines that make the tools ignore the whole file, with their line numbers."""
    return [
        "line %d: %s" % (number, describe(line))
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip() and not line.lstrip().startswith("#") and parse_line(line) is None
    ]


def wanted(hosts: t.Mapping[str, Hcas | None], declared: t.Mapping[str, str] | None = None) -> dict[str, str]:
    """Names by GUID: `node1 mlx5_0`, as in the kernel's node description, and the declared names, which win."""
    names = {guid: _one_name("%s %s" % (host, hca)) for host, hcas in hosts.items() for hca, guid in (hcas or {}).items()}
    names.update({normal_guid(guid): name for guid, name in (declared or {}).items()})
    return names


def declared_in(text: str, made: t.Mapping[str, str]) -> dict[str, str]:
    """The names of a map that the names of hosts do not explain: what `opensm_node_names` expresses. `made`: the result of `wanted` for the hosts."""
    foreign, ours = _sections(text)
    names = {**{guid: name for guid, name in parse(ours).items() if not _MADE.match(name)}, **parse(foreign)}
    return {guid: name for guid, name in names.items() if made.get(guid) != name}


def problems(declared: t.Any) -> list[Problem]:
    """Problems of declared names that can't be written, and of invalid GUIDs."""
    if declared is None or declared == "":
        return []
    if not isinstance(declared, dict):
        return [Problem(VARIABLE, declared, "a mapping of node GUIDs to names")]
    found = []
    for guid, name in declared.items():
        where = "%s.%s" % (VARIABLE, label(guid))
        found += guid_problems(where, guid, "a node GUID")
        if not is_name(name):
            found.append(Problem(where, name, "a name of up to %d bytes without quotes, # and control characters" % _NAME))
    return found


def render(found: str, hosts: t.Mapping[str, Hcas | None], declared: t.Mapping[str, str] | None = None) -> str:
    """The wanted file: the foreign lines of `found` first, then ours, sorted by name. "" where it would be empty.

    Names of hosts whose value is None, because this run has no facts of them, stay, so that a run with --limit does not remove them.
    """
    foreign, ours = _sections(found)
    names = wanted(hosts, declared)
    silent = {host for host, hcas in hosts.items() if hcas is None}
    for guid, name in parse(ours).items():
        # The last word is the HCA; a host name may contain blanks.
        if guid not in names and name.rsplit(" ", 1)[0] in silent:
            names[guid] = name
    taken = parse(foreign)
    lines = [_line(guid, name) for guid, name in sorted(names.items(), key=lambda item: (item[1], item[0])) if guid not in taken]
    if foreign and not foreign.endswith("\n"):
        foreign += "\n"
    return foreign + BEGIN + "".join(lines) + END if lines else foreign
