# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role hca_firmware, from an image and a parameter that needs it to both in effect, on hosts whose only card is a file.

Each host is one case. Actions replace the modules on the node and start no process.
"""

from __future__ import annotations

import json
import pathlib
import sys
import typing as t

import pytest
from support import playbook_runs

START = """
import json, pathlib
from ansible.plugins.action import ActionBase
class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        args, check_mode, host = self._task.args, self._task.check_mode, task_vars["inventory_hostname"]
        assert set(args) <= set(%r.split()), args
        path = pathlib.Path(%r, host)
        card = json.loads(path.read_text())
        def entry(kind, aspect, needs="device_reset"):
            return {"kind": kind, "subject": "0000:03:00.0", "aspect": aspect, "before": "0", "after": "1", "needs": needs, "why": []}
        image = [] if card["runs_image"] else [entry("firmware", "running_version")]
        set_only = [entry("firmware_parameter", "NEW")] if card["set"] and not card["effective"] else []
        def save(step, **more):
            card.update(more)
            card["steps"].append(step)
            path.write_text(json.dumps(card))
"""
ACTIONS = {
    "packages": ("purposes unsupported", 'return dict(failed=True, msg=host + ": the tools would be installed")'),
    "rdma_facts": ("reuse require_root", 'return dict(ansible_facts={"rdma": {"os": {}}})'),
    "mstflint": (
        "devices missing images versions missing_image allow_downgrade allow_container",
        """
if card.get("half_written"):
    unburned = [{"pci": "0000:03:00.0", "why": "", "half_written": True}]
    return dict(failed=True, msg=host + ": card 1 may be half written", changed=True, unburned=unburned)
return dict(pending=image, changes=[], reasons=[])
""",
    ),
    "mlxconfig": (
        "devices missing backup allow_link_type allow_container awaiting_firmware",
        """
if card.get("broken"):
    unread = [{"pci": "0000:04:00.0", "why": "card 2 is broken"}]
    return dict(failed=True, msg="card 2 is broken", unread=unread, changed=False, pending=[], waiting=[], changes=[], reasons=[])
waiting = [entry("firmware_parameter", "NEW", "reboot")] if image else []
if image and not args.get("awaiting_firmware"):
    return dict(failed=True, msg="the running firmware has no NEW")
changed = not image and not card["set"]
if changed and not check_mode:
    save("set", set=True)
foreseen = [entry("firmware_parameter", "NEW", "reboot")] if changed and check_mode else []
return dict(changed=changed, pending=waiting or set_only or foreseen, waiting=waiting, changes=["NEW"] if changed else [], reasons=[])
""",
    ),
    "mlxfwreset": (
        "allow_container state disconnect_rdma_users wait_timeout tried foreseen",
        """
if args.get("state") == "reset" and not check_mode:
    save("reset", runs_image=True, effective=card["set"])
    return dict(changed=True, pending=[], adapters=[], reasons=[])
