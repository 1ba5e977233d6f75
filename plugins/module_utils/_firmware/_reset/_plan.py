# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan, card by card, what activates pending firmware and configuration, and what blocks it. Pure.

A card is reset once, regardless of its number of functions. Nothing here reboots: a required reboot or cold boot is only reported.
"""

from __future__ import annotations

import typing as t

from ..._errors import Refused
from ..._plan import Change, Kind, Pending, Plan, changes_of
from ..._tools._mlxfwreset import LIVE_PATCH, PCI_RESET, SYNC_BY_DRIVER, SYNC_BY_FIRMWARE, SYNC_BY_TOOL, WARM_REBOOT
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ..._tools._mlxfwreset import Query

# Cards that load pending firmware and configuration only at power-on.
_COLD_CARDS = ("bluefield4",)
# Settings of how the board presents itself on the bus, which are read at power-on.
_COLD = ("INTERNAL_CPU_", "PCI_SWITCH_EMULATION_", "PF_BAR2_")

_KINDS = (Kind.FIRMWARE, Kind.FIRMWARE_PARAMETER)


class Card(t.NamedTuple):
    """One adapter as it was found."""

    pci: str
    """Its first function, which is passed to the tools."""
    functions: tuple[str, ...] = ()
    type: str = ""
    """`ConnectX5`, where a tool reported the type."""
    pending: tuple[Change, ...] = ()
    """Changes that are set and not effective, of the kinds FIRMWARE and FIRMWARE_PARAMETER."""
    query: Query | None = None
    """None where no tool can reset the card, for the reason in `obstacle`."""
    obstacle: str = ""
    unknown: tuple[str, ...] = ()
    """What could not be read, and why."""
    failures: tuple[str, ...] = ()
    """The entries of `unknown` that are failures of the look."""
    users: tuple[str, ...] = ()
    ssh: str = ""
    """The interface through which the node is managed over this card."""
    interfaces: tuple[str, ...] = ()
    virtual_functions: int = 0
    foreign_drivers: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    """The devices with a driver behind the PCIe switch of the card: "0000:0d:00.0 (nvidia)"."""

    @property
    def bluefield(self) -> bool:
        return self.type.lower().startswith("bluefield")


class Host(t.NamedTuple):
    """The properties of the node that matter for a reset."""

    hypervisor: bool = False
    """Whether the reset tools take the node for a virtual machine."""
    enclosed: str = ""
    """`container` or `chroot`, where the node is one; else ""."""
    opensm: bool = False
    secure_boot: bool = False
    missing: tuple[str, ...] = ()
    """Missing programs without which the reset tools fail in the middle of a reset."""


class ResetPlan(t.NamedTuple):
    """What a card needs, and what blocks it."""

    card: Card
    needs: str = ""
    """One of NEEDS: `device_reset`, `reboot`, `cold_boot` or ""."""
    why: tuple[str, ...] = ()
    """Why it needs more than a reset."""
    level: int | None = None
    sync: int | None = None
    lasting: tuple[str, ...] = ()
    """Why a reset is refused even on a drained node, each reason with a way to resolve it."""
    in_use: tuple[str, ...] = ()
    """Why a reset is refused while the card has users. A drain can end that."""

    @property
    def blocked_by(self) -> tuple[str, ...]:
        """Why a reset is refused now."""
        return (*self.lasting, *self.in_use)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The pending changes of the card, with what they need."""
        blocked = "; ".join(self.blocked_by)
        return tuple(change._replace(needs=self.needs, blocked_by=blocked) for change in self.card.pending)


def _level(card: Card) -> int | None:
    """The mildest reset level that suffices: a live patch of the running firmware does not load configuration."""
    if card.query is None:
        return None
    only_firmware = all(change.kind == Kind.FIRMWARE for change in card.pending)
    if only_firmware and card.query.levels[:1] == (LIVE_PATCH,):
        return LIVE_PATCH
    return PCI_RESET if PCI_RESET in card.query.levels and not _by_reboot(card.query) else None


