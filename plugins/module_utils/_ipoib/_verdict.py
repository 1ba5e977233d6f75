# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the back-end itself says of the declared interfaces: the state that the kernel shows may come from elsewhere. Pure."""

from __future__ import annotations

import typing as t

from ._backend import Backend, Interfaces
from ._found import Found


class Dissent(t.NamedTuple):
    """One interface that the back-end has not configured by our files."""

    name: str
    said: str
    """In the words of the back-end."""
    backend: str
    retry: str
    """The command that may help, which interrupts the traffic of the interface. "" for none."""
    see: str
    """The commands that say more."""
    carries_run: bool
    """The connection of this run goes through the interface."""

    def words(self) -> str:
        return "the back-end reports %s as %s" % (self.name, self.said)

    def reason(self) -> str:
        """Of a run that changes nothing of the interface."""
        text = "%s: %s reports it as %s, although its state is the declared one; this run leaves it alone: %s"
        return text % (self.name, self.backend, self.said, self.remedy())

    def remedy(self) -> str:
        if self.carries_run:
            return "the connection to this node goes through it, so have it configured over another one; for the cause, see %s" % self.see
        if not self.retry:
            return "for the cause, see %s" % self.see
        return "run '%s' (this interrupts its traffic); for the cause, see %s" % (self.retry, self.see)


def dissents_of(interfaces: Interfaces, found: Found, backend: Backend) -> tuple[Dissent, ...]:
    said = {interface.name: backend.dissent(interface.name, found) for interface in interfaces if interface.name in found.netdevs}
    return tuple(
        Dissent(name, words, backend.name, retry=backend.retry(name, found), see=backend.see, carries_run=name in found.ssh_path)
        for name, words in said.items()
        if words
    )
