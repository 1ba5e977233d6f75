# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""File locations and names of a lab. Labs that run beside each other differ in the prefix."""

from __future__ import annotations

import functools
import os
import pathlib
import re
import subprocess
import typing as t

from ._owner import Owner, run_of
from ._say import LabError
from ._topology import SUITES

LAB = pathlib.Path(__file__).resolve().parents[1]
REPOSITORY = LAB.parents[1]
DEFAULT_PREFIX = "rdmalab"
HOME = REPOSITORY / ".lab"
"""Directory of the files of the labs: those of the default prefix, and a directory for each other prefix."""


class Settings(t.NamedTuple):
    prefix: str
    """Prefix of container names, and name of the network."""
    state: pathlib.Path
    """Directory for files that the lab writes: inventory, topology, log of the Docker daemon."""
    subnet: str
    """Subnet of the management network, "" for the first free one."""
    chosen_mirror: str
    """Package mirror to use, "" for that of this machine."""
    suite: str
    """Debian suite of the simulator, and of nodes whose topology names none."""
    cache: pathlib.Path = pathlib.Path("/var/cache/rdmalab")
    """Directory of the disk images of virtual machines, shared by all checkouts."""
    owner: Owner = Owner(str(REPOSITORY), "")
    """Owner of what this command starts."""

    def container(self, node: str) -> str:
        return "%s-%s" % (self.prefix, node)

    @property
    def labels(self) -> list[str]:
        """Return the arguments of docker for the labels that identify what belongs to the lab, and its owner."""
        checkout, run = self.owner
        return ["--label", "rdmalab=" + self.prefix, "--label", "rdmalab.checkout=" + checkout, "--label", "rdmalab.run=" + run]

    @property
    def mirror(self) -> str:
        """Return the package mirror, "" for debootstrap's own default."""
        return self.chosen_mirror or _machine_mirror()

    @property
    def simulator(self) -> str:
        return self.container("simulator")

    @property
    def inventory(self) -> pathlib.Path:
        return self.state / "inventory.yml"

    @property
    def topology(self) -> pathlib.Path:
        """Return the topology file of the running lab."""
        return self.state / "fabric.topo"

    @property
    def machines(self) -> pathlib.Path:
        """Return the directory of the virtual machines: disks, consoles, process IDs."""
        return self.state / "vm"


@functools.lru_cache(maxsize=None)
def _machine_mirror() -> str:
    """Return the mirror that this machine uses: a site mirror is closer than any default, and may be the only one reachable.

    apt takes a second to answer, which only commands that build or name an image have to wait for.
    """
    argv = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    try:
        found = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.split()
    except OSError:
        return ""
    return next((uri.rstrip("/") for uri in found if "security" not in uri), "")


def settings(prefix: str = "", environment: t.Mapping[str, str] = os.environ) -> Settings:
    prefix = prefix or environment.get("RDMALAB_PREFIX", "") or DEFAULT_PREFIX
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,30}", prefix):
        raise LabError("The prefix %r of the lab is not usable: take lower-case letters, digits and '-', beginning with a letter." % prefix)
    suite = environment.get("RDMALAB_SUITE", "") or SUITES[0]
    if suite not in SUITES:
        raise LabError("RDMALAB_SUITE is '%s': the lab makes nodes of %s." % (suite, ", ".join(SUITES)))
    state = environment.get("RDMALAB_STATE", "")
    return Settings(
        prefix=prefix,
        state=pathlib.Path(state).absolute() if state else (HOME if prefix == DEFAULT_PREFIX else HOME / prefix),
        subnet=environment.get("RDMALAB_SUBNET", ""),
        chosen_mirror=environment.get("RDMALAB_MIRROR", ""),
        suite=suite,
        cache=pathlib.Path(environment.get("RDMALAB_CACHE", "") or "/var/cache/rdmalab").absolute(),
        owner=Owner(str(REPOSITORY), run_of(environment.get("RDMALAB_RUN", ""))),
    )