def _by_reboot(query: Query) -> bool:
    """Whether the tool itself would reboot the node: the card's default level is a warm reboot, even if it offers others."""
    return query.levels[:1] == (WARM_REBOOT,)


def _sync(query: Query, host: Host) -> int | None:
    """Which component synchronises a reset over PCI; None leaves the choice to the tool."""
    # To synchronise by tool or by firmware, the tool writes to PCI configuration space, which secure boot forbids.
    usable = set(query.syncs) - ({SYNC_BY_TOOL, SYNC_BY_FIRMWARE} if host.secure_boot else set())
    if SYNC_BY_TOOL in usable:
        return None
    return next((sync for sync in (SYNC_BY_DRIVER, SYNC_BY_FIRMWARE) if sync in usable), None)


def _no_reset(card: Card, host: Host) -> str:
    """Why this card can't be reset on this host at all; "" where it can."""
    if host.hypervisor:
        return "this is a virtual machine, where the reset tools refuse to work; reset the card on the host of the machine"
    if card.query is None:
        return card.obstacle or "no tool can reset this card"
    level = _level(card)
    if _by_reboot(card.query) and PCI_RESET in card.query.levels:
        return "the card needs a reboot by default, although it offers a reset"
    if level is None:
        return "the card offers no reset in its current state"
    if level == PCI_RESET and host.secure_boot and _sync(card.query, host) is None:
        return "UEFI Secure Boot is on, and the card's driver can't control a reset"
    return ""


def _lasting(card: Card, host: Host, wanted: Wanted, *, level: int) -> tuple[str, ...]:
    """Why a possible reset is refused, apart from users. A live patch keeps driver and links up, so it disturbs none of them."""
    found = []
    if host.enclosed and not wanted.allow_container:
        way_out = "allow_container: true, or rdma_allow_container: true for the roles, overrides this"
        found.append("this is a %s, and the card belongs to all that run on this kernel (%s)" % (host.enclosed, way_out))
    if host.missing:
        found.append("%s not installed, without which the tool stops halfway" % (" and ".join(host.missing) + (" is" if len(host.missing) == 1 else " are")))
    if level == LIVE_PATCH:
        return tuple(found)
    if host.opensm:
        found.append("opensm runs on this node, and the tool refuses to work while it does; stop it after another subnet manager has taken over")
    if card.foreign_drivers:
        found.append("%s has a driver that the tool does not stop; unbind the function first" % ", ".join(card.foreign_drivers))
    if card.behind:
        found.append(
            "%s behind the PCIe switch of this card would lose the bus, and the tool refuses while their drivers are bound; stop what uses them (for GPUs "
            "nvidia-persistenced, fabric manager and DCGM, too) and unload or unbind the drivers" % ", ".join(card.behind)
        )
    if card.ssh and not wanted.cut_ssh_connection:
        found.append("the connection that manages this node runs over %s of this card (cut_ssh_connection: true cuts it)" % card.ssh)
    return tuple(found)


def _in_use(card: Card, wanted: Wanted, level: int) -> tuple[str, ...]:
    """Why a reset is refused while the card has users."""
    users = [*card.users, *(["%d virtual functions, which the reset removes" % card.virtual_functions] if card.virtual_functions else [])]
    if level == LIVE_PATCH or not users or wanted.disconnect_rdma_users:
        return ()
    return ("in use by %s (disconnect_rdma_users: true disconnects them)" % ", ".join(users),)


