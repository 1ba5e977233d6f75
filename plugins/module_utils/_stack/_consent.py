# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Whether a plan replaces a stack that is in use, which takes consent. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind, Pending

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._stack._plan import StackPlan
    from ansible_collections.rdma.ofed.plugins.module_utils._stack._states import Found, Wanted

NEEDS = "upgrade"
# What an unload of the driver would cut, and new packages would not: traffic of the network, also over an Ethernet port for management.
_OF_THE_NETWORK = ("connection", "link", "namespace", "vf")


def needs_consent(wanted: Wanted, found: Found, todo: StackPlan) -> bool:
    """Whether the plan takes consent if the stack that it replaces is in use.

    A job that was interrupted had consent, if it took any: the same job may be completed.
    """
    return bool(todo.about(Kind.STACK)) and not wanted.allow_upgrade and not (found.interrupted and found.begun == wanted.purpose())


def in_use(found: Found) -> tuple[str, ...]:
    """Why the stack of the node is in use, in words; empty where it is not.

    A vendor's stack that is whole is there for a reason. Any other is in use where RDMA itself has users. Traffic of the network
    comes and goes: it keeps the driver from being reloaded, and no packages from being installed.
    """
    if found.is_vendors and found.is_whole:
        return ("%s is installed" % found.words,)
    names = sorted({"%s %s" % (user.kind, user.name) for user in found.users if user.kind not in _OF_THE_NETWORK})
    return ("in use by %s" % ", ".join(names),) if names else ()


def withheld(todo: StackPlan, why: tuple[str, ...]) -> tuple[Pending, ...]:
    """What waits for consent."""
    return tuple(Pending(change._replace(needs=NEEDS), why) for change in todo.about(Kind.STACK))
