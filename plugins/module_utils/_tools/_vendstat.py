# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""`vendstat`: what a switch of NVIDIA says of itself through a vendor's datagram. Grammar from infiniband-diags, `vendstat.c`."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput

_VERSION = re.compile(r"^fw_version: *([0-9.]+)$", re.MULTILINE)
_PSID = re.compile(r"^fw_psid: *'([^'\n]*)'$", re.MULTILINE)


class SwitchFirmware(t.NamedTuple):
    """The firmware that a switch runs."""

    version: str
    psid: str


def parse_general(text: str) -> SwitchFirmware:
    """`vendstat -N LID`; raises UnexpectedOutput."""
    version, psid = _VERSION.search(text), _PSID.search(text)
    if version is None:
        raise UnexpectedOutput("vendstat printed %r, which has no version of a firmware" % text.strip()[:200])
    return SwitchFirmware(version[1], psid[1].strip() if psid else "")


def command(device: str, port: int, lid: int) -> tuple[str, ...]:
    """Asks the switch at a LID."""
    return ("vendstat", "-C", device, "-P", str(port), "-N", str(lid))
