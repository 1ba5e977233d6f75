# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Says what pending firmware needs, and resets cards where that was asked for and hurts nobody."""

from __future__ import annotations

import contextlib
import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._firmware import _reset_plan as plan
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config_apply import each
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._devices import read_devices
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._reset_look import choose, drivers, look_around, look_at
from ansible_collections.rdma.ofed.plugins.module_utils._host._lock import card_lock
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Pending
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _mlxfwreset

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._firmware._devices import Device
    from ansible_collections.rdma.ofed.plugins.module_utils._firmware._reset_plan import Card, Verdict, Wish
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change

_POLL_SECONDS = 0.5
_LOCK_SECONDS = 120


class Done(t.NamedTuple):
    """What the resets of a run came to."""

    changes: tuple[Change, ...] = ()
    reset: tuple[str, ...] = ()
    """The cards that were reset, by their first function."""
    left: tuple[Verdict, ...] = ()
    failures: tuple[str, ...] = ()
    """What went wrong without taking a card away."""
    aftermath: tuple[str, ...] = ()
    """What the resets take along."""


def _await_drivers(root: str, card: Card, before: t.Mapping[str, bool], timeout: float) -> tuple[str, ...]:
    """The functions that had a driver before a reset and are without one; waits for them to come back."""
    end = time.monotonic() + timeout
    while True:
        now = drivers(root, card.functions)
        lost = tuple(pci for pci, held in before.items() if held and not now.get(pci, False))
        if not lost or time.monotonic() >= end:
            return lost
        time.sleep(_POLL_SECONDS)


def reset_card(run: Runner, verdict: Verdict, wait: float, root: str = "/") -> str:
    """Resets one card; returns why the firmware was not loaded, "" if it was. Raises CommandFailed if the card is lost."""
    card = verdict.card
    before = drivers(root, card.functions)
    outcome = _mlxfwreset.reset(run, _mlxfwreset.tool(run), card.pci, verdict.level, verdict.sync)
    lost = _await_drivers(root, card, before, wait)
    hint = _mlxfwreset.hint_of(outcome.message)
    message = "%s%s" % (outcome.message, " (%s)" % hint if hint else "") if not outcome.loaded else ""
    if lost:
        said = "; the reset tool said: %s" % message if message else ""
        text = "%s was reset, and %s has no driver after %g s%s. Look at dmesg, bind the driver, or reboot"
        raise CommandFailed(text % (card.pci, ", ".join(lost), wait, said), steps=list(outcome.steps), changed=True, reboot_required=True)
    return message


class _Node(t.NamedTuple):
    """What looking takes."""

    run: Runner
    devices: t.Sequence[Device]
    folder: str
    environ: t.Mapping[str, str]
    root: str

    def look(self, wish: Wish, failing: str = "", reset: t.Collection[str] = ()) -> list[Verdict]:
        """Judges every card.

        C(failing) begins the error where a card can't be looked at that could be, or was, C(reset). What can't be told
        of a card that no tool can reset, such as a ConnectX-3, is only a finding, and so is all where C(failing) is "".
        """
        around = look_around(self.run, self.environ, self.root)
        looked = each(lambda device: look_at(self.run, device, around, self.folder, self.root), self.devices)
        failures = [failure for card, found in looked if card.query or card.pci in reset for failure in found]
        if failures and failing:
            raise CommandFailed("%s: %s" % (failing, "; ".join(failures)), errors=failures, changed=bool(reset))
        return [plan.judge(card, around.host, wish) for card, _failures in looked]


def _judged_again(after: t.Sequence[Verdict], reset: t.Collection[str]) -> tuple[Verdict, ...]:
    """What was reset and is pending still needs more than another reset; the others are as they were."""
    again = plan.Wish(tried="reset")
    return tuple(plan.judge(verdict.card, plan.Host(), again) if verdict.card.pci in reset else verdict for verdict in after)


