# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each network stack, as Debian ships it, reads its golden files: in a container without a network."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/tools"), str(ROOT / "tests/lab")]

from cluster import Cluster
from rdmalab import _image, _settings

SOURCES = ROOT / "tests/acceptance/network_stacks"
GOLDEN = ROOT / "tests/unit/plugins/module_utils/_ipoib/golden"
STACKS = ("boot", "ifupdown", "netplan", "networkd", "networkmanager")
CASES = sorted(path.stem for path in GOLDEN.glob("*.txt") if path.stem.split("-")[0] in STACKS)

# Required for systemd-networkd to start.
CAPABILITIES = ("NET_ADMIN", "NET_BROADCAST", "SYS_ADMIN")


def docker(*argv: str) -> str:
    done = subprocess.run(["docker", *argv], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def verdicts() -> dict[str, list[str]]:
    base = _image.base_tag(_settings.settings())
    if not _image.exists(base):
        Cluster().command("image")
    tag = "%s/network-stacks:%s" % (_image.REPOSITORY, _image.digest([base.encode(), *(path.read_bytes() for path in sorted(SOURCES.glob("*.*")))]))
    if not _image.exists(tag):
        docker("build", "--quiet", "--label", "rdmalab=network-stacks", "--build-arg", "BASE=" + base, "--tag", tag, str(SOURCES))
    caps = [word for name in CAPABILITIES for word in ("--cap-add", name)]
    found = docker("run", "--rm", *caps, "--network", "none", "--tmpfs", "/run", "--volume", "%s:/golden:ro" % GOLDEN, tag)
    result: dict[str, list[str]] = json.loads(found)
    return result


@pytest.mark.parametrize("case", CASES)
@pytest.mark.proves("networkd", "networkmanager", "netplan", "ifupdown", debian12="golden file")
def test_the_stack_takes_the_golden_file(verdicts: dict[str, list[str]], case: str) -> None:
    assert verdicts[case] == []
