# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hosts that sample a fabric, according to the defaults of the role."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._health import REASON
from support import playbook_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROLE = ROOT / "roles/fabric_monitor"
HOSTS = ("node1", "node2", "node3")


def samplers(folder: pathlib.Path, inventory: dict[str, t.Any], *extra: str) -> list[str]:
    task = {"ansible.builtin.debug": {"msg": "{{ inventory_hostname }} samples {{ fabric_monitor_sampler | bool }}"}}
    files = [str(ROLE / "defaults/main.yml"), str(ROLE / "vars/main.yml")]
    (folder / "play.json").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "vars_files": files, "tasks": [task]}]))
    (folder / "hosts.json").write_text(json.dumps(inventory))
    done = playbook_runs.run("playbook", "-i", "hosts.json", "play.json", *extra, folder=folder, ANSIBLE_STDOUT_CALLBACK="default")
    assert done.status == 0, done.output
    return [host for host in HOSTS if "%s samples True" % host in done.output]


def sites(fabrics: t.Mapping[str, str], managers: t.Collection[str]) -> dict[str, t.Any]:
    hosts = {host: {"ansible_connection": "local", **({"fabric": fabrics[host]} if host in fabrics else {})} for host in HOSTS}
    return {"rdma": {"hosts": hosts}, **({"opensm": {"hosts": {host: {} for host in managers}}} if managers else {})}


@pytest.mark.parametrize(
    ("fabrics", "managers", "extra", "sampling"),
    [
        ({}, ("node2",), (), ["node2"]),
        # The subnet manager runs on a switch or in UFM.
        ({}, (), (), ["node1"]),
        ({}, ("node2",), ("-e", "opensm_state=unmanaged"), ["node1"]),
        ({"node1": "a", "node2": "b", "node3": "b"}, (), (), ["node1", "node2"]),
    ],
)
def test_each_fabric_is_sampled(
    tmp_path: pathlib.Path, fabrics: t.Mapping[str, str], managers: t.Sequence[str], extra: t.Sequence[str], sampling: t.Sequence[str]
) -> None:
    assert samplers(tmp_path, sites(fabrics, managers), *extra) == list(sampling)


def test_hooks_take_over_the_drain_of_the_health_check() -> None:
    look = yaml.safe_load((ROOT / "roles/node_service/tasks/manager_look.yml").read_text())
    (found,) = [task["ansible.builtin.set_fact"]["__node_service_found"] for task in look if "ansible.builtin.set_fact" in task]
    assert "startswith(%r)" % REASON in found["is_of_health_check"]
    drain = yaml.safe_load((ROOT / "roles/node_service/tasks/manager_drain.yml").read_text())
    conditions = [task["when"][1] for task in drain if task["name"].startswith("Drain the node")]
    assert conditions == 2 * ["not __node_service_found.out_of_service or __node_service_found.is_of_health_check"]
