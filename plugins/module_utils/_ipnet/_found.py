# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is found of a node's network, as far as IPoIB depends on it. Pure; _record.py carries it to the controller."""

from __future__ import annotations

import typing as t

from ._firewall._found import Firewall
from ._routing._found import Routing
from ._sysctl import Line


class Found(t.NamedTuple):
    text: str = ""
    """That of the file at the path of ours."""
    lines: t.Tuple[Line, ...] = ()
    """The assignments of others that matter, in the order in which they are read."""
    kernel: t.Mapping[str, str] = {}
    """By path below /proc/sys: the present value. Interfaces that do not exist have none. In a chroot, the limits with which a kernel starts."""
    read_only: bool = False
    """Whether /proc/sys is mounted read-only, as in most containers."""
    named: t.Mapping[str, str] = {}
    """The names of interfaces by port GUID or PCI address, as declared."""
    examined: t.FrozenSet[str] = frozenset()
    """The interfaces that the look covered, whether or not they exist."""
    chroot: bool = False
    """Whether this is a chroot, such as an image build. The running kernel is that of another system."""
    firewall: Firewall = Firewall()
    routing: Routing = Routing()

    @property
    def is_fixed(self) -> bool:
        """Whether the values of the kernel stay as they are: they can't be set, or belong to another system."""
        return self.read_only or self.chroot