foreseen = [{**one, "needs": "device_reset"} for one in args.get("foreseen") or [] if one not in image]
pending = image + set_only + foreseen
adapter = {"needs": card.get("needs", "device_reset") if pending else "", "blocked_by": [], "blocked_when_drained": [], "unknown": []}
return dict(pending=pending, adapters=[adapter], reasons=[])
""",
    ),
    # Host variables that the tests inspect.
    "told": ("told", 'path.write_text(json.dumps({**card, "told": args["told"]}))\nreturn {}'),
}
PLAY = {"hosts": "all", "gather_facts": False}
RUN = [
    {
        **PLAY,
        "tasks": [
            {"ansible.builtin.include_role": {"name": "rdma.ofed.hca_firmware"}},
            {"ansible.builtin.include_role": {"name": "rdma.ofed.hca_firmware", "tasks_from": "activate"}},
            {"rdma.ofed.told": {"told": "{{ rdma_pending | map(attribute='aspect') | join(' ') }}: {{ rdma_pending | map(attribute='needs') | join(' ') }}"}},
        ],
    }
]
# As playbooks/firmware.yml does before the first batch.
LOOK = [
    {
        **PLAY,
        "tasks": [
            {
                "ansible.builtin.include_role": {"name": "rdma.ofed.hca_firmware", "apply": {"check_mode": True}},
                "vars": {"__hca_firmware_reports_later": True},
            },
            {"ansible.builtin.include_role": {"name": "rdma.ofed.hca_firmware", "tasks_from": "find_work"}},
            {"rdma.ofed.told": {"told": "{{ __hca_firmware_due }} {{ __hca_firmware_is_effective }}"}},
            {"ansible.builtin.include_role": {"name": "rdma.ofed.hca_firmware", "tasks_from": "report_unread"}},
        ],
    }
]
DECLARED = {"hca_firmware_install_tools": False, "hca_firmware_images": "/srv", "hca_firmware_config": [{"all": True, "parameters": {"NEW": 1}}]}
NOTHING = {"hca_firmware_images": {}, "hca_firmware_config": [], "hca_firmware_install_tools": True}
RESET, REBOOT = {"rdma_allow_reset": True}, {"rdma_allow_reboot": True}
HOOK = {"rdma_power_cycle_tasks": "{{ playbook_dir }}/cycle.yml"}
CARD = {"runs_image": False, "set": False, "effective": False, "steps": [], "told": "not reached"}
COLD = {"runs_image": True, "set": True, "needs": "cold_boot"}


class Case(t.NamedTuple):
    """A host: additional declarations, and the state of its card before the first run."""

    variables: dict[str, t.Any] = {}
    card: dict[str, t.Any] = {}


class Outcome(t.NamedTuple):
    """What a run has done to a host."""

    steps: list[str]
    told: str
    failed: str


LOOKED = {
    # A parameter to be set; one that is set and waits for consent; with consent; in effect.
    "to_set": (Case(card={"runs_image": True}), "True False"),
    "no_consent": (Case(card={"runs_image": True, "set": True}), "False False"),
    "reset_allowed": (Case(RESET, {"runs_image": True, "set": True}), "True False"),
    "reboot_allowed": (Case(REBOOT, {"runs_image": True, "set": True}), "True False"),
    "effective": (Case(card={"runs_image": True, "set": True, "effective": True}), "False True"),
    # Consent to a reset or reboot does not help a change that needs a cold boot, unless the site can power-cycle the node.
    "cold": (Case({**RESET, **REBOOT}, COLD), "False False"),
    "cold_and_allowed": (Case({**REBOOT, **HOOK}, COLD), "True False"),
    "cold_without_consent": (Case(HOOK, COLD), "False False"),
    "looked_nothing": (Case(NOTHING, {"runs_image": True}), "False True"),
    "looked_broken": (Case(card={"broken": True}), "False False"),
}
RUNS = {
    "image": Case(),
    "image_and_consent": Case(RESET),
    "parameter": Case(card={"runs_image": True}),
    "nothing": Case(NOTHING),
    "tools": Case({"hca_firmware_install_tools": True}),
    "broken": Case(card={"broken": True}),
    "half_written": Case({**RESET, **REBOOT}, {"half_written": True}),
    "cycled": Case({**REBOOT, **HOOK}, COLD),
}


class Flow:
    """The hosts; each run uses some of them."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        cards = folder / "cards"
        cards.mkdir()
        stand_ins = {}
        for name, (options, work) in ACTIONS.items():
            body = "".join("        %s\n" % line for line in work.strip().splitlines())
            stand_ins["action/%s.py" % name] = START % (options, str(cards)) + body
        playbook_runs.collection_of(folder, stand_ins)
        cases = {**{name: case for name, (case, _told) in LOOKED.items()}, **RUNS}
        for name, case in cases.items():
            (cards / name).write_text(json.dumps({**CARD, **case.card}), encoding="utf-8")
        shared = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **DECLARED}
        hosts = {name: {**shared, **case.variables} for name, case in cases.items()}
        (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}), encoding="utf-8")
        cycle = [{"ansible.builtin.copy": {"content": "off and on", "dest": str(folder / "cycled")}}]
        for file, content in (("play.yml", RUN), ("look.yml", LOOK), ("cycle.yml", cycle)):
            (folder / file).write_text(json.dumps(content), encoding="utf-8")

    def card(self, name: str) -> dict[str, t.Any]:
        found: dict[str, t.Any] = json.loads((self.folder / "cards" / name).read_text(encoding="utf-8"))
        return found

    def __call__(self, play: str, names: t.Collection[str], *more: str) -> dict[str, Outcome]:
        before = {name: len(self.card(name)["steps"]) for name in names}
        argv = ["-i", "hosts.json", play, "--limit", ",".join(names), *more]
        done = playbook_runs.run("playbook", *argv, folder=self.folder, collections=self.folder)
        failed = done.failed
        assert (done.status == 0) is (not failed), done.output
        cards = {name: self.card(name) for name in names}
        return {name: Outcome(card["steps"][before[name] :], card["told"], " ".join(failed.get(name, "").split())) for name, card in cards.items()}


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Flow:
    return Flow(tmp_path_factory.mktemp("flow"))