def _aftermath(verdicts: t.Sequence[Verdict]) -> tuple[str, ...]:
    return tuple(text for verdict in verdicts for text in plan.aftermath(verdict))


def carry_out(node: _Node, verdicts: t.Sequence[Verdict], wish: Wish, wait: float) -> Done:
    """Resets the cards one after the other, and looks at all of them again."""
    todo = plan.resets(verdicts)
    messages = {verdict.card.pci: reset_card(node.run, verdict, wait, node.root) for verdict in todo}
    after = node.look(wish, "%s was reset, and can't be looked at after that" % ", ".join(messages), messages)
    still = {change.key() for verdict in after for change in verdict.card.pending}
    reset = tuple(pci for pci, message in messages.items() if not message)
    changes = [change for verdict in todo for change in verdict.changes if verdict.card.pci in reset and change.key() not in still]
    failures = tuple("%s: the reset did not load the firmware: %s" % item for item in messages.items() if item[1])
    return Done(tuple(changes), reset, _judged_again(after, messages), failures, _aftermath(todo))


def foresee(verdicts: t.Sequence[Verdict]) -> Done:
    """What M(carry_out) comes to where every reset does what it shall."""
    reset = plan.resets(verdicts)
    left = tuple(plan.Verdict(verdict.card._replace(pending=())) if verdict in reset else verdict for verdict in verdicts)
    changes = tuple(change for verdict in reset for change in verdict.changes)
    return Done(changes, tuple(verdict.card.pci for verdict in reset), left, aftermath=_aftermath(reset))


def describe(verdict: Verdict, device: Device, reset: bool) -> dict[str, t.Any]:
    """One adapter in the result."""
    card = verdict.card
    return {
        "pci": card.pci,
        "functions": list(card.functions),
        "rdma": list(device.rdma),
        "type": card.type or device.type,
        "psid": device.psid,
        "pending": [Pending(change).result() for change in verdict.changes],
        "needs": verdict.needs,
        "why": list(verdict.why),
        "can_reset": bool(card.query and (card.query.can(_mlxfwreset.LIVE_PATCH) or card.query.can(_mlxfwreset.PCI_RESET))),
        "level": verdict.level,
        "blocked_by": list(verdict.blocked_by),
        "blocked_when_drained": list(verdict.lasting),
        "unknown": list(card.unknown),
        "reset": reset,
    }


def converge(module: AnsibleModule, run: Runner, environ: t.Mapping[str, str], root: str = "/") -> dict[str, t.Any]:
    """Look, judge, reset where it was asked for, look again; returns the result of the module."""
    parameters = module.params
    devices = choose(read_devices(root), parameters["adapters"])
    node = _Node(run, devices, module.tmpdir, environ, root)
    wish = plan.Wish(
        reset=parameters["state"] == "reset",
        tried=parameters["tried"],
        disconnect_rdma_users=parameters["disconnect_rdma_users"],
        cut_ssh_connection=parameters["cut_ssh_connection"],
        allow_container=parameters["allow_container"],
    )
    if not wish.reset:
        done = Done(left=tuple(node.look(wish)))
    else:
        with contextlib.ExitStack() as stack:
            # In one order always, so that two runs can't wait for each other.
            for device in sorted(devices) if not module.check_mode else ():
                stack.enter_context(card_lock(device.pci, _LOCK_SECONDS, root))
            verdicts = node.look(wish, "nothing was reset")
            plan.refuse_blocked(verdicts)
            real = plan.resets(verdicts) and not module.check_mode
            done = carry_out(node, verdicts, wish, parameters["wait_timeout"]) if real else foresee(verdicts)
    for failure in done.failures:
        module.warn(failure)
    result = plan.result(done.changes, done.left, [*done.failures, *done.aftermath])
    result["adapters"] = [describe(verdict, device, verdict.card.pci in done.reset) for verdict, device in zip(done.left, devices)]
    return result
