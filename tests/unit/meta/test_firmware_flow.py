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
    "packages": ("purposes unsupported", 'module.fail_json(msg="the tools would be installed")'),
    "rdma_facts": ("reuse require_root", 'module.exit_json(ansible_facts={"rdma": {"os": {}}})'),
    "mstflint": (
        "devices missing images versions missing_image allow_downgrade allow_container",
        """
if card.get("half_written"):
    module.fail_json(msg="card 1 may be half written", changed=True, unburned=[{"pci": "0000:03:00.0", "why": "", "half_written": True}])
module.exit_json(pending=image, changes=[], reasons=[])
""",
    ),
    "mlxconfig": (
        "devices missing backup allow_link_type allow_container awaiting_firmware",
        """
if card.get("broken"):
    unread = [{"pci": "0000:04:00.0", "why": "card 2 is broken"}]
    module.fail_json(msg="card 2 is broken", unread=unread, changed=False, pending=[], waiting=[], changes=[], reasons=[])
waiting = [entry("firmware_parameter", "NEW", "reboot")] if image else []
if image and not module.params["awaiting_firmware"]:
    module.fail_json(msg="the running firmware has no NEW")
changed = not image and not card["set"]
if changed and not module.check_mode:
    save("set", set=True)
foreseen = [entry("firmware_parameter", "NEW", "reboot")] if changed and module.check_mode else []
module.exit_json(changed=changed, pending=waiting or set_only or foreseen, waiting=waiting, changes=["NEW"] if changed else [], reasons=[])
""",
    ),
    "mlxfwreset": (
        "allow_container state disconnect_rdma_users wait_timeout tried foreseen",
        """
if module.params["state"] == "reset" and not module.check_mode:
    save("reset", runs_image=True, effective=card["set"])
    module.exit_json(changed=True, pending=[], adapters=[], reasons=[])
foreseen = [{**one, "needs": "device_reset"} for one in module.params["foreseen"] or [] if one not in image]
pending = image + set_only + foreseen
adapter = {"needs": card.get("needs", "device_reset") if pending else "", "blocked_by": [], "blocked_when_drained": [], "unknown": []}
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
            {"ansible.builtin.copy": {"content": "{{ rdma_pending | map(attribute='needs') | join(' ') }}", "dest": "{{ told }}.needs"}, "check_mode": False},
        ],
    }
]


# As playbooks/firmware.yml does before the first batch.
LOOK = [
    {
        **PLAY[0],
        "tasks": [
            {
                "ansible.builtin.include_role": {"name": "rdma.ofed.hca_firmware", "apply": {"check_mode": True}},
                "vars": {"__hca_firmware_reports_later": True},
            },
            {"ansible.builtin.include_role": {"name": "rdma.ofed.hca_firmware", "tasks_from": "find_work"}},
            {"ansible.builtin.copy": {"content": "{{ __hca_firmware_due }} {{ __hca_firmware_is_effective }}", "dest": "{{ told }}"}},
            {"ansible.builtin.include_role": {"name": "rdma.ofed.hca_firmware", "tasks_from": "report_unread"}},
        ],
    }
]
NOTHING = '{"hca_firmware_images": {}, "hca_firmware_config": [], "hca_firmware_install_tools": true}'


@pytest.fixture(name="run")
def collection_with_one_card(tmp_path: pathlib.Path) -> t.Callable[..., tuple[list[str], str]]:
    """A run of the play: the steps that it took on the card, and what is pending after it."""
    collection = tmp_path / "ansible_collections/rdma/ofed"
    for folder in ("plugins", "roles", "meta"):
        shutil.copytree(ROOT / folder, collection / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("rdma_facts", "packages"):
        (collection / "plugins/action" / (name + ".py")).unlink()
    card, told = tmp_path / "card.json", tmp_path / "told"
    for name, (options, work) in MODULES.items():
        (collection / "plugins/modules" / (name + ".py")).write_text(START % (str(card), options) + work, encoding="utf-8")
    (tmp_path / "play.yml").write_text(json.dumps(PLAY), encoding="utf-8")
    (tmp_path / "look.yml").write_text(json.dumps(LOOK), encoding="utf-8")
    card.write_text(json.dumps({"runs_image": False, "set": False, "effective": False, "steps": []}), encoding="utf-8")
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path), "ANSIBLE_LOCALHOST_WARNING": "0"}
    playbook = [sys.executable, "-m", "ansible.cli.playbook", "-i", "localhost,", "-e", "told=%s" % told]

    def run(*more: str, play: str = "play", fails: str = "", **state: t.Any) -> tuple[list[str], str]:
        found = json.loads(card.read_text(encoding="utf-8"))
        before = found["steps"]
        card.write_text(json.dumps({**found, **state}), encoding="utf-8")
        command = [*playbook, play + ".yml", *more]
        done = subprocess.run(command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
        assert (done.returncode == 0) is (not fails), done.stdout + done.stderr
        assert fails in done.stdout
        return json.loads(card.read_text(encoding="utf-8"))["steps"][len(before) :], told.read_text(encoding="utf-8")

    return run


def test_what_waited_for_the_firmware_is_set_in_the_run_that_activates_it(run: t.Callable[..., tuple[list[str], str]]) -> None:
    allowed = ("-e", '{"rdma_allow_reset": true}')
    assert run() == ([], "running_version NEW")
    assert run("--check", *allowed) == ([], "running_version NEW")
    assert run(*allowed) == (["reset", "set", "reset"], "")
    assert run(*allowed) == ([], "")


def test_check_mode_says_what_the_card_needs(run: t.Callable[..., tuple[list[str], str]], tmp_path: pathlib.Path) -> None:
    """The module that sets a parameter can't know it: it says reboot."""
    needs = tmp_path / "told.needs"
    assert run("--check", runs_image=True) == ([], "NEW")
    foreseen = needs.read_text(encoding="utf-8")
    assert run() == (["set"], "NEW")
    assert foreseen == needs.read_text(encoding="utf-8") == "device_reset"


def test_nothing_declared_installs_nothing(run: t.Callable[..., tuple[list[str], str]]) -> None:
    assert run("-e", NOTHING) == ([], "running_version")
    assert run("-e", NOTHING, play="look", runs_image=True)[1] == "False True"
    run("-e", '{"hca_firmware_install_tools": true}', fails="the tools would be installed")


def test_only_a_node_with_work_is_in_a_batch(run: t.Callable[..., tuple[list[str], str]], tmp_path: pathlib.Path) -> None:
    hook = tmp_path / "cycle.yml"
    hook.write_text("[]", encoding="utf-8")

    def look(*more: str, **state: t.Any) -> str:
        return run(*more, play="look", **state)[1]

    # A parameter is to be set; it is set, and waits without consent; with consent; it is effective.
    assert look(runs_image=True) == "True False"
    assert look(set=True) == "False False"
    assert look("-e", '{"rdma_allow_reset": true}') == "True False"
    assert look("-e", '{"rdma_allow_reboot": true}') == "True False"
    assert look(effective=True) == "False True"
    # Consent to a reset or reboot does nothing for what needs a cold boot, unless the site can switch the node off and on.
    assert look("-e", '{"rdma_allow_reset": true, "rdma_allow_reboot": true}', effective=False, needs="cold_boot") == "False False"
    assert look("-e", '{"rdma_allow_reboot": true, "rdma_power_cycle_tasks": "%s"}' % hook) == "True False"
    assert look("-e", '{"rdma_power_cycle_tasks": "%s"}' % hook) == "False False"


def test_a_card_that_can_not_be_queried_is_reported_at_the_end(run: t.Callable[..., tuple[list[str], str]]) -> None:
    said = "left as they are: card 2 is broken"
    assert run(play="look", broken=True, fails=said)[1] == "False False"
    run(fails=said)


def test_a_node_with_half_an_image_on_a_card_is_neither_reset_nor_rebooted(run: t.Callable[..., tuple[list[str], str]], tmp_path: pathlib.Path) -> None:
    (tmp_path / "told").write_text("not reached", encoding="utf-8")
    allowed = ("-e", '{"rdma_allow_reset": true, "rdma_allow_reboot": true}')
    assert run(*allowed, half_written=True, fails="card 1 may be half written") == ([], "not reached")


def test_a_power_cycle_is_left_to_the_site_and_has_to_happen(run: t.Callable[..., tuple[list[str], str]], tmp_path: pathlib.Path) -> None:
    hook = tmp_path / "cycle.yml"
    hook.write_text(json.dumps([{"ansible.builtin.copy": {"content": "off and on", "dest": str(tmp_path / "cycled")}}]), encoding="utf-8")
    consent = ("-e", '{"rdma_allow_reboot": true, "rdma_power_cycle_tasks": "%s"}' % hook)
    run("--check", *consent, needs="cold_boot", runs_image=True, set=True)
    assert not (tmp_path / "cycled").exists()
    # This machine runs on, of course.
    run(*consent, fails="the node was not started again")
    assert (tmp_path / "cycled").read_text(encoding="utf-8") == "off and on"
