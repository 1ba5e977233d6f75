# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Messages of the playbooks to a controller. This test runs with each ansible-core of the unit tests, of which the oldest is unsupported."""

from __future__ import annotations

import pathlib

import pytest
from ansible.release import __version__
from support import playbook_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOO_OLD = tuple(int(part) for part in __version__.split(".")[:2]) < (2, 14)


@pytest.mark.parametrize("playbook, next_refusal", [("site", "No host in group rdma"), ("gpudirect_test", "missing required arguments")])
def test_an_ansible_core_that_is_too_old_is_refused_by_name(tmp_path: pathlib.Path, playbook: str, next_refusal: str) -> None:
    """Neither the playbook nor anything that it loads may need features beyond the old release. Supported releases reach the next task that refuses."""
    done = playbook_runs.run("playbook", "-i", "localhost,", "rdma.ofed." + playbook, folder=tmp_path)
    assert done.status == 2
    said = done.said
    assert ("This is ansible-core %s; allowed: 2.14 or later" % __version__ in said) == TOO_OLD
    assert (next_refusal in said) != TOO_OLD
