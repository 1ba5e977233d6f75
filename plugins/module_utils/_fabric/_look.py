# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Query a whole fabric with the tools. Read-only. Missing information is a gap, not an error."""

from __future__ import annotations

import typing as t

from .._errors import CommandFailed, RdmaError
from .._host._files import read_text
from .._tools import _iblinkinfo, _ibnetdiscover, _saquery, _smpquery
from .._tools import _node_names as _nodenames
from ._gap import Code, Gap, gaps_of
from ._subnet import join

if t.TYPE_CHECKING:
    from .._facts._ports import Port
    from .._host._run import Output, Runner
    from .._tools._sminfo import SmInfo
    from ._subnet import Subnet

T = t.TypeVar("T")
L = t.TypeVar("L", _ibnetdiscover.Topology, _iblinkinfo.LinkPorts)

# ibnetdiscover and iblinkinfo query each port of each switch; saquery waits for an answer of many thousands of records.
TIMEOUT_SECONDS = 300.0
# Switches of some vendors never answer, and each takes seconds until the query times out.
_SILENT = 3
DEFAULT_SA_KEY = "1"
"""The key that opensm trusts unless `sa_key` in opensm.conf differs."""


class Asking:
    """Queries a fabric through one port, and collects the gaps."""

    def __init__(self, run: Runner, port: Port) -> None:
        self._run = run
        self._port = port
        self.gaps: list[Gap] = []
        if port.phys_state not in ("", "LinkUp"):
            self.gaps += gaps_of(Code.NO_LINK, "", ["%s is %s (%s)" % (port.name, port.state, port.phys_state)])

    def _answer(self, argv: t.Sequence[str], ok: t.Collection[int] = (0,)) -> Output | None:
        """The output of a tool; None where it failed. Messages omit the command line, which may contain a key."""
        tool = argv[0]
        try:
            output = self._run(argv, ok=None, timeout=TIMEOUT_SECONDS)
        except CommandFailed:
            self.gaps += gaps_of(Code.FAILED, tool, ["it did not end within %g s" % TIMEOUT_SECONDS])
            return None
        said = [line.strip() for line in output.stderr.splitlines() if line.strip()]
        if output.rc not in ok:
            self.gaps += gaps_of(Code.FAILED, tool, ["exit status %d" % output.rc, *(said or output.stdout.strip().splitlines()[-1:])])
            return None
        self.gaps += gaps_of(Code.INCOMPLETE, tool, said)
        return output

    def _says(self, argv: t.Sequence[str], read: t.Callable[[str], T]) -> T | None:
        """The parsed output of a tool; None where there is none."""
        try:
            output = self._answer(argv)
            return read(output.stdout) if output else None
        except RdmaError as exc:
            self.gaps += gaps_of(Code.UNREAD, argv[0], [exc.msg])
        return None

    def _has(self, tool: str) -> bool:
        """Whether a tool is installed; a missing tool is reported as a gap, once."""
        missing = Gap(Code.NOT_INSTALLED, tool)
        if not self._run.has(tool) and missing not in self.gaps:
            self.gaps.append(missing)
        return missing not in self.gaps

    def _listed(self, argv: t.Sequence[str], read: t.Callable[[str], L], *, empty: L) -> L:
        """The parsed output of a tool that may be missing; `empty` where there is none."""
        found = (self._says(argv, read) if self._has(argv[0]) else None) or empty
        self.gaps += gaps_of(Code.UNREAD, argv[0], found.unread)
        return found

    def subnet(self, name_map: str, *, listed: bool = True) -> Subnet:
        """The topology with names from the map and, if `listed`, the states of links. The diagnostics ignore a map with a malformed line."""
        text = read_text(name_map)
        broken = _nodenames.broken_lines(text)
        device, port, links = self._port.device, self._port.port, _iblinkinfo.LinkPorts()
        topology = self._listed(_ibnetdiscover.command(device, port), _ibnetdiscover.parse_topology, empty=_ibnetdiscover.Topology())
        if listed:
            links = self._listed(_iblinkinfo.command(device, port), _iblinkinfo.parse_ports, empty=links)
        found = join(topology, links, {} if broken else _nodenames.parse(text))
        return found._replace(gaps=(*gaps_of(Code.NAME_MAP, "", broken), *found.gaps))

    def managers(self) -> tuple[SmInfo, ...] | None:
        """The subnet managers; None where the subnet administration can't be queried any further."""
        if not self._has("saquery"):
            return None
        try:
            found = _saquery.sm_records(self._run, self._port.device, self._port.port)
        except RdmaError as exc:
            failed = isinstance(exc, CommandFailed)
            self.gaps += gaps_of(Code.FAILED if failed else Code.UNREAD, "saquery", exc.msg.splitlines() if failed else [exc.msg])
            return None
        if found is None:
            self.gaps.append(Gap(Code.NO_SUBNET_MANAGER))
        return found

    def pkeys(self, key: str) -> tuple[_saquery.PkeyBlock, ...]:
        return self._says(_saquery.command(self._port.device, self._port.port, "PKTR", key=key), _saquery.parse_pkeys) or ()

    def members(self, key: str) -> tuple[_saquery.McMember, ...]:
        """All multicast groups, followed by their members, which are told only to trusted requesters."""
        found = [self._says(_saquery.command(self._port.device, self._port.port, "MCMR", key=each), _saquery.parse_members) for each in ("", key)]
        return tuple(record for part in found for record in part or ())

    def firmware(self, lids: t.Mapping[str, int]) -> dict[str, _smpquery.SwitchFirmware]:
        """The firmware by node GUID, of the switches at these LIDs. The first silent switches stand for all."""
        found: dict[str, _smpquery.SwitchFirmware] = {}
        if not self._has("vendstat"):
            return found
        in_a_row = 0
        for guid, lid in lids.items():
            try:
                output = self._run(_smpquery.vendstat_command(self._port.device, self._port.port, lid), ok=None, timeout=TIMEOUT_SECONDS)
                answer = None if output.rc else _smpquery.parse_vendstat(output.stdout)
            except RdmaError:
                answer = None
            in_a_row = 0 if answer else in_a_row + 1
            if answer:
                found[guid] = answer
            if in_a_row == _SILENT:
                break
        self.gaps += gaps_of(Code.SILENT_SWITCHES, "vendstat", [guid for guid in lids if guid not in found])
        return found