def _more_than_reset(card: Card, wanted: Wanted) -> tuple[str, str]:
    """The need and its reason, where a reset does not suffice for what is set or was tried."""
    if wanted.tried == "power_cycle":
        return "cold_boot", "a power cycle did not activate it: the power may not have been off for long enough, or standby power kept the card running"
    if wanted.tried == "reboot":
        return "cold_boot", "a reboot did not activate it, so the power has to be cut"
    cold = [change.aspect for change in card.pending if change.kind == Kind.FIRMWARE_PARAMETER and change.aspect.startswith(_COLD)]
    if cold:
        return "cold_boot", "%s is read when power comes on" % ", ".join(cold)
    if card.type.lower().startswith(_COLD_CARDS):
        return "cold_boot", "a %s loads it when power comes on" % card.type
    if wanted.tried == "reset":
        if card.bluefield:
            return "cold_boot", "a reset did not activate it, and a BlueField keeps running through a reboot of its host"
        return "reboot", "a reset did not activate it"
    return "", ""


def foreseen_for(card: Card, foreseen: t.Iterable[Change]) -> Card:
    """The card with the changes that would be made to it. Where a change is already pending, the new value counts."""
    own = [change._replace(subject=card.pci, needs="") for change in foreseen if change.subject in (card.pci, *card.functions) and change.kind in _KINDS]
    changes = {change.key(): change for change in (*card.pending, *own)}
    return card._replace(pending=changes_of(*changes.values()))


def plan(card: Card, host: Host, wanted: Wanted) -> ResetPlan:
    """What one card needs."""
    if not card.pending:
        return ResetPlan(card)
    needs, reason = _more_than_reset(card, wanted)
    if needs:
        return ResetPlan(card, needs, (reason,))
    reason, level = _no_reset(card, host), _level(card)
    if reason or card.query is None or level is None:
        if card.bluefield:
            return ResetPlan(card, "cold_boot", (reason, "a BlueField keeps running through a reboot of its host"))
        warm = card.query is None or WARM_REBOOT in card.query.levels
        return ResetPlan(card, "reboot" if warm else "cold_boot", (reason,))
    sync = _sync(card.query, host) if level == PCI_RESET else None
    return ResetPlan(card, "device_reset", (), level, sync, _lasting(card, host, wanted, level=level), _in_use(card, wanted, level))


def refuse_blocked(plans: t.Sequence[ResetPlan]) -> None:
    """Raise Refused with everything that blocks any reset, of all cards at once."""
    found = ["%s: %s" % (todo.card.pci, blocker) for todo in resets(plans) for blocker in todo.blocked_by]
    if found:
        raise Refused("refusing to reset: %s" % "; ".join(found), blocked_by=found)


def resets(plans: t.Sequence[ResetPlan]) -> tuple[ResetPlan, ...]:
    """The cards that a reset helps, each once. A card that can't be read is left alone, because its fault is unknown."""
    return tuple(todo for todo in plans if todo.needs == "device_reset" and not todo.card.failures)


def aftermath(plans: t.Iterable[ResetPlan]) -> tuple[str, ...]:
    """What resets of these cards take down, in words."""
    text = "%s: a reset takes %s down, and addresses, P_Key children and virtual functions have to be made again"
    return tuple(text % (todo.card.pci, ", ".join(todo.card.interfaces)) for todo in plans if todo.level == PCI_RESET and todo.card.interfaces)


def reasons(plans: t.Sequence[ResetPlan]) -> list[str]:
    """Why changes stay pending, and what a reset would interrupt."""
    found = ["%s: %s" % (todo.card.pci, text) for todo in plans for text in (*todo.card.unknown, *todo.why)]
    for todo in resets(plans):
        found += ["%s: a reset is refused now: %s" % (todo.card.pci, blocker) for blocker in todo.blocked_by]
        found += aftermath([todo])
    return found


def result(done: t.Sequence[Change], left: t.Sequence[ResetPlan], notes: t.Sequence[str] = ()) -> dict[str, t.Any]:
    """The keys that every module returns. `done`: the activated changes. `left`: what the cards need after that."""
    pending = [Pending(change) for todo in left for change in todo.changes]
    return Plan(tuple(change._replace(needs="", blocked_by="") for change in done)).result(pending, [*notes, *reasons(left)])
