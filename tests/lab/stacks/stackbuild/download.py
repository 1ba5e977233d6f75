# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Downloads the distribution's packages once, in a container, from the mirror of the lab's nodes."""

from __future__ import annotations

import os
import pathlib
import subprocess
import typing as t

from rdmalab import _image
from rdmalab._settings import settings

from .catalog import CORE, MERGED
from .debs import StackError

WANTED = (*CORE, "perftest", "mstflint", "opensm", *MERGED)


def node_image() -> str:
    """Return the image of a Debian 12 node. Builds it if it is missing."""
    return _image.ensure_images(settings()._replace(suite="bookworm"), ("bookworm",)).nodes["bookworm"]


def kernel(image: str) -> str:
    return _image.kernel(image)


def download(image: str, into: pathlib.Path) -> dict[str, pathlib.Path]:
    """Return files by package name. Downloads only missing ones."""
    into.mkdir(parents=True, exist_ok=True)
    found = _present(into)
    missing = sorted(set(WANTED) - set(found))
    if missing:
        script = "apt-get update -qq && cd /out && apt-get download -qq -o APT::Sandbox::User=root %s" % " ".join(missing)
        argv = ["docker", "run", "--rm", "--volume", "%s:/out" % into.absolute(), "--entrypoint", "/bin/sh", image, "-c", script]
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run(argv, capture_output=True, encoding="utf-8", env=environment, timeout=600, check=False)
        if done.returncode:
            raise StackError("Debian's packages could not be downloaded: %s" % (done.stderr.strip() or done.stdout.strip()))
        found = _present(into)
    return {name: found[name] for name in WANTED}


def _present(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    return {path.name.partition("_")[0]: path for path in sorted(folder.glob("*.deb"))}


__all__: t.Sequence[str] = ("WANTED", "download", "kernel", "node_image")
