# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who consents to another stack: a playbook for all hosts, and for the stack of an image the inventory alone."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest
import yaml
from support import playbook_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]
IMAGE = {"name": "DGX OS", "release": "7.0.0", "marker": "/etc/dgx-release"}


@pytest.mark.parametrize(
    ("appliance", "inventory", "may"),
    [(None, "", True), (None, "rdma_allow_upgrade=false", True), (IMAGE, "", False), (IMAGE, "rdma_allow_upgrade=true", True)],
)
def test_a_playbook_that_consents_does_so_for_no_image(tmp_path: pathlib.Path, appliance: dict[str, str] | None, inventory: str, may: bool) -> None:
    (tmp_path / "hosts").write_text("node1 ansible_connection=local ansible_python_interpreter=%s %s\n" % (sys.executable, inventory))
    role = yaml.safe_load((ROOT / "roles/ofed/vars/main.yml").read_text(encoding="utf-8"))
    tasks = yaml.safe_load((ROOT / "roles/ofed/tasks/vendor.yml").read_text(encoding="utf-8"))
    play = {
        "hosts": "all",
        "gather_facts": False,
        "vars": {"rdma_allow_upgrade": True, **{name: role[name] for name in ("__ofed_appliance", "__ofed_may_upgrade")}},
        "tasks": [
            {"ansible.builtin.set_fact": {"rdma": {"stack": {"kind": "doca", "appliance": appliance}}, "cacheable": True}},
            {"ansible.builtin.debug": {"msg": "may upgrade: %s" % tasks[0]["rdma.ofed.driver_stack"]["allow_upgrade"]}},
        ],
    }
    (tmp_path / "play.yml").write_text(json.dumps([play]), encoding="utf-8")
    done = playbook_runs.run("playbook", "-i", "hosts", "play.yml", folder=tmp_path)
    assert done.status == 0, done.output
    assert ("may upgrade: %s" % may).lower() in done.output.lower(), done.output
