# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role hca_firmware, from an image and a parameter that only it has to both in effect, with one card that is a file."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import typing as t

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
START = """#!/usr/bin/python
import json
from ansible.module_utils.basic import AnsibleModule
STATE = %r
card = json.load(open(STATE))
module = AnsibleModule(argument_spec={name: {"type": "raw"} for name in %r.split()}, supports_check_mode=True)
def entry(kind, aspect, needs="device_reset"):
    return {"kind": kind, "subject": "0000:03:00.0", "aspect": aspect, "before": "0", "after": "1", "needs": needs, "why": []}
image = [] if card["runs_image"] else [entry("firmware", "running_version")]
set_only = [entry("firmware_parameter", "NEW")] if card["set"] and not card["effective"] else []
def save(step, **more):
    card.update(more)
    card["steps"].append(step)
    json.dump(card, open(STATE, "w"))
"""
MODULES = {
    "rdma_facts": ("reuse require_root", 'module.exit_json(ansible_facts={"rdma": {"os": {}}})'),
    "mstflint": (
        "devices missing images versions missing_image allow_downgrade allow_container",
        "module.exit_json(pending=image, changes=[], reasons=[])",
    ),
    "mlxconfig": (
        "devices missing backup allow_link_type allow_container awaiting_firmware",
        """
waiting = [entry("firmware_parameter", "NEW", "reboot")] if image else []
if image and not module.params["awaiting_firmware"]:
    module.fail_json(msg="the running firmware has no NEW")
changed = not image and not card["set"]
if changed and not module.check_mode:
    save("set", set=True)
module.exit_json(changed=changed, pending=waiting or set_only, waiting=waiting, changes=[], reasons=[])
""",
    ),
    "mlxfwreset": (
        "allow_container state disconnect_rdma_users wait_timeout tried",
        """
if module.params["state"] == "reset" and not module.check_mode:
    save("reset", runs_image=True, effective=card["set"])
    module.exit_json(changed=True, pending=[], adapters=[], reasons=[])
pending = image + set_only
adapter = {"needs": "device_reset" if pending else "", "blocked_by": [], "blocked_when_drained": [], "unknown": []}
module.exit_json(pending=pending, adapters=[adapter], reasons=[])
""",
    ),
}
PLAY = [
    {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {
            "ansible_python_interpreter": sys.executable,
            "hca_firmware_install_tools": False,
            "hca_firmware_images": "/srv",
            "hca_firmware_config": [{"all": True, "parameters": {"NEW": 1}}],
        },
        "tasks": [
            {"ansible.builtin.include_role": {"name": "rdma.ofed.hca_firmware"}},
            {"ansible.builtin.include_role": {"name": "rdma.ofed.hca_firmware", "tasks_from": "activate"}},
            {"ansible.builtin.copy": {"content": "{{ rdma_pending | map(attribute='aspect') | join(' ') }}", "dest": "{{ told }}"}, "check_mode": False},
        ],
    }
]


@pytest.fixture(name="run")
def collection_with_one_card(tmp_path: pathlib.Path) -> t.Callable[..., tuple[list[str], str]]:
    """A run of the play: the steps that it took on the card, and what is pending after it."""
    collection = tmp_path / "ansible_collections/rdma/ofed"
    for folder in ("plugins", "roles", "meta"):
        shutil.copytree(ROOT / folder, collection / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (collection / "plugins/action/rdma_facts.py").unlink()
    card, told = tmp_path / "card.json", tmp_path / "told"
    for name, (options, work) in MODULES.items():
        (collection / "plugins/modules" / (name + ".py")).write_text(START % (str(card), options) + work, encoding="utf-8")
    (tmp_path / "play.yml").write_text(json.dumps(PLAY), encoding="utf-8")
    card.write_text(json.dumps({"runs_image": False, "set": False, "effective": False, "steps": []}), encoding="utf-8")
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path), "ANSIBLE_LOCALHOST_WARNING": "0"}
    playbook = [sys.executable, "-m", "ansible.cli.playbook", "-i", "localhost,", "play.yml", "-e", "told=%s" % told]

    def run(*more: str) -> tuple[list[str], str]:
        before = json.loads(card.read_text(encoding="utf-8"))["steps"]
        done = subprocess.run([*playbook, *more], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(card.read_text(encoding="utf-8"))["steps"][len(before) :], told.read_text(encoding="utf-8")

    return run


def test_what_waited_for_the_firmware_is_set_in_the_run_that_activates_it(run: t.Callable[..., tuple[list[str], str]]) -> None:
    allowed = ("-e", '{"rdma_allow_reset": true}')
    assert run() == ([], "running_version NEW")
    assert run("--check", *allowed) == ([], "running_version NEW")
    assert run(*allowed) == (["reset", "set", "reset"], "")
    assert run(*allowed) == ([], "")
