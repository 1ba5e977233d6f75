# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The processes that run playbooks for tests read the variables beside an inventory, as ansible-playbook does."""

from __future__ import annotations

import json
import pathlib

from support import playbook_runs


def test_variables_beside_an_inventory_are_read(tmp_path: pathlib.Path) -> None:
    (tmp_path / "hosts").write_text("[rdma]\nlocalhost ansible_connection=local\n")
    for folder, name in (("group_vars", "rdma"), ("host_vars", "localhost")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / (name + ".yml")).write_text("of_%s: found\n" % folder)
    tasks = [{"ansible.builtin.debug": {"msg": "{{ of_group_vars ~ of_host_vars }}"}}]
    (tmp_path / "play.json").write_text(json.dumps([{"hosts": "rdma", "gather_facts": False, "tasks": tasks}]))
    done = playbook_runs.run("playbook", "-i", "hosts", "play.json", folder=tmp_path)
    assert done.status == 0 and "foundfound" in done.output, done.output
