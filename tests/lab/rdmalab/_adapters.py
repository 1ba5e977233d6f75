# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cards of a host: which adapters of a topology are functions of one card, and how a card deviates from its model. Pure.

`# lab node1/mlx5_2 firmware=20.37.1014 pending=NUM_OF_VFS:16,SRIOV_EN:1`
"""

from __future__ import annotations

import re
import typing as t

from ._topology import Device

# The column of a card's profile (cxemu/profile.json) that each attribute sets.
COLUMNS = {"default": "default", "current": "current", "pending": "next"}
_TEXTS = {"firmware": (re.compile(r"\d+\.\d+\.\d+"), "a version such as 20.37.1014"), "psid": (re.compile(r"\w{3,16}"), "a PSID such as MT_0000000223")}
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9_]*(?:\[\d+\])?):([A-Za-z0-9_]+)")
MOST_FUNCTIONS = 8


class Own(t.NamedTuple):
    """Attributes of one card in the topology. settings: values by column, with the column names of the profile."""

    firmware: str = ""
    psid: str = ""
    settings: t.Mapping[str, t.Mapping[str, str]] = {}


def parse_own(attributes: t.Mapping[str, str]) -> tuple[Own, list[str]]:
    """Parse the attributes of a card. Returns them with a list of problems."""
    texts: dict[str, str] = {}
    settings: dict[str, dict[str, str]] = {}
    problems = []
    for key, value in attributes.items():
        if key in _TEXTS:
            pattern, wanted = _TEXTS[key]
            if not pattern.fullmatch(value):
                problems.append("%s=%s: %s is wanted" % (key, value, wanted))
            texts[key] = value
        elif key in COLUMNS:
            matches = [(one, _SETTING.fullmatch(one)) for one in value.split(",")]
            problems += ["%s=%s: '%s' is not NAME:VALUE, such as NUM_OF_VFS:16" % (key, value, one) for one, match in matches if not match]
            settings[COLUMNS[key]] = {match[1]: match[2] for _one, match in matches if match}
        else:
            problems.append("%s=%s: an adapter has %s" % (key, value, ", ".join(word + "=" for word in (*_TEXTS, *COLUMNS))))
    return Own(texts.get("firmware", ""), texts.get("psid", ""), settings), problems


def cards(hcas: t.Sequence[Device]) -> tuple[tuple[int, int], ...]:
    """Return the card and function number of each adapter. Adapters with the same sysimgguid= are functions of one card."""
    seen: dict[int, list[int]] = {}
    for index, hca in enumerate(hcas):
        # An adapter without sysimgguid gets a unique key; node GUIDs are never negative.
        seen.setdefault(hca.system_guid or -1 - index, []).append(index)
    places = {index: (card, function) for card, indexes in enumerate(seen.values()) for function, index in enumerate(indexes)}
    return tuple(places[index] for index in range(len(hcas)))


def problems_of_cards(host: str, names: t.Sequence[str], hcas: t.Sequence[Device]) -> list[str]:
    """Return the problems of adapters that claim to be one card but cannot be."""
    problems = []
    first: dict[int, int] = {}
    for index, (card, function) in enumerate(cards(hcas)):
        one, other = hcas[first.setdefault(card, index)], hcas[index]
        pair = (host, names[first[card]], names[index], other.system_guid)
        if one.device_id != other.device_id:
            problems.append("%s: %s and %s have the same sysimgguid=0x%x, so they are one card, but not the same devid=" % pair)
        elif function and names[index].startswith("mlx4"):
            problems.append("%s: %s and %s have the same sysimgguid=0x%x, but a ConnectX-3 is one Ca with two ports" % pair)
        elif function == MOST_FUNCTIONS:
            problems.append("%s: more than %d adapters have sysimgguid=0x%x, and a card has no more functions" % (host, MOST_FUNCTIONS, other.system_guid))
    return problems
