# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ufw: its files of rules, as it reads them itself, and the command lines that change them. Pure."""

from __future__ import annotations

import re
import typing as t

CONF, DEFAULTS = "/etc/ufw/ufw.conf", "/etc/default/ufw"
RULES: t.Mapping[int, str] = {4: "/etc/ufw/user.rules", 6: "/etc/ufw/user6.rules"}
"""By IP version."""
COMMENT = "rdma.ofed"
"""The comment of our rules, which tells them from those of others."""

_TUPLE = "### tuple ###"
_ANY: t.Mapping[int, str] = {4: "0.0.0.0/0", 6: "::/0"}
_CLOSED = ("deny", "reject")


class Rule(t.NamedTuple):
    """One rule for incoming packets."""

    family: int
    """4 or 6."""
    action: str
    """`allow`, `deny`, `reject` or `limit`."""
    interface: str
    """"" for all."""
    whole: bool
    """Whether it is for all protocols, ports and addresses."""
    ours: bool
    words: str
    """As in the file, without the comment."""

    def opens(self, name: str) -> bool:
        """Whether it accepts all that arrives on an interface."""
        return self.whole and self.action == "allow" and self.interface in ("", name)

    def alike(self, name: str) -> bool:
        """Whether it differs from our rule for an interface in no more than action, logging and comment. ufw has one such rule of each IP version."""
        return self.whole and self.interface == name

    def closes(self, name: str) -> bool:
        """Whether it drops all that arrives on an interface."""
        return self.whole and self.action in _CLOSED and self.interface in ("", name)


def parse_rules(text: str, family: int) -> list[Rule]:
    """The rules for incoming packets in the text of a file, in order. Those for forwarded packets and malformed ones are left out."""
    found = []
    for line in text.splitlines():
        body, _equals, comment = line.partition(" comment=")
        if not body.startswith(_TUPLE):
            continue
        fields = body[len(_TUPLE) :].split()
        # Action, protocol, port and address of the destination, then of the source, perhaps two applications, and the direction with its interface.
        place = fields[-1] if len(fields) in (7, 9) else "in"
        if not 6 <= len(fields) <= 9 or ":" in fields[0] or "!" in place or not (place == "in" or place.startswith("in_")):
            continue
        whole = fields[1:3] == ["any", "any"] and fields[4] == "any" and {fields[3], fields[5]} == {_ANY[family]} and len(fields) < 8
        action = fields[0].partition("_")[0]
        interface = place.partition("_")[2]
        ours = whole and interface != "" and fields[0] == "allow" and comment.strip() == COMMENT.encode().hex()
        found.append(Rule(family, action, interface, whole, ours, " ".join(fields)))
    return found


def setting(text: str, key: str) -> str:
    """The value of a setting in the text of `CONF` or `DEFAULTS`, in lower case; "" for none."""
    found = re.findall(r"^%s=[\"']?([A-Za-z]*)[\"']?\s*$" % re.escape(key), text, re.MULTILINE)
    return str(found[-1]).lower() if found else ""


def allow(name: str) -> tuple[str, ...]:
    """The command that accepts all that arrives on an interface, of both IP versions."""
    return ("ufw", "allow", "in", "on", name, "comment", COMMENT)


def forget(name: str) -> tuple[str, ...]:
    """The inverse of `allow`. With the comment, ufw deletes no rule that lacks it."""
    return ("ufw", "delete", "allow", "in", "on", name, "comment", COMMENT)
