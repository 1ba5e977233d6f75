# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One interface for both kinds of labs: containers on a simulated fabric, and virtual machines with a real kernel."""

from __future__ import annotations

import os
import typing as t

from . import _cluster, _engine, _fabric, _status
from ._docker import docker
from ._hardware import read
from ._machines import Machines
from ._say import LabError
from ._settings import Settings
from ._topology import Node

KINDS = ("container", "vm")
CONTAINER_NETWORKS = ("networkd", "ifupdown")
_NO_SNAPSHOTS = "Containers have neither snapshots nor disks. 'lab up --kind vm' starts virtual machines."


class Kind(t.Protocol):
    def up(self, lab: Settings, text: str, asked: bool, source: str, inventory: str) -> None:
        """Start the lab; idempotent. `text` is the wanted topology. Unless the user `asked` for it, a running lab keeps its own."""

    def down(self, lab: Settings) -> list[str]:
        """Remove the lab. Returns the names of what was removed."""

    def status(self, lab: Settings) -> str: ...

    def shell(self, lab: Settings, node: Node, command: t.Sequence[str], terminal: bool) -> t.NoReturn: ...

    def restart(self, lab: Settings, nodes: t.Sequence[Node], simulator: bool) -> None:
        """Shut down and start all nodes in parallel."""

    def save(self, lab: Settings, name: str) -> None:
        """Save the state of all virtual machines as a snapshot, which `up` can resume."""

    def kill(self, lab: Settings, node: Node) -> None:
        """Cut the power of a node; `up` starts it again."""

    def set_links(self, lab: Settings, node: Node, up: bool, port: str) -> list[str]:
        """Unplug or plug the cable of a port, or all cables of the node if the port is "". Returns remarks on links already in that state."""

    def set_parameter(self, lab: Settings, nodes: t.Sequence[Node], name: str, value: str) -> None:
        """Set a parameter of the adapters' driver in virtual machines."""


class Containers:
    def up(self, lab: Settings, text: str, asked: bool, source: str, inventory: str) -> None:
        for node in read(text, source).nodes:
            if node.network not in CONTAINER_NETWORKS:
                raise LabError(
                    "%s wants network=%s, which runs in virtual machines only: 'lab up --kind vm'. Containers do %s."
                    % (node.name, node.network, ", ".join(CONTAINER_NETWORKS))
                )
        _engine.ensure_engine(lab)
        _cluster.up(lab, text, asked, source, inventory)

    def down(self, lab: Settings) -> list[str]:
        return _cluster.down(lab)

    def status(self, lab: Settings) -> str:
        return _status.status(lab)

    def shell(self, lab: Settings, node: Node, command: t.Sequence[str], terminal: bool) -> t.NoReturn:
        options = ["--interactive", *(["--tty"] if terminal else [])]
        os.execvp("docker", ["docker", "exec", *options, lab.container(node.name), *(command or ["bash", "-l"])])

    def restart(self, lab: Settings, nodes: t.Sequence[Node], simulator: bool) -> None:
        _cluster.restart(lab, nodes, simulator)

    def save(self, lab: Settings, name: str) -> None:
        raise LabError(_NO_SNAPSHOTS)

    def kill(self, lab: Settings, node: Node) -> None:
        docker("kill", lab.container(node.name))

    def set_links(self, lab: Settings, node: Node, up: bool, port: str) -> list[str]:
        return ["the simulator: " + remark for remark in _fabric.set_links(lab, node, up, port)]

    def set_parameter(self, lab: Settings, nodes: t.Sequence[Node], name: str, value: str) -> None:
        raise LabError("The adapters of containers have no driver to tell that. 'lab up --kind vm' starts virtual machines.")


def running(lab: Settings) -> str:
    """Return the kind of the running lab, "" if there is none."""
    if not lab.topology.exists():
        return ""
    return "vm" if lab.machines.exists() else "container"


def need_simulator(lab: Settings) -> None:
    if running(lab) == "vm" and not _cluster.running_topology(lab).simulated:
        raise LabError("That is a matter of the fabric simulator, which these virtual machines have no use for: see tests/lab/vm/README.md.")


def kind(lab: Settings, wanted: str = "", names: str = "", *, snapshots: t.Sequence[str] = (), keep: str = "", tree: str = "") -> Kind:
    """Return the kind of the running lab, else the wanted one, else containers."""
    found = running(lab)
    if found and wanted not in ("", found):
        raise LabError("A lab of the kind '%s' is up. Take it down first ('lab down'), or start a second one beside it ('lab --prefix NAME up')." % found)
    if (found or wanted) == "vm":
        return Machines(names or "kernel", snapshots, keep, tree=tree)
    if snapshots or keep or tree:
        raise LabError(_NO_SNAPSHOTS)
    return Containers()
