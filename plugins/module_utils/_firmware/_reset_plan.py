# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What makes pending firmware and configuration effective, card by card, and what stands in the way. Pure.

A card is reset once however many functions it has. Nothing here reboots: what needs a reboot or a cold boot is reported.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Pending, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxfwreset import LIVE_PATCH, PCI_RESET, SYNC_BY_DRIVER, SYNC_BY_TOOL, WARM_REBOOT

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxfwreset import Query

TRIED = ("nothing", "reset", "reboot")

# Settings of how the board presents itself on the bus, which are read when power comes on.
_COLD = ("INTERNAL_CPU_", "PCI_SWITCH_EMULATION_", "PF_BAR2_")


class Card(t.NamedTuple):
    """One adapter as it was found."""

    pci: str
    """Its first function, by which the tools are called."""
    functions: tuple[str, ...] = ()
    type: str = ""
    """C(ConnectX5), where a tool said so."""
    pending: tuple[Change, ...] = ()
    """What is set and not effective, of the kinds FIRMWARE and FIRMWARE_PARAMETER."""
    query: Query | None = None
    """None where no tool can reset the card, for the reason in C(obstacle)."""
    obstacle: str = ""
    unknown: tuple[str, ...] = ()
    """What could not be looked at, and why."""
    users: tuple[str, ...] = ()
    ssh: str = ""
    """The interface by which the node is managed over this card."""
    interfaces: tuple[str, ...] = ()
    virtual_functions: int = 0
    foreign_drivers: tuple[str, ...] = ()

    @property
    def bluefield(self) -> bool:
        return self.type.lower().startswith("bluefield")


class Host(t.NamedTuple):
    """What of the node decides over a reset."""

    hypervisor: bool = False
    """Is it a virtual machine, in the way in which the reset tools find out?"""
    enclosed: str = ""
    """C(container) or C(chroot), where it is one."""
    opensm: bool = False
    secure_boot: bool = False
    missing: tuple[str, ...] = ()
    """Programs that the reset tools call, and fail without in the middle of a reset."""


class Wish(t.NamedTuple):
    """What the user asks for."""

    reset: bool = False
    tried: str = "nothing"
    """One of TRIED: what was done already for what is pending."""
    disconnect_rdma_users: bool = False
    cut_ssh_connection: bool = False
    allow_container: bool = False


class Verdict(t.NamedTuple):
    """What a card needs, and whether it can have it now."""

    card: Card
    needs: str = ""
    """One of NEEDS: C(device_reset), C(reboot), C(cold_boot) or ""."""
    why: tuple[str, ...] = ()
    """Why it takes more than a reset."""
    level: int | None = None
    sync: int | None = None
    lasting: tuple[str, ...] = ()
    """Why a reset is refused now, and on a drained node too, each with the way out."""
    in_use: tuple[str, ...] = ()
    """Why a reset is refused while the card has users. A drain can end that."""

    @property
    def blocked_by(self) -> tuple[str, ...]:
        """Why a reset is refused now."""
        return (*self.lasting, *self.in_use)

    @property
    def changes(self) -> tuple[Change, ...]:
        """What is pending on the card, with what it needs."""
        blocked = "; ".join(self.blocked_by)
        return tuple(change._replace(needs=self.needs, blocked_by=blocked) for change in self.card.pending)


def _level(card: Card) -> int | None:
    """The mildest level that does it: patching the running firmware does not load configuration."""
    if card.query is None:
        return None
    only_firmware = all(change.kind == Kind.FIRMWARE for change in card.pending)
    if only_firmware and card.query.level == LIVE_PATCH and card.query.can(LIVE_PATCH):
        return LIVE_PATCH
    return PCI_RESET if card.query.can(PCI_RESET) else None


def _sync(query: Query, host: Host) -> int | None:
    """Who has to steer a reset over PCI; None leaves it to the tool."""
    by_tool = query.can_sync(SYNC_BY_TOOL) and not host.secure_boot
    return SYNC_BY_DRIVER if not by_tool and query.can_sync(SYNC_BY_DRIVER) else None


def _no_reset(card: Card, host: Host) -> str:
    """Why this card can't be reset on this host at all; "" where it can."""
    if host.hypervisor:
        return "this is a virtual machine, where the reset tools refuse to work; the host of the machine has to load it"
    if card.query is None:
        return card.obstacle or "no tool can reset this card"
    level = _level(card)
    if level is None:
        return "the card offers no reset in its present state"
    if level == PCI_RESET and host.secure_boot and _sync(card.query, host) is None:
        return "UEFI secure boot is on and the card's driver can't steer a reset"
    return ""


