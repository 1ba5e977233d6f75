# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the playbooks say to a controller: this test runs with each ansible-core of the unit tests, the oldest of which is too old."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from ansible.release import __version__

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOO_OLD = tuple(int(part) for part in __version__.split(".")[:2]) < (2, 14)


@pytest.mark.parametrize("playbook, next_refusal", [("site", "No host in group rdma"), ("gpudirect_test", "missing required arguments")])
def test_an_ansible_core_that_is_too_old_is_refused_by_name(playbook: str, next_refusal: str) -> None:
    """Nothing of the playbook, and nothing that it loads, may be beyond the old one. Others come to the next task that refuses."""
    argv = [sys.executable, "-m", "ansible", "playbook", "-i", "localhost,", "rdma.ofed." + playbook]
    env = dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(ROOT / "build/checkout"), ANSIBLE_LOCALHOST_WARNING="false", LC_ALL="C.UTF-8")
    done = subprocess.run(argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 2
    said = " ".join((done.stdout + done.stderr).split())
    assert ("This is ansible-core %s; allowed: 2.14 or later" % __version__ in said) == TOO_OLD
    assert (next_refusal in said) != TOO_OLD
