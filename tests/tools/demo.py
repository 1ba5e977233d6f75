# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo: builds a cluster on a simulated fabric, from bare nodes to a verified fabric, with the output shown to the user."""

from __future__ import annotations

import os
import pathlib
import shlex
import time
import typing as t

from cluster import Cluster
from common import ROOT, main, say

LOOK_AROUND = """
The cluster is up: three systemd nodes, one fabric, provisioned and verified in %(seconds)d s.

  Look around    %(variables)stests/lab/lab status                 nodes, ports, subnet managers
                 %(variables)stests/lab/lab shell node1            a shell on a node; try ibstat, sminfo, iblinkinfo, ip -br addr
                 %(variables)stests/lab/lab fault cut node2        break something: 'lab fault --help' has more
  Run it again   . .venv/bin/activate
                 ansible-playbook%(option)s rdma.ofed.site --check --diff
                 ansible-playbook%(option)s rdma.ofed.verify
  Your site      the inventory of this cluster is %(inventory)s
  Stop           %(variables)smake stop
"""

# The inventory path in ansible.cfg.
USUAL = pathlib.Path(".lab/inventory.yml")


def look_around(seconds: float, inventory: pathlib.Path, environ: t.Mapping[str, str] = os.environ) -> str:
    """Return the next commands for the user, with the names of this lab. `inventory` is an absolute path."""
    shown = inventory.relative_to(ROOT) if ROOT in inventory.parents else inventory
    chosen = ["%s=%s " % (name, shlex.quote(environ[name])) for name in ("RDMALAB_PREFIX", "RDMALAB_STATE") if environ.get(name)]
    option = "" if shown == USUAL else " -i %s" % shlex.quote(str(shown))
    return LOOK_AROUND % {"seconds": seconds, "variables": "".join(chosen), "option": option, "inventory": shown}


def demo() -> None:
    start = time.monotonic()
    cluster = Cluster()
    say("1/4 the lab (first time: the node image is built, some minutes)")
    cluster.show("up")
    say("2/4 site.yml: from bare nodes to a working fabric")
    cluster.show_play("site")
    say("3/4 verify.yml: the nodes against their declared state")
    cluster.show_play("verify")
    say("4/4 the fabric")
    cluster.show("fabric")
    print(look_around(time.monotonic() - start, cluster.inventory), flush=True)


if __name__ == "__main__":
    main(demo)
