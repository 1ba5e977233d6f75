# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the firmware of the adapters of all hosts. What a card has is in no declaration: images are files of the site. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Discovery, Subject
from .._discovered import Joined, Left
from .._foreign import rows_of
from .._hosts import fold

_WHY = "an image is a file, and parameters take a query of each card: declare hca_firmware_images and hca_firmware_config for what is to be kept so"


def join(subjects: t.Sequence[Subject]) -> Joined:
    """The versions by board (PSID)."""
    versions: dict[str, dict[str, list[str]]] = {}
    for subject in subjects:
        for row in rows_of(subject.facts, "hcas"):
            psid, version = str(row.get("psid") or ""), str(row.get("firmware") or "")
            if psid and version:
                versions.setdefault(psid, {}).setdefault(version, []).append(subject.host)
    dangers = [
        "adapters with PSID %s have different firmware: %s" % (psid, "; ".join("%s on %s" % (version, fold(hosts)) for version, hosts in sorted(own.items())))
        for psid, own in sorted(versions.items())
        if len(own) > 1
    ]
    known = ", ".join("%s %s" % (psid, "/".join(sorted(own))) for psid, own in sorted(versions.items()))
    return Joined(left=[Left("adapter firmware (%s)" % known, _WHY)] if known else (), dangers=dangers)


DISCOVERY = Discovery(join=join)
