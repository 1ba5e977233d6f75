# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cards of a lab node, seen with the tools of the field, and modules run on them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import typing as t

Host = t.Any
Result = t.Dict[str, t.Any]

CONNECTX5, CONNECTX6, CONNECTX7 = "MT_0000000008", "MT_0000000223", "MT_0000000838"


def module(host: Host, name: str, check: bool = False, **arguments: t.Any) -> Result:
    """The whole result of a module of the collection, whether it failed or not."""
    node = host.backend.host
    argv = ["ansible", "-i", host.backend.ansible_inventory, node, "-m", "rdma.ofed.%s" % name, "--diff"]
    # An empty mapping would be taken for text.
    argv += ["-a", json.dumps(arguments)] if arguments else []
    env = {**os.environ, "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json", "ANSIBLE_LOAD_CALLBACK_PLUGINS": "1"}
    done = subprocess.run([*argv, *(["--check"] if check else [])], env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return t.cast(Result, json.loads(done.stdout)["plays"][0]["tasks"][0]["hosts"][node])


def configure(host: Host, check: bool = False, **entry: t.Any) -> Result:
    return module(host, "mlxconfig", check, devices=[entry])


def declared(host: Host) -> dict[str, t.Any]:
    return t.cast("dict[str, t.Any]", host.ansible.get_variables())


def restore(host: Host) -> Result:
    """Back to what the inventory declares."""
    return module(host, "mlxconfig", devices=declared(host)["hca_firmware_config"], missing="ignore")


def card(host: Host, psid: str) -> str:
    """The first PCI function of the node's card of a PSID."""
    names = host.check_output("grep -l %s /sys/class/infiniband/*/board_id", psid).splitlines()
    return min(host.check_output("basename $(readlink -f %s)", name.replace("board_id", "device")) for name in names)


def rows(host: Host, pci: str, *names: str) -> dict[str, tuple[str, str, str]]:
    """What the tool prints of parameters: default, current and next value by name."""
    output = host.check_output("mstconfig -d %s -e query %s" % (pci, " ".join("'%s'" % name for name in names)))
    found = [line.replace("*", " ").replace(" RO ", " ").split() for line in output.splitlines()]
    return {words[0]: (words[1], words[2], words[3]) for words in found if len(words) == 4 and words[0].isupper()}


def flash(host: Host, pci: str) -> dict[str, str]:
    """What the tool prints of the card's firmware, by key."""
    lines = host.check_output("mstflint -d %s query", pci).splitlines()
    return {key.strip(): value.strip() for key, separator, value in (line.partition(":") for line in lines) if separator}


def emulation(host: Host, pci: str) -> dict[str, str]:
    """The state of the emulated card itself."""
    return dict(line.split("=", 1) for line in host.check_output("cxemu-ctl %s show", pci).splitlines())


@contextlib.contextmanager
def broken(host: Host, adapter: str, fault: str) -> t.Iterator[None]:
    """A card with a fault; it is whole again afterwards."""
    host.check_output("/opt/lab/bin/rdmalab-fault %s %s", adapter, fault)
    try:
        yield
    finally:
        host.check_output("/opt/lab/bin/rdmalab-fault %s none", adapter)
