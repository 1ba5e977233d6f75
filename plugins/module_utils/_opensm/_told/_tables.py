# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the P_Key tables that one of our opensm processes has set with its partitions.conf. Read-only."""

from __future__ import annotations

import math
import time
import typing as t

from ..._errors import RdmaError
from ..._facts._sysfs import attribute, entries
from ..._foreign import hexadecimal
from ..._host._files import read_text, under
from ..._host._run import TIMED_OUT, Output
from ..._tools._saquery import command, parse_port_lids
from ..._tools._saquery import parse_pkeys as parse_all_pkeys
from ..._tools._smpquery import parse_pkeys, pkeys_query
from .._conf import parse_conf
from .._places import PARTITIONS, file_path
from ._expect import MOST_MEMBERS, Difference, differences, expected, named_ports, public_key, suspects_first, table_of

if t.TYPE_CHECKING:
    from ..._facts._ports import Port
    from ..._host._run import Runner

# Time limit for the records of a whole fabric.
_ALL_SECONDS = 60.0
# Time limit for the table of one member.
_ONE_SECONDS = 20.0


def read_table(root: str, port: Port) -> dict[int, bool]:
    """The P_Key table of a port of this node, as the driver has it."""
    place = under(root, "/sys/class/infiniband/%s/ports/%d" % (port.device, port.port))
    return table_of(hexadecimal(attribute(place, "pkeys", index), 0) for index in entries(place, "pkeys"))


class Tables:
    """The P_Key tables of opensm's port and of some members, to compare with its partitions.conf once or until they agree."""

    def __init__(self, run: Runner, fabric: str, port: Port, *, root: str = "/", deadline: float | None = None) -> None:
        """`deadline`: on the monotonic clock; no query continues past it."""
        self._run, self._port, self._root, self._deadline = run, port, root, deadline
        self._text = read_text(under(root, file_path(fabric, PARTITIONS)))
        self._key = public_key(parse_conf(read_text(under(root, file_path(fabric)))))
        self._members: dict[str, tuple[Difference, ...]] | None = None

    def _left(self) -> float:
        return math.inf if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _query(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), *, seconds: float) -> Output:
        # timeout(1) takes 0 as no limit.
        return self._run(argv, ok, timeout=seconds) if seconds > 0 else Output(TIMED_OUT, "", "")

    def _remembered(self) -> dict[str, dict[int, bool]]:
        """The P_Key tables of all ports in the fabric, as opensm has set them; empty where it does not reveal them."""
        name, number = self._port.device, self._port.port
        try:
            # Each query gets half of the remaining time, so that some is left for the tables of the members themselves.
            answer = self._query(command(name, number, "NR"), seconds=min(_ALL_SECONDS, self._left() / 2))
            ports = parse_port_lids(answer.stdout)
            answer = self._query(command(name, number, "PKTR", key=self._key), seconds=min(_ALL_SECONDS, self._left() / 2))
            blocks = parse_all_pkeys(answer.stdout)
        except RdmaError:
            return {}
        found: dict[str, list[int]] = {guid: [] for guid in ports.values()}
        for block in blocks:
            found.get(ports.get((block.lid, block.port), ""), []).extend(block.pkeys)
        return {guid: table_of(pkeys) for guid, pkeys in found.items()} if blocks else {}

    def _chosen(self) -> list[str]:
        """The members whose own tables are read."""
        if not self._run.has("smpquery"):
            return []
        members = [guid for guid in named_ports(self._text) if guid != self._port.port_guid]
        if len(members) > MOST_MEMBERS and self._key and self._run.has("saquery"):
            tables = self._remembered()
            members = suspects_first(self._text, members, tables) if tables else members
        return members[:MOST_MEMBERS]

    def _read(self, guid: str, before: tuple[Difference, ...]) -> tuple[Difference, ...]:
        """How the table of a member differs. When the time is up, earlier differences stay; a member that does not answer has none."""
        try:
            output = self._query(pkeys_query(self._port.device, self._port.port, guid), None, seconds=min(_ONE_SECONDS, self._left()))
        except RdmaError:
            return ()
        if output.rc == TIMED_OUT:
            return before
        return differences(expected(self._text, guid, own=False), table_of(parse_pkeys(output.stdout)), "port GUID %s" % guid) if output.rc == 0 else ()

    def differences(self) -> tuple[Difference, ...]:
        """The current differences from the file. Later calls read only the members that differed in the last one, without choosing again."""
        own = read_table(self._root, self._port)
        found = differences(expected(self._text, self._port.port_guid, own=True), own, self._port.name) if own else ()
        if self._members is None:
            self._members = dict.fromkeys(self._chosen(), ())
        read = {guid: self._read(guid, before) for guid, before in self._members.items()}
        self._members = {guid: each for guid, each in read.items() if each}
        return sum(self._members.values(), found)
