# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults of a card: their names for people, and the cxemu-ctl commands that cause them. Pure: rdmalab-fault on the node runs the commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

LONGEST_MS = 60000


class Kind(NamedTuple):
    """text: the description for people. value: what may follow "="; needed: whether it is required; instead: the default value."""

    text: str
    on: tuple[tuple[str, ...], ...]
    off: tuple[tuple[str, ...], ...]
    value: str = ""
    needed: bool = False
    instead: str = ""


class Fault(NamedTuple):
    name: str
    value: str
    on: bool


# {value} is the value as given; {tlv} stands for each TLV of the named parameter.
KINDS = {
    "busy": Kind(
        "somebody holds the semaphores of the card; 'busy=once': only the first tool fails, the next one finds them free",
        (("set", "busy_pid=0", "busy={value}"),),
        (("set", "busy_pid=0", "busy=0"),),
        "once",
    ),
    "burn-fails": Kind("the transfer of an image breaks off", (("fault", "reg=0x9063", "method=2", "status=0x70", "skip=50"),), (("nofault", "reg=0x9063"),)),
    "burn-refused": Kind(
        "the card does not accept the signature of an image",
        (("fault", "reg=0x9062", "method=2", "instruction=4", "status=7", "mcc=5"),),
        (("nofault", "reg=0x9062", "instruction=4"),),
    ),
    "read-only": Kind("a parameter, and those stored with it, can only be read", (("lock", "{tlv}"),), (("unlock", "{tlv}"),), "PARAMETER", True),
    "rejects": Kind(
        "setting parameters, or the one given, is refused by the card",
        (("fault", "reg=0x9024", "method=2", "status=0x21", "tlv={tlv}"),),
        (("nofault", "reg=0x9024", "method=2", "tlv={tlv}"),),
        "PARAMETER",
    ),
    "vanishes": Kind(
        "the card leaves the PCI bus at the next register access, or the one given",
        (("set", "vanish_after={value}"),),
        (("set", "vanish_after=0", "gone=0"),),
        "N",
        False,
        "1",
    ),
    "hangs": Kind("the card answers nothing", (("set", "hangs=1"),), (("set", "hangs=0", "icmd_control=0"),)),
    "silent-after-set": Kind("the next set is carried out, and then the card answers nothing", (("set", "hangs=2"),), (("set", "hangs=0", "icmd_control=0"),)),
    "slow": Kind("each register access takes so many milliseconds", (("set", "slow={value}"),), (("set", "slow=0"),), "MS", True),
}
NONE = "none"
ALL_OFF = (
    ("nofault",),
    ("unlock",),
    ("set", "busy=0", "busy_pid=0", "hangs=0", "slow=0", "vanish_after=0", "gone=0", "not_ready=0"),
    # State left behind by a tool that was killed halfway.
    ("set", "semaphore=0", "icmd_semaphore=0", "flash_semaphore=0", "icmd_control=0", "chip.lock=0"),
)


def parse(word: str, state: str = "on") -> Fault:
    """Parse a fault such as "slow=20" with its state "on" or "off". "busy" with the state "once" means "busy=once". Raises ValueError with the reason."""
    name, equals, value = word.partition("=")
    if name == NONE and not equals and state == "on":
        return Fault(NONE, "", False)
    if name not in KINDS:
        raise ValueError("there is no fault '%s', only: %s" % (word, ", ".join((*KINDS, NONE))))
    kind = KINDS[name]
    if state == "once" and name == "busy" and not equals:
        value, state = "once", "on"
    if state not in ("on", "off"):
        raise ValueError("%s can be on or off, not %s" % (name, state))
    if value and not kind.value:
        raise ValueError("%s takes no value" % name)
    if not value and (equals or (kind.needed and (state == "on" or kind.value == "PARAMETER"))):
        raise ValueError("%s wants a value: %s=%s" % (name, name, kind.value))
    if value and kind.value in ("N", "MS") and not (value.isdigit() and 0 < int(value) <= LONGEST_MS):
        raise ValueError("%s=%s: a number from 1 to %d is wanted" % (name, value, LONGEST_MS))
    if value and kind.value == "once" and value != "once":
        raise ValueError("%s=%s: only %s=once is known" % (name, value, name))
    if value and kind.value == "PARAMETER" and not re.fullmatch(r"\w+", value):
        raise ValueError("%s=%s: the name of a parameter is wanted" % (name, value))
    return Fault(name, value, state == "on")


def commands(fault: Fault, codes: Callable[[str], list[int]]) -> list[list[str]]:
    """Return argument lists for cxemu-ctl. `codes` returns the TLVs of a parameter. A fault is taken off before it is set, so it never exists twice."""
    if fault.name == NONE:
        return [list(words) for words in ALL_OFF]
    kind = KINDS[fault.name]
    tlvs = ["%#x" % code for code in codes(fault.value)] if kind.value == "PARAMETER" and fault.value else ["0"]
    value = fault.value or kind.instead
    if fault.name == "busy":
        value = "2" if value else "1"
    steps = (*kind.off, *(kind.on if fault.on else ()))
    return [[word.format(value=value, tlv=tlv) for word in words] for words in steps for tlv in (tlvs if any("{tlv}" in word for word in words) else tlvs[:1])]
