# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The driver of the adapters for a kernel that the machine's image lacks. It is built on this host, which leaves no compiler on the node."""

from __future__ import annotations

import re
import subprocess
import typing as t

from . import _access, _engine, _image, _vmimage
from ._docker import docker
from ._say import LabError, say
from ._settings import Settings
from ._topology import Node

_WITHOUT = """
cd /usr/lib/modules
for kernel in *; do if [ -d $kernel/kernel ] && [ ! -e $kernel/updates/ibdummy.ko ]; then echo $kernel; fi; done
"""
# The kernel package runs depmod itself, so the driver may be installed before its kernel.
_DEPEND = "if [ -d /usr/lib/modules/{0}/kernel ]; then depmod {0}; fi"


def provide(lab: Settings, node: Node, releases: t.Sequence[str]) -> list[str]:
    """Install the driver on a node, for these kernel releases or for all installed ones without it. Returns the releases."""
    wanted = list(releases) or _access.run(lab, node, _WITHOUT).split()
    for release in wanted:
        if not re.fullmatch(r"[0-9][0-9A-Za-z.+~_-]*", release):
            raise LabError("'%s' is not the release of a kernel, such as 6.1.0-56-amd64: it is what 'uname -r' says." % release)
    for release in wanted:
        _copy(lab, node, _build(lab, node, release))
        _access.run(lab, node, _DEPEND.format(release))
    return wanted


def tag(lab: Settings, suite: str, release: str) -> str:
    """Return the tag of the image that has the driver in /out."""
    sources = _vmimage.tag(lab._replace(suite=suite), "driver").rpartition("-")[2]
    return "%s/driver:%s-%s" % (_image.REPOSITORY, re.sub(r"[^0-9A-Za-z_.-]", "_", release), sources)


def _build(lab: Settings, node: Node, release: str) -> str:
    suite = _vmimage.suite_of(lab, node)
    wanted = tag(lab, suite, release)
    _engine.ensure_engine(lab)
    if not _image.exists(wanted):
        say("building the driver for %s" % release)
        _vmimage.build(lab._replace(suite=suite), "module", wanted, "KERNEL=" + release)
    return wanted


def _copy(lab: Settings, node: Node, image: str) -> None:
    container = docker("create", image, "true").strip()
    try:
        with subprocess.Popen(["docker", "cp", container + ":/out/.", "-"], stdout=subprocess.PIPE) as archive:
            argv = _access.ssh(lab, node, "tar", "-x", "--no-same-owner", "-C", "/")
            done = subprocess.run(argv, stdin=archive.stdout, capture_output=True, text=True, timeout=120, check=False)
    finally:
        docker("rm", container)
    if done.returncode or archive.returncode:
        raise LabError("The driver did not get to %s: %s" % (node.name, done.stderr.strip() or "docker cp failed"))