def _lasting(card: Card, host: Host, wish: Wish, level: int) -> tuple[str, ...]:
    """Why a reset that is possible is refused, users aside. A live patch leaves driver and links up, so it disturbs none of them."""
    found = []
    if host.enclosed and not wish.allow_container:
        way_out = "allow_container: true, of the role hca_firmware_allow_container, if it is really meant"
        found.append("this is a %s, and the card belongs to all that run on this kernel (%s)" % (host.enclosed, way_out))
    if host.missing:
        found.append("%s not installed, without which the tool stops half-way" % (" and ".join(host.missing) + (" is" if len(host.missing) == 1 else " are")))
    if level == LIVE_PATCH:
        return tuple(found)
    if host.opensm:
        found.append("opensm runs on this node, and the tool refuses beside it; stop it, after another subnet manager has taken over")
    if card.foreign_drivers:
        found.append("%s has a driver that the tool does not stop; release the function first" % ", ".join(card.foreign_drivers))
    if card.ssh and not wish.cut_ssh_connection:
        found.append("the connection that manages this node runs over %s of this card (cut_ssh_connection: true cuts it)" % card.ssh)
    return tuple(found)


def _in_use(card: Card, wish: Wish, level: int) -> tuple[str, ...]:
    """Why a reset is refused while the card has users."""
    users = [*card.users, *(["%d virtual functions, which the reset removes" % card.virtual_functions] if card.virtual_functions else [])]
    if level == LIVE_PATCH or not users or wish.disconnect_rdma_users:
        return ()
    return ("in use by %s (disconnect_rdma_users: true disconnects them)" % ", ".join(users),)


def _more_than_reset(card: Card, wish: Wish) -> tuple[str, str]:
    """What was tried, or what is set, that a reset is not enough for: need and reason."""
    if wish.tried == "reboot":
        return "cold_boot", "a reboot did not activate it, so the power has to be cut"
    cold = [change.aspect for change in card.pending if change.kind == Kind.FIRMWARE_PARAMETER and change.aspect.startswith(_COLD)]
    if cold:
        return "cold_boot", "%s is read when power comes on" % ", ".join(cold)
    if wish.tried == "reset":
        if card.bluefield:
            return "cold_boot", "a reset did not activate it, and a BlueField keeps running through a reboot of its host"
        return "reboot", "a reset did not activate it"
    return "", ""


def judge(card: Card, host: Host, wish: Wish) -> Verdict:
    """What one card needs."""
    if not card.pending:
        return Verdict(card)
    needs, reason = _more_than_reset(card, wish)
    if needs:
        return Verdict(card, needs, (reason,))
    reason, level = _no_reset(card, host), _level(card)
    if reason or card.query is None or level is None:
        if card.bluefield:
            return Verdict(card, "cold_boot", (reason, "a BlueField keeps running through a reboot of its host"))
        warm = card.query is None or card.query.can(WARM_REBOOT)
        return Verdict(card, "reboot" if warm else "cold_boot", (reason,))
    sync = _sync(card.query, host) if level == PCI_RESET else None
    return Verdict(card, "device_reset", (), level, sync, _lasting(card, host, wish, level), _in_use(card, wish, level))


def refuse_blocked(verdicts: t.Sequence[Verdict]) -> None:
    """Raises Refused with everything that stands in the way of any reset: before the first one, and of all cards at once."""
    found = ["%s: %s" % (verdict.card.pci, blocker) for verdict in verdicts for blocker in verdict.blocked_by]
    if found:
        raise Refused("refusing to reset: %s" % "; ".join(found), blocked_by=found)


def resets(verdicts: t.Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The cards that a reset helps, each once."""
    return tuple(verdict for verdict in verdicts if verdict.needs == "device_reset")


def aftermath(verdict: Verdict) -> list[str]:
    """What a reset of this card takes along, besides what is refused."""
    if verdict.level != PCI_RESET or not verdict.card.interfaces:
        return []
    text = "%s: a reset takes %s down, and addresses, P_Key children and virtual functions have to be made again"
    return [text % (verdict.card.pci, ", ".join(verdict.card.interfaces))]


def reasons(verdicts: t.Sequence[Verdict]) -> list[str]:
    """What an administrator should know of what stays pending, or of a reset to come."""
    found = ["%s: %s" % (verdict.card.pci, text) for verdict in verdicts for text in (*verdict.card.unknown, *verdict.why)]
    for verdict in resets(verdicts):
        found += ["%s: a reset is refused now: %s" % (verdict.card.pci, blocker) for blocker in verdict.blocked_by]
        found += aftermath(verdict)
    return found


def result(done: t.Sequence[Change], left: t.Sequence[Verdict], notes: t.Sequence[str] = ()) -> dict[str, t.Any]:
    """The keys that every module returns: C(done) was activated, C(left) is what the cards need after that."""
    pending = [Pending(change) for verdict in left for change in verdict.changes]
    return Plan(tuple(change._replace(needs="", blocked_by="") for change in done)).result(pending, [*notes, *reasons(left)])