@pytest.fixture(scope="module")
def looked(flow: Flow) -> dict[str, Outcome]:
    return flow("look.yml", LOOKED)


@pytest.fixture(scope="module")
def foreseen(flow: Flow) -> dict[str, Outcome]:
    outcomes = flow("play.yml", ("image_and_consent", "parameter", "cycled"), "--check")
    assert not (flow.folder / "cycled").exists()
    return outcomes


@pytest.fixture(scope="module")
def done(flow: Flow, foreseen: dict[str, Outcome]) -> dict[str, Outcome]:
    """Return the outcomes of the run. The check-mode run before it left all cards unchanged."""
    return flow("play.yml", RUNS)


def test_what_waited_for_the_firmware_is_set_in_the_run_that_activates_it(flow: Flow, foreseen: dict[str, Outcome], done: dict[str, Outcome]) -> None:
    assert done["image"] == ([], "running_version NEW: device_reset reboot", "")
    assert foreseen["image_and_consent"] == ([], "running_version NEW: device_reset reboot", "")
    assert done["image_and_consent"] == (["reset", "set", "reset"], ": ", "")
    assert flow("play.yml", ["image_and_consent"]) == {"image_and_consent": ([], ": ", "")}


def test_check_mode_says_what_the_card_needs(foreseen: dict[str, Outcome], done: dict[str, Outcome]) -> None:
    """The module that sets a parameter cannot know the needed reset, so it reports a reboot."""
    assert foreseen["parameter"] == ([], "NEW: device_reset", "")
    assert done["parameter"] == (["set"], "NEW: device_reset", "")


def test_nothing_declared_installs_nothing(looked: dict[str, Outcome], done: dict[str, Outcome]) -> None:
    assert done["nothing"] == ([], "running_version: device_reset", "")
    assert looked["looked_nothing"].told == "False True"
    assert "tools: the tools would be installed" in done["tools"].failed


@pytest.mark.parametrize("name", LOOKED)
def test_only_a_node_with_work_is_in_a_batch(looked: dict[str, Outcome], name: str) -> None:
    assert looked[name].told == LOOKED[name][1]
    assert not looked[name].steps
    assert not looked[name].failed or name == "looked_broken"


def test_a_card_that_can_not_be_queried_is_reported_at_the_end(looked: dict[str, Outcome], done: dict[str, Outcome]) -> None:
    assert "looked_broken: left unchanged: card 2 is broken" in looked["looked_broken"].failed
    assert looked["looked_broken"].told == "False False"
    assert "broken: left unchanged: card 2 is broken" in done["broken"].failed


def test_a_node_with_half_an_image_on_a_card_is_neither_reset_nor_rebooted(done: dict[str, Outcome]) -> None:
    outcome = done["half_written"]
    assert outcome[:2] == ([], "not reached") and "half_written: card 1 may be half written" in outcome.failed


def test_a_power_cycle_is_left_to_the_site_and_has_to_happen(flow: Flow, done: dict[str, Outcome]) -> None:
    """The fixture checks that check mode does not power-cycle the node. This machine itself keeps running."""
    assert "the node was not restarted" in done["cycled"].failed
    assert (flow.folder / "cycled").read_text(encoding="utf-8") == "off and on"
