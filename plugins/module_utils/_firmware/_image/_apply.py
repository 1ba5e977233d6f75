# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Burn images and verify the flash afterwards."""

from __future__ import annotations

import typing as t

from ..._errors import CommandFailed, RdmaError, Refused
from ..._host._lock import card_locks
from ..._host._run import Runner
from ..._tools import _flint as flint
from ._plan import OVERRIDE_PSID, Adapter, Burn, is_due, name_of
from ._query import query_adapter

_PENDING_IMAGE = "pending reset"


def _verify_flash(run: Runner, tool: str, burn: Burn, *, psid_in_flash: bool, by_tool: bool) -> Adapter:
    """The adapter after the burn. `by_tool`: the tool wrote the flash itself.

    Firmware that controls the burn checks digest, chip and PSID of an image before it accepts it. Reading the flash back would
    add nothing, and takes minutes where the flash is read in small blocks through configuration space. A flash that the tool wrote was
    not verified as a whole, and an adapter without a good image does not survive its reset: then the minutes are well spent.
    """
    adapter, image = burn
    found = adapter._replace(query=query_adapter(run, tool, adapter.pci, psid_in_flash=psid_in_flash))
    if is_due(found, image):
        raise CommandFailed(
            "after the burn %s has %s (%s) in its flash instead of %s (%s)"
            % (name_of(adapter), found.query.version, found.query.psid, image.query.version, image.query.psid)
        )
    if by_tool:
        output = run(flint.verify_device(tool, adapter.pci), ok=None, timeout=flint.VERIFY_TIMEOUT)
        if not flint.verified(output.rc, output.stdout + output.stderr):
            raise CommandFailed("the flash of %s is not as burned: %s. Do not reset it; burn again." % (name_of(adapter), flint.error_of(output.stdout)))
    return found


def _interrupted(run: Runner, tool: str, burn: Burn, *, error: str, details: t.Mapping[str, t.Any]) -> CommandFailed:
    """The error of a burn that failed after it began to write. The card still runs the firmware in its memory, and would lose it on reset or reboot."""
    adapter, image = burn
    other = [name for name in flint.TOOLS if name != tool and run.has(name)]
    by_hand = " ".join(flint.burn(other[0] if other else tool, adapter.pci, image.file))
    way_out = (
        "Its flash may be partly written. Do not reset it, and do not reboot or switch off the node: the card still runs the firmware in its memory, and "
        "may not start with what is in its flash. Run this again, which burns it again, or burn it manually (%s)%s"
    ) % (by_hand, "" if other else ". Where %s keeps failing, try the same tool of %s" % (tool, "MFT, flint" if tool == "mstflint" else "the package mstflint"))
    return CommandFailed("%s could not be burned with %s: %s. %s" % (name_of(adapter), image.path, error, way_out), **{**details, "half_written": True})


def burn_one(run: Runner, tool: str, burn: Burn, *, parameters: t.Mapping[str, t.Any], root: str = "/") -> Adapter:
    """Burn and verify under the lock of the card. Another process may have burned the image while this one waited for the lock."""
    adapter, image = burn
    psid_in_flash = parameters[OVERRIDE_PSID]
    with card_locks((adapter.pci,), parameters["lock_timeout"], root):
        found = adapter._replace(query=query_adapter(run, tool, adapter.pci, psid_in_flash=psid_in_flash))
        if not is_due(found, image):
            return found
        foreign = found.query.psid != image.query.psid
        argv = flint.burn(tool, adapter.pci, image.file, change_psid=foreign and psid_in_flash)
        try:
            output = run(argv, ok=None, timeout=parameters["burn_timeout"])
        except CommandFailed as exc:
            # The tool was interrupted during the burn.
            raise _interrupted(run, tool, burn, error=exc.msg, details=exc.details) from exc
        text = output.stdout + output.stderr
        if output.rc:
            error = flint.error_of(text)
            details = {"cmd": argv, "rc": output.rc, "stdout": text}
            if flint.writing_began(text):
                raise _interrupted(run, tool, burn, error=error, details=details)
            hint = " Reset the adapter first: its flash holds another image that is not running yet." if _PENDING_IMAGE in error else ""
            raise CommandFailed("%s could not be burned with %s: %s.%s" % (name_of(adapter), image.path, error, hint), **details)
        by_tool = foreign or flint.wrote_flash(text) or not flint.firmware_checks(found.query)
        return _verify_flash(run, tool, burn, psid_in_flash=psid_in_flash, by_tool=by_tool)


def burn_all(run: Runner, tool: str, burns: t.Sequence[Burn], *, parameters: t.Mapping[str, t.Any], root: str = "/") -> dict[str, Adapter]:
    """Burn one adapter after another. A failing card does not stop the others; at the end RdmaError lists every failure and what was done."""
    done: dict[str, Adapter] = {}
    failed: dict[str, RdmaError] = {}
    for burn in burns:
        try:
            done[burn.adapter.pci] = burn_one(run, tool, burn, parameters=parameters, root=root)
        except RdmaError as exc:
            failed[burn.adapter.pci] = exc
    if failed:
        texts = [exc.msg for exc in failed.values()]
        texts += ["Burned, and not reset: %s" % ", ".join(done)] if done else []
        # If a card's flash may be half written, report the details of that card.
        worst = max(failed.values(), key=lambda exc: bool(exc.details.get("half_written")))
        unburned = [{"pci": pci, "why": exc.msg, "half_written": bool(exc.details.get("half_written"))} for pci, exc in failed.items()]
        outcome = {"changed": bool(done), "burned": sorted(done), "not_burned": list(failed), "unburned": unburned}
        kind = Refused if all(isinstance(exc, Refused) for exc in failed.values()) else CommandFailed
        raise kind(" ".join(text if text.endswith(".") else text + "." for text in texts), **{**worst.details, **outcome})
    return done
