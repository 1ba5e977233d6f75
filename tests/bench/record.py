# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records for scale.py what the nodes of a lab of three answer, into recorded.json. To be run again where the look of a concern changes."""

from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

from cluster import BIN, Cluster, environment
from common import ROOT, SetupError, main

PREFIX = "rdma-record"
RECORDED = pathlib.Path(__file__).with_name("recorded.json")
KINDS = {"node1": "manager", "node2": "compute"}
DRIFT = "rm /etc/systemd/network/50-rdma-ib0.network; networkctl reload; ip address flush dev ib0; ip link set ib0 down"
CONFIGURE = """
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends mstflint pciutils >/dev/null
for pci in $(ls /sys/bus/pci/drivers/mlx5_core | grep :); do mstconfig -y -d "$pci" set NUM_OF_VFS=4 SRIOV_EN=1; done
"""
# The own values of node2. Those of node1, the master, are what all others see of it.
OWN = {
    "0002c903000010[12](?=[0-9a-f])": "@GUID@",
    "0002:c903:0000:10[12](?=[0-9a-f])": "@GID@",
    "00:02:c9:03:00:00:10:1(?=[0-9a-f])": "@HARDWARE@",
    r"\b10\.20\.0\.2\b": "@ADDRESS@",
}


def templates(lines: list[str]) -> dict[str, dict[str, list[str]]]:
    """The answers of each class of hosts, by module, in order, with placeholders for what is the host's own."""
    found: dict[str, dict[str, list[str]]] = {kind: collections.defaultdict(list) for kind in KINDS.values()}
    for line in lines:
        data = json.loads(line)
        node = data["node"].rpartition("-")[2]
        if node in KINDS:
            answer = data["answer"]
            if answer.get("look", {}).get("identity"):
                answer["look"]["identity"] = ["@MACHINE@"]
            text = answer["stdout"] if data["what"] == "shell" else json.dumps(answer)
            for pattern, placeholder in OWN.items() if KINDS[node] == "compute" else ():
                text = re.sub(pattern, placeholder, text)
            found[KINDS[node]][data["what"]].append(re.sub(r"\b%s\b" % node, "@NAME@", text))
    return found


def play(cluster: Cluster, playbook: str, *arguments: str) -> dict[str, dict[str, list[str]]]:
    """Run a playbook and return the answers."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "answers")
        env = {**environment(), "ANSIBLE_CALLBACK_PLUGINS": str(pathlib.Path(__file__).with_name("callback_plugins"))}
        env.update(ANSIBLE_CALLBACKS_ENABLED="answer_record", RDMA_ANSWERS=str(path))
        if subprocess.call([str(BIN / "ansible-playbook"), "-i", str(cluster.inventory), playbook, *arguments], cwd=ROOT, env=env, stdin=subprocess.DEVNULL):
            raise SetupError("%s failed" % playbook)
        return templates(path.read_text(encoding="utf-8").splitlines())


def record() -> None:
    os.environ["RDMALAB_PREFIX"] = PREFIX
    cluster = Cluster(PREFIX)
    cluster.show("down")
    try:
        cluster.show("up", "--topology", "3-nodes")
        found = {
            name: play(cluster, playbook) for name, playbook in (("first", "rdma.ofed.site"), ("unchanged", "rdma.ofed.site"), ("verify", "rdma.ofed.verify"))
        }
        for node in KINDS:
            # The firmware of adapters that were configured by hand.
            cluster.shell(node, CONFIGURE)
        with tempfile.TemporaryDirectory() as folder:
            found["discover"] = play(cluster, "rdma.ofed.discover", "-e", "discover_output=" + folder)
        cluster.shell("node2", DRIFT)
        found["drifted"] = play(cluster, "rdma.ofed.site")
    finally:
        cluster.show("down")
    RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(record)
