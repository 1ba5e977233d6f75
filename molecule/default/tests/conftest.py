# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The nodes recover by themselves: after a restart, the tests only wait."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

SECONDS_TO_COME_BACK = 90


@pytest.fixture(scope="session", autouse=True)
def verified() -> float:
    """Return the seconds until verify.yml passed."""
    argv = ["ansible-playbook", "-i", os.environ["MOLECULE_INVENTORY_FILE"], "rdma.ofed.verify"]
    env = {name: value for name, value in os.environ.items() if name != "ANSIBLE_CALLBACKS_ENABLED"}
    start = time.monotonic()
    while True:
        done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        passed = time.monotonic() - start
        if done.returncode == 0:
            return passed
        if passed > SECONDS_TO_COME_BACK:
            pytest.exit("verify.yml still fails after %.0f s:\n%s" % (passed, done.stdout), returncode=1)
        time.sleep(1)
