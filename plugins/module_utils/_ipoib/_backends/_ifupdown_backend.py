# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ifupdown as a back-end."""

from __future__ import annotations

import os
import typing as t

from ..._host._files import read_text, under
from .._backend import UP_TIMEOUT, Backend, Driver, Evidence, Files
from .._found import Active, Claim, Found, Presence
from . import _ifupdown, _ifupdown_reader

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from .._identity import Identity
    from .._todo import IpoibPlan

UNIT = "networking.service"
# Other programs named ifup read the same file in ways of their own. The target of the link identifies the program.
PROGRAMS = ("sbin/ifup", "usr/sbin/ifup", "usr/local/sbin/ifup", "bin/ifup")
OTHERS = {"ifupdown2": "ifupdown2", "ifupdown": "ifupdown-ng", "busybox": "BusyBox"}


_OTHER = (
    "the ifup of this node is that of %s (%s): it makes no P_Key children, and gives interfaces an MTU and a mode in another way than Debian's ifupdown; "
    "install the package ifupdown in its place, or name another back-end in ipoib_backend"
)


def other_program(root: str) -> tuple[str, str] | None:
    """Another program installed as ifup, with its real path; None where ifup is that of ifupdown."""
    path = next((under(root, path) for path in PROGRAMS if os.path.lexists(under(root, path))), "")
    name = OTHERS.get(os.path.basename(os.path.realpath(path)), "") if path else ""
    return (name, os.path.realpath(path)) if name else None


class IfupdownDriver(Driver):
    """ifupdown keeps a list of active interfaces. Those are changed directly, without the scripts."""

    def give_up(self, names: t.Sequence[str], found: Found) -> None:
        for name in names:
            if name in IFUPDOWN.active(found) and self._run.has("ifdown"):
                self._run(["ifdown", "--force", name], ok=None)

    def give_back(self, names: t.Mapping[str, str], found: Found) -> None:
        for name in names:
            self._run(["ifup", "--force", name], timeout=UP_TIMEOUT)

    def apply(self, todo: IpoibPlan, changed: t.Sequence[str], found: Found) -> None:
        for interface in (each for each in todo.live if each.name in todo.touched):
            netdev = found.netdevs.get(interface.name)
            # An interface brought up from another stanza is set up from ours.
            if netdev is not None and not IFUPDOWN.dissent(interface.name, found):
                self._kernel.alter(interface, netdev, found)
                continue
            if netdev is not None:
                # ifup fails if an address already exists.
                self._kernel.clear(netdev)
            # Without --force ifup would do nothing where ifupdown's list has a stale entry.
            self._run(["ifup", "--force", interface.name], timeout=UP_TIMEOUT)


class Ifupdown(Backend):
    name = "ifupdown"
    format = _ifupdown
    reader = _ifupdown_reader
    driver = IfupdownDriver
    see = "'ifquery --state' and 'ip address'"
    tool = "ifup"
    units = (UNIT,)
    patterns = (_ifupdown.MAIN, _ifupdown.DIRECTORY + "/*")
    shared = (_ifupdown.MAIN,)
    lists_active = True

    def claim(self, evidence: Evidence) -> Claim | None:
        unit = evidence.units.get(UNIT)
        if self.tool not in evidence.tools or unit is None or not (unit.active == "active" or unit.enabled == "enabled"):
            return None
        names = [name for name in _ifupdown.own_names(evidence.files) if name != "lo"]
        because = "%s is %s" % (UNIT, "active" if unit.active == "active" else "enabled")
        return Claim(because + (" and configures %s" % ", ".join(names) if names else ""), 2 if names else 0)

    def look(self, run: Runner, evidence: Evidence, root: str) -> Presence:
        up = _ifupdown.up_interfaces(read_text(under(root, _ifupdown.STATE)))
        found = self.recognise(evidence)._replace(active={name: Active(stanza) for name, stanza in sorted(up.items())})
        other = other_program(root)
        return found._replace(missing=_OTHER % other) if other is not None and not found.missing else found

    def dissent(self, name: str, found: Found) -> str:
        active = self.active(found).get(name)
        if active is None:
            return "not configured"
        return "" if active.profile == name else "configured by the stanza %s" % active.profile

    def retry(self, name: str, found: Found) -> str:
        # ifup fails if an address already exists.
        return "ip address flush dev %s; ifup --force %s" % (name, name)

    def unsaid(self, interface: Identity, path: str, files: Files, *, names: t.Mapping[str, str]) -> tuple[str, ...]:
        return _ifupdown.unsaid(files[path], names)

    def edit(self, files: Files, written: t.Collection[str]) -> dict[str, str]:
        main = files.get(_ifupdown.MAIN, "")
        sourced = _ifupdown.sourced(main, [path for path in written if path.startswith(_ifupdown.DIRECTORY + "/")])
        return {_ifupdown.MAIN: sourced} if main or sourced else {}

    def outline(self, text: str) -> str:
        """The lines that include other files: where `sourced` changes the file, it changes them."""
        return "".join(line for line in text.splitlines(keepends=True) if line.split()[:1] in (["source"], ["source-directory"])) or "\n" * bool(text)

    def held(self, found: Found) -> frozenset[str] | None:
        return frozenset(name for name in self.active(found) if not self.dissent(name, found))


IFUPDOWN = Ifupdown()
