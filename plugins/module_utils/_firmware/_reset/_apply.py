# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reset cards one after the other, and wait for their drivers."""

from __future__ import annotations

import typing as t

from ..._errors import CommandFailed
from ..._host._run import first_tool
from ..._host._turn import look_until
from ..._tools import _mlxfwreset
from ._look import drivers, look
from ._plan import Host, ResetPlan, aftermath, foreseen_for, plan, resets
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from ..._plan import Change
    from .._devices import Device
    from ._plan import Card

_POLL_SECONDS = 0.5


class Done(t.NamedTuple):
    """The outcome of the resets of a run."""

    changes: tuple[Change, ...] = ()
    reset: tuple[str, ...] = ()
    """The cards that were reset, by their first function."""
    left: tuple[ResetPlan, ...] = ()
    failures: tuple[str, ...] = ()
    """Failed resets that did not lose a card."""
    aftermath: tuple[str, ...] = ()
    """What the resets take down, in words."""


def _await_drivers(card: Card, before: t.Mapping[str, bool], *, timeout: float, root: str) -> tuple[str, ...]:
    """Wait for drivers to come back after a reset. Returns the functions that had a driver before and have none."""

    def lost() -> tuple[str, ...]:
        now = drivers(root, card.functions)
        return tuple(pci for pci, held in before.items() if held and not now.get(pci, False))

    return look_until(lost, lambda pcis: not pcis, patience=timeout, pause=_POLL_SECONDS)


def reset_card(run: Runner, todo: ResetPlan, *, wait: float, root: str = "/") -> str:
    """Reset one card. Returns why the firmware was not loaded; "" if it was. Raises CommandFailed if the card is lost."""
    card = todo.card
    before = drivers(root, card.functions)
    outcome = _mlxfwreset.reset(run, first_tool(run, _mlxfwreset.TOOLS), card.pci, level=todo.level, sync=todo.sync)
    lost = _await_drivers(card, before, timeout=wait, root=root)
    message = "" if outcome.loaded else _mlxfwreset.with_hint(outcome.message)
    if lost:
        said = "; the reset tool said: %s" % message if message else ""
        text = "%s was reset, and %s has no driver after %g s%s. Look at dmesg, bind the driver, or reboot"
        raise CommandFailed(text % (card.pci, ", ".join(lost), wait, said), steps=list(outcome.steps), changed=True, reboot_required=True)
    return message


class Node(t.NamedTuple):
    """The node, and what a look at it needs."""

    run: Runner
    devices: t.Sequence[Device]
    environ: t.Mapping[str, str]
    root: str
    foreseen: tuple[Change, ...] = ()
    """Changes that would be made before a reset."""

    def look(self, wanted: Wanted, failing: str = "", reset: t.Collection[str] = ()) -> list[ResetPlan]:
        """The plan of every card.

        A card in `reset` has been reset; if it can't be read, CommandFailed is raised, and its message starts with `failing`. If another card can't
        be read, such as a ConnectX-3 or a broken one, that is only a finding and does not stop the resets of other cards.
        """
        host, cards = look(self.run, self.devices, self.environ, root=self.root)
        failures = ["%s: %s" % (card.pci, failure) for card in cards if card.pci in reset for failure in card.failures]
        if failures:
            raise CommandFailed("%s: %s" % (failing, "; ".join(failures)), errors=failures, changed=True)
        return [plan(foreseen_for(card, self.foreseen), host, wanted) for card in cards]


def apply(node: Node, plans: t.Sequence[ResetPlan], wanted: Wanted, *, wait: float) -> Done:
    """Reset the cards one after the other, and look at all of them again."""
    due = resets(plans)
    messages = {todo.card.pci: reset_card(node.run, todo, wait=wait, root=node.root) for todo in due}
    after = node.look(wanted, "%s was reset, and can't be queried since" % ", ".join(messages), messages)
    still = {change.key() for todo in after for change in todo.card.pending}
    reset = tuple(pci for pci, message in messages.items() if not message)
    changes = [change for todo in due for change in todo.changes if todo.card.pci in reset and change.key() not in still]
    failures = tuple("%s: the reset did not load the firmware: %s" % item for item in messages.items() if item[1])
    # A card that was reset and still has pending changes needs more than another reset; all other cards are unchanged.
    left = tuple(plan(todo.card, Host(), Wanted(tried="reset")) if todo.card.pci in messages else todo for todo in after)
    return Done(tuple(changes), reset, left, failures, aftermath(due))


def predict(plans: t.Sequence[ResetPlan]) -> Done:
    """The outcome of `apply` if every reset succeeds."""
    reset = resets(plans)
    left = tuple(ResetPlan(todo.card._replace(pending=())) if todo in reset else todo for todo in plans)
    changes = tuple(change for todo in reset for change in todo.changes)
    return Done(changes, tuple(todo.card.pci for todo in reset), left, aftermath=aftermath(reset))
