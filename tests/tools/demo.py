# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo: a cluster on a simulated fabric, from bare nodes to a verified fabric, for the eyes of a user."""

from __future__ import annotations

import time

from cluster import Cluster
from common import main, say

LOOK_AROUND = """
The cluster is up: three systemd nodes, one fabric, provisioned and verified in %d s.

  Look around    tests/lab/lab status                 nodes, ports, subnet managers
                 tests/lab/lab shell node1            a shell on a node; try ibstat, sminfo, iblinkinfo, ip -br addr
                 tests/lab/lab fault cut node2        break something: 'lab fault --help' has more
  Run it again   . .venv/bin/activate
                 ansible-playbook rdma.ofed.site --check --diff
                 ansible-playbook rdma.ofed.verify
  Your site      the inventory of this cluster is .lab/inventory.yml
  Stop           make stop
"""


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
    print(LOOK_AROUND % (time.monotonic() - start), flush=True)


if __name__ == "__main__":
    main(demo)
