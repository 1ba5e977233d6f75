# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Docker Engine: finds it, or installs it from the distribution and starts it."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import time

from ._say import LabError, say
from ._settings import Settings

PACKAGES = {"dockerd": "docker.io", "docker": "docker.io", "iptables": "iptables", "debootstrap": "debootstrap"}
PACKAGES |= {"qemu-system-x86_64": "qemu-system-x86", "qemu-img": "qemu-utils", "mke2fs": "e2fsprogs", "ssh": "openssh-client", "ssh-keygen": "openssh-client"}
SOCKET_SECONDS = 60


def answers() -> bool:
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def ensure_engine(settings: Settings) -> None:
    if answers():
        return
    if os.environ.get("DOCKER_HOST"):
        raise LabError("DOCKER_HOST is %s, and no Docker Engine answers there. Start it, or unset DOCKER_HOST for the local one." % os.environ["DOCKER_HOST"])
    if os.geteuid() != 0:
        raise LabError(
            "No Docker Engine answers, and only root can install and start one. Run this as root, or as a member of the group 'docker' with the daemon running."
        )
    install("dockerd", "docker", "iptables")
    _start(settings)


def install(*commands: str) -> None:
    """Install the Debian packages of missing commands."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    packages = sorted({PACKAGES[command] for command in commands if not shutil.which(command, path=path)})
    if not packages:
        return
    if not shutil.which("apt-get"):
        raise LabError(
            "These commands are missing: %s. The lab can install them on Debian only; install them with this machine's package manager." % ", ".join(commands)
        )
    if os.geteuid() != 0:
        raise LabError("These packages are missing, and only root can install them: %s." % ", ".join(packages))
    say("installing %s" % ", ".join(packages))
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", "--quiet", *arguments], capture_output=True, text=True, env=environment, check=False)
        if done.returncode and arguments[0] == "install":
            raise LabError("apt-get could not install %s:\n%s" % (", ".join(packages), (done.stdout + done.stderr)[-1500:].strip()))


def _start(settings: Settings) -> None:
    log = settings.state / "dockerd.log"
    settings.state.mkdir(parents=True, exist_ok=True)
    if pathlib.Path("/run/systemd/system").is_dir():
        say("starting docker.service")
        subprocess.run(["systemctl", "start", "docker.service"], check=False, capture_output=True)
        where = "See 'journalctl -u docker.service'."
    else:
        say("starting dockerd, with its log in %s" % log)
        with log.open("ab") as out:
            # It outlives the run of checks that starts it: see tests/tools/leftovers.py.
            environment = {name: value for name, value in os.environ.items() if name != "RDMA_RUN"}
            subprocess.Popen(["dockerd"], env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        where = "See %s." % log
    end = time.monotonic() + SOCKET_SECONDS
    while not answers():
        if time.monotonic() > end:
            raise LabError("Docker Engine was started and does not answer after %d s. %s" % (SOCKET_SECONDS, where))
        time.sleep(0.5)
    say("Docker Engine answers")
