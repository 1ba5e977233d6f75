# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The udev rule that gives RDMA devices the names of rails. It has the name of rdma-core's rule, and overrides it. Pure, except for `read`.

`rdma_rename DEVICE NAME_FIXED NAME` of rdma-core 34 and later renames a device. Of all rules, one alone may do that: a second one would look for the device
under its former name, which another device may have by then.
"""

from __future__ import annotations

import re
import typing as t

from .._host._files import HEADER, read_text, under

PATH = "/etc/udev/rules.d/60-rdma-persistent-naming.rules"
FIXED = "NAME_FIXED"

_ADDED = 'ACTION=="add", SUBSYSTEM=="infiniband", '
_RAIL = "RDMA_OFED_RAIL"
# The device of a subfunction is further down, and one for the subnet manager's datagrams beside that of the adapter.
_BY_FUNCTION = _ADDED + 'KERNEL!="smi*", DEVPATH=="*/%s/infiniband/*", ENV{' + _RAIL + '}="%s"\n'
# A device has up to two ports, and the low half of GID 0 is the GUID of its port.
_BY_GUID = _ADDED + 'KERNEL!="smi*", ATTR{ports/%d/gids/0}=="*:%s", ENV{' + _RAIL + '}="%s"\n'
_RENAME = _ADDED + "ENV{" + _RAIL + '}=="?*", PROGRAM="rdma_rename %k ' + FIXED + " $env{" + _RAIL + '}"\n'
_OTHERS = _ADDED + "ENV{" + _RAIL + '}=="", PROGRAM="rdma_rename %%k %s"\n'
_READ = re.compile(
    r'DEVPATH=="\*/([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/infiniband/\*", ENV\{RDMA_OFED_RAIL\}="([A-Za-z][A-Za-z0-9_.-]{0,62})"$', re.MULTILINE
)


class Rail(t.NamedTuple):
    """The name of an RDMA device, and its adapter: the PCI function, or the GUID of one of its ports."""

    name: str
    pci: str = ""
    guid: str = ""


def render(rails: t.Iterable[Rail], others: str) -> str:
    """The rules, without header. `others`: the policy of rdma_rename for the devices that are no rails, such as NAME_KERNEL."""
    lines = []
    for rail in sorted(rails):
        groups = ":".join(rail.guid[place : place + 4] for place in range(2, 18, 4))
        lines += [_BY_FUNCTION % (rail.pci, rail.name)] if rail.pci else [_BY_GUID % (port, groups, rail.name) for port in (1, 2)]
    return "".join(lines) + _RENAME + _OTHERS % others


def parse(text: str) -> dict[str, str]:
    """The PCI functions of rails by name, from a file of the collection; none from others."""
    return {name: pci for pci, name in _READ.findall(text)} if text.startswith(HEADER) else {}


def read(root: str = "/") -> dict[str, str]:
    """The PCI functions of the rails that a node has a rule for."""
    return parse(read_text(under(root, PATH)))
