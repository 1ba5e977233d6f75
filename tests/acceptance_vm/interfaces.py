# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""IPoIB interfaces of a machine as its kernel has them."""

from __future__ import annotations

import json
import time
import typing as t

from cluster import Cluster


class Look(t.NamedTuple):
    """An IPoIB interface as the kernel has it."""

    mode: str
    mtu: int
    carrier: bool
    addresses: tuple[str, ...]


def run(lab: Cluster, node: str, script: str) -> str:
    done = lab.shell(node, script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def look(lab: Cluster, node: str, name: str) -> Look:
    (found,) = [one for one in json.loads(run(lab, node, "ip -j -d -4 address show dev %s" % name)) if one]
    addresses = tuple("%s/%d" % (one["local"], one["prefixlen"]) for one in found["addr_info"] if one)
    return Look(found["linkinfo"]["info_data"]["mode"], found["mtu"], "LOWER_UP" in found["flags"], addresses)


def within(seconds: float, check: t.Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(1)
    return True
